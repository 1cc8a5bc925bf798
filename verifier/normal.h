/* normal.h -- normal forms: an element of a tensor as a sum of terms
     coefficient * sum over bound variables where a set of conditions holds * product of atoms to
     rational powers.
   Sets of conditions, atoms, bodies of terms and normal forms are interned: equal numbers mean the
   same form. Inside an interned form bound variables have canonical names, one family for each
   height of nesting (a form binds names of a greater height than anything inside it), so that
   renaming makes no difference and nothing is captured. A NfTerm is open: its variables are fresh
   symbols of its own.
   Powers are total: x^-1 is 0 at 0, x^a for a that is not an integer is 0 for x < 0. What is proved
   under this convention holds wherever both sides are defined. normal.c has terms and forms,
   tables.c what they are made of. */
#ifndef ISOMER_NORMAL_H
#define ISOMER_NORMAL_H
#include "ops/core/number.h"
#include "verifier/solver.h"
#include "verifier/trace.h"

typedef uint32_t Dom; /* interned set of literals; 0: true everywhere */
typedef uint32_t Atom;
typedef uint32_t Body; /* a term without its coefficient */
typedef uint32_t Nf;   /* 0: zero */

typedef enum AtomKind {
    AT_INPUT, /* element `index` of input `word` */
    AT_PARAM, /* a real variable of the rule: word */
    AT_SIZE,  /* a symbol that is the same everywhere, as a number: word */
    AT_VALUE, /* index[0], which mentions bound variables, as a number */
    AT_REAL,  /* a number that is not a rational: real */
    AT_FN,    /* function `word` of a; exp only of monic terms */
    AT_PAIR,  /* a function of a and b that is known by its name only: word */
    AT_BASE,  /* a, to be raised to a power */
    AT_MAX,   /* the greatest of the parts */
    AT_SUM    /* one part: a sum that is not to be taken apart (see import.h, exact) */
} AtomKind;
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
typedef struct NfTerm {
    Ratio c;
    Dom dom;
    int nvar, nfactor;
    const Symbol *var;
    const Factor *factor;
} NfTerm;
typedef struct BodyInfo {
    NfTerm term; /* closed, c = 1 */
    int nfree, height;
    const Symbol *free;
    uint64_t mask, heads;
} BodyInfo;
typedef struct Map { /* variables to polynomials */
    int n;
    const Symbol *from;
    const Poly *to;
} Map;

/* What keeps the prover honest. Every one is on; tests switch them off one by one to see that each
   is needed. */
typedef struct Switches {
    bool determinant;  /* a change of variables must be one to one */
    bool rename_apart; /* variables of two factors are different */
    bool feasibility;  /* a term is dropped only if its domain is shown to be empty */
    bool indicator;    /* matched terms cancel only where their domains agree */
    bool nonempty;     /* a part of a maximum counts only where its domain is shown not empty */
    bool spectator;    /* longer axis blocks hold without a proof only if the added axes are
                          spectators */
} Switches;
extern const Switches switches_all;

enum { DECIDED_MAX = 3 };
typedef struct Normal Normal; /* the tables of one proof */
typedef struct Split {        /* an index that is to be written as high * radix + low */
    Symbol variable;
    Poly radix, count; /* count: how many values high takes */
} Split;
typedef struct Prover {
    World *w;
    Arena *arena;
    Solver *solver;
    Switches check;
    bool exact;    /* arithmetic is taken as written: see import.h */
    bool literals; /* numbers that their type rounds are unknown constants */
    bool lenient;  /* what is read: sums and maxima are taken to have an element */
    bool unroll;   /* the second attempt: sums over few values are written out, logarithms of
                      sigmoids, too; unrollable: there was one */
    bool unrollable;
    Normal *tables;
    Escape *escape; /* where prover_fail goes */
    const char *why;
    int nsize; /* symbols that are known to be at least 0 (or 1) everywhere */
    const Symbol *size;
    const int64_t *low;
    uint64_t steps; /* see prover_spend */
    int depth;      /* of nested simplification */
    int nindex;     /* the indices of the output in question, which may be split into digits */
    const Symbol *index;
    Split split;      /* the first that simplifying asks for; variable 0: none */
    bool maybe_empty; /* a maximum was met whose domain was not shown to be inhabited */
    int ndecided;     /* in the case at hand these maxima equal one part of theirs: decision[k] */
    Atom decided[DECIDED_MAX];
    Nf decision[DECIDED_MAX];
    /* Bit k: the elements of input k are not negative (unsigned integers, truth values). */
    uint64_t natural;
    Dom inhabited; /* conditions on sizes under which the domains of maxima have a point */
    Trace *trace;  /* NULL: not asked for */
} Prover;

void normal_init(Prover *); /* w, arena, solver are set */
void normal_done(Prover *);
_Noreturn void prover_fail(Prover *, const char *why);
/* Counts work, so that what grows without end gives up after the same step on every machine. */
void prover_spend(Prover *, int steps);

Ratio ratio(int64_t p, int64_t q);
Ratio ratio_plus(Prover *, Ratio, Ratio);
Ratio ratio_times(Prover *, Ratio, Ratio);
static inline bool ratio_is(Ratio r, int64_t n) { return r.q == 1 && r.p == n; }

/* Conditions. */
enum { DOM_TRUE = 0 };
Dom dom_make(Prover *, int n, const Lit *);
Dom dom_and(Prover *, Dom, Dom);
Dom dom_with(Prover *, Dom, Lit);
Dom dom_without(Prover *, Dom, Lit);
Lits dom_lits(Prover *, Dom);
bool dom_false(Prover *, Dom); /* plainly false */
bool dom_has(Prover *, Dom, Lit);
Dom dom_subst(Prover *, Dom, Map);
bool dom_mentions(Prover *, Dom, Symbol);
Lit lit_ge(Prover *, Poly a, Poly b); /* a >= b */
Lit lit_eq(Prover *, Poly a, Poly b);
int lit_truth(Prover *, Lit *);            /* in lowest terms; 1 true, 0 false, -1 depends */
int lit_negate(Prover *, Lit, Lit out[2]); /* its negation as one or two disjoint literals */
bool lit_mentions(Prover *, Lit, int n, const Symbol *);

/* Variables that a polynomial depends on, also inside floor, min and digits. */
int poly_variables(Prover *, Poly, const Symbol **);
bool poly_mentions_any(Prover *, Poly, int n, const Symbol *);
Symbol variable_new(Prover *);
bool variable_nested(Prover *, Symbol); /* a canonical name inside closed forms */
static inline bool among(Symbol s, int n, const Symbol *v) {
    while (n--)
        if (v[n] == s) return true;
    return false;
}

const AtomInfo *atom_info(Prover *, Atom);
Atom atom_input(Prover *, uint32_t input, int n, const Poly *index);
Atom atom_simple(Prover *, AtomKind, uint32_t word);
Atom atom_value(Prover *, Poly);
Atom atom_real(Prover *, double);
Atom atom_nested(Prover *, AtomKind, uint32_t word, Nf a, Nf b);
/* Open parts: their variables are fresh. */
Atom atom_parts(Prover *, AtomKind, int n, const Part *);
Part part_open(Prover *, const Part *);
bool part_equal(const Part *, const Part *); /* the same numbers: canonical ones are equal */
Atom atom_subst(Prover *, Atom, Map);
bool atom_mentions_any(Prover *, Atom, int n, const Symbol *);
bool atom_nonnegative(Prover *, Atom);
bool atom_positive(Prover *, Atom);

/* Forms. Nothing here asks the solver. */
int nf_size(Prover *, Nf);
NfTerm nf_term(Prover *, Nf, int i); /* opened: fresh variables */
/* Opened with the variables of p->depth, the same ones each time. */
NfTerm nf_term_at(Prover *, Nf, int i);
const BodyInfo *nf_body(Prover *, Nf, int i, Ratio *c);
Nf nf_from(Prover *, int n, const NfTerm *); /* open terms; equal ones are added up */
Nf nf_of(Prover *, NfTerm);
Nf nf_number(Prover *, Ratio);
Nf nf_atom(Prover *, Atom);
Nf nf_polynomial(Prover *, Poly); /* as a number */
Nf nf_add(Prover *, Nf, Nf);
Nf nf_scale(Prover *, Nf, Ratio);
Nf nf_mul(Prover *, Nf, Nf);
Nf nf_guard(Prover *, Nf, Dom);
Nf nf_bind(Prover *, Nf, int n, const Symbol *, Dom);
Nf nf_subst(Prover *, Nf, Map);
bool nf_mentions_any(Prover *, Nf, int n, const Symbol *);
bool nf_constant(Prover *, Nf, Ratio *);
bool nf_nonnegative(Prover *, Nf);
bool nf_positive(Prover *, Nf);
NfTerm term_subst(Prover *, NfTerm, Map);
NfTerm term_times(Prover *, NfTerm, NfTerm); /* variables must differ */
/* Times atom^power: merged with a power of the same atom where that is an identity. */
NfTerm term_factor(Prover *, NfTerm, Atom, Ratio power);
bool term_mentions_any(Prover *, NfTerm, int n, const Symbol *); /* in its atoms */
/* An open term as a product: out[0] is what has none of its variables, the others (room: nvar + 1)
   are sums that share none. Returns how many there are with out[0]. */
int term_independent(Prover *, NfTerm, NfTerm *out);
void nf_print(Prover *, Nf, Text *);
void dom_print(Prover *, Dom, Text *);
#endif
