/* wholes.h -- the search on a target that times files: what its parts share, and its candidates,
   each a way to rewrite the whole model. */
#ifndef ISOMER_WHOLES_H
#define ISOMER_WHOLES_H
#include "search/folder.h"
#include "search/price.h"
#include "search/profile.h"
#include "search/target.h"

#define HOPELESS 0.015       /* what all places promise, of the whole: the whole is not tried */
#define HOPELESS_LATER 0.025 /* the same after most of it was timed: less than what counts */
#define CALLS 30             /* of a whole model, for a candidate in a batch */

typedef struct ModelCandidate {
    const uint8_t *everywhere; /* the uses by rule; NULL: by place: */
    const uint8_t **at;        /* by node of the file */
    const bool *sets;          /* whose places they are; NULL: not by place */
    int nplace, *place;        /* they, best first */
    int applied;
    const bool *fired; /* by rule of the library */
    char digest[33];
    char *path;   /* of the file; NULL: not kept */
    double ratio; /* to the original; < 0: not known, or failed */
} ModelCandidate;

typedef struct Process {
    const char *command;
    Target *target; /* NULL: not started */
    Cleanup cleanup;
} Process;

typedef struct CommandSearch {
    Run *r;
    Process whole, part;
    const char *device; /* the target's name in the cost file */
    bool reads_inputs;  /* it is told files of them, in the folder */
    RunFolder *folder;
    double limit; /* run_seconds: the search ends then */
    Origins origins;
    Places places;
    Profile profile; /* of the original */
    Pricing prices;
    int nranked, *ranked; /* places that gain, best first */
    double promised;      /* seconds that they gain together */
    int n, room;
    ModelCandidate *v; /* v[0] is the original */
    double base;       /* seconds of the original, as first measured */
} CommandSearch;

/* The candidate applied to the model, in the arena. False: the run's error is set, here and below.
 */
bool wholes_apply(CommandSearch *, const ModelCandidate *, Arena *, Derivation *);
/* Makes a candidate and writes its file; everything made on the way is freed. *index: where it is,
   an earlier one with the same bytes, -1: not usable. */
bool wholes_make(CommandSearch *, ModelCandidate, int *index);
/* Writes the original as candidate 0. */
bool wholes_write(CommandSearch *);
/* Times it alone: whether it runs at all, and what gains are compared with. */
bool wholes_start(CommandSearch *);
/* Times candidates `list` beside the original; again: also those whose time is known. */
bool wholes_measure(CommandSearch *, int n, const int list[], bool again);
bool wholes_time_part(void *search, int n, const char *const path[],
                      double seconds[]); /* PartTimer */
#endif
