/* other_threads.h -- what a result that was made for one thread does on all cores, where runtimes
   run unless they are told otherwise. */
#ifndef ISOMER_OTHER_THREADS_H
#define ISOMER_OTHER_THREADS_H
#include "search/model_candidates.h"

/* Where --also-threads or its default asks for it, the candidate is timed on those threads. If it
   is slower there, so are its places, and a candidate without those that lose more there than they
   gain on the threads of the search is made. *better: the candidate with the least product of both
   ratios, its gain on the threads of the search confirmed; 0: none whose product is a gain. Without
   such an option, and where it cannot be measured, *better is the candidate itself. Sets
   stats.also_*, and where *better is 0 stats.reason. False: the run's error is set. */
bool other_threads_choose(CommandSearch *, int candidate, int *better);
#endif
