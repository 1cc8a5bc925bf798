/* page.h -- a run as one HTML file that needs nothing else: pictures of what changed, original
   beside result, tables of costs, the rules that fired with their proofs, what the check found. */
#ifndef ISOMER_PAGE_H
#define ISOMER_PAGE_H
#include "search/show/changes.h"

typedef struct Pictures Pictures;
/* NULL: E_ENVIRONMENT, there is no `dot`. */
Pictures *page_draw(const Changes *, Error *);
void page_print(const Changes *, const Pictures *, bool changed, Text *); /* the whole file */
#endif
