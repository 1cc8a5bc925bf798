/* other_sizes.h -- measures the gain of a result at the other sizes that --dim lists. */
#ifndef ISOMER_OTHER_SIZES_H
#define ISOMER_OTHER_SIZES_H
#include "search/model_candidates.h"

/* Times the candidate against the original at all sets of sizes but the first, at which it was
   confirmed already. The worst ratio becomes the candidate's, and the search's baseline and
   stats.sizes become those of that set. Returns false with the run's error set on failure. */
bool other_sizes_time(CommandSearch *, ModelCandidate *);
#endif
