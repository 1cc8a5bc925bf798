/* match_inner.h -- what the files of match share: the state of a search for matches. */
#ifndef ISOMER_MATCH_INNER_H
#define ISOMER_MATCH_INNER_H
#include "rules/match.h"

struct Matcher {
    World *w;
    Arena *arena;
    Facts *facts;
    NodeList live;
    Uses uses;
    int *first, *count; /* by operator, into nodes */
    NodeId *nodes;
    MatchClasses classes;
};

typedef struct Bound { /* a value of the rule and what it is in the graph */
    Value pattern, value;
} Bound;
typedef struct Goal { /* the same, still to be matched */
    Value pattern, value;
} Goal;
typedef struct SizeEquation { /* a size of the rule and what it is in the graph */
    Poly pattern, value;
    bool solved;
} SizeEquation;
typedef struct MatchState {
    Matcher *m;
    const Instance *i;
    MatchFound found;
    void *user;
    const Value *at; /* by root: the only value to try; NULL: all */
    Arena *arena;    /* the lists below grow in it while matching goes on */
    int nbound, ngoal, nequation, bound_room, goal_room, equation_room;
    int root; /* how many roots are matched, or being matched */
    Bound *bound;
    Goal *goal;
    SizeEquation *equation;
    Poly *symbol; /* what each symbol is bound to, where is_bound */
    bool *is_bound;
    Ex *real;
    int ntrail;
    int *trail; /* k >= 0: symbol k was bound; ~k: real k */
    int rounds; /* floats that matched rationals (Match.rounds) */
    bool stop;
    /* Room for what is asked or reported: the symbols that are bound and what to; the inputs and
       the roots of a match. */
    Symbol *from;
    Poly *to;
    Value *input, *output;
} MatchState;

/* How much is bound; restoring it takes back what was bound since. */
typedef struct MatchMark {
    int nbound, ngoal, nequation, ntrail, rounds;
} MatchMark;
static inline MatchMark match_save(const MatchState *s) {
    return (MatchMark){s->nbound, s->ngoal, s->nequation, s->ntrail, s->rounds};
}
static inline void match_restore(MatchState *s, MatchMark v) {
    for (; s->ntrail > v.ntrail; s->ntrail--) {
        int k = s->trail[s->ntrail - 1];
        if (k >= 0) s->is_bound[k] = false;
        else s->real[~k] = 0;
    }
    s->nbound = v.nbound;
    s->ngoal = v.ngoal;
    s->nequation = v.nequation;
    s->rounds = v.rounds;
}

/* A size or an integer attribute of the rule equals this one of the graph: bound, compared, or an
   equation for later. False: it cannot. */
bool match_equate(MatchState *, Poly pattern, Poly value);
/* The same for numbers; held: the element type in which the graph has its number. */
bool match_bind_real(MatchState *, Ex pattern, Ex value, DType held);
/* Solves the equations that wait. False: one is wrong, or something is still not bound. */
bool match_solve(MatchState *);
#endif
