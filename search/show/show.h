/* show.h -- --diff, --explain, --dot, --html, --list-rules. */
#ifndef ISOMER_SHOW_H
#define ISOMER_SHOW_H
#include "search/run.h"

/* NULL: no option asks for them. */
typedef struct Views {
    struct Changes *changes;
    struct Pictures *pictures;
} Views;

/* Output that only an option asks for: checked before the search, made before anything is written.
 */
bool run_can_show(const IsomerOptions *, Arena *, Error *);
bool run_make_views(Run *, const Derivation *, IsomerResult *, Views *);
bool run_write_views(const Run *, const Views *, bool changed);
/* As `table`. */
void run_list_rules(const Library *, Arena *, IsomerResult *);
#endif
