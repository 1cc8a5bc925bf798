/* command_limits.h -- the numbers by which the search on a measuring command decides what is worth
   its time. They trade seconds of the search for gains that may be missed. None of them decides
   what is written: that is RUN_GAIN (run.h), after the winner was timed anew (confirm.h). What the
   search gains and takes on models that it was not made for is in test/bench/UNSEEN.md. */
#ifndef ISOMER_COMMAND_LIMITS_H
#define ISOMER_COMMAND_LIMITS_H

/* ---- How its time is divided: shares of the seconds that it may take (run_command_seconds). */
#define TIME_FINDING 0.3        /* to find where rules apply */
#define TIME_EXTENDING 0.03     /* to extend each rule by all that it enables */
#define TIME_PARTS 0.6          /* to time parts; of what is left when that begins */
#define TIME_PATIENCE 0.1       /* then it ends if little is promised, and again after twice that */
#define TIME_CONFIRMING 0.2     /* to time the winners once more, at most */
#define TIME_OTHER_THREADS 0.15 /* to time the result on other threads; likewise its places */
/* What the target takes, about. */
#define CANDIDATE_CALLS 30         /* runs of a whole model, to time it in a batch */
#define CANDIDATE_LOAD_SECONDS 0.2 /* to load it */
#define PART_CALLS 40              /* runs of a part, likewise */
#define PART_LOAD_SECONDS 0.1      /* to load the parts of a batch */
enum { CONFIRM_BATCHES = 6 };      /* that time is set aside for, to confirm the winner */

/* ---- When it ends: what all places promise together, as a share of the whole model's time. */
#define PROMISE_HOPELESS 0.015       /* less: whole models are not tried */
#define PROMISE_HOPELESS_LATER 0.025 /* the same once most is timed; RUN_GAIN asks for 3 % */
#define PROMISE_SLIGHT 0.06          /* less: few whole models are tried .. */
#define SLIGHT_SECONDS 5.0           /* .. as many as take this long .. */
enum { SLIGHT_CANDIDATES = 2 };      /* .. or these */
/* When the whole model is asked whether it keeps what is promised; CLIMB_FROM decides. */
enum { ASKED_ALONE = 2 }; /* sets, each by itself; all together besides */
/* A ratio below ASKED_AGAIN may be noise: before the search ends it is timed anew, with a copy of
   the original; where that differs from the original by more than ASKED_NOISE, the search goes
   on. */
#define ASKED_AGAIN 1.05
#define ASKED_NOISE 0.05
/* On a busy machine few batches fit into TIME_PATIENCE: so many are timed before it counts. */
enum { PATIENCE_BATCHES = 8 };

/* ---- Which parts are timed. */
#define GAIN_SHARE_LEAST 1e-3 /* of the whole: a place that cannot gain more is skipped */
enum { SAMPLE_SIZE = 5 };     /* of each kind of part in each set */
/* Of a sample. */
#define SAMPLE_GAIN_LEAST 0.01 /* of its time: if it gains less, the rest is skipped */
#define PART_LOSES 1.05        /* times as long: a part loses beyond noise .. */
enum { LOSSES_ENOUGH = 2 };    /* .. and if so many do, and none does not, the kind is left */
/* Of a set. */
enum { FUTILE_PARTS = 6 }; /* the heaviest of each kind among them: if none gains, it is left */
/* Of its rewritings that only add light operators, by noise some always gain. */
#define ADDING_GAINS 0.97  /* of their time: more is no gain .. */
enum { ADDING_PARTS = 2 }; /* .. if so many were timed */
/* Of a rule: a place that gains this much by it may gain more by what it enables. */
#define PROMISING_RULE 0.9
/* Of a small gain: above this share of the original's time a part is timed twice, since the best of
   many noisy times deceives. PART_TIE (part_time.h) and more is none. */
#define TIMED_TWICE 0.93

/* ---- Which rules are used together. */
#define RULE_LOSES 0.01 /* of the time of its parts: a rule is left out of "all rules" */
enum {
    FOLLOWERS = 8,  /* rules that extend a set, each by itself */
    GENERATIONS = 4 /* how often sets are extended */
};

/* ---- Which candidates for the whole model are timed. */
enum {
    SETS_ALONE = 8,       /* the strongest, each by itself */
    SETS_EVERYWHERE = 6,  /* used wherever they match */
    CLIMB_ROUNDS = 6,     /* in which sets are added and removed */
    CANDIDATE_BATCH = 16, /* whole models timed at once */
    FITTING = 4           /* how often one that grows too much is made smaller */
};
#define SET_LOSES 0.05   /* of the whole, used at all its places: it is not used everywhere */
#define CLIMB_FROM 0.985 /* a best ratio above this is too far from a gain that counts */
/* Shares of the fastest's time. */
#define FASTER 0.99          /* a candidate counts as faster */
#define AS_FAST 1.003        /* one with fewer rules counts as being as fast */
#define CANDIDATE_RIVAL 1.02 /* it may be the fastest once both are timed anew */
/* What each further rule at a place must gain, as a share of the part's time: of rewritings that
   noise cannot tell apart the simplest is taken. */
#define RULE_COSTS 5e-3
/* A winner may miss RUN_GAIN by this much when it is first timed, and is timed anew. */
#define CONFIRM_NOISE 0.015
/* On other threads times vary more: this much more time than the original's is no loss. */
#define THREADS_NOISE 0.03
#endif
