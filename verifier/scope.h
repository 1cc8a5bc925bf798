/* scope.h -- an operator's definition at one element. A Scope maps the definition's symbols for
   indices, sizes and bound variables to polynomials in the proof's symbols. import.c turns the
   definition into a normal form; import_reads.c lists what it reads and what it requires. */
#ifndef ISOMER_SCOPE_H
#define ISOMER_SCOPE_H
#include "verifier/apply.h"
#include "verifier/import.h"

typedef struct Scope {
    NfImport *m;
    const Node *node;
    Dom range;         /* the range of the indices of the element */
    bool wants;        /* import_reads.c collects wants, not elements that are read */
    bool checks;       /* with wants: only of indices, and only those of this definition */
    bool may_stop_nan; /* the element may be a number although what is read here is NaN */
    bool padded;       /* inside a product whose factors are read wherever they have elements
                          (READS_PADDED) */
    DType dtype;       /* element type of the node's result */
    bool whole;  /* no floats here: the arithmetic of integers and truth values does not round */
    int n, room; /* the definition's symbol from[k] means to[k] */
    Symbol *from;
    Poly *to;
} Scope;

bool scope_is_input(const NfImport *, Value); /* is the value an input of the rule? */
/* The sizes of a value, in terms of the sizes that the rule's conditions leave open. */
Dims scope_sizes(NfImport *, Value);
/* A scope for the node's result v, with its indices bound to m->index. */
Scope scope_new(NfImport *m, const Node *, Value v);
/* Binds a symbol of the definition. A symbol that was bound before gets the new meaning. */
void scope_bind(Scope *, Symbol from, Poly to);
Poly scope_poly(Scope *, Poly);
Dom scope_condition(Scope *, const Cond *);
/* Sets to[] to the indices of an access in the proof's symbols. Returns the map from m->index to
   them. */
Map scope_index(Scope *, const ExNode *access, Poly to[RANK_MAX]);
/* The number of values that a bound variable takes. */
Poly scope_count(Scope *, Symbol bound);
/* Binds a reduction's variable `old` to a fresh variable *var. Returns the range of *var. */
Dom scope_variable(Scope *, Symbol old, Symbol *var);
/* Binds all variables of a reduction to fresh ones, var[]. Returns their ranges and the reduction's
   condition. */
Dom scope_range(Scope *, const ExNode *reduction, Symbol *var);
/* For each variable of a reduction the number of its values if that is small, otherwise 0. If any
   is small, p->unrollable is set. */
const int *scope_few_values(Scope *, const ExNode *reduction);
/* Writes the complement of a conjunction as disjoint sets; returns how many. */
int dom_complement(Prover *, Dom, Dom out[2 * COND_MAX]);

/* The normal form of an expression of the definition, valid where ctx holds (import.c). */
Nf import_tree(Scope *, Dom ctx, Ex);
/* The definition of the node's result v. The prover gives up if the operator has none. */
Ex import_definition(NfImport *, Value, const Node *);
/* If the value is an input of the rule, sets *form to its element at m->index and returns true. */
bool import_is_input(NfImport *, Value, Nf *form);
/* Splits ctx by the condition of an EX_WHERE into disjoint sets: those where it holds (yes) and
   those where it does not. Returns how many. `known` is all that is known there; `guard` is what
   does not follow from ctx. */
enum { SIDES_MAX = 3 * CELLS_MAX };
typedef struct ChoiceSide {
    Dom known, guard;
    bool yes;
} ChoiceSide;
int import_sides(Scope *, Dom ctx, const ExNode *where, ChoiceSide out[SIDES_MAX]);
/* Binds the variable of an EX_TAKE to the place that the index means in this cell. Returns the
   index as a polynomial. */
Poly import_place(Scope *, const ExNode *take, Nf index, const Cell *);
#endif
