/* taso_writer.h -- one rule of TASO's while it becomes text (taso_text.c): the sizes that are
   solved, what both sides demand of the others, and the values of both sides. */
#ifndef ISOMER_TASO_WRITER_H
#define ISOMER_TASO_WRITER_H
#include "graphs/graph.h"
#include "rules/taso_inner.h"

enum { SOLVED = 128, EQUALITIES = 512 };
typedef struct Solution {
    int n;
    Symbol from[SOLVED];
    Poly to[SOLVED];
} Solution;
typedef struct Ratios { /* channels of a convolution's inputs, and its number of groups */
    Poly over, under, group;
} Ratios;
typedef struct TasoWriter {
    World *w;
    Arena *arena;
    const TasoRule *rule;
    const char *why;
    bool settled;             /* the groups of convolutions are */
    bool any_rank;            /* no operator fixes a rank: all inputs are F [b..] */
    int rank[TASO_VARIABLES]; /* of variable -k; -1: it does not occur */
    Value input[TASO_VARIABLES];
    Solution sizes; /* of the left side, and of what only the right side names */
    Solution all;   /* with the equalities of the right side: used to divide */
    int neq, nhelper, naux;
    Poly eq[EQUALITIES];
    bool only_text[EQUALITIES]; /* a demand of TASO's that no node of ours has */
    Symbol helper[SOLVED];      /* named on the right side alone */
    Symbol auxiliary[SOLVED];   /* numbers of groups and the like, which may stand for anything */
    int npositive, nratio;
    Ratios ratio[TASO_NODES];
    Symbol positive[SOLVED]; /* what was divided by */
    Value value[2][TASO_NODES][2];
    Text *text; /* NULL: only types are wanted */
    int side;
} TasoWriter;

bool taso_refuse(TasoWriter *, const char *why); /* false; the first reason is kept */

/* taso_sizes.c: sizes and what is demanded of them. */
Poly solution_apply(TasoWriter *, const Solution *, Poly);
/* What an operator names that its inputs do not say: on the left a variable of the pattern, on the
   right to be found. */
Poly taso_unknown(TasoWriter *, const char *stem, int number);
void taso_demand(TasoWriter *, Poly a, Poly b, bool only_text); /* a == b */
/* p == 0 solved for a symbol that stands alone in it, which is added to *out; false: none does. */
bool taso_solve(TasoWriter *, Poly, Solution *out);
/* p without the factors that all its terms have in common; that they are positive is noted. */
Poly taso_divided(TasoWriter *, Poly);
bool taso_among(Symbol, int n, const Symbol *list);

/* taso_nodes.c: TASO's operators as nodes of ours. */
/* Operator `number` of the current side: makes its nodes and, if text is wanted, writes their
   lines. False: refused. */
bool taso_write_op(TasoWriter *, int number);
Value taso_value(const TasoWriter *, TasoTensor); /* on the current side */
void taso_print_value(TasoWriter *, TasoTensor);  /* its name, after a space */
Dims taso_dims(TasoWriter *, Value);
#endif
