/* helper.h -- other programs that a run starts, above all the Python programs of scripts/ that run
   another runtime: where they are, and the words of their command lines. */
#ifndef ISOMER_HELPER_H
#define ISOMER_HELPER_H
#include "search/run.h"

typedef struct CommandLine { /* start with {.arena = ..}; v ends with NULL */
    Arena *arena;
    int n, room;
    char **v;
} CommandLine;

void words_add(CommandLine *, const char *);
/* Adds --input-shape for each input, with the sizes that the check uses; an input whose sizes are
   unknown is left out. */
void words_add_shapes(CommandLine *, const RunInputs *);
/* Adds --input for each sample of each input that holds integers or was given; the data is written
   to files in the folder. */
bool words_add_inputs(CommandLine *, const RunInputs *, const char *folder, int samples, Error *);
/* " with inputs DIGEST" of their first sample; "": there are none, or the error is set. */
const char *inputs_digest(const RunInputs *, Error *);
char *words_command(const CommandLine *); /* as a line for the shell */
/* The path of a helper: next to the library of rules, in the source tree or installed; NULL: it is
   not there, or the name has other characters than letters, digits, - and _. */
char *helper_find(Arena *, const char *name);
/* The path of another of these programs: next to this one, or installed with the library. NULL: it
   is not there. */
char *program_find(Arena *, const char *name);
#endif
