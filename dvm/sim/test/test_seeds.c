/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeds that once found a mistake in the core, and the same trace for the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/sim/script.h"

#include <stdio.h>
#include <string.h>

static void replay_schedule(const struct script_opts *o)
{
    struct script_result r;

    memset(&r, 0, sizeof(r));
    script_run(o, &r);
    if (*r.name)
        printf("seed %llu: %s: %s\n", (unsigned long long)o->seed, r.name, r.text);
    assert_string_equal(r.name, "");
}

static void replay_seed(uint64_t seed, unsigned generation, uint32_t nodes)
{
    replay_schedule(&(struct script_opts){.seed = seed, .generation = generation, .nodes = nodes});
}

static const struct {
    unsigned generation;
    uint64_t seed;
    uint32_t nodes; /* 0: by the seed */
} seeds[] = {
    {1, 4, 0},        /* two draining shrinks of the same daemon waited for each other */
    {1, 1240, 0},     /* a job that never fits waited forever if no member was there when it came */
    {1, 1605, 0},     /* refused by its parent, a daemon with an old table never asked the head */
    {1, 1142, 0},     /* refused by its parent and linked to the head, a daemon stopped trying */
    {1, 1218, 0},     /* the loss of the only joiner ended its batch; the next one began in the same
                      event */
    {1, 1395, 0},     /* who caught up by a snapshot did not pass on what it had skipped */
    {1, 77600, 0},    /* on its way to a new parent, a daemon gave a child up and was heard when it
                      was back */
    {11, 8001599, 4}, /* the submitter of a held job departed in the input that brought a loss */
    {11, 182495726u, 3}, /* a recoverable job lost a daemon before its start, and not in its text */
    {11, 3425477781u, 3},       /* a leaving daemon could not learn that it had left */
    {11, 69817824408054972, 4}, /* LEFT went again over a second link, and was counted twice;
                                   the GONE of a parent that was removed was refused */
    {12, 53016928817995051, 4}, /* a recoverable job lost its last ranks with their daemon */
    {12, 41316448787426373, 4}, /* it lost the one daemon on which it could not start */
    {13, 79183324018366, 38},   /* a leaving daemon had answered a request itself, and then
                                   passed on the end of its campaign */
    {13, 224918063165294, 0},   /* a job that could not be placed got its place after all */
    {13, 167610898989859, 0},   /* the same at the head, after the parent had come back */
    {13, 224918062165442, 24},  /* a departure came to a parent before the removal */
    {14, 103251, 0},            /* a shrink began after the broadcast that ends the incarnation: its
                                   targets joined the next one */
    {14, 102609, 0},            /* the same, and the shrink was reported as complete */
    {14, 259987126057, 0},      /* a full stream refused the report that a contribution had been
                                   refused: participants saw different outcomes */
    {14, 272343576571268, 0},   /* the checker: a daemon that was shrunk and cut off for longer
                                   than the absence of the head may join anew */
    {15, 10900661923751, 0},    /* a late acknowledgement of a former epoch took the place of that
                                    of the present one: the head waited for it for ever */
    {14, 152982694319367, 0},   /* the simulator resized a DVM whose head had just ended */
    {16, 749, 38},    /* transfers with a new head were counted on from those with the former one */
    {16, 803921, 22}, /* the same, and a drain waited for a job that no daemon had got */
    {16, 44569217558147049, 55}, /* the checker: a report counted that waited at the head for
                                    those before it */
    {16, 235496286124427, 4},    /* the checker: a LEFT over a slow link came after all other
                                    links were closed */
    {16, 235496286125287, 3},    /* the checker: its limit of a stream was less than a burst */
    {16, 139685211337658, 4},    /* the checker: the end of a request was lost with the head, and
                                    its rank ended before the next one could send it */
    {16, 253349363082000, 20},   /* the checker: who was removed heard of the end of the DVM
                                    before it learned why it was in no table */
    {16, 167707965211136, 62},   /* the checker: a collective ended in the input in which its
                                    participant gave its epoch up */
    {16, 70590623286648047, 25}, /* the checker: a job that could not start on one daemon lost
                                    it, and one rank with each of its others */
    {16, 21334255536410872, 17}, /* the checker: a message came in the input in which its
                                    receiver gave its epoch up */
    {16, 52098332664010332, 3},  /* the checker: the last link to a target broke in the input in
                                    which its removal began */
    {16, 27151900431287645, 10}, /* the checker: a target's parent was cut off for long, and
                                    could not report that the target's link was broken */
    {16, 46944371266233407, 4},  /* the checker: more than the limit waited for a daemon */
    {16, 32399888847998282, 12}, /* the checker: it cut the text of a job that was aborted */
    {16, 4998826807249604, 15},  /* the checker: a daemon was removed while it was cut off, and
                                    gave up before it learned of it */
    {16, 30552492270678306, 4},  /* the checker: the end of a resize came after that of the rank
                                    that had asked for it */
    {16, 17034657818744094, 15}, /* a daemon that joined anew forgot how many frames it had
                                    refused */
    {16, 10987665835775694, 3},  /* the checker: the end of a spawned job came to its parent, and
                                    not to its submitter, whose daemon left */
    {17, 30907037435757750, 4},  /* the request of a rank came after the end of its job, and
                                    counted as that of a tool */
    {19, 29701328504580576, 4},  /* the release of an extension was begun and cancelled for ever:
                                    a member above it had been there before */
    {19, 17674097440656127, 4},  /* the checker: a target's link had broken before its removal,
                                    while the head hung */
    {19, 24809184532974981, 4},  /* a daemon's word that it takes files met a full backlog */
    {19, 24809184532977722, 3},  /* a spawned job that was lost with its submitter was cancelled */
    {20, 1709402173964741, 4},   /* a refused target's link broke, and counted as its departure */
    {20, 3021207391501569, 3},   /* a child continued a session of a former head with the next */
    {20, 514, 4}, /* the BYE of a former lifeline counted as the departure of a target */
    {20, 2508199762463116, 4},  /* the checker: a launch had waited for a link, and its target
                                   has a new epoch */
    {20, 31381309337793782, 3}, /* a job was ended "by the user" when its submitter was gone */
    {20, 16884629632428001, 4}, /* the checker: a submitter was gone before it knew the name */
    {20, 51402616427618185, 4}, /* the checker: another daemon had called as this vpid */
    {20, 65848967848139404, 3}, /* the end of a file came after data that could not be sent */
    {20, 46190844702729793, 3}, /* the checker: a removal began while the head was stopped */
    {20, 24769110911872283, 4}, /* the checker: a target's time ended while the head was stopped */
    {21, 45095733383183, 3},  /* of two daemons that were lost together the second one was to start
                                 a job */
    {21, 103390172740216, 4}, /* the release of an extension and a grow waited for each other */
    {21, 147740804748782, 4}, /* a collective that was LOST had timed out for a participant that
                                 was late, since a later one had */
    {21, 17656367971588960, 63}, /* a leaving daemon waited for its link to the head, which
                                    nobody closed */
    {22, 750000594, 0},          /* families waited for each other after the grow failed that they
                                    needed */
};

static void seeds_that_once_failed_pass(void **state)
{
    for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++)
        replay_seed(seeds[i].seed, seeds[i].generation, seeds[i].nodes);
}

static const struct {
    unsigned generation;
    uint64_t seed;
    uint32_t nodes;
} seeds_with_keepers[] = {
    {16, 100699, 17}, /* the checker: a request ends with the process of the head, although
                     the next one has the same epoch */
    {16, 100783, 15}, /* the checker: a keeper was expected to be believed that had answered
                     and then left */
    {16, 100127, 16}, /* the same, its connection had broken */
    {16, 23782368354718012, 4},  /* older records were taken while the best keeper was slow */
    {16, 810942574957u, 64},     /* the checker: the head of an earlier incarnation goes on */
    {16, 810942575223u, 12},     /* the same */
    {16, 235681123738u, 3},      /* an heir gave the name of a job that was lost to another one */
    {16, 46175533342427983, 3},  /* the name of an application's campaign */
    {16, 7912621150236930, 3},   /* a job whose end was lost waited for the files of its client */
    {16, 71795351819236513, 9},  /* a job was launched by two heads with two maps */
    {16, 63301263195657200, 3},  /* a head that had refused records waited by the clock in them */
    {16, 17482702678356378, 19}, /* a head's late answer came after the next one was known */
    {16, 7912621150240740, 3},   /* the checker: a head that asks for records may be set aside */
    {16, 15586243171582723,
     4}, /* the checker: a keeper came into sync late, and did not have all */
    {16, 50256551848353962, 4},  /* the checker: a member is offered again by older records */
    {16, 60341966972004617, 17}, /* the checker: losses are reported again by older records */
    {16, 20865432975319237, 4},  /* the checker: a job was ready for a debugger by older records */
    {16, 36969001510012188, 10}, /* the checker: a member that had left joins a head with older
                                records */
    {16, 46175533342426166, 3},  /* the checker: a launch had waited for keepers */
    {16, 259109227286732, 0},    /* the checker: who was removed had links to its children alone */
    {16, 59259844972436514, 0},  /* records of a member that had hung were taken, although one
                                that had called knew more */
    {16, 59259844972440569, 0},  /* late records of an earlier stream replaced those of a keeper */
    {16, 274118217056128, 0},    /* the checker: a rank had been notified of the end of its
                                request, by a former head whose records are lost */
    {17, 259109227278538, 0}, /* a daemon and a later head had the same number for two broadcasts */
    {18, 102939233645594,
     0}, /* a head whose best records end the incarnation went on with older ones */
    {18, 188085160812767,
     0},         /* a job waited for files that its client had sent for a former head */
    {17, 30, 8}, /* the checker: a member that had left was not in the older records of a volume */
    {19, 8001253, 4}, /* the checker: what an heir had offered with its first input */
    {19, 8005135, 4}, /* the checker: the removal of a decider was in records that are lost */
    {19, 11009199,
     3}, /* a daemon launched a job again that had ended there, and waited for its start */
    {20, 12557199675205613, 0}, /* the call of the only keeper was given up and left open */
    {20, 41481639796883512, 0}, /* the best keeper was given up before the head had decided */
    {20, 773497, 0},            /* the checker: a member obeys a former head long after */
    {20, 28495117345038212, 3}, /* a rollback waited for a target that another campaign had */
    {20, 30072615692667867, 3}, /* the checker: the requester's job was in lost records */
    {20, 55863556054054923, 4}, /* a head started while the one before it still ran */
    {20, 18978566448668984, 3}, /* the checker: a daemon left, by SIGTERM, while no head was */
    {20, 40277211456086844, 3}, /* an heir took the time from a wall clock that had been set */
    {20, 15580957177697916, 0}, /* a parent passed on what a former head had broadcast */
    {20, 16505, 3}, /* the checker: an heir did not know what a submitter's daemon had seen */
    {20, 2504, 4},  /* the same, while there was no head */
    {20, 51247364143576500, 6}, /* the checker: members still followed the head of a former
                                   incarnation */
    {21, 81889630236030, 13},   /* the checker: members were ahead of all records, by a head that
                                   ran on */
    {21, 255771554148238, 9},   /* the only keeper in sync was no child of the head, and did not
                                   call the next one */
    {21, 164255560450732, 0},   /* the checker: a job was accepted by a head that had been
                                   replaced */
    {21, 720006920, 0},         /* a job might pass another one from the moment on when the limit of
                                   a third one passed, and was not tried */
    {22, 6303649046308357, 27}, /* the checker: members that still followed a former head began a
                                   collective of the heir's, by a table of the same version */
    {22, 6303649046775713, 34}, /* the checker: it did not know of an epoch that a former head had
                                   given beside its heir */
    {22, 56792074269288115, 33}, /* the checker: the report of a loss had waited for a former head,
                                    and came to its heir, which refuses it */
    {22, 15758350589402, 4},     /* ranks that a former head had launched stopped, and the heir had
                                    continued their job before its own launch */
    {22, 6450794617805, 18},     /* the checker: a former head declared a member lost that did not
                                    know the heir, which had removed it */
    {22, 30474348774195, 31},  /* the simulator: a second cut let frames pass those that a partition
                                  had held back on their connection */
    {22, 241766972942239, 39}, /* a head took the records of one that had run on beside its heir,
                                  and members had the same numbers from that heir */
};

static void seeds_with_keepers_that_once_failed_pass(void **state)
{
    for (size_t i = 0; i < sizeof(seeds_with_keepers) / sizeof(*seeds_with_keepers); i++)
        replay_schedule(&(struct script_opts){.seed = seeds_with_keepers[i].seed,
                                              .generation = seeds_with_keepers[i].generation,
                                              .nodes = seeds_with_keepers[i].nodes,
                                              .keepers = true});
}

static void the_same_seed_gives_the_same_run(void **state)
{
    struct script_opts o = {.seed = 77};
    struct script_result a, b;

    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    script_run(&o, &a);
    script_run(&o, &b);
    assert_memory_equal(&a, &b, sizeof(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_that_once_failed_pass),
        cmocka_unit_test(seeds_with_keepers_that_once_failed_pass),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
