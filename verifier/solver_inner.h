/* solver_inner.h -- what the files of the solver for integer questions share: solver.c,
   solver_terms.c and lemmas.c. */
#ifndef ISOMER_SOLVER_INNER_H
#define ISOMER_SOLVER_INNER_H
#include "ops/base/intern.h"
#include "verifier/solver.h"
#include "verifier/witness.h"
#include <z3.h>

/* The two translations of a question. LINEAR: every nonlinear monomial is an integer constant of
   its own. NATIVE: a monomial is a product. */
enum { LINEAR, NATIVE, MODES };
/* What exceeds one of these limits is left out of what Z3 is told, or the question is not asked. A
   proof may be missed that way, but none becomes wrong. */
enum {
    SIZES_MAX = 64,      /* sizes by which lemmas multiply a literal */
    MONOMIALS_MAX = 160, /* nonlinear monomials about which there are lemmas */
    FACTORS_MAX = 20,    /* factors of a monomial; a larger one is opaque in NATIVE, too */
    LEMMAS_MAX = 220,
    LEMMAS_FEW = 60,   /* if the first round of lemmas makes fewer, there is a second one */
    LITS_MAX = 600,    /* literals of a question, and of each of its domains */
    SUMMANDS_MAX = 128 /* summands of one addition */
};
struct Solver {
    World *w;
    Arena *arena;
    Cleanup cleanup; /* closes the context */
    Z3_context z;
    Z3_solver s[MODES];
    unsigned limit[MODES]; /* the resource limit that was last set */
    Z3_sort integer;
    int nfact, roomfact, nsize;
    Lit *fact;
    Symbol size[SIZES_MAX]; /* sizes known to be >= low[k], which is >= 0 */
    int64_t low[SIZES_MAX];
    bool nonlinear_facts; /* a definition of a symbol was asserted, which may be nonlinear */
    uint8_t *defined;     /* indexed by symbol: is its definition asserted? */
    uint32_t roomdefined;
    Z3_ast *ast[MODES];
    uint32_t roomast[MODES];
    /* The questions asked so far, and by their number the answers: 1 shown, -1 not shown, 0
       none. */
    Intern *cache;
    int8_t *answer;
    uint32_t roomanswer;
    uint64_t budget;
    SolverStats stats;
    Witness *witness;
    Trace *trace;
    /* The assertions, if obligations are collected: Z3 keeps only its own simplification. */
    Z3_ast *said[MODES];
    int nsaid[MODES], roomsaid[MODES];
    struct Lemmas *lemmas;            /* of the current question */
    uint8_t (*multiplied)[SIZES_MAX]; /* by literal and size: is there a lemma on the product? */
    /* The questions that nonlinear arithmetic did not decide. After NATIVE_FAILURES of them it is
       not asked any more. */
    int native_failures;
};

/* ---- solver_terms.c */
Z3_solver solver_z3(Solver *, int mode); /* made when it is first needed */
Z3_ast solver_integer(Solver *, int64_t);
Z3_ast solver_literal(Solver *, Lit, int mode);
Z3_ast solver_conjunction(Solver *, Lits, int mode); /* of the first LITS_MAX literals */
void solver_assert(Solver *, int mode, Z3_ast);
/* Asserts the literal in both modes, where all of `when` holds (NULL: everywhere). */
void solver_assert_both(Solver *, const Lits *when, Lit);
/* Asserts, once, the definitions of the symbols that the polynomial mentions. */
void solver_define(Solver *, Poly);
Poly solver_monic(World *, const Monomial *); /* the monomial with coefficient 1 */
/* Returns v with room for element number `need`; new elements are zero. */
void *solver_grown(Solver *, void *v, uint32_t *room, uint32_t need, size_t size);
static inline Lit lit_at_least(const Solver *s, Poly a, Poly b) {
    return (Lit){poly_sub(s->w, a, b), false};
}

/* ---- lemmas.c */
/* Does the literal say that one symbol is at least a number, x >= low? */
bool lit_is_bound(const World *, Lit, Symbol *, int64_t *low);
/* Asserts in LINEAR mode what is known of the question's nonlinear monomials. Returns true if there
   are nonlinear ones, so that the answer "satisfiable" says nothing. */
bool solver_lemmas(Solver *, Lits holds, Lits maybe);
#endif
