/* egraph_inner.h -- what the files of the e-graph share: its tables. */
#ifndef ISOMER_EGRAPH_INNER_H
#define ISOMER_EGRAPH_INNER_H
#include "rules/egraph.h"

/* Reasons that are not equations. SWAPPED: congruent with inputs exchanged. */
enum { GIVEN = -1, CONGRUENT = -2, SWAPPED = -3 };
typedef struct ClassEntry { /* what is known of a value */
    bool known, outdated;
    Value parent, next; /* parent: in the union-find; next: the next member of the class, cyclic */
    int first_use, last_use; /* indices into `use` + 1; only for representatives */
    /* The next value towards the root of its tree of reasons; 0: it is the root. */
    Value proof_parent;
    int reason;   /* why it equals proof_parent: an index into `reason`, or one of the above */
    bool flipped; /* the equation holds from proof_parent to this value */
    bool made;    /* for a node: an application made it, and no equal node was there before */
    uint32_t stamp;
} ClassEntry;
typedef struct Use {
    NodeId node;
    int next;
} Use;
typedef struct Reason {
    const EquationUse *use;
    int application; /* -1: applications are not kept */
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
    NodeId *node; /* all known nodes, in the order in which they came */
    Intern *applied;
    bool record;
    int napplication, application_room, now; /* now: 1 + the application being made; 0: none */
    EGraphApplication *application;
};
#endif
