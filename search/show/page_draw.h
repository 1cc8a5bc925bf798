/* page_draw.h -- the pictures of a page: one for all places that look alike, and the whole graphs
   if they are small. */
#ifndef ISOMER_PAGE_DRAW_H
#define ISOMER_PAGE_DRAW_H
#include "search/show/page.h"
#include <string.h>

typedef struct Drawn {
    int place, count; /* the first of the places that look alike; their number */
    char key[33];     /* digest of what these places have in common */
    /* 1 + the index of the original's picture, which the result's follows; 0: not drawn. */
    int first;
} Drawn;
struct Pictures {
    int n; /* number of drawn places */
    Drawn *drawn;
    int *like; /* by place: the index in drawn[] of the place that it looks like */
    int whole; /* like Drawn.first, for the whole graphs */
    const char **svg;
};
#endif
