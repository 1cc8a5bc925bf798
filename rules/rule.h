/* rule.h -- a substitution rule as text, and as two graphs over shared variables once its axis blocks have a length.
   The notation is specified in rules/README.md. A rule is directed. Its identifier is the hash of its canonical form; verdicts (what was proved, under which conditions, with which digest
   of the operators' definitions) stand behind it and are part of the file, not of the identifier. */
#ifndef ISOMER_RULE_H
#define ISOMER_RULE_H
#include "graphs/graph_text.h"

enum { RULE_BLOCKS = 4, RULE_ID = 17 };
/* How much floating-point results may differ from the original's, as bits; exact is none of them. X(id, word) */
#define RULE_CLASSES(X)                                                                                                                    \
    X(CLASS_REASSOCIATES, "reassociates") /* sums and products in another order */                                                        \
    X(CLASS_ROUNDS, "rounds")             /* a constant is the nearest float of a real value */                                            \
    X(CLASS_DIVIDES, "divides")           /* uses exp or division */                                                                       \
    X(CLASS_DROPS, "drops")               /* one side reads fewer elements: NaN and Inf may vanish */
typedef enum RuleClass {
    CLASS_EXACT = 0,
#define X(id, word) id##_BIT,
    RULE_CLASSES(X)
#undef X
#define X(id, word) id = 1 << (id##_BIT - 1),
    RULE_CLASSES(X)
#undef X
} RuleClass;

typedef struct Range { int from, to; } Range;
typedef struct RuleBlock { /* `h..`: any number of axes; proved for each number in `proved` */
    const char *name;
    Range proved;
} RuleBlock;
typedef enum Verdict { VERDICT_NONE, VERDICT_PROVED, VERDICT_REFUTED, VERDICT_UNKNOWN } Verdict;

/* One rule as read. Its text stays in the arena; nothing here refers to a World. */
typedef struct Rule {
    const char *name, *comment;     /* comment: the # lines above it, names the model or case it is for */
    const char *text, *file;        /* from `rule` to before the verdict; canonical text via rule_print */
    int line;
    char id[RULE_ID];               /* 16 hexadecimal digits */
    int nblock;
    RuleBlock block[RULE_BLOCKS];
    Verdict verdict;
    unsigned classes;
    const char *where;              /* conditions as text: "c >= 1, g == 1"; "" none */
    char defs[33], digest[33];      /* of the definitions it rests on; over rule, verdict and defs */
    bool expanded_by_default;       /* `default`-marked: on without being asked for */
} Rule;
typedef struct RuleSet { int n; Rule *v; Arena *arena; } RuleSet;

/* Reads a file of rules. Verdicts are parsed, not believed: rules_check does that. */
bool rules_read(Arena *, const char *path, RuleSet *, Error *);
bool rules_parse(Arena *, const char *name, const char *text, size_t n, RuleSet *, Error *);
void rule_print(const Rule *, Text *);              /* canonical, with its verdict line */
/* Refuses (E_INVALID, place = rule) an unproved rule, a tampered verdict, or definitions that changed since the proof. */
bool rule_check(World *, const Rule *, Error *);
void rule_seal(World *, Rule *);                    /* computes defs and digest after a verdict was set */

/* A rule with block lengths fixed: two graphs in a World whose inputs are shared placeholders. */
typedef struct Instance {
    const Rule *rule;
    int block[RULE_BLOCKS];
    int ninput;
    const Value *input;             /* in the order of declaration */
    Graph from, to;                 /* equal numbers of outputs; inputs: those above */
    int nwhere;
    const Lit *where;
    int nsymbol;
    const Symbol *symbol;           /* sizes and integer attributes that are free */
    const bool *is_size;            /* a size is >= 0; an integer attribute may be negative */
    int nneed_from, nneed_to;
    const Lit *need_from, *need_to; /* collected needs of shape() on either side */
    int nreal;
    const char *const *real;        /* real variables (EX_PARAM) */
} Instance;
/* E_INVALID when the rule does not type at these lengths (the reason names the node). */
bool rule_instance(World *, Arena *, const Rule *, const int block[], Instance *, Error *);
#endif
