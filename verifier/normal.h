/* normal.h -- normal forms: an element of a tensor as a sum of terms
     coefficient * sum over bound variables where a set of conditions holds * product of atoms to
     rational powers.
   Sets of conditions, atoms, bodies of terms and normal forms are interned: equal numbers mean the
   same form. Inside an interned form bound variables have canonical names, one family for each
   height of nesting (a form binds names of a greater height than anything inside it), so that
   renaming makes no difference and nothing is captured. A NfTerm is open: its variables are fresh
   symbols of its own.
   Powers are total: x^-1 is 0 at 0, x^a for a that is not an integer is 0 for x < 0. What is proved
   under this convention holds wherever both sides are defined. */
#ifndef ISOMER_NORMAL_H
#define ISOMER_NORMAL_H
#include "ops/core/number.h"
#include "verifier/atoms.h"
#include "verifier/trace.h"

typedef uint32_t Body; /* a term without its coefficient */
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
    uint64_t mask, heads; /* as of an atom (AtomInfo) */
} BodyInfo;
/* Checks on which soundness rests. All are on; tests switch off one at a time, to see that a false
   rule is proved without it. */
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

enum { DECIDED_MAX = 3, NATURAL_BITS = 64 /* inputs of which `natural` can say something */ };
typedef struct Normal Normal; /* the tables of one proof */
typedef struct Split {        /* an index that is to be written as high * radix + low */
    Symbol variable;
    Poly radix, count; /* count: how many values high takes */
} Split;
struct Prover {
    World *w;
    Arena *arena;
    Solver *solver;
    Switches check;
    bool exact;       /* arithmetic is taken as written: see import.h */
    bool any_numbers; /* numbers that their type rounds are unknown constants */
    bool lenient;     /* for classes: sums and maxima are taken to have an element */
    bool unroll;      /* the second attempt: sums over few values are written out, logarithms of
                         sigmoids, too; unrollable: there was one */
    bool unrollable;
    Normal *tables;
    Escape *escape; /* where prover_fail goes */
    const char *why;
    int nsize; /* symbols that are known to be at least 0 (or 1) everywhere */
    const Symbol *size;
    const int64_t *low;
    uint64_t steps, most_steps; /* see prover_spend */
    int depth;                  /* of nested simplification */
    int nindex; /* the indices of the output in question, which may be split into digits */
    const Symbol *index;
    Split split;      /* the first that simplifying asks for; variable 0: none */
    bool maybe_empty; /* a maximum was met whose domain was not shown to be inhabited */
    int ndecided;     /* in the case at hand these maxima equal one part of theirs: decision[k] */
    Atom decided[DECIDED_MAX];
    Nf decision[DECIDED_MAX];
    /* Bit k: the elements of input k, one of the first NATURAL_BITS, are not negative (unsigned
       integers, truth values). */
    uint64_t natural;
    int ninput; /* type[k]: the element type of input k; of a truth value, 0 or 1, x^n is x */
    const DType *type;
    /* Bit k: input k is one number, which is not 0 wherever the left side is defined. */
    uint64_t nonzero;
    Dom inhabited; /* conditions on sizes under which the domains of maxima have a point */
    Trace *trace;  /* NULL: not asked for */
};

void normal_init(Prover *); /* w, arena, solver are set */
void normal_done(Prover *);
_Noreturn void prover_fail(Prover *, const char *why);
/* Counts work, so that what grows without end gives up after the same step on every machine. */
void prover_spend(Prover *, int steps);

Ratio ratio(int64_t p, int64_t q);
Ratio ratio_plus(Prover *, Ratio, Ratio);
Ratio ratio_times(Prover *, Ratio, Ratio);
static inline bool ratio_is(Ratio r, int64_t n) { return r.q == 1 && r.p == n; }

/* The element type of an atom that is an input's element; else DT_NONE. */
DType prover_type(Prover *, Atom);

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
/* The other way: the polynomial with integer coefficients that the form is, where each of its atoms
   is one (AtomPolynomial). False: it is none. */
typedef bool (*AtomPolynomial)(Prover *, const AtomInfo *, Poly *);
bool nf_as_polynomial(Prover *, Nf, AtomPolynomial, Poly *);
Nf nf_add(Prover *, Nf, Nf);
Nf nf_scale(Prover *, Nf, Ratio);
Nf nf_mul(Prover *, Nf, Nf);
Nf nf_guard(Prover *, Nf, Dom);
Nf nf_bind(Prover *, Nf, int n, const Symbol *, Dom);
Nf nf_subst(Prover *, Nf, Map);
bool nf_mentions_any(Prover *, Nf, int n, const Symbol *);
bool nf_constant(Prover *, Nf, Ratio *);
NfTerm term_subst(Prover *, NfTerm, Map);
NfTerm term_times(Prover *, NfTerm, NfTerm); /* variables must differ */
/* Times atom^power: merged with a power of the same atom where that is an identity. */
NfTerm term_factor(Prover *, NfTerm, Atom, Ratio power);
bool term_mentions_any(Prover *, NfTerm, int n, const Symbol *); /* in its atoms */
/* An open term as a product: out[0] is what has none of its variables, the others (room: nvar + 1)
   are sums that share none. Returns how many there are with out[0]. */
int term_independent(Prover *, NfTerm, NfTerm *out);
void nf_print(Prover *, Nf, Text *); /* normal_text.c */
#endif
