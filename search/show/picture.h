/* picture.h -- graphs of a run in Graphviz's language, and as SVG made by Graphviz's program `dot`.
   Nodes that are gone are red, new ones green, changed ones yellow. */
#ifndef ISOMER_PICTURE_H
#define ISOMER_PICTURE_H
#include "search/show/changes.h"

/* Of graphs with more than PICTURE_WHOLE nodes, only changes and the nodes up to PICTURE_AROUND
   edges away from them are drawn. */
enum { PICTURE_WHOLE = 400, PICTURE_AROUND = 2 };
/* Adds one digraph with the nodes of a side for which shown[k] is true (NULL: all), their inputs
   and their readers. The nodes of this place (-1: all) are highlighted. */
void picture_side(const Changes *, int side, int place, const bool *shown, Text *);
/* Prints the text of --dot: original and result as two clusters of one graph. */
void picture_both(const Changes *, Text *);
/* Sets shown[k] for the changed nodes of a place (-1: of all places) and for those up to `steps`
   edges away. */
void picture_near(const Changes *, int side, int place, int steps, bool *shown);
bool picture_program(Arena *, Error *); /* false with E_ENVIRONMENT: there is no `dot` */
/* Runs `dot` on the n digraphs of a text. svg[k] receives the k-th one as an <svg> element. Returns
   false with E_ENVIRONMENT on failure. */
bool picture_svg(Arena *, const Text *dot, int n, const char *svg[], Error *);
#endif
