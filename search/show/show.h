/* show.h -- --diff, --explain, --dot, --html, --list-rules. */
#ifndef ISOMER_SHOW_H
#define ISOMER_SHOW_H
#include "search/run.h"

/* NULL: no option asks for them. */
typedef struct Views {
    struct Changes *changes;
    struct Pictures *pictures;
} Views;

/* --html, --dot, --diff and --explain: before the search, whether they can be made (E_ENVIRONMENT);
   before the model is written, the texts (result.changes) and the pictures; after it, the files.
   False: the run's error is set. */
bool run_can_show(const IsomerOptions *, Arena *, Error *);
bool run_make_views(Run *, const Derivation *, IsomerResult *, Views *);
bool run_write_views(const Run *, const Views *, bool changed);
/* --list-rules, as result.table. */
void run_list_rules(const Library *, Arena *, IsomerResult *);
#endif
