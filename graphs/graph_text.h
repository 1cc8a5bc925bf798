/* graph_text.h -- the text form of graphs: notation of tests, rules, dumps and bug reports.
   Specified in graphs/TEXT.md; print(parse(s)) == s for canonical s.

     graph NAME
       %x : F [n, c, 8, 8]   %w : F [6, c, 3, 3]
     body
       %y = conv %x %w pads=[1, 1, 1, 1]
       %k = constant F [2] {0.5, 1}          also: splat(0.5), seed(7) (uniform in [-1, 1), float
                                             types), hex"3f80.."
       %a %b = split %y axis=1 sizes=[2, 4]
       out %a %b */
#ifndef ISOMER_GRAPH_TEXT_H
#define ISOMER_GRAPH_TEXT_H
#include "graphs/graph.h"

typedef struct Names {
    int n, room;
    struct NamedValue {
        const char *name;
        Value value;
    } * v;
    Arena *arena;
} Names; /* %name -> value */
/* 0: none, or an input left out; the last one set counts. */
Value names_find(const Names *, const char *name);
bool names_has(const Names *, const char *name);
void names_set(Names *, const char *name, Value); /* the name is copied */
/* One `graph`; errors with line, column, caret, and why shape() refused. */
bool graph_parse(World *, Arena *, Scan *, const char **name, Graph *, Names *, Error *);
/* Canonical: nodes in post-order from the outputs, whatever else the World holds; values %1 %2 ..
   but for inputs. */
void graph_print(World *, const char *name, const Graph *, Text *);
void graph_dot(World *, const char *name, const Graph *, Text *); /* Graphviz */

/* Node lines as the text has them, before inputs have types: parsed once, built as often as wanted.
   A block is the lines up to and with `out %a %b`. */
typedef struct LineAttr {
    int def; /* which attribute of the operator */
    Attr value;
    /* A bare name that stands for a whole list, word or element type; NULL: value. Unbound lists
       are S_1, S_2, .. */
    const char *variable;
} LineAttr;
typedef struct LineConstant LineConstant;
typedef struct NodeLine {
    const Op *op; /* NULL: out[0] is another name of in[0], which may be left out */
    int nout, nin, nattr;
    const char **out, **in; /* names without %; NULL: left out (_) */
    LineAttr *attr;
    LineConstant *constant; /* NULL: not a constant */
    const char *at;         /* its place in the text */
    const char *when;       /* in an expansion: the condition in brackets before it; NULL: none */
} NodeLine;
typedef struct LineList {
    int n, nout;
    NodeLine *v;
    const char **out; /* of the line `out` */
    Scan text;        /* for the places of errors: the text must live as long */
} LineList;
/* What a variable of the lines stands for: an integer or real by its name wherever it occurs in a
   value, another kind where it stands alone. */
typedef struct Binding {
    const char *name;
    AttrKind kind;
    Attr value;
} Binding;
typedef struct Bindings {
    int n;
    const Binding *v;
} Bindings;
bool lines_parse(World *, Arena *, Scan *, LineList *out);
/* Inputs and results are in Names; *out (may be NULL): the values of the line `out`, in the arena.
   bindings may be NULL: every integer and real is then a symbol or parameter. */
bool lines_build(World *, Arena *, const LineList *, const Bindings *, Names *, Value **out,
                 Error *);
/* both: one block built at once. */
bool graph_parse_nodes(World *, Arena *, Scan *, Names *, Value **out, int *nout, Error *);
/* "%x : TYPE %y : TYPE ..", until something else comes. */
bool graph_parse_inputs(World *, Arena *, Scan *, Names *, Value **in, int *nin);
/* %name, %12 or %"any text"; false: none there. */
bool value_parse(Scan *, Arena *, const char **name);
/* With % and, where it needs them, quotes. */
void value_print(const char *name, Text *);
#endif
