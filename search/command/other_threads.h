/* other_threads.h -- measures, on all cores, a result that was made for one thread, since runtimes
   use all cores unless they are told otherwise. */
#ifndef ISOMER_OTHER_THREADS_H
#define ISOMER_OTHER_THREADS_H
#include "search/command/other_sizes.h"

/* If --also-threads or its default asks for it, times candidate *best on other threads; *gain is
   what it gains on the threads of the search. If it is slower there, its places are timed there,
   too, and another candidate is made without the places that lose more there than they gain on the
   threads of the search.

   *best receives the candidate with the least product of both ratios, whose gain on the threads of
   the search is confirmed, or 0 if no such product is a gain; *gain receives what that candidate
   gains. If no other threads are asked for, or nothing can be measured there, neither changes. Sets
   stats.also_* and, if *best is 0, stats.reason. Returns false with the run's error set on
   failure. */
bool other_threads_choose(CommandSearch *, int *best, SizeGain *gain);
#endif
