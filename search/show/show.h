/* show.h -- makes what --diff, --explain, --dot, --html and --list-rules show. */
#ifndef ISOMER_SHOW_H
#define ISOMER_SHOW_H
#include "search/run.h"

/* What has to be shown; NULL: no option asks for it. */
typedef struct Views {
    struct Changes *changes;
    struct Pictures *pictures;
} Views;

/* The three steps of --html, --dot, --diff and --explain. Before the search, run_can_show checks
   that they can be made (E_ENVIRONMENT). Before the model is written, run_make_views makes the
   texts (result.changes) and the pictures. After that, run_write_views writes the files. All return
   false with the error set on failure. */
bool run_can_show(const IsomerOptions *, Arena *, Error *);
bool run_make_views(Run *, const Derivation *, IsomerResult *, Views *);
bool run_write_views(const Run *, const Views *, bool changed);
/* Sets result.table to the list of --list-rules. */
void run_list_rules(const Library *, Arena *, IsomerResult *);
#endif
