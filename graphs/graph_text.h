/* graph_text.h -- parses and prints graphs as text, which is the notation of tests, rules, dumps
   and bug reports. graphs/TEXT.md specifies it; print(parse(s)) == s for canonical s.

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
} Names; /* the values of %names */
/* The value that the name was last set to; 0 if there is none, or if it stands for an omitted
   input. */
Value names_find(const Names *, const char *name);
bool names_has(const Names *, const char *name);
void names_set(Names *, const char *name, Value); /* the name is copied */
/* Parses one `graph`. *name (name may be NULL) and the graph's lists live in the arena; names (may
   be NULL) receives the values of all names. Errors have a line, a column and a caret, or say why
   an operator's shape() refused a node. */
bool graph_parse(World *, Arena *, Scan *, const char **name, Graph *, Names *, Error *);
/* Prints a graph in canonical form: nodes in post-order from the outputs, values other than inputs
   named %1 %2 .. The text does not depend on what else the World holds. */
void graph_print(World *, const char *name, const Graph *, Text *);
void graph_dot(World *, const char *name, const Graph *, Text *); /* for Graphviz */

/* Node lines in parsed form, before their inputs have types: they are parsed once and built into
   nodes as often as needed. A block is the lines up to and including `out %a %b`. */
typedef struct LineAttr {
    int def; /* index of the attribute in the operator's table */
    Attr value;
    /* A variable that stands for a whole list, word or element type; NULL: `value` holds instead. A
       list variable S without a binding becomes S_1, S_2, .. with one symbol per entry. */
    const char *variable;
} LineAttr;
typedef struct LineConstant LineConstant;
typedef struct NodeLine {
    const Op *op; /* NULL: the line has no operator; out[0] is another name for in[0], which may be
                     an omitted input */
    int nout, nin, nattr;
    const char **out, **in; /* names without %; NULL: an omitted input (_) */
    LineAttr *attr;
    LineConstant *constant; /* NULL: not a constant */
    const char *at;         /* position of the line in the text */
    const char *when; /* in an expansion: the condition that stands in brackets before the line;
                         NULL: none */
} NodeLine;
typedef struct LineList {
    int n, nout;
    NodeLine *v;
    const char **out; /* names on the line `out` */
    Scan text;        /* gives errors their positions; the text must live as long as the list */
} LineList;
/* A variable of the lines and its value. An integer or real variable is replaced wherever its name
   occurs in a value; a variable of another kind only where it stands alone. */
typedef struct Binding {
    const char *name;
    AttrKind kind;
    Attr value;
} Binding;
typedef struct Bindings {
    int n;
    const Binding *v;
} Bindings;
/* Parses a block into the arena. Returns false on error. */
bool lines_parse(World *, Arena *, Scan *, LineList *out);
/* Builds the nodes of a block. Names must hold its inputs and receives its results; *out (out may
   be NULL) becomes the values of the line `out`, in the arena. If bindings is NULL, every integer
   and real variable becomes a symbol or parameter. */
bool lines_build(World *, Arena *, const LineList *, const Bindings *, Names *, Value **out,
                 Error *);
/* Parses one block and builds it at once, without bindings. */
bool graph_parse_nodes(World *, Arena *, Scan *, Names *, Value **out, int *nout, Error *);
/* Parses "%x : TYPE %y : TYPE .." as long as inputs follow, and makes these graph inputs. The array
   lives in the arena. */
bool graph_parse_inputs(World *, Arena *, Scan *, Names *, Value **in, int *nin);
/* Parses %name, %12 or %"any text". Returns false without an error if the scan is not at a %. */
bool value_parse(Scan *, Arena *, const char **name);
/* Prints a name with a % and, if it has other characters than a plain name, with quotes. */
void value_print(const char *name, Text *);
#endif
