/* price.h -- what a place gains on the target. The nodes of a place and a border around them become
   a small model at the sizes of the run (model_part); the target times it in one batch with the
   same model with the place rewritten. Parts that compute the same, spelled the same, are timed
   once; times are kept in the cost file by digest. */
#ifndef ISOMER_PRICE_H
#define ISOMER_PRICE_H
#include "search/target_profile.h"

typedef struct PartPrice {      /* of a part, as it was and rewritten */
    char before[33], after[33]; /* of the graphs, over placeholders */
    char file[33];              /* of the file of the part as it was */
    char kind[33];              /* of the operators in it, whatever their sizes and number */
    int place;                  /* the first that it was met at */
    int count;                  /* places alike, each of its set */
    double estimate;            /* seconds of the part as it was, by the model of the machine */
    double gain_most;           /* seconds: the most that a place may gain, which its nodes take */
    double after_least; /* seconds: what a place takes at least, rewritten; 0: that is not known */
    double seconds[2];  /* on the target; < 0: not known */
    bool expected;      /* they were not measured, but follow from others of a set */
    bool adds;          /* the rewriting keeps all operators and adds light ones */
    bool failed;        /* it does not run by itself */
    bool asked;         /* it was looked up or timed, or no time was left for it */
} PartPrice;
/* Times n files in one batch, the first being the original: in seconds; < 0: it does not run.
   False: the error is set. */
typedef bool PartTimer(void *user, int n, const char *const path[], double seconds[]);
typedef struct Pricing {
    Run *r;
    const Places *places;
    const Profile *profile;      /* of the original */
    const char *folder, *device; /* device: the target's name in the cost file */
    PartTimer *timer;
    void *user;
    double until; /* run_seconds: afterwards nothing more is timed */
    /* Seconds, over all places alike: a part that takes less by the model of the machine is not
       timed, nor one that can gain less. */
    double estimate_least, gain_least;
    int batches; /* timed so far */
    /* run_seconds: if all that was timed by then promises fewer seconds than `hopeful`, the search
       ends; hopeful_later: the same where that is asked again later. */
    double patience, hopeful, hopeful_later;
    bool sampled, ended; /* each kind of part was timed once; nothing more is timed */
    int nplace, nset;    /* so many of the places and sets are done */
    int nfile;           /* so many files were written: no name comes twice */
    int n, room, of_room, why_room, key_room;
    PartPrice *v;
    int *of; /* by place: which of v; -1: it cannot be a model of its own, or nothing changes */
    const char **why; /* by place: the reason; NULL: nothing changes */
    double *key;      /* room for what lists of prices are sorted by */
} Pricing;
/* Prices the places and sets that were added since the last call. False: the run's error is set. */
bool price_places(Pricing *);
/* Where a rewriting takes too long for a gain by after_least, it counts as taking that long, and is
   not timed. */
void price_bound(PartPrice *);
bool price_sure(const PartPrice *); /* it gains more than noise */
/* Seconds that the place gains, at most what its nodes take in the whole; < 0: not known. */
double price_gain(const Pricing *, int place);
#endif
