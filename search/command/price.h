/* price.h -- determines what a place gains on the target. A place and a border of nodes around it
   become a small model, the place's *part*, at the sizes of the run (model_part). The target times
   the part in one batch with the same part rewritten. Parts that compute the same and are written
   as the same ONNX nodes are timed once; their times are kept in the cost file, by digest. */
#ifndef ISOMER_PRICE_H
#define ISOMER_PRICE_H
#include "search/command/target_profile.h"

typedef struct PartPrice { /* a part, its rewriting, and their times */
    /* Digests of both graphs, with placeholders for inputs and constants. */
    char before[33], after[33];
    char file[33];   /* digest of the file of the part as it was */
    char kind[33];   /* digest of the operators in it, regardless of their sizes and number */
    int place;       /* the first place that has this part */
    int count;       /* number of places that have it in that place's set */
    double estimate; /* estimated seconds of the part as it was (cost_model) */
    /* Seconds that the place's nodes take in the profile of the whole model: the place cannot gain
       more. */
    double gain_most;
    double after_least; /* lower bound on the seconds of the rewritten place; 0: not known */
    double seconds[2];  /* seconds on the target, as it was and rewritten; < 0: not known */
    bool expected;      /* seconds[] were not timed, but derived from parts of the same kind */
    bool adds;          /* the rewriting keeps all operators and adds light ones */
    bool failed;        /* the target cannot run it by itself */
    bool settled;       /* it was looked up or timed, or no time was left for that */
} PartPrice;
/* Times n files in one batch; the first one is the part as it was. seconds[] receives the seconds
   of one run, < 0 if the file does not run. Returns false with the run's error set on failure. */
typedef bool PartTimer(void *user, int n, const char *const path[], double seconds[]);
/* Times the whole model with the places that gain, where gain[] holds the expected seconds by
   place. *gains receives whether the model gains enough for the search to go on. Returns false with
   the run's error set on failure. */
typedef bool WholeTimer(void *user, const double gain[], bool *gains);
typedef struct Pricing {
    Run *r;
    const Places *places;
    const Profile *profile;      /* the target's profile of the original */
    const char *folder, *device; /* device: the target's name in the cost file */
    PartTimer *timer;
    WholeTimer *whole;
    void *user;
    /* Where timing parts ended for lack of time. The work of all three Stops is counted in parts
       asked for. */
    Stop parts_end;
    /* whole_stop: when the whole model is timed. giving_up: when the search ends because the places
       promise too little or the whole model keeps too little of it; its `until` is when patience is
       over next. */
    Stop whole_stop, giving_up;
    /* A part is not timed if the estimates of all its places are below estimate_least seconds
       together, or if all its places cannot gain gain_least seconds together. */
    double estimate_least, gain_least;
    int batches, nrequested; /* batches timed so far; parts asked for so far */
    /* If the places promise fewer seconds than promise_least when patience is over, the search
       ends; promise_least_later replaces it the next time. */
    double promise_least, promise_least_later;
    bool sampled; /* one part of each kind was timed */
    bool ended;   /* the search ended (giving_up): nothing more is timed */
    /* The whole model was timed with its places; and gained enough. */
    bool whole_timed, whole_gains;
    int nplace, nset; /* places and sets that are already priced */
    int nfile;        /* files written so far, from which the next name follows */
    int npart, part_room;
    PartPrice *part; /* the different parts of all places */
    int part_of_room, why_room, sort_key_room;
    int *part_of; /* by place: the index of its part; -1: it has none (price_at) */
    /* By place without a part: why it has none; NULL: its rewriting changes nothing. */
    const char **why;
    double *sort_key; /* scratch, one entry for each place: the keys of a sorted list of parts */
} Pricing;
/* Prices the places and sets that were added since the last call. Returns false with the run's
   error set on failure. */
bool price_places(Pricing *);
/* Stores, for frozen runs, where pricing ended. Returns false with the run's error set on
   failure. */
bool price_end(const Pricing *);
/* Returns the part of a place; NULL: the place cannot be a model of its own, or its rewriting
   changes nothing. Valid until price_places is called again. */
PartPrice *price_at(const Pricing *, int place);
/* If after_least alone rules out a gain, the rewritten part is taken to need that long and is not
   timed. */
void price_bound(PartPrice *);
/* Returns whether the part's time, measured or expected, shows a gain beyond noise. */
bool price_sure(const PartPrice *);
/* Returns the seconds that the place gains, at most what its nodes take in the whole model; < 0:
   not known. */
double price_gain(const Pricing *, int place);
#endif
