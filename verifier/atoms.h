/* atoms.h -- atoms, the factors of terms. Atoms are interned: equal numbers mean the same atom. */
#ifndef ISOMER_ATOMS_H
#define ISOMER_ATOMS_H
#include "ops/core/number.h"
#include "verifier/conditions.h"

typedef uint32_t Atom;
typedef uint32_t Nf; /* a normal form (normal.h); 0 is the form zero */

typedef enum AtomKind {
    AT_INPUT, /* the element at `index` of input `word` */
    AT_PARAM, /* the real variable `word` of the rule */
    AT_SIZE,  /* the value of the symbol `word`, which depends on no variable */
    AT_VALUE, /* the value of the polynomial index[0], which mentions variables */
    AT_REAL,  /* the number `real`, of which only the sign is used: it is not rational, or its type
                 rounds it (Prover.any_numbers) */
    AT_FN,    /* function `word` of a; for exp, unless exact, a is one term with coefficient 1 */
    AT_PAIR,  /* an uninterpreted function of a and b; `word` is a PairWord, an ExKind or a Want */
    AT_BASE,  /* the form a, to be raised to a power */
    AT_MAX,   /* the greatest of the parts */
    AT_SUM    /* a sum over one part that is kept whole (in an exact prover) */
} AtomKind;
/* What an AT_PAIR is. EX_ADD, EX_MUL and EX_POW (ExKind) also occur: operations kept as written. */
typedef enum PairWord {
    PAIR_DIVIDE = 1000,
    PAIR_ROUNDED,       /* the integer a as a float, which may round it; b is 1 */
    PAIR_HOLDS,         /* no function: a is any form, wrapped as the factor of a term */
    PAIR_WANT,          /* the first of the requirements on forms: Want (defined.h) */
    PAIR_SELECTS = 2000 /* added to the word in operators with OP_SELECTS or OP_DECIDES, which
                           runtimes compute by comparing */
} PairWord;
typedef struct Factor {
    Atom atom;
    Ratio power;
} Factor;
typedef struct Part { /* the values of nf over var where dom holds: of a maximum, a kept sum, or a
                         list (Parts) */
    int nvar;
    const Symbol *var;
    Dom dom;
    Nf nf;
} Part;
/* Whether the part is a single value, without a condition. */
static inline bool part_is_bare(const Part *x) { return !x->nvar && !x->dom; }
typedef struct AtomInfo {
    AtomKind kind;
    uint32_t word;
    double real;
    int nindex, npart, nfree, height;
    const Poly *index;
    Nf a, b;
    const Part *part;   /* closed: variables have canonical names */
    const Symbol *free; /* the variables that the atom depends on, in order of appearance */
    uint64_t mask;      /* a hash that does not depend on the names of variables */
    uint64_t heads; /* a hash of the inputs and functions that occur, without indices and domains */
} AtomInfo;

const AtomInfo *atom_info(Prover *, Atom);
/* Constructors. Equal arguments give the same atom. */
Atom atom_input(Prover *, uint32_t input, int n, const Poly *index);
Atom atom_simple(Prover *, AtomKind, uint32_t word);
Atom atom_value(Prover *, Poly);
Atom atom_real(Prover *, double);
Atom atom_nested(Prover *, AtomKind, uint32_t word, Nf a, Nf b);
/* Wraps a form as the factor of a term; AtomInfo.a is the form. */
Atom atom_holding(Prover *, Nf);
/* Takes open parts, whose variables are fresh. */
Atom atom_parts(Prover *, AtomKind, int n, const Part *);
Part part_open(Prover *, const Part *);
bool part_equal(const Part *, const Part *); /* of closed parts */
Atom atom_subst(Prover *, Atom, Map);
bool atom_mentions_any(Prover *, Atom, int n, const Symbol *);
#endif
