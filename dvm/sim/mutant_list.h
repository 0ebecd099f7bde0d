/* SPDX-License-Identifier: BSD-3-Clause */
/* The deliberate mistakes that test binaries have to notice: name and effect of each. */
#ifndef DVM_SIM_MUTANT_LIST_H
#define DVM_SIM_MUTANT_LIST_H

#include <stdbool.h>

/* dvm/sim/mutants.txt puts MUTANT(ID) into copies of the sources of protocol and operator, from
 * which build/mutant is made. It is true if the program has chosen that mutant (dvm/sim/mutant.h).
 * The name on a command line is the ID in small letters, with dashes. */

/* X(ID, effect) */
#define MUTANTS(X)                                                                                 \
    X(RELEASE_BEFORE_TEARDOWN, "the fence goes down when the shrink command starts")               \
    X(LOWER_ALL, "the end of a campaign takes the fence's shares of all others back")              \
    X(NO_HOLD, "a shrink raises no fence")                                                         \
    X(VALUES_UNKEPT, "a published value is no record")                                             \
    X(SERVED_TWICE, "a repeated request for published values is carried out again")                \
    X(VALUES_STAY, "the end of a job removes none of its published values")                        \
    X(VALUES_LATE, "ranks of a job that has ended publish values")                                 \
    X(FORGET_HOLD, "the share of an ended campaign in the fence stays")                            \
    X(DECREMENT_TWICE, "the fence goes down twice for one campaign")                               \
    X(KEEP_HELD, "held jobs do not go on when the fence is down")                                  \
    X(HANDLE_BEFORE_FORWARD, "a broadcast is handled, then passed on to the children left")        \
    X(LEFT_UNANSWERED, "a child that has left is not told that this is known")                     \
    X(ACCEPT_OLD_EPOCH, "frames of an earlier epoch are accepted")                                 \
    X(SKIP_REMAP, "a job is launched as it was mapped, although a daemon of it has left")          \
    X(SEND_TO_LEAVING, "launch data goes to daemons that a shrink names")                          \
    X(MAP_TO_DRAINING, "jobs map to draining daemons")                                             \
    X(MAP_IGNORES_FENCE, "a campaign holds no job at the map boundary")                            \
    X(GROW_HOLDS_LAUNCH, "a grow holds jobs at the launch boundary")                               \
    X(SECOND_EVENT, "the terminal event is sent twice")                                            \
    X(NO_EVENT, "the terminal event is not sent")                                                  \
    X(EVENT_FOR_NOBODY, "a release that a SIGTERM asked for ends with an event")                   \
    X(EMPTY_TAKES_PART, "a shrink without effect runs like any other")                             \
    X(OFFER_LATE, "the nodes are offered after the terminal event")                                \
    X(REJECTED_COUNTS, "a rejected shrink lowers the size bound")                                  \
    X(ENDED_UNNAMED, "the record of a shrink does not name the jobs that it ended")                \
    X(FORGET_ENDED, "the record of an ended campaign is removed at once")                          \
    X(PUT_AGAIN_IS_NEW, "the same campaign put again becomes a second campaign")                   \
    X(ONE_BY_ONE, "only its parent declares a silent daemon lost")                                 \
    X(FORMER_LIFE_STAYS, "a new process of a shrink's target does not end the earlier epoch")      \
    X(ENDED_STILL_NAMES, "targets of an ended shrink are refused")                                 \
    X(KEEP_JOINER, "a shrink does not turn away a daemon that is not wired yet")                   \
    X(OFFER_AGAIN, "a shrink offers nodes that another has offered")                               \
    X(DRAINS_WAIT, "drains that share a target wait for each other")                               \
    X(NEW_ONES_UNUSED, "nothing maps to a daemon that came later")                                 \
    X(BROADCAST_PER_TARGET, "a shrink is one broadcast for each target")                           \
    X(REPAIR_PER_TARGET, "the tree is repaired for each target of a broadcast")                    \
    X(LOSS_AGAIN, "a second report of a loss is acted upon")                                       \
    X(NO_REPLAY, "a daemon that reconnects does not get the broadcasts that it missed")            \
    X(COMPLETE_EARLY, "a broadcast is complete when it has been sent")                             \
    X(TREE_HISTORY, "the tree depends on the repairs that a daemon has seen")                      \
    X(NO_DEDUP, "a frame that arrives twice is delivered twice")                                   \
    X(MATCH_TWICE, "a MATCH that came twice is handed over twice")                                 \
    X(NO_RESTARTNACK, "a complete receiver does not answer a restart")                             \
    X(FORMER_DANCE, "fragments of a former dance are written")                                     \
    X(RESTART_EARLY, "a receiver restarts while frames of it are outstanding")                     \
    X(TAKE_ALL, "a receiver takes any number of transfers at once")                                \
    X(NO_RECVERRNOTIFY, "a receiver does not report the error of its answer")                      \
    X(EARLY_KEPT, "a restart counts a fragment that has to come again")                            \
    X(NOTIFY_EARLY, "a sender restarts while frames of it are outstanding")                        \
    X(FRAGS_UNCOUNTED, "a fragment counts as arrived when it is sent")                             \
    X(FIN_LOST_IS_DONE, "a FIN that met an error counts as arrived")                               \
    X(RESUME_LATER, "a restart leaves out a fragment")                                             \
    X(KEEP_BACKLOG, "acknowledged frames still count as backlog")                                  \
    X(LONG_COUNTS, "the bytes of a long message count towards its peer's loss")                    \
    X(UNCOUNTED_HOPS, "relays pass frames on without counting the hop")                            \
    X(REJOIN_AFTER_LEFT, "a daemon that was removed while disconnected joins anew")                \
    X(NO_GRACE, "a daemon whose link breaks is declared lost at once")                             \
    X(RENUMBER, "messages are numbered anew when the lifeline changes")                            \
    X(SLOT_TWICE, "the slot of an ended rank is given back twice")                                 \
    X(SLOTS_KEPT, "a job that is mapped anew keeps its slots")                                     \
    X(NO_DEFERRAL, "campaigns begin however long a job has been held")                             \
    X(NO_BACKOFF, "a vpid with short epochs is admitted again at once")                            \
    X(CPUS_KEPT, "the CPUs of an ended rank stay taken")                                           \
    X(LOSS_RELEASES_HELD, "the loss of a daemon ends the hold of a campaign")                      \
    X(WIRE_SOME, "a grow wires the targets that have called, although others are missing")         \
    X(TAKE_SOME_BACK, "a failed grow leaves one of its daemons in the tree")                       \
    X(GROW_UNTOLD, "the requester of a grow is not notified of its completion")                    \
    X(GROW_TWICE, "the requester of a grow is notified of its completion twice")                   \
    X(OVERLAP_TAKEN, "a grow that names the targets of another is accepted")                       \
    X(CANCEL_LATE, "a grow that wires can be cancelled")                                           \
    X(CANCEL_UNTOLD, "a cancelled grow does not refuse the daemons that have called")              \
    X(LEAVING_COUNTS, "a grow counts a draining daemon as wired")                                  \
    X(LOSS_FAILS_GROW, "the loss of any daemon fails the grows that run")                          \
    X(FAIL_UNTOLD, "the requester of a grow is not notified of its failure")                       \
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
    X(ENDED_AWAITED, "no daemon contributes for its ranks that have ended")                        \
    X(UNASKED, "a daemon that waits for a contribution asks nobody")                               \
    X(LEFT_EARLY, "a rank has left as soon as its process has ended")                              \
    X(LOSS_TOLD_AGAIN, "reported losses of ranks are reported again with the next loss")           \
    X(ASKER_UNTOLD, "an application is not notified of the end of its request")                    \
    X(ASKER_TOLD_TWICE, "an application is notified of the end twice")                             \
    X(GROW_BEYOND, "a grow may have targets above the largest size")                               \
    X(BEYOND_LIMITS, "applications resize as if no size message set limits")                       \
    X(TELL_THE_GONE, "the successor of an asker is notified of the end")                           \
    X(TELL_ANOTHER, "another rank is notified of the end of an application's request")             \
    X(FORGET_CARRIED, "frames that a lost link carried are not sent over another one")             \
    X(REPEAT_FRAMES, "a frame that comes over two links is handed up twice")                       \
    X(OUT_FOREVER, "a mapped-out link is never taken back")                                        \
    X(NO_REDIAL, "a lost link is not made again")                                                  \
    X(ONE_ADDRESS, "further links are made by the first address only")                             \
    X(FIRST_WAY_ONLY, "a neighbour without a link is called at its last good address only")        \
    X(HASTY_REDIAL, "a link by an address that refuses is called for without a back-off")          \
    X(GREETING_UNLIMITED, "a link whose greeting does not come is waited for without a limit")     \
    X(SLOW_STAYS, "a steadily slow link is not mapped out")                                        \
    X(SLOW_FLAPS, "a link that is mapped out again soon is taken back as soon as the first time")  \
    X(ORPHANS_UNTOLD, "the head does not say that a child of a hung daemon has called it")         \
    X(BACKOFF_KEPT, "the back-off of a message does not begin anew with another route")            \
    X(ORPHANS_BELIEVED, "a daemon is lost because a child of it has no link to it")                \
    X(RECORD_UNKEPT, "steps of members are not appended to the journal")                           \
    X(RESULT_UNKEPT, "results of jobs are not appended to the journal")                            \
    X(MAP_UNKEPT, "maps of jobs are not appended to the journal")                                  \
    X(END_UNKEPT, "ends of ranks are not appended to the journal")                                 \
    X(ENDS_LACK, "a snapshot does not restore how ranks have ended")                               \
    X(SNAPSHOT_LACKS, "a snapshot does not restore the number of repairs")                         \
    X(UNRECORDED, "the size bound changes without a record")                                       \
    X(CAMPAIGN_UNKEPT, "what becomes of targets is not appended to the journal")                   \
    X(CAMPAIGN_UNRECORDED, "a campaign's time of acknowledgement changes without a record")        \
    X(HEAD_FROM_BELOW, "a message in the head's name is accepted from any neighbour")              \
    X(ANY_IS_HEAD, "any daemon may send the head's messages")                                      \
    X(TRUST_SOURCE, "a frame's source is what its header says")                                    \
    X(ANY_TELLS_GONE, "any daemon may report that another one has left")                           \
    X(ANY_TELLS_LOSS, "any daemon may report the loss of another one")                             \
    X(ANY_GIVES_RECORDS, "a keeper takes records, and their end, from any neighbour")              \
    X(ANY_TAKES_PART, "a daemon without ranks of a job takes part in its collectives")             \
    X(EARLY_DROPPED, "a part of a collective that comes before the launch of its job is dropped")  \
    X(TOLD_UNBOUNDED,                                                                              \
      "each outcome that is told of a collective that has not begun here is remembered")           \
    X(DEPARTURE_UNREPEATED, "a leaving daemon does not repeat reports that a child has left")      \
    X(UNSENT_AGAIN, "what the former head has not acknowledged does not go to its heir")           \
    X(HEIR_UNREPORTED, "members do not report their jobs to a new head")                           \
    X(HEIR_UNASKED, "a new head is not asked about the jobs that clients wait for")                \
    X(HEIR_ENDS_JOBS, "a new head ends the jobs that run")                                         \
    X(HEIR_FORGETS_JOBS, "a new head does not go on with jobs that wait for slots")                \
    X(HEIR_SAME_EPOCH, "a new head keeps the epoch of the former one")                             \
    X(EFFECTS_FIRST, "the head acts before its records are kept")                                  \
    X(FILES_UNTOLD, "a new head does not name the daemons of a job that waits for its files")      \
    X(START_UNREPEATED, "a new head sends no start to daemons that were not notified")             \
    X(LATER_EPOCH_PAYS, "ranks of an earlier epoch take slots of the present one")                 \
    X(LOSSES_AGAIN, "a daemon reports the loss of a rank as often as it hears of it")              \
    X(REMOVAL_NO_TIME, "a removal has no more time under a new head")                              \
    X(ASK_UNREPEATED, "requests for another size do not go to a new head")                         \
    X(ASK_IS_NEW, "a repeated request for another size is a new one")                              \
    X(LATE_STREAM, "late records of an earlier stream replace those of a later one")               \
    X(ANY_CALLER, "a member below others that calls a new head counts as a child of it")           \
    X(END_FORGOTTEN, "the end of a job is forgotten before it has been delivered")                 \
    X(SUBMITTED_AGAIN, "a job that has ended is submitted again to a new head")                    \
    X(CALLERS_LOST, "a grow fails under a new head, since its callers have to call again")         \
    X(NO_RELAUNCH, "a new head does not send launches again")                                      \
    X(LOSS_UNEXPLAINED, "a loss does not explain the failure of a rank elsewhere")                 \
    X(UNFINISHED_IS_WELL, "a rank that exits with 0 without finalizing does not fail its job")     \
    X(LOSS_EXPLAINS_ALL, "a loss explains any end of a job, also one by its user")                 \
    X(DRAIN_ENDS_ALL, "a shrink with Kill ends recoverable jobs whole")                            \
    X(SILENT_TWICE, "a shrink waits for a silent target for twice the limit")                      \
    X(CUT_UNTOLD, "a target of a shrink whose link has broken before is not reported")             \
    X(BREAK_UNTOLD, "a target of a shrink whose link breaks is not reported")                      \
    X(HEAD_UNASKED, "a daemon without a lifeline calls the head after the grace only")             \
    X(TARGETS_UNAWAITED, "a shrink is complete without its targets having left")                   \
    X(EXTENSION_STAYS, "an extension stays when its job has ended")                                \
    X(OUT_OF_TURN, "the release of an extension does not wait for members above it")               \
    X(KICK_LOST, "slots that become free while the fence is up wake no job that waits")            \
    X(KICK_LATE, "a job that waits is tried with the head's next input only")                      \
    X(BOUND_UNTRIED, "no job that waits is tried when the size of the DVM changes")                \
    X(STUCK_HOLDS, "a job that cannot end its wait by itself is not passed")                       \
    X(PARENTS_FREE, "the slots of parents that wait for a spawn count as free later")              \
    X(GROW_UNNEEDED, "a spawn that only a grow leaves slots for stays when the grow fails")        \
    X(CIRCLES_UNSEEN, "families that wait for each other are queued")                              \
    X(LOSS_ENDS_HELD, "the loss of a daemon ends held jobs that are mapped there")                 \
    X(OTHER_EPOCH_COUNTS, "a report about another epoch of a target counts for a shrink")          \
    X(HELD_FAILS, "a job that was held before its map fails when the fence is down")               \
    X(REMAP_FAILS, "a job that has to be mapped anew fails")                                       \
    X(JUDGED_LATE, "a held job is judged by the size after the shrink")                            \
    X(DRAINING_KEPT, "a job that is mapped to a draining daemon is not mapped anew")               \
    X(HOLD_ANEW, "the time of a hold begins anew when the job is held again")                      \
    X(HALF_HELD, "every second job is not held at the launch boundary")                            \
    X(WAIT_ENDS_JOBS, "a shrink that waits for jobs ends them")                                    \
    X(READY_EARLY, "a job is ready for its debugger when one daemon has reported")                 \
    X(DEPARTED_AGAIN, "each report of a departure is announced")                                   \
    X(HOLD_ONE, "a shrink raises the fence by one, however many it removes")                       \
    X(KEEPERS_LATE, "messages of the head do not wait until its records are kept")                 \
    X(SNAPSHOT_ONLY, "a keeper drops the records that follow a snapshot")                          \
    X(TIME_UNKEPT, "a keeper drops the head's time that begins a group")                           \
    X(NO_HAND_OVER, "SIGTERM ends the incarnation although members keep its records")              \
    X(ANY_KEEPER, "a new head takes the records of any keeper")                                    \
    X(AHEAD_TAKEN, "a new head takes records that a member is ahead of")                           \
    X(MOST_ANSWERED, "a new head believes the first keepers when most members have answered")      \
    X(BEGINS_ALONE, "a new head acts before a keeper has its records")                             \
    X(OLDER_HEAD, "a head welcomes a member that knows a later one")                               \
    X(ASTRAY_WELCOME, "a head welcomes a member that has seen what the head does not know")        \
    X(LATE_WANTED, "members that hang are chosen as keepers although others are there")            \
    X(BETTER_UNSEEN, "a new head does not wait for the best keeper, nor changes to a better one")  \
    X(CALL_LEFT_OPEN, "a new head lets a member wait at a call that it has given up")              \
    X(EPOCH_AGAIN, "two heirs of the same records have the same epoch")                            \
    X(ENDED_AGAIN, "a daemon does not end a job whose client, or whose files, it no longer has")   \
    X(REPORT_ONCE, "a daemon does not say again that it takes files")                              \
    X(STARTS_AGAIN, "a daemon starts ranks of a job again that has ended there")                   \
    X(LAST_HEAD_ONLY, "a head does not look for what a head before it did not know")               \
    X(ASTRAY_UNSEEN, "a member has another broadcast by the number of an heir's and goes on")      \
    X(OTHER_MAP, "a head does not compare the map of a job with that of its daemons")              \
    X(REPORT_BELIEVED, "a head ends a job whose map a daemon reports that has no part in it")      \
    X(FORMER_WELCOME, "a member links to a former head although it knows the next one")            \
    X(CLOCK_UNNOTED, "a head does not record that its wall clock was set")                         \
    X(CLOCK_OF_WALL, "an heir of keepers takes the time from its wall clock")                      \
    X(FORMER_PARENT, "a member has a parent that knows only a former head")                        \
    X(FORMER_BROADCAST, "a member takes a former head's broadcasts from its parent")               \
    X(SESSION_AGAIN, "a new process counts its sessions as the former one did")                    \
    X(CLOCK_LATE, "a keeper takes the head's clock from a group that comes late")                  \
    X(CLOCK_KEPT, "a head that refuses records keeps the clock that they give")                    \
    X(NAME_AGAIN, "an heir gives the names of jobs and campaigns that were lost to others")        \
    X(VOLUME_FIRST, "a new head takes the records of its volume before those of keepers")          \
    X(VOLUME_UNTAKEN, "a new head never takes the records of its volume")                          \
    X(VOLUME_BEHIND, "a new head takes records of its volume that a member is ahead of")           \
    X(VOLUME_OF_OTHERS, "a new head takes records of an incarnation that most members have left")  \
    X(CALLS_FORGOTTEN, "a call whose connection has closed does not count against a volume")       \
    X(VOLUME_APPENDED, "a head that has asked appends its first records to those of its volume")   \
    X(VOLUME_NOT_HANDED,                                                                           \
      "SIGTERM ends the incarnation without a keeper, although a volume is there")                 \
    X(ALL_LEFT_BEHIND, "a keeper that hangs is left behind with all others")                       \
    X(UNTOLD, "a shrink removes daemons that do not know yet what became of their clients' jobs")  \
    X(KEPT_WAITING, "a shrink does not give jobs back that wait")                                  \
    X(GIVEN_BACK_STAYS, "a job that a shrink gives back to its prun stays in the queue")           \
    /* of the operator */                                                                          \
    X(CAUSE_UNTOLD, "the event of a lost daemon has no cause")                                     \
    X(NO_SLOTS_NEEDED, "the status calls a DVM without slots available")                           \
    X(DRAINING_MAPS, "the status calls a DVM available whose daemons all drain")                   \
    X(AVAILABLE_WHEN_WHOLE, "the status calls a DVM available only if all members are wired")      \
    X(RELEASE_UNSHOWN, "the status hides a shrink that the operator has not begun")                \
    X(WAIT_UNNAMED, "the status does not name the jobs that a release waits for")                  \
    X(RELEASE_END_UNSHOWN, "the status does not report the end of a release")                      \
    X(RELEASE_END_STAYS, "the status reports the end of a release for ever")                       \
    X(HAND_SCALED_UNSHOWN, "the status takes a StatefulSet scaled by hand for settled")            \
    X(LOSS_UNSHOWN, "the status does not report lost members")                                     \
    X(LOST_IS_WELL, "the status calls a DVM with a lost member healthy")                           \
    X(LOSS_TWICE, "a loss whose cause is known later is listed twice")                             \
    X(ENDED_GOES_ON, "a head goes on with older records of an incarnation that ends")              \
    X(ANY_CERTIFICATE, "a head's certificate joins as a member, a member's is that of a head")     \
    X(KEY_UNASKED, "a caller is the member that it says it is")                                    \
    X(ADOPT_NONE, "a head without records ends the jobs that members report")                      \
    X(ADOPT_UNREPORTED, "a job without records goes on that one of its daemons lacks")             \
    X(ADOPT_UNASKED, "a job without records goes on, for which no client waits")                   \
    X(ADOPT_AGAIN, "a submission is accepted whose job has been reported, and ends")               \
    X(EPOCHS_ANEW, "a head without records begins with the first epochs again")                    \
    X(ASKER_ANYWHERE, "a member asks for another size in the name of a job elsewhere")             \
    X(CONTROL_ANY, "a rank controls jobs of other families")                                       \
    X(KILL_UNOWNED, "a release ends jobs on members that its owner has not brought")               \
    X(REFUSAL_UNSHOWN, "the status hides that the API server refuses pods")

#define MUTANT_ID(id, text) MUTANT_##id,
enum mutant { MUTANT_NONE, MUTANTS(MUTANT_ID) MUTANT_COUNT };
#undef MUTANT_ID

bool mutant_is(enum mutant m);
#define MUTANT(id) mutant_is(MUTANT_##id)

#endif
