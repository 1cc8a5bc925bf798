/* price.h -- what a place gains on the target. A place and a border of nodes around it become a
   small model, its *part*, at the sizes of the run (model_part). The target times the part in one
   batch with the same part rewritten. Parts that compute the same, written as the same ONNX nodes,
   are timed once; times are kept in the cost file by digest. */
#ifndef ISOMER_PRICE_H
#define ISOMER_PRICE_H
#include "search/target_profile.h"

typedef struct PartPrice {      /* a part, as it was and rewritten, and what it takes */
    char before[33], after[33]; /* of the graphs, over placeholders */
    char file[33];              /* of the file of the part as it was */
    char kind[33];              /* of the operators in it, whatever their sizes and number */
    int place;                  /* the first place whose part it is */
    int count;                  /* how many places of that place's set have it */
    double estimate;            /* seconds of the part as it was, by the model of the machine */
    double gain_most;           /* seconds that its nodes take in the whole model: a place cannot
                                   gain more */
    double after_least;         /* seconds that the rewritten place takes at least; 0: not known */
    double seconds[2];          /* on the target, as it was and rewritten; < 0: not known */
    bool expected; /* seconds[] were not timed, but follow from parts of the same kind */
    bool adds;     /* the rewriting keeps all operators and adds light ones */
    bool failed;   /* it does not run by itself */
    bool asked;    /* it was looked up or timed, or no time was left for it */
} PartPrice;
/* Times n files in one batch, the first being the original: in seconds; < 0: it does not run.
   False: the error is set. */
typedef bool PartTimer(void *user, int n, const char *const path[], double seconds[]);
/* gain: by place, the seconds that it is expected to gain. Times the whole model with them: whether
   it gains enough to go on. False: the error is set. */
typedef bool WholeTimer(void *user, const double gain[], bool *gains);
typedef struct Pricing {
    Run *r;
    const Places *places;
    const Profile *profile;      /* of the original */
    const char *folder, *device; /* device: the target's name in the cost file */
    PartTimer *timer;
    WholeTimer *whole;
    void *user;
    Stop late; /* nothing more is timed; how much was done here and below: parts asked for */
    /* When the whole model is asked; when the search ends because too little is promised, or in
       vain. Until when: patience is over. */
    Stop asking, giving_up;
    /* Seconds, over all places with the same part: a part that takes less by the model of the
       machine is not timed, nor one that can gain less. */
    double estimate_least, gain_least;
    int batches, asked; /* so far: what was timed, and the parts that were asked for */
    /* If all that was timed when patience is over promises fewer seconds than `hopeful`, the search
       ends; hopeful_later: the same where that is asked again later. */
    double hopeful, hopeful_later;
    bool sampled; /* each kind of part was timed once */
    bool ended;   /* the places promise too little, or in vain: nothing more is timed */
    bool whole_asked, whole_gains; /* by then the whole model was timed with them, and gained */
    int nplace, nset;              /* places and sets that are priced already */
    int nfile;                     /* files written so far, from which their names come */
    int npart, part_room;
    PartPrice *part; /* the different parts of all places */
    int part_of_room, why_room, sort_key_room;
    int *part_of;     /* by place: its number in part[]; -1: it has none (price_at) */
    const char **why; /* by place without a part: why it cannot be one; NULL: nothing changes */
    double *sort_key; /* scratch, as long as there are places: the keys of a sorted list of parts */
} Pricing;
/* Prices the places and sets that were added since the last call. False: the run's error is set. */
bool price_places(Pricing *);
/* Keeps for frozen runs where it ended. False: the run's error is set. */
bool price_end(const Pricing *);
/* The part of a place; NULL: it cannot be a model of its own, or its rewriting changes nothing. It
   is valid until price_places is called again. */
PartPrice *price_at(const Pricing *, int place);
/* Where after_least alone rules out a gain, the rewriting counts as taking that long and is not
   timed. */
void price_bound(PartPrice *);
bool price_sure(const PartPrice *); /* it was timed, or is expected, to gain more than noise */
/* Seconds that the place gains, at most what its nodes take in the whole; < 0: not known. */
double price_gain(const Pricing *, int place);
#endif
