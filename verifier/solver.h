/* solver.h -- questions about integer polynomials, answered by Z3. All of them are about the points
   (values of the symbols) where the base facts and a set of conditions hold. "false" always means
   "not shown". A Solver serves one proof; its Z3 context is its own, so that budgets are
   reproducible. */
#ifndef ISOMER_SOLVER_H
#define ISOMER_SOLVER_H
#include "verifier/trace.h"
#include "verifier/witness.h"

/* Questions are bounded in Z3's resource units. Only where these stop counting does the clock end
   one. */
enum { LAST_RESORT_MS = 60000 };
typedef struct SolverStats {
    int queries, cached, nonlinear;
    uint64_t spent; /* Z3's resource units */
} SolverStats;
typedef struct Solver Solver;

/* Z3 resource units for one proof, unless the caller gives others. */
enum { SOLVER_BUDGET = 60000000 };
/* budget: Z3 resource units in all, 0: SOLVER_BUDGET. */
Solver *solver_new(World *, Arena *, uint64_t budget);
void solver_free(Solver *);
void solver_trace(Solver *, Trace *); /* what it shows is written there */
void solver_assume(Solver *, Lit);    /* a base fact */
bool solver_spent(const Solver *); /* the budget is used up: every further answer is "not shown" */
/* From now on at most `more` resource units, until solver_unlimit with what this returned. What is
   not shown for want of them is asked anew later. */
uint64_t solver_limit(Solver *, uint64_t more);
void solver_unlimit(Solver *, uint64_t before);
/* Nonlinear arithmetic, which is no longer asked once it failed a few times, gets new tries. */
void solver_retry(Solver *);
SolverStats solver_stats(const Solver *);

bool solver_empty(Solver *, Lits); /* no point satisfies these */
/* Every point of the first satisfies all of goal. */
bool solver_entails(Solver *, Lits, Lits goal);
/* The counted indicators add up to 0 at every point. */
bool solver_balanced(Solver *, Lits, int n, const WitnessMember[]);
/* Members with count > 0 and members with count < 0 cover the same points. */
bool solver_same_cover(Solver *, Lits, int n, const WitnessMember[]);
const char *solver_version(void); /* Z3's */
/* Gives back what Z3 keeps for good; no solver may be made after it. */
void solver_finish(void);
#endif
