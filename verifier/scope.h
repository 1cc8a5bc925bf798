/* scope.h -- one definition at one element: what its indices, sizes and bound variables are in
   terms of the proof's symbols. import.c makes a form of it, import_reads.c what it reads and
   wants. */
#ifndef ISOMER_SCOPE_H
#define ISOMER_SCOPE_H
#include "verifier/apply.h"
#include "verifier/import.h"

typedef struct Scope {
    NfImport *m;
    const Node *node;
    Dom range;   /* where the indices of its element lie */
    bool wants;  /* wants are collected, not what is read */
    bool stops;  /* what is read here may be NaN and the element a number */
    bool padded; /* inside a product that is read where its factors have elements */
    DType dtype; /* of its element */
    bool whole;  /* it has no floats: the arithmetic of integers and truth values does not round */
    int n, room; /* from[k] stands for to[k] */
    Symbol *from;
    Poly *to;
} Scope;

bool scope_is_input(const NfImport *, Value); /* of the rule */
/* The sizes of a value, in terms of the sizes that the conditions leave open. */
Dims scope_sizes(NfImport *, Value);
/* Of the node's result v, its indices bound to m->index. */
Scope scope_new(NfImport *m, const Node *, Value v);
/* Binds a symbol; one that is bound already gets the new meaning. */
void scope_bind(Scope *, Symbol from, Poly to);
Poly scope_poly(Scope *, Poly);
Dom scope_condition(Scope *, const Cond *);
/* The indices of an access in terms of the proof, in to[]; the map puts them for m->index. */
Map scope_index(Scope *, const ExNode *access, Poly to[RANK_MAX]);
/* How many values a bound variable takes. */
Poly scope_count(Scope *, Symbol bound);
/* Binds a fresh variable for one of a reduction; its range. */
Dom scope_variable(Scope *, Symbol old, Symbol *var);
/* Binds fresh variables for all those of a reduction; their ranges and its condition. */
Dom scope_range(Scope *, const ExNode *reduction, Symbol *var);
/* By variable of a reduction: the number of its values if this is a small number, else 0. Notes in
   the prover that there is one. */
const int *scope_few_values(Scope *, const ExNode *reduction);
/* The complement of a conjunction as disjoint sets; how many. */
int dom_complement(Prover *, Dom, Dom out[2 * COND_MAX]);

/* What import.c makes of trees, for both importers. */
Nf import_tree(Scope *, Dom ctx, Ex);
/* The definition of the node's result; gives up where the operator has none. */
Ex import_definition(NfImport *, Value, const Node *);
/* Is the value an input of the rule? *form: its element. */
bool import_is_input(NfImport *, Value, Nf *form);
/* Where a condition on data holds (yes) and where not, as disjoint sets. */
enum { SIDES_MAX = 3 * CELLS_MAX };
typedef struct ChoiceSide {
    Dom known, guard;
    bool yes;
} ChoiceSide;
int import_sides(Scope *, Dom ctx, const ExNode *where, ChoiceSide out[SIDES_MAX]);
/* Binds the variable of a TAKE to the place that the index means in this cell; returns the
   index. */
Poly import_place(Scope *, const ExNode *take, Nf index, const Cell *);
#endif
