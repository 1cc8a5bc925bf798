/* egraph_inner.h -- what the files of egraph share: the tables of an e-graph. */
#ifndef ISOMER_EGRAPH_INNER_H
#define ISOMER_EGRAPH_INNER_H
#include "rules/egraph.h"

enum { GIVEN = -1, CONGRUENT = -2, SWAPPED = -3 }; /* SWAPPED: congruent, inputs exchanged */
typedef struct ClassEntry {                        /* of a value */
    bool known, outdated;
    Value parent, next;      /* of the union-find; the members, around */
    int first_use, last_use; /* numbers in `use` + 1; of standing values */
    Value edge;              /* towards the root of its tree of reasons; 0: it is the root */
    int reason;              /* of that edge: an index into `reason`, or one of the above */
    bool flipped;            /* that edge: the equation holds from `edge` to this value */
    bool made;               /* of a node: by an application, and no other is like it */
    uint32_t stamp;
} ClassEntry;
typedef struct Use {
    NodeId node;
    int next;
} Use;
typedef struct Reason {
    const EquationUse *use;
    int application; /* -1: they are not kept */
} Reason;
struct EGraph {
    World *w;
    Arena *arena;
    Facts *facts;
    uint32_t room, stamp;
    ClassEntry *v;
    int nuse, use_room, ndirty, dirty_room, nreason, reason_room, nnode, node_room, live;
    Use *use;
    Value *dirty;
    Reason *reason;
    NodeId *node; /* all that are known, as they came */
    Intern *applied;
    bool record;
    int napplication, application_room, now; /* now: 1 + the application that is being made */
    EGraphApplication *application;
};
#endif
