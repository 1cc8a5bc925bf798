/* search_command.h -- the search with a measuring command, which times files of whole models. */
#ifndef ISOMER_SEARCH_COMMAND_H
#define ISOMER_SEARCH_COMMAND_H
#include "ops/base/file.h"
#include "search/run.h"

/* All functions return false with the run's error set on failure. */

/* Leaves the best result in the derivation. */
bool search_command(Run *, Derivation *);
/* Times another file against the original on the target, in several batches, and decides whether to
   keep it. If it gains 3 %, at the set of sizes where it gains least, it is kept, and the run's
   stats receive the gain; otherwise *file becomes empty, and *note says why. */
bool search_command_keep(Run *, Pieces *file, const char **note);
/* For a source in which functions or Ifs were inlined: *gains receives whether that alone gains 3 %
   over the user's file, at the set of sizes where it gains least. If so, the run's stats receive
   both times. */
bool search_command_inlining(Run *, bool *gains);
/* For --headroom: *text receives, in the run's arena, how far the original is from the machine's
   roofline on the target. E_USAGE or E_ENVIRONMENT: the target provides no profile. */
bool search_headroom(Run *, const char **text);
#endif
