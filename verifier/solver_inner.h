/* solver_inner.h -- what the files of the solver of integer questions share: solver.c,
   solver_terms.c and lemmas.c. */
#ifndef ISOMER_SOLVER_INNER_H
#define ISOMER_SOLVER_INNER_H
#include "ops/base/intern.h"
#include "verifier/solver.h"
#include "verifier/witness.h"
#include <z3.h>

/* LINEAR: every nonlinear monomial is an integer of its own. NATIVE: it is a product. */
enum { LINEAR, NATIVE, MODES };
/* What exceeds one of these limits is left out of what Z3 is told, or the question is not asked: a
   proof may be missed, none is wrong. */
enum {
    SYMBOLS_MAX = 4096,
    SIZES_MAX = 64,      /* with which lemmas multiply */
    MONOMIALS_MAX = 160, /* nonlinear ones about which there are lemmas */
    FACTORS_MAX = 20,    /* of a monomial; larger ones are opaque in nonlinear arithmetic, too */
    LEMMAS_MAX = 220,
    LEMMAS_FEW = 60,   /* after a first round; then there is a second */
    LITS_MAX = 600,    /* of a question, and of each of its domains */
    SUMMANDS_MAX = 128 /* that are added at once */
};
struct Solver {
    World *w;
    Arena *arena;
    Z3_context z;
    Z3_solver s[MODES];
    unsigned limit[MODES]; /* as last set */
    Z3_sort integer;
    int nfact, roomfact, nsize;
    Lit *fact;
    Symbol size[SIZES_MAX]; /* known not to be negative */
    int64_t low[SIZES_MAX];
    bool nonlinear_facts;
    uint8_t *defined; /* by symbol: its definition is asserted */
    uint32_t roomdefined;
    Z3_ast *ast[MODES];
    uint32_t roomast[MODES];
    Intern *cache;
    int8_t *answer;
    uint32_t roomanswer;
    uint64_t budget;
    SolverStats stats;
    Witness *witness;
    Trace *trace;
    /* What holds, as stated, where a reader wants it: Z3 keeps its own simplification. */
    Z3_ast *said[MODES];
    int nsaid[MODES], roomsaid[MODES];
    struct Lemmas *lemmas; /* of the question at hand */
    uint8_t (*multiplied)[SIZES_MAX];
    int native_failures; /* questions that nonlinear arithmetic did not settle: after some it is not
                            asked any more */
};

/* ---- solver_terms.c */
Z3_solver solver_z3(Solver *, int mode); /* made when it is first needed */
Z3_ast solver_integer(Solver *, int64_t);
Z3_ast solver_literal(Solver *, Lit, int mode);
Z3_ast solver_conjunction(Solver *, Lits, int mode); /* of at most LITS_MAX */
void solver_assert(Solver *, int mode, Z3_ast);
/* In both modes, under `when` (NULL: always). */
void solver_assert_both(Solver *, const Lits *when, Lit);
/* Asserts the definitions of the symbols that the polynomial mentions. */
void solver_define(Solver *, Poly);
Poly solver_monic(World *, const Monomial *); /* the monomial with coefficient 1 */
/* v with room for element `need`, new ones zero. */
void *solver_grown(Solver *, void *v, uint32_t *room, uint32_t need, size_t size);
static inline Lit lit_at_least(const Solver *s, Poly a, Poly b) {
    return (Lit){poly_sub(s->w, a, b), false};
}

/* ---- lemmas.c */
/* The literal says that one symbol is at least a number. */
bool lit_is_bound(const World *, Lit, Symbol *, int64_t *low);
/* Asserts in linear mode what is known of the question's monomials. True: there were nonlinear
   ones, so that "satisfiable" says nothing. */
bool solver_lemmas(Solver *, Lits holds, Lits maybe);
#endif
