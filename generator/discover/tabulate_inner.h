/* tabulate_inner.h -- what the files that write definitions as graphs share. */
#ifndef ISOMER_TABULATE_INNER_H
#define ISOMER_TABULATE_INNER_H
#include "generator/discover/tabulate.h"
#include "ops/base/intern.h"
#include "ops/core/facts.h"

enum {
    TABLE_AXES = RANK_MAX, /* axes of one expression: indices and bound variables */
    TABLE_READS = 48,      /* elements of inputs that one expression reads */
    TABLE_TERMS = 16       /* terms that a sum over small ranges is written as */
};
typedef struct IndexSpace { /* the indices over which an expression is computed, with their sizes */
    int n;
    Symbol index[TABLE_AXES];
    Poly size[TABLE_AXES];
} IndexSpace;
typedef struct Grid { /* a tensor of values over some axes of a space; v = 0: it cannot be made */
    Value v;          /* its axes are those of the set `axes`, in the order of the space */
    unsigned axes;    /* a bit for each axis of the space */
} Grid;
typedef struct Padding { /* the padding of an input while a sum with conditions is written */
    bool is;
    Poly front[RANK_MAX], back[RANK_MAX];
} Padding;
typedef struct Offsets { /* the offsets at which one expression occurs */
    int n;
    Poly v[TABLE_TERMS];
} Offsets;
typedef struct Tabulation {
    World *w;
    Arena *a;
    Facts *facts;
    Node node;
    DType dtype;
    TabulateShare share;
    int left;         /* nodes that may still be created */
    Padding *padding; /* for each input */
    Intern *keys;     /* of expressions, without their offsets */
    Offsets *offsets; /* for each key */
    int offsets_room;
} Tabulation;
typedef struct Reads { /* the elements of inputs that an expression reads */
    int n;
    bool all; /* false: there are more than v has room for */
    ExNode v[TABLE_READS];
} Reads;

/* ---- tabulate.c */
Grid table_of(Tabulation *, const IndexSpace *, Ex);
/* A tensor of rank 0 that holds a number. */
Grid table_number(Tabulation *, Ex);
/* The operator applied to two tables, which are stretched over all axes of both. */
Grid table_join(Tabulation *, const IndexSpace *, const Op *, Grid, Grid);
/* Collects the elements of inputs that an expression reads. */
void table_reads(Tabulation *, Ex, Reads *);
/* The expression as text, which does not depend on the names of bound variables. */
const char *table_key(Tabulation *, Ex);

/* ---- tabulate_read.c: views */
/* A new node. Returns 0 if an input is 0 or too many nodes were created. */
Value table_node(Tabulation *, const Op *, const Attr *, int n, const Value in[]);
PolyList table_list(Tabulation *, int n, const Poly v[]);
/* Whether two sizes are equal by the facts. */
bool table_same(Tabulation *, Poly, Poly);
/* Views of a value. A view that would change nothing is the value itself. */
Value table_slice(Tabulation *, Value, const Poly start[], const Poly size[], const Poly step[]);
Value table_pad(Tabulation *, Value, const Poly front[], const Poly back[]);
Value table_reshape(Tabulation *, Value, int n, const Poly size[]);
/* Transposes: axis k of the result is axis p[k] of the value. */
Value table_transpose(Tabulation *, Value, int n, const int p[]);
/* The elements of an input that an expression reads, over the axes of the space. */
Grid table_read(Tabulation *, const IndexSpace *, const ExNode *);
/* The same values with the axes of the set `to`. Axes that the table lacks are left out in front of
   its first axis, and broadcast after it. */
Value table_stretch(Tabulation *, const IndexSpace *, Grid, unsigned to);
/* Writes an index as *c times the index of one axis of the space plus *rest, where *c > 0 and *rest
   contains no index of the space. *axis is -1 if the index contains none. Returns false if that is
   not possible. */
bool table_affine(Tabulation *, const IndexSpace *, Poly, int *axis, int64_t *c, Poly *rest);
/* The position of this axis among the axes of the set. */
int table_place(unsigned axes, int axis);

/* ---- tabulate_sum.c */
Grid table_sum(Tabulation *, const IndexSpace *, const ExNode *);
/* A product that is a sum over whole axes divided by their size; v = 0 if it is not. */
Grid table_mean(Tabulation *, const IndexSpace *, const ExNode *);
/* ---- tabulate_product.c: a sum over whole axes, as a reduction or a product of matrices */
Grid table_total(Tabulation *, const IndexSpace *, int n, const Symbol[], Ex body,
                 const Op *reduce);
#endif
