/* tabulate_inner.h -- what the files of tabulating share. */
#ifndef ISOMER_TABULATE_INNER_H
#define ISOMER_TABULATE_INNER_H
#include "generator/discover/tabulate.h"
#include "ops/base/intern.h"
#include "ops/core/facts.h"

enum {
    TABLE_AXES = RANK_MAX, /* of one expression: indices and bound variables */
    TABLE_READS = 48,      /* elements of inputs in one expression */
    TABLE_TERMS = 16       /* that a sum over small ranges is written as */
};
typedef struct Space { /* the indices over which an expression is computed, and their sizes */
    int n;
    Symbol index[TABLE_AXES];
    Poly size[TABLE_AXES];
} Space;
typedef struct Grid { /* values over some axes of a space; v = 0: it cannot be made */
    Value v;          /* its axes are those of the set, in the order of the space */
    unsigned axes;    /* the set: a bit for each axis of the space */
} Grid;
typedef struct Padding { /* of inputs, while a guarded sum is written */
    bool is;
    Poly front[RANK_MAX], back[RANK_MAX];
} Padding;
typedef struct Offsets { /* at which one expression occurs */
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
    int left;         /* nodes that may still be made */
    Padding *padding; /* by input */
    Intern *keys;     /* of expressions without their offsets */
    Offsets *offsets; /* by key */
    int offsets_room;
} Tabulation;
typedef struct Reads { /* the elements of inputs that an expression reads */
    int n;
    bool all; /* false: there are more */
    ExNode v[TABLE_READS];
} Reads;

/* ---- tabulate.c */
Grid table_of(Tabulation *, const Space *, Ex);
Grid table_number(Tabulation *, Ex);
/* f of two tables, stretched over all axes of both. */
Grid table_join(Tabulation *, const Space *, const Op *, Grid, Grid);
void table_reads(Tabulation *, Ex, Reads *);
/* The expression as text that does not depend on the names of bound variables. */
const char *table_key(Tabulation *, Ex);

/* ---- tabulate_read.c: views */
/* 0: some input is 0, or too many nodes were made. */
Value table_node(Tabulation *, const Op *, const Attr *, int n, const Value in[]);
PolyList table_list(Tabulation *, int n, const Poly v[]);
bool table_same(Tabulation *, Poly, Poly);
Value table_slice(Tabulation *, Value, const Poly start[], const Poly size[], const Poly step[]);
Value table_pad(Tabulation *, Value, const Poly front[], const Poly back[]);
Value table_reshape(Tabulation *, Value, int n, const Poly size[]);
/* Axis k of the result is axis p[k]. */
Value table_transpose(Tabulation *, Value, int n, const int p[]);
/* An element of an input, over the axes of the space. */
Grid table_read(Tabulation *, const Space *, const ExNode *);
/* The same values with axes of the set `to`; those that it lacks are in front, or stretched. */
Value table_stretch(Tabulation *, const Space *, Grid, unsigned to);
/* The index as *c > 0 times that of an axis of the space (*axis; -1: it mentions none), and a rest
   without any. false: it is not so. */
bool table_affine(Tabulation *, const Space *, Poly, int *axis, int64_t *c, Poly *rest);
/* The place of this axis among the axes of the set. */
int table_place(unsigned axes, int axis);

/* ---- tabulate_sum.c */
Grid table_sum(Tabulation *, const Space *, const ExNode *);
Grid table_mean(Tabulation *, const Space *, const ExNode *);
/* ---- tabulate_product.c: a sum over whole axes, as a reduction or a product of matrices */
Grid table_total(Tabulation *, const Space *, int n, const Symbol[], Ex body, const Op *reduce);
#endif
