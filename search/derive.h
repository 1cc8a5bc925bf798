/* derive.h -- a derivation: rules turn a graph into other graphs, round after round. The derivation
   keeps the map from the values of the first graph to the current ones, the rule that made each new
   value, and the proof log. An application is sound regardless of the other applications of its
   round: it states that the new value equals the old one, and the inputs of its match may be
   replaced by values that equal them. */
#ifndef ISOMER_DERIVE_H
#define ISOMER_DERIVE_H
#include "rules/prooflog.h"
#include "search/library.h"

/* One application of a rule. The values of the match are those of the graph before its round. */
typedef struct Application {
    Match match;
    const Value *in; /* by input of the match: the value that stood for it after the round */
    const Value *to; /* by root of the match: the value that replaced it, made of `in` */
} Application;
typedef struct Shared { /* a new value that two applications share */
    int step;           /* the application that needed the value */
    Value v;            /* made by an earlier application (derivation_step) */
} Shared;
typedef struct Derivation {
    World *w;
    Arena *arena;
    Facts *facts;
    const Library *library;
    Graph graph;
    NodeId model_nodes; /* nodes up to this one existed before any rule was applied */
    bool bare;          /* only the graph is needed; the fields below are not kept */
    ValueMap map;       /* from the values of the first graph to the current ones */
    ProofLog log;
    int applied, *fired; /* number of applications: in all, and by rule of the library */
    bool limited;        /* derive_fixpoint stopped at a limit, so more rules may apply */
    bool undone;         /* derive_fixpoint forgot all applications, since they undid each other */
    bool file_changed;   /* sizes were fixed: the file is written even if no rule was applied */
    /* The classes of all rules applied, with CLASS_ROUNDS if a float of the graph matched a
       rational number of a rule that it only approximates. */
    unsigned classes;
    int nstep, room;
    Application *step; /* all applications, in the order in which they were made */
    int nshared, shared_room;
    /* All shared values except those that depend on constants alone, and reshapes, which are
       free. */
    Shared *shared;
    uint32_t nmade; /* the length of made[] and replaced[] */
    uint32_t *made; /* by value: 1 + the index of the application that made it; 0: none did */
    /* By value: the value that it replaces, either rebuilt from it (the same operator on other
       inputs) or equal to it; 0: none. */
    Value *replaced;
    /* What derivation_finish computed: the graph before folding, each value of it that depends on
       constants alone and was computed, and the constant (or fill) that replaced it. */
    Graph unfolded;
    int nfolded;
    const Value *folded, *constant;
} Derivation;
/* Returns whether a file must be written that differs from the one read. */
static inline bool derivation_changes(const Derivation *d) { return d->applied || d->file_changed; }
/* Returns a derivation that starts at this graph; no rule is applied yet. What it records lives in
   the arena. */
Derivation derivation_new(World *, Arena *, Facts *, const Library *, const Graph *);
/* The same, but `bare`: without log, map and tags. */
Derivation derivation_bare(World *, Arena *, Facts *, const Library *, const Graph *);
/* Returns the tag of a value: the name of the rule that made it; NULL: none did. */
const char *derivation_tag(void *derivation, Value);
/* Returns the index of the application that made the value; -1: none did. */
int derivation_step(const Derivation *, Value);
/* Returns the value from which `v` was rebuilt, or which it replaced; 0: none. */
Value derivation_before(const Derivation *, Value);
/* Returns the value of the model from which `v` originates: the search goes back from each new
   value to the first root of the application that made it. 0: it originates from none. */
Value derivation_origin(const Derivation *, Value);
bool value_among(Value, int n, const Value[]); /* whether the list has the value */
/* Returns the nodes of the graph that the left side matched, from the roots down to but without the
   inputs, in the arena. */
NodeList match_inner(World *, Arena *, const Match *);
/* Returns whether all inputs of the match precede its first root. Only such matches can share a
   round with others (derive.c). */
bool match_ordered(World *, const Match *);

/* Returns whether an input or a root of the match has no elements. Rewriting such a match is
   correct but gains nothing, and runtimes handle empty tensors badly: ONNX Runtime multiplies
   matrices without rows, but refuses to convolve them. The search skips such matches. */
bool match_empty(World *, const Match *);

/* Applies matches to the current graph, as one round of the log. A match is skipped if its
   conditions are not entailed, if it changes nothing, or if it shares a root with another match;
   *applied (may be NULL) receives the number of those applied. With `strict`, as for replay, a
   skipped match is an error. Returns false with the error set on failure. */
bool derive_round(Derivation *, int n, const Match[], bool strict, int *applied, Error *);
/* Applies the steps of a log, round by round. Returns false with E_CHECK if a step does not match
   its rule where the log says so, or if its conditions do not hold. */
bool derive_replay(Derivation *, const ProofLog *, Error *);
/* Replaces the current graph by another one, to which `map` leads from the current values (after
   folding, or at the end of a round). A value that replaces another one inherits its tag, and the
   map from the first graph is extended. */
void derive_mapped(Derivation *, const Graph *, const ValueMap *);
#endif
