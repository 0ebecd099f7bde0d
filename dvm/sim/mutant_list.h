/* SPDX-License-Identifier: BSD-3-Clause */
/* The deliberate mistakes that test binaries have to notice: name and effect of each. */
#ifndef DVM_SIM_MUTANT_LIST_H
#define DVM_SIM_MUTANT_LIST_H

#include <stdbool.h>

/* dvm/sim/mutants.txt puts MUTANT(ID) into copies of the protocol's sources, from which
 * build/mutant is made. It is true if the program has chosen that mutant (dvm/sim/mutant.h). The
 * name on a command line is the ID in small letters, with dashes. */

/* X(ID, effect) */
#define MUTANTS(X)                                                                                 \
    X(RELEASE_BEFORE_TEARDOWN, "the fence goes down when the shrink command starts")               \
    X(LOWER_ALL, "the end of a campaign ends the holds of all others")                             \
    X(NO_HOLD, "a shrink raises no fence")                                                         \
    X(FORGET_HOLD, "the hold of an ended campaign stays")                                          \
    X(DECREMENT_TWICE, "the fence goes down twice for one campaign")                               \
    X(KEEP_HELD, "held jobs do not go on when the fence is down")                                  \
    X(HANDLE_BEFORE_FORWARD, "a broadcast is handled before it is passed on")                      \
    X(CLOSE_WITHOUT_BYE, "a leaving child is cut off without a word")                              \
    X(ACCEPT_OLD_EPOCH, "frames of an earlier life are taken in")                                  \
    X(SKIP_REMAP, "a job is launched as it was mapped, whoever has left")                          \
    X(SEND_TO_LEAVING, "launch data goes to daemons that a shrink names")                          \
    X(MAP_TO_DRAINING, "jobs map to draining daemons")                                             \
    X(MAP_IGNORES_FENCE, "a campaign does not hold at the map boundary")                           \
    X(GROW_HOLDS_LAUNCH, "a grow holds at the launch boundary")                                    \
    X(SECOND_EVENT, "the terminal event comes twice")                                              \
    X(NO_EVENT, "the terminal event is left out")                                                  \
    X(EVENT_FOR_NOBODY, "a release that a SIGTERM asked for ends with an event")                   \
    X(EMPTY_TAKES_PART, "a shrink that removes nobody runs like any other")                        \
    X(OFFER_LATE, "the nodes are offered after the terminal event")                                \
    X(REJECTED_COUNTS, "a rejected shrink lowers the size bound")                                  \
    X(ENDED_UNNAMED, "a shrink that ends jobs does not say which")                                 \
    X(FORGET_ENDED, "an ended campaign can no longer be asked for")                                \
    X(PUT_AGAIN_IS_NEW, "the same campaign put again is another one")                              \
    X(ONE_BY_ONE, "silent daemons are judged by their parents only")                               \
    X(FORMER_LIFE_STAYS, "who is named by a shrink and calls anew is not taken for lost")          \
    X(ENDED_STILL_NAMES, "an ended shrink keeps its targets out")                                  \
    X(KEEP_JOINER, "a shrink does not turn away who has called and is not wired")                  \
    X(OFFER_AGAIN, "a shrink offers nodes that another has offered")                               \
    X(DRAINS_WAIT, "drains that share a target wait for each other")                               \
    X(NEW_ONES_UNUSED, "nothing maps to a daemon that came later")                                 \
    X(BROADCAST_PER_TARGET, "a shrink is one broadcast for each target")                           \
    X(REPAIR_PER_TARGET, "the tree is repaired for each target of a broadcast")                    \
    X(LOSS_AGAIN, "a second report of a loss is acted upon")                                       \
    X(NO_REPLAY, "who comes back is not given the broadcasts that it has missed")                  \
    X(COMPLETE_EARLY, "a broadcast is complete when it has been sent")                             \
    X(TREE_HISTORY, "the tree depends on the repairs that a daemon has seen")                      \
    X(NO_DEDUP, "a frame that came twice is delivered twice")                                      \
    X(KEEP_BACKLOG, "what was acknowledged is still counted as waiting")                           \
    X(UNCOUNTED_HOPS, "relays pass frames on without counting the hop")                            \
    X(REJOIN_AFTER_LEFT, "who was removed while cut off joins anew")                               \
    X(NO_GRACE, "who has lost its link is given up at once")                                       \
    X(RENUMBER, "messages are numbered anew when the lifeline is another one")                     \
    X(SLOT_TWICE, "the slot of an ended rank is given back twice")                                 \
    X(SLOTS_KEPT, "a job that is mapped anew keeps its slots")                                     \
    X(NO_DEFERRAL, "campaigns begin however long a job has been held")                             \
    X(NO_BACKOFF, "a vpid of short lives is admitted again at once")                               \
    X(CPUS_KEPT, "the CPUs of an ended rank stay taken")                                           \
    X(LOSS_RELEASES_HELD, "the loss of a daemon ends the hold of a campaign")                      \
    X(WIRE_SOME, "a grow wires those that have come, whoever is missing")                          \
    X(TAKE_SOME_BACK, "a failed grow leaves one of its daemons in the tree")                       \
    X(GROW_UNTOLD, "a complete grow is not told to its requester")                                 \
    X(GROW_TWICE, "a complete grow is told twice")                                                 \
    X(OVERLAP_TAKEN, "a grow that names the targets of another is accepted")                       \
    X(CANCEL_LATE, "a grow that wires can be cancelled")                                           \
    X(CANCEL_UNTOLD, "a cancelled grow does not tell who has called to leave")                     \
    X(LEAVING_COUNTS, "a grow takes a daemon that drains for one that is there")                   \
    X(LOSS_FAILS_GROW, "the loss of any daemon fails the grows that run")                          \
    X(FAIL_UNTOLD, "a failed grow is not told to its requester")                                   \
    X(ABORT_ALL_WAITERS, "a failed grow aborts every job that waits")                              \
    X(WAITERS_STAY, "a failed grow leaves the jobs that need it waiting")                          \
    X(GROW_STAYS, "a grow goes on when a size or a shrink leaves no room for it")                  \
    X(KEEP_BOUND, "a failed grow leaves the size bound where it was raised to")                    \
    X(LOSS_ENDS_BATCH, "the loss of a daemon ends a batch of joiners")                             \
    X(GATHER_LOCAL, "each daemon ends a collective by itself when a participant is lost")          \
    X(START_WITHOUT_FILES, "ranks do not wait for their job's files")                              \
    X(START_UNCHECKED, "ranks do not wait for the checks of all daemons of their job")             \
    X(START_EARLY, "ranks start when one daemon of the job has its files")                         \
    X(GATHER_SOME, "a collective does not wait for one of the contributions")                      \
    X(LOSS_TOLD_AGAIN, "what has been told of lost ranks is told again with the next loss")        \
    X(ASKER_UNTOLD, "an application is not told the end of what it asked for")                     \
    X(ASKER_TOLD_TWICE, "an application is told the end twice")                                    \
    X(BEYOND_LIMITS, "applications resize as if no size message set limits")                       \
    X(TELL_THE_GONE, "who comes in the place of an asker is told the end")                         \
    X(TELL_ANOTHER, "another rank is told the end of what an application asked for")               \
    X(LOSS_ENDS_HELD, "the loss of a daemon ends held jobs that are mapped there")

#define MUTANT_ID(id, text) MUTANT_##id,
enum mutant { MUTANT_NONE, MUTANTS(MUTANT_ID) MUTANT_COUNT };
#undef MUTANT_ID

bool mutant_is(enum mutant m);
#define MUTANT(id) mutant_is(MUTANT_##id)

#endif
