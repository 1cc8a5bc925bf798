/* option_table.h -- the options of optimize-model and of the library: one table for both. */
#ifndef ISOMER_OPTION_TABLE_H
#define ISOMER_OPTION_TABLE_H
#include "ops/base/options.h"
#include "search/isomer.h"

enum { OPTIMIZE_OPTIONS = 64 }; /* room for the table */
/* What the program is told: the options of the library, lists of text for them, its own. */
typedef struct OptimizeOptions {
    IsomerOptions isomer;                                           /* as isomer.h has them */
    StringList shape, dim, enable, disable, domain, explain, input; /* as given */
    bool version, quiet, list_rules;
    int verbose;
    const char *progress, *help;
} OptimizeOptions;
void optimize_options(OptimizeOptions *, OptionDef table[OPTIMIZE_OPTIONS]);
/* After parsing: `isomer` receives the lists and shares their texts. */
void optimize_set_lists(OptimizeOptions *);
IsomerOptions optimize_defaults(void);
/* E_USAGE names the option that has another word or another number than it may have. */
bool optimize_options_valid(Arena *, const IsomerOptions *, Error *);
#endif
