/* match_inner.h -- what the files of matching share: the state of a search for matches. */
#ifndef ISOMER_MATCH_INNER_H
#define ISOMER_MATCH_INNER_H
#include "rules/match.h"

struct Matcher {
    World *w;
    Arena *arena;
    Facts *facts;
    NodeList live;
    Uses uses;
    /* For each operator: where its nodes start in `nodes`, and how many there are. */
    int *first, *count;
    NodeId *nodes;
    MatchClasses classes;
};

typedef struct Bound { /* a value of the rule and the value of the graph that it is bound to */
    Value pattern, value;
} Bound;
typedef struct MatchGoal { /* the same, but still to be matched */
    Value pattern, value;
} MatchGoal;
typedef struct SizeEquation { /* a size of the rule and the size of the graph that it must equal */
    Poly pattern, value;
    bool solved;
} SizeEquation;
typedef struct MatchState {
    Matcher *m;
    const Instance *i;
    MatchFound found;
    void *user;
    const Value *at; /* for each root, the only value to try; NULL: all */
    Arena *arena;    /* the lists below grow in it during matching */
    int nbound, ngoal, nequation, bound_room, goal_room, equation_room;
    int root; /* roots that are matched or being matched */
    Bound *bound;
    MatchGoal *goal;
    SizeEquation *equation;
    Poly *symbol; /* what each symbol is bound to, valid if is_bound */
    bool *is_bound;
    Ex *real;
    int ntrail;
    int *trail; /* k >= 0: symbol k was bound; ~k: real variable k was */
    int rounds; /* number of floats that only approximate what they matched (Match.rounds) */
    bool stop;
    /* Buffers: the bound symbols and their values, for a substitution; the inputs and roots of a
       match. */
    Symbol *from;
    Poly *to;
    Value *input, *output;
} MatchState;

/* A point to backtrack to: match_restore undoes all bindings made since. */
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

/* Requires that a size or integer attribute of the rule equals one of the graph: binds a symbol,
   compares, or keeps an equation for later. Returns false if they cannot be equal. */
bool match_equate(MatchState *, Poly pattern, Poly value);
/* The same for numbers. held: the element type in which the graph holds its number. */
bool match_bind_real(MatchState *, Ex pattern, Ex value, DType held);
/* Solves the equations that were kept. Returns false if one does not hold or something remains
   unbound. */
bool match_solve(MatchState *);
#endif
