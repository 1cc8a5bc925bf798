/* search_command.h -- search by whole models that a command times. */
#ifndef ISOMER_SEARCH_COMMAND_H
#define ISOMER_SEARCH_COMMAND_H
#include "search/run.h"

/* Leaves the best result in the derivation; false: the run's error is set. */
bool search_command(Run *, Derivation *);
/* The seconds that --time-limit or --effort give a search. */
double search_command_seconds(const IsomerOptions *);
/* Another file against the original on the target, in several batches: *before: the original's
   seconds; *ratio: the file's to these, of several sets of sizes the greatest; <= 0: it fails. */
bool search_command_compare(Run *, const Pieces *file, double *before, double *ratio);
/* --also-threads: what original and result take on more threads, into the run's stats. Whether that
   can be measured decides about nothing: false only where the run ends. */
bool search_command_threads(Run *, const Derivation *);
/* --headroom: *text is how far the original is from the machine's roofline on the target, in the
   run's arena. False: the run's error is set, also if the target provides no profile. */
bool search_headroom(Run *, const char **text);
#endif
