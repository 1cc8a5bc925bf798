/* other_sizes.h -- measures the gain of a result at the other sizes that --dim lists. */
#ifndef ISOMER_OTHER_SIZES_H
#define ISOMER_OTHER_SIZES_H
#include "search/command/model_candidates.h"

/* What a candidate gains over the original at the set of sizes where it gains least; what the
   original gains over the candidate if CommandSearch.original_replaces is set. */
typedef struct SizeGain {
    double ratio;      /* its time / the original's there; <= 0: it failed at one of the sets */
    double baseline;   /* seconds of the original there */
    const char *sizes; /* the name of that set, "seq=128"; NULL: the run has only one */
} SizeGain;
/* Returns what is known of a candidate that was confirmed at the first set of sizes. */
SizeGain first_sizes_gain(const CommandSearch *, const ModelCandidate *);
/* Sets *worst to the least gain of the candidate at any set of sizes: it is timed against the
   original at all of them but the first, at which it was confirmed already. Neither the candidate's
   ratio nor the search's baseline changes, which belong to the first set. Returns false with the
   run's error set on failure. */
bool other_sizes_time(CommandSearch *, const ModelCandidate *, SizeGain *worst);
#endif
