/* atoms.h -- atoms, the factors of terms. Interned: equal numbers mean the same atom. */
#ifndef ISOMER_ATOMS_H
#define ISOMER_ATOMS_H
#include "ops/core/number.h"
#include "verifier/conditions.h"

typedef uint32_t Atom;
typedef uint32_t Nf; /* a normal form (normal.h); 0: zero */

typedef enum AtomKind {
    AT_INPUT, /* element `index` of input `word` */
    AT_PARAM, /* a real variable of the rule: word */
    AT_SIZE,  /* a symbol that is the same everywhere, as a number: word */
    AT_VALUE, /* index[0], which mentions bound variables, as a number */
    AT_REAL,  /* a number that is not a rational: real */
    AT_FN,    /* function `word` of a; exp only of monic terms */
    AT_PAIR,  /* a function of a and b of which only its name is known, a PairWord: word */
    AT_BASE,  /* a, to be raised to a power */
    AT_MAX,   /* the greatest of the parts */
    AT_SUM    /* one part: a sum that is not to be taken apart (see import.h, exact) */
} AtomKind;
/* What a pair is, if not EX_ADD, EX_MUL or EX_POW (ExKind), taken as written. */
typedef enum PairWord {
    PAIR_DIVIDE = 1000,
    PAIR_ROUNDED, /* an integer as a float that may not hold it; b is 1 */
    PAIR_HOLDS,   /* no function: its a is a form that has to be the factor of a term */
    PAIR_WANT,    /* this and the next are what a form must satisfy: Want (defined.h) */
    PAIR_SELECTS =
        2000 /* added in operators that runtimes compute otherwise: OP_SELECTS, OP_DECIDES */
} PairWord;
typedef struct Factor {
    Atom atom;
    Ratio power;
} Factor;
typedef struct Part { /* of a maximum: the greatest nf over var where dom holds */
    int nvar;
    const Symbol *var;
    Dom dom;
    Nf nf;
} Part;
typedef struct AtomInfo {
    AtomKind kind;
    uint32_t word;
    double real;
    int nindex, npart, nfree, height;
    const Poly *index;
    Nf a, b;
    const Part *part;   /* closed */
    const Symbol *free; /* variables it depends on, in the order in which they appear */
    uint64_t mask;      /* a hash that does not depend on the names of variables */
    uint64_t heads;     /* a hash of the inputs and functions that occur, not of indices, domains */
} AtomInfo;

const AtomInfo *atom_info(Prover *, Atom);
Atom atom_input(Prover *, uint32_t input, int n, const Poly *index);
Atom atom_simple(Prover *, AtomKind, uint32_t word);
Atom atom_value(Prover *, Poly);
Atom atom_real(Prover *, double);
Atom atom_nested(Prover *, AtomKind, uint32_t word, Nf a, Nf b);
/* The form as the factor of a term: its AtomInfo.a. */
Atom atom_holding(Prover *, Nf);
/* Open parts: their variables are fresh. */
Atom atom_parts(Prover *, AtomKind, int n, const Part *);
Part part_open(Prover *, const Part *);
bool part_equal(const Part *, const Part *); /* of closed parts: the same one */
Atom atom_subst(Prover *, Atom, Map);
bool atom_mentions_any(Prover *, Atom, int n, const Symbol *);
#endif
