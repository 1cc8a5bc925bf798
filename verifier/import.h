/* import.h -- turns values of graphs into normal forms over the indices of their elements, and
   lists which elements of inputs a value reads and what it requires of them. */
#ifndef ISOMER_IMPORT_H
#define ISOMER_IMPORT_H
#include "graphs/graph.h"
#include "verifier/equal.h"

/* A list of parts, each a form over the part's variables where its domain holds: the elements of
   inputs that are read, or the wants (defined.h). `too_many`: the list is not complete. `done`: it
   was computed. */
typedef struct Parts {
    int n, room;
    Part *v;
    bool too_many, done;
} Parts;
typedef struct Bounds { /* bounds of an integer value; see bounds.c */
    bool known;
    Poly low, high;
    bool computed;
} Bounds;
/* Which elements import_reads lists. */
typedef enum ReadsAsked {
    READS_ALL,     /* all that the definition reads */
    READS_PADDED,  /* also those that kernels multiply by the zeros of a padding */
    READS_PASSING, /* only those whose NaN passes: if the element is NaN, so is the value */
    READS_COMPUTED /* no elements, but the results of operations that may make a NaN; in an exact
                      prover only */
} ReadsAsked;
enum { LACKS_MAX = 4 };
typedef struct NfImport {
    Prover *p;
    int ninput;
    const Value *input; /* the inputs of the rule; the position of an input is its number */
    int nsolved;        /* the sizes from[k] that the conditions determine, as to[k] */
    const Symbol *from;
    const Poly *to;
    Symbol index[RANK_MAX]; /* the names of an element's indices, the same for all values */
    uint32_t room;          /* entries of the arrays below, which are indexed by value */
    Nf *form;
    bool *done;
    Parts *reads, *wants;
    ReadsAsked reads_asked;
    bool any_padding;       /* some sum of products has a condition: READS_PADDED may list more */
    bool any_stopping;      /* some operation may stop a NaN: READS_PASSING may list fewer */
    bool any_maximum;       /* a maximum or minimum of two occurs: a form may lack one argument */
    uint8_t *stays_in_type; /* see stays_in_type() in wrap.c; 0: not computed yet */
    Bounds *bounds;
    uint8_t *float_signs; /* see float_signs.h; 0: not computed yet */
    int nlack;            /* conditions on sizes under which integers would stay in their types */
    Lit lack[LACKS_MAX];
} NfImport;

void import_init(NfImport *);        /* the fields p to `to` are set before */
Dom import_range(NfImport *, Value); /* the indices m->index lie inside the value */
/* The element of the value at m->index, as a normal form; an axis of size 1 has the index 0. In an
   exact prover, operations on floats (sums, products, functions) are uninterpreted, except that
   x*1, maxima, guards and moves are understood. Equal forms then come from the same floating-point
   operations. */
Nf import_value(NfImport *, Value);
/* The elements of inputs that the value reads, at m->index, including those that have no effect;
   m->reads_asked says which of them are listed. READS_PADDED: a sum of products under a condition
   reads each factor wherever that factor has an element, like kernels that multiply a weight by the
   zeros of a padding. READS_PASSING leaves out elements that are read only where a NaN may be
   stopped: NaN^0 and 1^NaN are 1, and an operator with OP_SELECTS or OP_DECIDES compares. */
const Parts *import_reads(NfImport *, Value);
/* The parts with their indices substituted, simplified under ctx. */
Parts reads_subst(Prover *, Dom ctx, const Parts *, Map);
/* What the value's partial functions require of their arguments at m->index, as atoms of kind
   AT_PAIR (defined.h). The element is defined where all of these and those of import_checks
   hold. */
const Parts *import_wants(NfImport *, Value);
/* What the value's definition requires of indices in the data, as wants of the kind WANT_PLACE at
   m->index; what the elements that it reads require is not included. An operator checks all its
   indices, whether or not its elements are used later, so import_wants leaves these wants out. */
Parts import_checks(NfImport *, Value);
#endif
