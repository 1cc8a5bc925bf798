/* option_table.h -- the options of optimize-model and of the library, from one table. */
#ifndef ISOMER_OPTION_TABLE_H
#define ISOMER_OPTION_TABLE_H
#include "graphs/feed.h"
#include "ops/base/options.h"
#include "search/isomer.h"

/* The program's command line: the options of the library, lists that are collected for them, and
   options of the program alone. */
typedef struct OptimizeOptions {
    IsomerOptions isomer;
    /* Collected by the parser; optimize_set_lists. */
    StringList shape, dim, enable, disable, domain, explain, input;
    bool version, quiet, list_rules;
    int verbose;
    const char *progress, *help;
} OptimizeOptions;
extern const OptionDef optimize_options[];
/* Called after parsing: puts the lists into `isomer`, which shares their texts. */
void optimize_set_lists(OptimizeOptions *);
IsomerOptions optimize_defaults(void); /* the defaults, as isomer_options gives them */
/* Checks the words and the number of threads that a caller of the library set. E_USAGE: an option
   has a value that it may not have; the error's place is the option's name. */
bool optimize_options_valid(Arena *, const IsomerOptions *, Error *);
/* Checks that the options agree with each other and with the files. `in` and `out` are the model
   and its result. E_USAGE: an option would have no effect beside the others, or a file to be
   written would replace another file that is named. E_ENVIRONMENT: a file cannot be written. */
bool optimize_options_agree(Arena *, const char *in, const char *out, const IsomerOptions *,
                            Error *);
/* Checks, once the model is open, that no file to be written would replace a file of its weights
   (model_external_files), the copy of one beside the result, or a file given as an input. Returns
   false with E_USAGE if one would. */
bool optimize_files_spared(Arena *, const char *in, const char *out, const IsomerOptions *,
                           StringList weights, const FeedOptions *given, Error *);
#endif
