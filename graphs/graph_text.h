/* graph_text.h -- the text form of graphs: notation of tests, rules, dumps and bug reports. Specified in graphs/README.md; print(parse(s)) == s for canonical s.

     graph NAME
       %x : F [n, c, 8, 8]   %w : F [6, c, 3, 3]
     body
       %y = conv %x %w pads=[1, 1, 1, 1]
       %k = constant F [2] {0.5, 1}          also: splat(0.5), seed(7) (uniform in [-1, 1), float types), hex"3f80.."
       %a %b = split %y axis=1 sizes=[2, 4]
       out %a %b */
#ifndef ISOMER_GRAPH_TEXT_H
#define ISOMER_GRAPH_TEXT_H
#include "graphs/graph.h"

typedef struct Names { int n, room; struct { const char *name; Value value; } *v; Arena *arena; } Names; /* %name -> value */
Value names_find(const Names *, const char *name);
void names_set(Names *, const char *name, Value);
bool graph_parse(World *, Arena *, Scan *, const char **name, Graph *, Names *, Error *); /* one `graph`; errors with line, column, caret, and why shape() refused */
void graph_print(World *, const char *name, const Graph *, Text *);
void graph_dot(World *, const char *name, const Graph *, Text *);       /* Graphviz */
#endif
