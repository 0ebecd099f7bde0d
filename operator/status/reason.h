/* SPDX-License-Identifier: BSD-3-Clause */
/* The reasons of conditions and Events (docs/operator/conditions.md). */
#ifndef OPERATOR_STATUS_REASON_H
#define OPERATOR_STATUS_REASON_H

#include <stdbool.h>

/* What a reason says besides its word. */
enum reason_trait {
    REASON_PLAIN = 0,
    REASON_CALM = 1,    /* of a course that somebody has asked for: no Warning */
    REASON_REACHED = 2, /* the size is reached and no user has to act */
    REASON_PASSING = 4, /* a request has failed, and may succeed the next time */
    REASON_ASIDE = 8,   /* of trouble that does not keep the cluster from its size */
};

/* X(REASON, word, traits) */
#define REASON_LIST(X)                                                                             \
    /* of conditions; a change of some is an Event, too */                                         \
    X(ALL_MEMBERS_WIRED, "AllMembersWired", REASON_PLAIN)                                          \
    X(AS_EXPECTED, "AsExpected", REASON_PLAIN)                                                     \
    X(CAMPAIGN_REJECTED, "CampaignRejected", REASON_PLAIN)                                         \
    X(CERTIFICATE_INVALID, "CertificateInvalid", REASON_PLAIN)                                     \
    X(CERTIFICATE_MISSING, "CertificateMissing", REASON_PASSING)                                   \
    X(CERTIFICATE_NOT_RENEWED, "CertificateNotRenewed", REASON_ASIDE)                              \
    X(CONNECTING, "Connecting", REASON_CALM)                                                       \
    X(DAEMON_CRASHES, "DaemonCrashes", REASON_PLAIN)                                               \
    X(DRAINING, "Draining", REASON_PLAIN)                                                          \
    X(FAILED_CREATE, "FailedCreate", REASON_PLAIN)                                                 \
    X(FORMING, "Forming", REASON_CALM)                                                             \
    X(GROWING, "Growing", REASON_PLAIN)                                                            \
    X(HEAD_NOT_READY, "HeadNotReady", REASON_CALM)                                                 \
    X(HEAD_ONLY, "HeadOnly", REASON_PLAIN)                                                         \
    X(HEAD_UNREACHABLE, "HeadUnreachable", REASON_PLAIN)                                           \
    X(IMAGE_PULL_FAILED, "ImagePullFailed", REASON_PLAIN)                                          \
    X(INVALID_SPEC, "InvalidSpec", REASON_PLAIN)                                                   \
    X(MEMBERS_LEAVING, "MembersLeaving", REASON_PLAIN)                                             \
    X(MEMBERS_LOST, "MembersLost", REASON_PLAIN)                                                   \
    X(NOT_OWNED, "NotOwned", REASON_PLAIN)                                                         \
    X(NOT_REQUESTED, "NotRequested", REASON_PLAIN)                                                 \
    X(OBJECT_NOT_APPLIED, "ObjectNotApplied", REASON_PLAIN)                                        \
    X(OBJECT_REFUSED, "ObjectRefused", REASON_PLAIN)                                               \
    X(OUTDATED_PODS, "OutdatedPods", REASON_CALM | REASON_REACHED)                                 \
    X(POD_CANNOT_START, "PodCannotStart", REASON_PLAIN)                                            \
    X(RECORDED, "Recorded", REASON_PLAIN)                                                          \
    X(REMOVING, "Removing", REASON_PLAIN)                                                          \
    X(REMOVING_PODS, "RemovingPods", REASON_PLAIN)                                                 \
    X(SECRET_NOT_MADE, "SecretNotMade", REASON_PASSING)                                            \
    X(SECRET_NOT_READ, "SecretNotRead", REASON_PASSING)                                            \
    X(SHUTTING_DOWN, "ShuttingDown", REASON_PLAIN)                                                 \
    X(SOME_MEMBERS_WIRED, "SomeMembersWired", REASON_PLAIN)                                        \
    X(STABLE, "Stable", REASON_PLAIN)                                                              \
    X(STARTING, "Starting", REASON_PLAIN)                                                          \
    X(STATUS_UNREADABLE, "StatusUnreadable", REASON_PLAIN)                                         \
    X(SUSPENDED, "Suspended", REASON_CALM | REASON_REACHED)                                        \
    X(SUSPENDING, "Suspending", REASON_PLAIN)                                                      \
    X(TEMPLATE_REFUSED, "TemplateRefused", REASON_PLAIN)                                           \
    X(UNSCHEDULABLE, "Unschedulable", REASON_PLAIN)                                                \
    X(UPDATING, "Updating", REASON_PLAIN)                                                          \
    X(UP_TO_DATE, "UpToDate", REASON_CALM | REASON_REACHED)                                        \
    /* of Events alone */                                                                          \
    X(AVAILABLE, "Available", REASON_PLAIN)                                                        \
    X(EXTENSION_ASKED, "ExtensionAsked", REASON_PLAIN)                                             \
    X(GRANTED, "Granted", REASON_PLAIN)                                                            \
    X(HEAD_UP, "HeadUp", REASON_PLAIN)                                                             \
    X(JOB_ENDED, "JobEnded", REASON_PLAIN)                                                         \
    X(LOSS_EXPLAINED, "LossExplained", REASON_PLAIN)                                               \
    X(MEMBER_LOST, "MemberLost", REASON_PLAIN)                                                     \
    X(MEMBERS_RELEASED, "MembersReleased", REASON_PLAIN)                                           \
    X(POD_REPLACED, "PodReplaced", REASON_PLAIN)                                                   \
    X(RELEASE_ASKED, "ReleaseAsked", REASON_PLAIN)                                                 \
    X(RELEASE_CANCELLED, "ReleaseCancelled", REASON_PLAIN)                                         \
    X(RESUMED, "Resumed", REASON_PLAIN)                                                            \
    X(SHRINK_ACCEPTED, "ShrinkAccepted", REASON_PLAIN)                                             \
    X(SHRINK_CANCELLED, "ShrinkCancelled", REASON_PLAIN)                                           \
    X(SHRINK_COMPLETE, "ShrinkComplete", REASON_PLAIN)                                             \
    X(SHRINK_RECORDED, "ShrinkRecorded", REASON_PLAIN)                                             \
    X(SHRINK_REJECTED, "ShrinkRejected", REASON_PLAIN)                                             \
    X(SHRINK_SUPERSEDED, "ShrinkSuperseded", REASON_PLAIN)                                         \
    X(SHUTDOWN_ACCEPTED, "ShutdownAccepted", REASON_PLAIN)                                         \
    X(SHUTDOWN_CANCELLED, "ShutdownCancelled", REASON_PLAIN)                                       \
    X(SHUTDOWN_COMPLETE, "ShutdownComplete", REASON_PLAIN)                                         \
    X(SHUTDOWN_RECORDED, "ShutdownRecorded", REASON_PLAIN)                                         \
    X(SHUTDOWN_REJECTED, "ShutdownRejected", REASON_PLAIN)                                         \
    X(SHUTDOWN_SUPERSEDED, "ShutdownSuperseded", REASON_PLAIN)                                     \
    X(UPDATE_CANCELLED, "UpdateCancelled", REASON_PLAIN)                                           \
    X(UPDATE_COMPLETE, "UpdateComplete", REASON_PLAIN)                                             \
    X(UPDATE_RECORDED, "UpdateRecorded", REASON_PLAIN)                                             \
    X(UPDATE_REJECTED, "UpdateRejected", REASON_PLAIN)                                             \
    X(UPDATE_SUPERSEDED, "UpdateSuperseded", REASON_PLAIN)

#define REASON_MEMBER(reason, word, traits) REASON_##reason,
enum reason { REASON_NONE, REASON_LIST(REASON_MEMBER) REASONS };
#undef REASON_MEMBER

const char *reason_word(enum reason r); /* "AllMembersWired"; of NONE: "" */
/* NONE: the word is not in the list; a later release may have written it. */
enum reason reason_of(const char *word);
bool reason_is(enum reason r, enum reason_trait trait);

#endif
