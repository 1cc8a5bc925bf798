/* other_sizes.h -- the gain of a result at the other sizes that --dim lists. */
#ifndef ISOMER_OTHER_SIZES_H
#define ISOMER_OTHER_SIZES_H
#include "search/model_candidates.h"

/* Times the candidate against the original at all sets of sizes but the first, where it was
   confirmed already. The worst ratio becomes the candidate's; the search's baseline and stats.sizes
   are then those of that set. False: the run's error is set. */
bool other_sizes_time(CommandSearch *, ModelCandidate *);
#endif
