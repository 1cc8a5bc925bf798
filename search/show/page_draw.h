/* page_draw.h -- the pictures of a page: one for all places that look alike, and the whole graphs
   if they are small. */
#ifndef ISOMER_PAGE_DRAW_H
#define ISOMER_PAGE_DRAW_H
#include "search/show/page.h"
#include <string.h>

typedef struct Drawn {
    int place, count; /* the first of its kind; how many there are */
    char key[33];     /* hash of what is the same in those */
    int first; /* 1 + the number of its first picture, the original's; the result's follows; 0: not
                  drawn */
} Drawn;
struct Pictures {
    int n;
    Drawn *drawn;
    int *like; /* by place: the drawn place that it looks like */
    int whole; /* as Drawn.first, of both graphs */
    const char **svg;
};
#endif
