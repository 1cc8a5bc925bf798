/* search_command.h -- search by whole models that a command times. */
#ifndef ISOMER_SEARCH_COMMAND_H
#define ISOMER_SEARCH_COMMAND_H
#include "search/run.h"

/* False, here and below: the run's error is set. */

/* Leaves the best result in the derivation. */
bool search_command(Run *, Derivation *);
/* Times another file against the original on the target, in several batches. *before: the
   original's seconds; *ratio: the file's seconds / the original's, the greatest over the sets of
   sizes; <= 0: the file does not run. */
bool search_command_compare(Run *, const Pieces *file, double *before, double *ratio);
/* The same, and decides by it: a file that gains 3 % is kept, and the run's stats know by how much;
   else *file loses its bytes, and *note says why. */
bool search_command_keep(Run *, Pieces *file, const char **note);
/* Of a source in which functions or Ifs were inlined: *gains: that alone gains 3 % over the user's
   file, and the run's stats have both times. */
bool search_command_inlining(Run *, bool *gains);
/* --headroom: *text is how far the original is from the machine's roofline on the target, in the
   run's arena. E_USAGE or E_ENVIRONMENT: the target provides no profile. */
bool search_headroom(Run *, const char **text);
#endif
