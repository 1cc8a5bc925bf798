/* helper.h -- finds other programs that a run starts, above all the Python programs in scripts/
   that run another runtime, and builds their command lines. */
#ifndef ISOMER_HELPER_H
#define ISOMER_HELPER_H
#include "search/child.h"
#include "search/run.h"

typedef struct CommandLine { /* initialize with {.arena = ..}; v ends with NULL */
    Arena *arena;
    int n, room;
    char **v;
} CommandLine;

void words_add(CommandLine *, const char *);
/* Adds --input-shape for each input, with the sizes that the check uses. An input whose sizes are
   unknown is left out. */
void words_add_shapes(CommandLine *, const RunInputs *);
/* Adds --input for each sample of each input that holds integers or was given by the user; the data
   is written to files in the folder. The other inputs are drawn by the helper. Returns false with
   the error set on failure. */
bool words_add_inputs(CommandLine *, const RunInputs *, const char *folder, int samples, Error *);
/* Returns " with inputs DIGEST", the digest of the first sample of these inputs; "" if there are
   none or the error is set. */
const char *inputs_digest(const RunInputs *, Error *);
char *words_command(const CommandLine *); /* quoted, as a line for the shell */
/* Returns the path of a helper in scripts/, next to the library of rules, in the source tree or
   installed. NULL: it is not there, or the name has characters other than letters, digits, - and
   _. */
char *helper_find(Arena *, const char *name);
/* Returns the path of the helper measure-NAME of a target NAME; NULL: --measure-with is a command
   of the user's own. */
char *helper_of_target(Arena *, const char *name);
/* Runs a helper as child_run does. It is killed if the run is cancelled. */
int helper_run(Run *, char *const argv[], ChildSaid *);
/* Returns the path of another of Isomer's programs, next to this one or installed with the library.
   NULL: it is not there. */
char *program_find(Arena *, const char *name);
#endif
