/* option_table.h -- the options of optimize-model and of the library: one table for both. */
#ifndef ISOMER_OPTION_TABLE_H
#define ISOMER_OPTION_TABLE_H
#include "ops/base/options.h"
#include "search/isomer.h"

/* The program's command line: options of the library, lists for them, and options of its own. */
typedef struct OptimizeOptions {
    IsomerOptions isomer;
    StringList shape, dim, enable, disable, domain, explain, input; /* as given */
    bool version, quiet, list_rules;
    int verbose;
    const char *progress, *help;
} OptimizeOptions;
extern const OptionDef optimize_options[];
/* After parsing: puts the lists into `isomer`, which shares their texts. */
void optimize_set_lists(OptimizeOptions *);
IsomerOptions optimize_defaults(void); /* what isomer_options gives */
/* Checks what a caller of the library set. E_USAGE: an option has a word or a number that it may
   not have; the error's place is its name. */
bool optimize_options_valid(Arena *, const IsomerOptions *, Error *);
/* Whether they go together, and with the files. E_USAGE: one has no effect beside the others, or a
   file that is written would take the place of another one that is given; E_ENVIRONMENT: a file
   cannot be written. in, out: the model and its result. */
bool optimize_options_agree(Arena *, const char *in, const char *out, const IsomerOptions *,
                            Error *);
#endif
