/* derive.h -- a derivation: a graph that rules turn into others, round after round, with the map
   from the values it started with, the rule that made each new value and the proof log. An
   application is sound whatever else is done in its round: the new value equals the old one, and
   the match's inputs may be replaced by values that equal them. */
#ifndef ISOMER_DERIVE_H
#define ISOMER_DERIVE_H
#include "rules/prooflog.h"
#include "search/library.h"

/* One application of a rule; the match's values are those of the graph before its round. */
typedef struct Application {
    Match match;
    const Value *to; /* by root of the match: what replaced it */
} Application;
typedef struct Shared { /* two applications share a value */
    int step;           /* the one that needed it .. */
    Value v;            /* .. and what another had made (derivation_step) */
} Shared;
typedef struct Derivation {
    World *w;
    Arena *arena;
    Facts *facts;
    const Library *library;
    Graph graph;
    NodeId model_nodes; /* nodes up to this one were made before any rule was applied */
    bool bare;          /* only the graph is needed: nothing below is kept */
    ValueMap map;       /* from the values of the graph it began with */
    ProofLog log;
    int applied, *fired; /* how often rules were applied: in all, and by rule of the library */
    bool limited;        /* derive_fixpoint ended at a limit, not where nothing is left to apply */
    bool file_changed;   /* sizes were fixed: the file is written even if no rule was applied */
    unsigned classes; /* the classes of these rules, and CLASS_ROUNDS if a float matched a rational
                         that it only rounds */
    int nstep, room;
    Application *step; /* in the order they were made */
    int nshared, shared_room;
    Shared *shared; /* without what depends on constants alone, and reshaping, which is free */
    uint32_t nmade; /* the length of made[] and rebuilt[] */
    uint32_t *made; /* by value: 1 + the application that made it; 0: none did */
    /* By value: the value from which it was rebuilt (the same operator on other inputs), or that it
       equals; 0: none. */
    Value *rebuilt;
    /* What run_finish computed: the graph before it, and each value of it that depends on constants
       alone with the constant (or fill) that took its place. */
    Graph unfolded;
    int nfolded;
    const Value *folded, *constant;
} Derivation;
/* Whether another file than the one that was read is to be written. */
static inline bool derivation_changes(const Derivation *d) { return d->applied || d->file_changed; }
/* At this graph, no rule applied; what it records lives in the arena. */
Derivation derivation_new(World *, Arena *, Facts *, const Library *, const Graph *);
/* The same without log, map and tags (bare). */
Derivation derivation_bare(World *, Arena *, Facts *, const Library *, const Graph *);
/* The tag of a value: the name of the rule that made it; NULL: none did. */
const char *derivation_tag(void *derivation, Value);
/* The application that made it; -1: none did. */
int derivation_step(const Derivation *, Value);
/* The value from which it was rebuilt, or that it replaced; 0: none. */
Value derivation_before(const Derivation *, Value);
/* The value of the model from which it originates, through the roots of the applications that made
   it; 0: none. */
Value derivation_origin(const Derivation *, Value);
bool value_among(Value, int n, const Value[]); /* it is one of the n */
/* The nodes of the left side, from the roots down to the inputs, in the arena. */
NodeList match_inner(World *, Arena *, const Match *);
/* Whether all inputs are older than the first root: only such matches share a round with others. */
bool match_ordered(World *, const Match *);

/* Whether an input or a root has no elements. Rewriting such a match is correct, but gains nothing,
   and runtimes handle empty tensors badly: ONNX Runtime multiplies matrices without rows, but
   refuses to convolve them. The search skips such matches. */
bool match_empty(World *, const Match *);

/* Applies matches in the current graph, all in one round of the log; those that do not hold
   (conditions not entailed), change nothing or meet another's roots are left out: *applied counts
   the rest. strict: leaving one out is an error (replay). */
bool derive_round(Derivation *, int n, const Match[], bool strict, int *applied, Error *);
/* Applies the steps of a log. E_CHECK: a step does not match its rule where the log says so, or its
   conditions do not hold. */
bool derive_replay(Derivation *, const ProofLog *, Error *);
/* Goes on with another graph, to which `map` leads from the current one (folding, the end of a
   round): a value that takes another's place inherits its tag, and the map from the values that the
   derivation began with is extended. */
void derive_mapped(Derivation *, const Graph *, const ValueMap *);
#endif
