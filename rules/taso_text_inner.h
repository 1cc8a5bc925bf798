/* taso_text_inner.h -- the state of turning one of TASO's rules into text (taso_text.c): the sizes
   that are solved for, the equalities that both sides demand, and the values of both sides. */
#ifndef ISOMER_TASO_TEXT_INNER_H
#define ISOMER_TASO_TEXT_INNER_H
#include "graphs/graph.h"
#include "rules/taso_inner.h"

enum { SOLVED = 128, EQUALITIES = 512 };
typedef struct Solution {
    int n;
    Symbol from[SOLVED];
    Poly to[SOLVED];
} Solution;
/* Channels of a convolution's input and of its kernel, and its number of groups. */
typedef struct Ratios {
    Poly over, under, group;
} Ratios;
typedef struct TasoWriter {
    World *w;
    Arena *arena;
    const TasoRule *rule;
    const char *why;
    bool settled;             /* the numbers of groups of convolutions are settled */
    bool any_rank;            /* no operator fixes a rank, so all inputs are F [b..] */
    int rank[TASO_VARIABLES]; /* rank of variable -k; -1: it does not occur */
    Value input[TASO_VARIABLES];
    Solution sizes; /* solutions for sizes of the left side, and for those that only the right side
                       names */
    Solution all;   /* the same with the equalities of the right side; used to divide */
    int neq, nhelper, naux;
    Poly eq[EQUALITIES];
    bool only_text[EQUALITIES]; /* a demand of TASO that no node here has */
    Symbol helper[SOLVED];      /* sizes that only the right side names */
    Symbol auxiliary[SOLVED];   /* numbers of groups and similar, which may be any numbers */
    int npositive, nratio;
    Ratios ratio[TASO_NODES];
    Symbol positive[SOLVED]; /* symbols that were divided by */
    Value value[2][TASO_NODES][2];
    Text *text; /* NULL: only the types are computed */
    int side;
} TasoWriter;

bool taso_refuse(TasoWriter *, const char *why); /* returns false; the first reason is kept */

/* taso_sizes.c: sizes and the equalities between them. */
Poly solution_apply(TasoWriter *, const Solution *, Poly);
/* A size that an operator has but its inputs do not determine: on the left side a variable of the
   pattern, on the right side one to be solved for. */
Poly taso_unknown(TasoWriter *, const char *stem, int number);
void taso_demand(TasoWriter *, Poly a, Poly b, bool only_text); /* demands a == b */
/* Solves p == 0 for a symbol that is a term of it by itself, and adds the solution to *out. Returns
   false if there is none. */
bool taso_solve(TasoWriter *, Poly, Solution *out);
/* Divides p by the symbols that all its terms have in common, and notes that these are positive. */
Poly taso_divided(TasoWriter *, Poly);
/* Whether the symbol is in the list. */
bool taso_among(Symbol, int n, const Symbol *list);

/* taso_nodes.c: TASO's operators as nodes. */
/* Makes the nodes of operator `number` of the current side and, if text is wanted, writes their
   lines. Returns false if the operator is refused. */
bool taso_write_op(TasoWriter *, int number);
Value taso_value(const TasoWriter *, TasoTensor); /* the value of a tensor of the current side */
void taso_print_value(TasoWriter *, TasoTensor);  /* prints its name after a space */
Dims taso_dims(TasoWriter *, Value);
#endif
