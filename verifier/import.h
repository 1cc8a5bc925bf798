/* import.h -- values of graphs as normal forms over the indices of their elements. */
#ifndef ISOMER_IMPORT_H
#define ISOMER_IMPORT_H
#include "graphs/graph.h"
#include "verifier/equal.h"

/* Where the parts' forms are looked at: elements of inputs, or wants. */
typedef struct Parts {
    int n, room;
    Part *v;
    bool too_many, done;
} Parts;
typedef struct Bounds { /* of integers: see bounds.c */
    bool known;
    Poly low, high;
    bool asked;
} Bounds;
/* Which elements are listed as read. */
typedef enum ReadsAsked {
    READS_ALL,     /* what the definition looks at */
    READS_PADDED,  /* also what kernels multiply by the zeros of a padding */
    READS_PASSING, /* only elements whose NaN passes: the value is NaN, too */
    READS_COMPUTED /* none, but the results of operations that may make a NaN; in an exact prover */
} ReadsAsked;
enum { LACKS_MAX = 4 };
typedef struct NfImport {
    Prover *p;
    int ninput;
    const Value *input; /* placeholders; their position is their number */
    int nsolved;        /* sizes in terms of others */
    const Symbol *from;
    const Poly *to;
    Symbol index[RANK_MAX]; /* the index of an element is named by these, whatever the value */
    uint32_t room;          /* of those below, by value */
    Nf *form;
    bool *done;
    Parts *reads, *wants;
    ReadsAsked asked;
    bool any_padding;  /* some sum of products has a condition: READS_PADDED may be more */
    bool any_stopping; /* some operation may stop a NaN: READS_PASSING may be fewer */
    bool any_maximum;  /* of two, or a minimum: forms may lack one of the two */
    uint8_t *stays;    /* see wrap.c; 0: not asked yet */
    Bounds *bounds;
    int nlack; /* conditions under which integers would stay in their types */
    Lit lack[LACKS_MAX];
} NfImport;

void import_init(NfImport *);        /* after p .. to are set */
Dom import_range(NfImport *, Value); /* the index lies inside */
/* An element of the value at index[]: an axis of size 1 has the index 0. With p->exact sums,
   products and functions are uninterpreted (but x*1, x+0, maxima, guards and moves are understood):
   forms that are equal then come from the same floating-point operations. */
Nf import_value(NfImport *, Value);
/* Which elements of inputs the definition of the value looks at, also those without effect.
   READS_PADDED: a sum of products under a condition reads each factor wherever that has an element,
   as kernels do that multiply a weight by the zeros of a padding. READS_PASSING: without those that
   are only read where a NaN may be stopped: NaN^0 and 1^NaN are 1, and an operator with OP_SELECTS
   compares. */
const Parts *import_reads(NfImport *, Value);
/* The parts at other indices, simplified under ctx. */
Parts reads_subst(Prover *, Dom ctx, const Parts *, Map);
/* Where each element of the value is defined: what its partial functions want of their arguments,
   as atoms of kind AT_PAIR (defined.h). */
const Parts *import_wants(NfImport *, Value);
#endif
