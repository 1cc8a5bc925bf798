/* solver.h -- answers questions about integer polynomials, with Z3. A question is about all points
   (values of the symbols) at which the base facts and a given set of conditions hold. "false"
   always means "not shown". A Solver serves one proof and has a Z3 context of its own, so that what
   its budget allows is reproducible. */
#ifndef ISOMER_SOLVER_H
#define ISOMER_SOLVER_H
#include "verifier/trace.h"
#include "verifier/witness.h"

/* The effort of a question is limited in Z3's resource units. This time limit, in milliseconds,
   ends a question only where Z3 stops counting them. */
enum { LAST_RESORT_MS = 60000 };
/* `queries` counts the questions that Z3 was asked, `nonlinear` those of them in nonlinear
   arithmetic, `cached` those that were answered from the cache; `spent` is in Z3's resource
   units. */
typedef struct SolverStats {
    int queries, cached, nonlinear;
    uint64_t spent;
} SolverStats;
typedef struct Solver Solver;

/* The default budget of a proof, in Z3's resource units. */
enum { SOLVER_BUDGET = 60000000 };
/* Makes a solver with this budget, in Z3's resource units; 0 means SOLVER_BUDGET. A budget may have
   64 bits: that of one question has 32, and Z3 adds it to what it has counted before. The arena's
   Escape frees the solver, too. */
Solver *solver_new(World *, Arena *, uint64_t budget);
void solver_free(Solver *);
void solver_trace(Solver *, Trace *); /* writes each question that is shown to the trace */
void solver_assume(Solver *, Lit);    /* adds a base fact */
/* The budget is used up, so that every further answer is "not shown". */
bool solver_spent(const Solver *);
/* Limits the budget to `more` further resource units until solver_unlimit is called with the value
   that solver_limit returned. Questions that were not answered for lack of budget are asked again
   later. */
uint64_t solver_limit(Solver *, uint64_t more);
void solver_unlimit(Solver *, uint64_t before);
/* Allows questions in nonlinear arithmetic again. They are no longer asked after a few of them
   remained undecided. */
void solver_retry(Solver *);
SolverStats solver_stats(const Solver *);

bool solver_empty(Solver *, Lits); /* no point satisfies the conditions */
/* Every point that satisfies the conditions satisfies all of the goal. */
bool solver_entails(Solver *, Lits, Lits goal);
/* At every point, the counts of the members whose sets contain it add up to 0. */
bool solver_balanced(Solver *, Lits, int n, const WitnessMember[]);
/* The members with positive count and those with negative count cover the same points. */
bool solver_same_cover(Solver *, Lits, int n, const WitnessMember[]);
const char *solver_version(void); /* of Z3 */
/* Frees the memory that Z3 keeps until the program ends. No solver may be made afterwards. */
void solver_finish(void);
#endif
