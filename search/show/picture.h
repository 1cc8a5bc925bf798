/* picture.h -- graphs of a run in Graphviz's language, and as SVG by its program `dot`. Colours:
   red gone, green new, yellow changed. */
#ifndef ISOMER_PICTURE_H
#define ISOMER_PICTURE_H
#include "search/show/changes.h"

/* Graphs of more than PICTURE_WHOLE nodes are drawn around their changes only, up to PICTURE_AROUND
   edges away. */
enum { PICTURE_WHOLE = 400, PICTURE_AROUND = 2 };
/* Adds one digraph: the nodes of a side with shown[k] (NULL: all), their inputs and their readers;
   the nodes of this place (-1: all) are highlighted. */
void picture_side(const Changes *, int side, int place, const bool *shown, Text *);
/* --dot: original and result as two clusters of one graph. */
void picture_both(const Changes *, Text *);
/* Sets shown[k] for the nodes of a place (-1: of all), and those up to `steps` edges away. */
void picture_near(const Changes *, int side, int place, int steps, bool *shown);
bool picture_program(Arena *, Error *); /* E_ENVIRONMENT: there is no `dot` */
/* Runs `dot` on all digraphs of a text: svg[k] is the k-th as an <svg> element. */
bool picture_svg(Arena *, const Text *dot, int n, const char *svg[], Error *);
#endif
