/* page.h -- shows a run as one self-contained HTML file: pictures of what changed, original and
   result side by side, tables of costs, the rules that were applied with their proofs, and the
   result of the check. */
#ifndef ISOMER_PAGE_H
#define ISOMER_PAGE_H
#include "search/show/changes.h"

typedef struct Pictures Pictures;
/* Draws the pictures of the page. NULL with E_ENVIRONMENT: there is no `dot`. */
Pictures *page_draw(const Changes *, Error *);
/* Prints the whole file. */
void page_print(const Changes *, const Pictures *, bool changed, Text *);
#endif
