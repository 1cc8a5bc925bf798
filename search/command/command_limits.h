/* command_limits.h -- the constants that decide what the search with a measuring command spends its
   time on. They trade seconds of the search for gains that may be missed. None of them decides what
   is written: RUN_GAIN (run.h) does, after the winner was timed anew (confirm.h).
   test/bench/UNSEEN.md says what the search gains, and how long it takes, on models that it was not
   tuned for. */
#ifndef ISOMER_COMMAND_LIMITS_H
#define ISOMER_COMMAND_LIMITS_H

/* ---- How the time is divided, as shares of the seconds that the search may take
   (run_command_seconds). */
#define TIME_FINDING 0.3    /* for finding where rules apply */
#define TIME_EXTENDING 0.03 /* for extending each rule by all rules that it enables */
#define TIME_PARTS 0.6      /* for timing parts: a share of the time left when that begins */
/* After this time the search ends if little is promised; this is decided again after twice as
   long. */
#define TIME_PATIENCE 0.1
#define TIME_CONFIRMING 0.2 /* for timing the fastest candidates once more, at most */
/* For timing the result on other threads, at most; as much again for its places. */
#define TIME_OTHER_THREADS 0.15
/* ---- Roughly what the target spends on one file of a batch. */
#define CANDIDATE_CALLS 30         /* runs of a whole model */
#define CANDIDATE_LOAD_SECONDS 0.2 /* loading a whole model */
#define PART_CALLS 40              /* runs of a part */
#define PART_LOAD_SECONDS 0.1      /* loading the parts of a batch */
enum { CONFIRM_BATCHES = 6 };      /* batches for which time is reserved to confirm the winner */

/* ---- How carefully a helper measure-NAME measures a batch: rounds, in each of which every file is
   visited once; rounds after which the slower files are dropped; seconds that all rounds may take,
   so that slow models have fewer rounds; milliseconds of a visit. */
/* A batch has up to CANDIDATE_BATCH whole models, of which only the fastest matter. The number of
   rounds is odd, so the median is one of them. */
#define MEASURE_WHOLE "--rounds=11 --few=5 --budget=4"
/* No file is dropped, since all of the few candidates are compared. There are fewer rounds, since
   sessions of one file differ by more than the rounds of one session: time is better spent on
   further batches (confirm.h). */
#define MEASURE_CONFIRMING "--rounds=9 --few=9 --budget=4"
/* A search times hundreds of parts: what is clearly slower is dropped early, and a batch must end
   soon. What gains little is timed twice in any case (TIMED_TWICE). */
#define MEASURE_PART "--rounds=11 --few=3 --visit=5 --budget=0.6"

/* ---- When the search ends: thresholds on what all places promise together, as a share of the
   whole model's time. */
#define PROMISE_HOPELESS 0.015 /* below this, whole models are not timed */
/* The same once most parts are timed; RUN_GAIN asks for 3 %. */
#define PROMISE_HOPELESS_LATER 0.025
/* Below this, only as many whole models are timed as can be timed in SLIGHT_SECONDS, but at least
   SLIGHT_CANDIDATES. */
#define PROMISE_SLIGHT 0.06
#define SLIGHT_SECONDS 5.0
enum { SLIGHT_CANDIDATES = 2 };
/* The whole model is timed in order to see whether it gains what its places promise: with all sets
   together, and with each of this many of the strongest sets alone. CLIMB_FROM is the threshold. */
enum { PROMISED_ALONE = 2 };
/* A candidate up to PROMISED_AGAIN times as slow as the original may only seem slower because of
   noise. Before the search ends it is timed anew, together with a copy of the original. If that
   copy differs from the original by more than PROMISED_NOISE, the measurement says nothing, and the
   search goes on. */
#define PROMISED_AGAIN 1.05
#define PROMISED_NOISE 0.05
/* On a busy machine few batches fit into TIME_PATIENCE: until each kind of part has been sampled
   once, the search does not end before this many batches. */
enum { PATIENCE_BATCHES = 8 };

/* ---- Which parts are timed. */
#define GAIN_SHARE_LEAST 1e-3 /* of the model's time: a place that cannot gain more is skipped */
enum { SAMPLE_SIZE = 5 };     /* parts of each kind in each set that are timed first */
/* If a sample gains less than this share of its time, the rest of its kind is skipped. */
#define SAMPLE_GAIN_LEAST 0.01
/* A part that takes this many times as long as before loses beyond noise. If LOSSES_ENOUGH parts of
   a sample were timed and all of them lose, the rest of their kind is skipped. */
#define PART_LOSES 1.05
enum { LOSSES_ENOUGH = 2 };
/* A set is dropped if this many of its parts, with the heaviest of each kind among them, were timed
   and none of them gains. */
enum { FUTILE_PARTS = 6 };
/* Because of noise, some of the rewritings that only add light operators always seem to gain. If
   ADDING_PARTS such rewritings of a set were timed and together take more than this share of their
   former time, the others are not timed. */
#define ADDING_GAINS 0.97
enum { ADDING_PARTS = 2 };
/* Threshold for a rule: if some place takes less than this share of its former time, sets grown
   from the rule are timed first, since what the rule enables may gain more. */
#define PROMISING_RULE 0.9
/* A rewritten part that takes more than this share of the original part's time is timed twice,
   since the best of many noisy times is too good. A share of PART_TIE (part_time.h) or more is no
   gain. */
#define TIMED_TWICE 0.93

/* ---- Which rules are used together. */
/* A rule that loses more than this share of its parts' time is left out of the set of all rules. */
#define RULE_LOSES 0.01
enum {
    FOLLOWERS = 8,  /* rules by which a set is extended, one at a time */
    GENERATIONS = 4 /* how often sets are extended */
};

/* ---- Which candidates for the whole model are timed. */
enum {
    SETS_ALONE = 8,       /* the strongest sets, each alone */
    SETS_EVERYWHERE = 6,  /* sets used wherever they match */
    CLIMB_ROUNDS = 6,     /* rounds of adding and removing sets */
    CANDIDATE_BATCH = 16, /* whole models in one batch */
    FITTING = 4           /* attempts to make a candidate smaller whose file grows too much */
};
/* A set that loses more than this share of the model's time at all its places together is not used
   everywhere. */
#define SET_LOSES 0.05
/* If the best ratio is above this, a gain of 3 % (RUN_GAIN) is out of reach. */
#define CLIMB_FROM 0.985
/* Thresholds on a candidate's time as a multiple of the fastest one's. */
#define FASTER 0.99   /* below: the candidate counts as faster */
#define AS_FAST 1.003 /* below: a candidate with fewer applications counts as equally fast */
/* Below: the candidate may turn out fastest when both are timed anew. */
#define CANDIDATE_RIVAL 1.02
/* Once the fastest are confirmed: a candidate whose first time is below this multiple of what was
   confirmed is confirmed, too. */
#define CONFIRM_AGAIN 0.96
/* What each further rule at a place must gain, as a share of the part's time: among rewritings that
   noise cannot tell apart, the simplest is preferred. */
#define RULE_COSTS 5e-3
/* A winner whose first ratio misses RUN_GAIN by at most this much is timed anew all the same. */
#define CONFIRM_NOISE 0.015
/* Times on other threads vary more: a result that takes at most this much longer than the original
   does not count as slower there. */
#define THREADS_NOISE 0.03
#endif
