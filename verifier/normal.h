/* normal.h -- normal forms: one element of a tensor, written as a sum of terms. A term is
     coefficient * sum over bound variables, where a set of conditions holds, of a product of
     atoms, each to a rational power.

   Sets of conditions, atoms, bodies (terms without their coefficients) and forms are interned:
   equal numbers mean the same form. In an interned form bound variables have canonical names, one
   family of names for each height of nesting. A form binds names of a greater height than anything
   inside it, so that renaming makes no difference and no variable is captured. An NfTerm is open:
   its variables are fresh symbols of its own.

   Powers are total: x^-1 is 0 at x = 0, and x^a is 0 for x < 0 if a is not an integer. An equation
   proved under this convention holds wherever both sides are defined; defined.c shows where that
   is. */
#ifndef ISOMER_NORMAL_H
#define ISOMER_NORMAL_H
#include "ops/core/number.h"
#include "verifier/atoms.h"
#include "verifier/trace.h"

typedef uint32_t Body; /* a term without its coefficient */
typedef struct NfTerm {
    Ratio c; /* the coefficient */
    Dom dom; /* the conditions (guards) */
    int nvar, nfactor;
    const Symbol *var; /* the variables that the term binds */
    const Factor *factor;
} NfTerm;
typedef struct BodyInfo {
    NfTerm term; /* closed: its variables have canonical names; its coefficient is 1 */
    int nfree, height;
    const Symbol *free;   /* variables that the body mentions but does not bind */
    uint64_t mask, heads; /* hashes, as in AtomInfo */
} BodyInfo;
/* Checks on which soundness rests. All are on, except in tests that switch one off to see that a
   false rule is then proved. */
typedef struct Switches {
    bool determinant;  /* a change of variables must be one to one */
    bool rename_apart; /* each factor of a product is opened with variables of its own */
    bool feasibility;  /* a term is dropped only if its domain is shown to be empty */
    bool indicator;    /* matched terms cancel only where their domains agree */
    bool nonempty;  /* a part of a maximum counts only where its domain is shown not to be empty */
    bool spectator; /* longer axis blocks hold without a proof only if the added axes are
                       spectators */
} Switches;
extern const Switches switches_all;

/* DECIDED_MAX: how many maxima cases.c decides at the same time. NATURAL_BITS: how many inputs have
   a bit in Prover.natural. */
enum { DECIDED_MAX = 3, NATURAL_BITS = 64 };
typedef struct Normal Normal; /* the tables of one proof */
typedef struct Split { /* an index that is to be written as high * radix + low, with low < radix */
    Symbol variable;
    Poly radix, count; /* `count` is the number of values of `high` */
} Split;
struct Prover {
    World *w;
    Arena *arena;
    Solver *solver;
    Switches check;
    bool exact;       /* operations on floats are uninterpreted: see import_value */
    bool any_numbers; /* numbers that their element type rounds are unknown constants */
    bool lenient;     /* for classes only: sums and maxima are assumed to have an element */
    bool unroll;     /* the second attempt: short sums and logarithms of sigmoids are written out */
    bool unrollable; /* there was something that `unroll` writes out */
    Normal *tables;
    Escape *escape; /* where prover_fail jumps, whose catcher then calls escape_free */
    const char *why;
    int nsize; /* symbols size[k] known to be at least size_low[k], which is >= 0 */
    const Symbol *size;
    const int64_t *size_low;
    uint64_t steps, most_steps; /* see prover_spend */
    int depth;                  /* how deeply simplifications are nested */
    /* The indices of the output being compared, which may be split into digits. */
    int nindex;
    const Symbol *index;
    Split split;      /* the first split that simplification asks for; variable 0 if none */
    bool maybe_empty; /* a maximum was met whose domain was not shown to be inhabited */
    /* In the current case (cases.c) the maximum decided[k] equals its part decision[k]. */
    int ndecided;
    Atom decided[DECIDED_MAX];
    Nf decision[DECIDED_MAX];
    /* Bit k says that no element of input k is negative: they are unsigned integers or truth
       values. */
    uint64_t natural;
    /* type[k] is the element type of input k. For a truth value x, which is 0 or 1, x^n is x. */
    int ninput;
    const DType *type;
    /* Bit k says that input k is a single number that is not 0 wherever the left side is
       defined. */
    uint64_t nonzero;
    Dom inhabited_if; /* conditions on sizes under which the domains of maxima have a point */
    Trace *trace;     /* NULL if no trace is wanted */
};

void normal_init(Prover *); /* makes the tables; w, arena and solver are set before */
void normal_done(Prover *);
/* Gives up: jumps to p->escape with this reason. */
_Noreturn void prover_fail(Prover *, const char *why);
/* Counts steps of work and gives up after too many. A proof that does not end is thus stopped at
   the same step on every machine. */
void prover_spend(Prover *, int steps);

/* Coefficients: p/q in lowest terms, sums and products. A sum or product that exceeds 64 bits, or
   whose negative would, makes the prover give up. */
Ratio ratio(int64_t p, int64_t q);
Ratio ratio_plus(Prover *, Ratio, Ratio);
Ratio ratio_times(Prover *, Ratio, Ratio);
static inline bool ratio_is(Ratio r, int64_t n) { return r.q == 1 && r.p == n; }

/* Returns the element type of an atom that is an element of an input, otherwise DT_NONE. */
DType prover_type(Prover *, Atom);

/* Sets *v to the bound variables that the polynomial depends on, directly or inside floors, minima,
   digits and places, and to those derived symbols themselves. Returns how many there are. */
int poly_variables(Prover *, Poly, const Symbol **);
bool poly_mentions_any(Prover *, Poly, int n, const Symbol *);
Symbol variable_new(Prover *);
bool variable_nested(Prover *, Symbol); /* is it a canonical name, used only inside closed forms? */
static inline bool among(Symbol s, int n, const Symbol *v) {
    while (n--)
        if (v[n] == s) return true;
    return false;
}

/* Operations on forms. The solver is asked at most for the sign of a polynomial in sizes
   (signs.h). */
int nf_size(Prover *, Nf);           /* the number of terms */
NfTerm nf_term(Prover *, Nf, int i); /* opened with fresh variables */
/* The same, opened with variables that are reserved for p->depth and are the same each time. */
NfTerm nf_term_at(Prover *, Nf, int i);
/* The body of term i; *c is set to its coefficient. */
const BodyInfo *nf_body(Prover *, Nf, int i, Ratio *c);
Nf nf_from(Prover *, int n, const NfTerm *); /* the sum of open terms */
Nf nf_of(Prover *, NfTerm);
Nf nf_number(Prover *, Ratio);
Nf nf_atom(Prover *, Atom);
Nf nf_polynomial(Prover *, Poly); /* the value of the polynomial as a form */
/* The inverse of nf_polynomial. AtomPolynomial gives the polynomial that an atom stands for; it
   returns false if there is none. nf_as_polynomial returns false if the form is not a polynomial
   with integer coefficients in such atoms. */
typedef bool (*AtomPolynomial)(Prover *, const AtomInfo *, Poly *);
bool nf_as_polynomial(Prover *, Nf, AtomPolynomial, Poly *);
Nf nf_add(Prover *, Nf, Nf);
Nf nf_scale(Prover *, Nf, Ratio);
static inline Nf nf_negated(Prover *p, Nf a) { return nf_scale(p, a, ratio(-1, 1)); }
Nf nf_mul(Prover *, Nf, Nf);
Nf nf_guard(Prover *, Nf, Dom); /* the form where the conditions hold, 0 elsewhere */
/* The sum of the form over n variables where the conditions hold. */
Nf nf_bind(Prover *, Nf, int n, const Symbol *, Dom);
Nf nf_subst(Prover *, Nf, Map);
bool nf_mentions_any(Prover *, Nf, int n, const Symbol *);
bool nf_constant(Prover *, Nf, Ratio *); /* the form is this number */
NfTerm term_subst(Prover *, NfTerm, Map);
NfTerm term_times(Prover *, NfTerm, NfTerm); /* the terms must not share variables */
/* The term times atom^power. It is merged with a power of the same atom where that is an identity
   of total powers. */
NfTerm term_factor(Prover *, NfTerm, Atom, Ratio power);
/* Does one of the term's atoms mention one of the variables? Its conditions do not count. */
bool term_mentions_any(Prover *, NfTerm, int n, const Symbol *);
/* Writes an open term as a product. out[0] gets what mentions none of the term's variables; each
   other element is a sum, and no two of them share a variable. `out` has room for nvar + 1 terms.
   Returns how many were written, including out[0]. */
int term_independent(Prover *, NfTerm, NfTerm *out);
void nf_print(Prover *, Nf, Text *); /* prints the form (normal_text.c) */
#endif
