/* rule.h -- a substitution rule as text, and as two graphs over shared variables once its axis
   blocks have a length. The notation is specified in rules/README.md. A rule is directed. Its
   identifier is the hash of its canonical form; verdicts (what was proved, under which conditions,
   with which digest of the operators' definitions) stand behind it and are part of the file, not of
   the identifier. */
#ifndef ISOMER_RULE_H
#define ISOMER_RULE_H
#include "graphs/graph_text.h"

enum { RULE_BLOCKS = 6, RULE_ID = 17 };
/* How much floating-point results may differ from the original's, as bits; exact is none of them.
   X(id, word) */
#define RULE_CLASSES(X)                                                                         \
    X(CLASS_REASSOCIATES, "reassociates") /* sums and products in another order */              \
    X(CLASS_ROUNDS, "rounds")             /* a constant is the nearest float of a real value */ \
    X(CLASS_DIVIDES, "divides")           /* uses exp or division */                            \
    X(CLASS_DROPS, "drops") /* one side reads fewer elements: NaN and Inf may vanish */
typedef enum RuleClass {
    CLASS_EXACT = 0,
#define X(id, word) id##_BIT,
    RULE_CLASSES(X)
#undef X
#define X(id, word) id = 1 << (id##_BIT - 1),
        RULE_CLASSES(X)
#undef X
} RuleClass;

/* An axis block `h..` stands for any number of axes; blocks of one group have the same length. A
   verdict covers the lengths least..most of every group, and every length from least on of those
   that it names in `all`. */
typedef struct RuleBlock {
    const char *name;
    int group;
} RuleBlock;
typedef struct RuleGroup {
    int least, most;
} RuleGroup;
typedef enum Verdict { VERDICT_NONE, VERDICT_PROVED, VERDICT_REFUTED, VERDICT_UNKNOWN } Verdict;
typedef struct RulePart { /* lines of the rule's text, with the number of the first */
    const char *text;
    int line;
} RulePart;

/* One rule as read. Strings live in the arena; nothing here refers to a World. */
typedef struct Rule {
    const char *name, *file;
    int line;
    const char *section; /* comments that stand by themselves before it, without #; "" if none */
    /* The # lines above it, without #: the model or case it is for; "" if none. */
    const char *comment;
    int nblock, ngroup;
    RuleBlock block[RULE_BLOCKS];
    RuleGroup group[RULE_BLOCKS];
    RulePart inputs, from, to, where; /* where: conditions the author demands; text NULL if none */
    char id[RULE_ID];                 /* 16 hexadecimal digits */
    Verdict verdict;
    unsigned classes;
    const char *condition; /* conditions under which it was proved, beside `where`; "" none */
    /* "b.., h..": a block of each group for which it was proved at all ranks; "" none. */
    const char *all;
    char defs[33], digest[33]; /* of the definitions it rests on; over rule, verdict and defs */
} Rule;
typedef struct RuleSet {
    int n;
    Rule *v;
    Arena *arena;
} RuleSet;

/* Appends the rules of a file or text. Verdicts are parsed, not believed: rule_check does that. Two
   rules of one name are an error. */
bool rules_read(Arena *, const char *path, RuleSet *, Error *);
bool rules_parse(Arena *, const char *file, const char *text, size_t n, RuleSet *, Error *);
const Rule *rules_find(const RuleSet *, const char *name_or_id); /* NULL: none */
/* With comment and verdict; rules_parse reads it back. */
void rule_print(const Rule *, Text *);
/* "exact", "reassociates+rounds" */
const char *classes_text(Arena *, unsigned classes);
bool classes_parse(const char *text, unsigned *classes);
/* Refuses (E_CHECK, place = file and rule) a rule without proof, a tampered verdict, or definitions
   that changed since the proof. */
bool rule_check(World *, const Rule *, Error *);
void rule_seal(World *, Arena *, Rule *); /* computes defs and digest after a verdict was set */

/* A rule with block lengths fixed: two graphs in a World whose inputs are shared placeholders. */
typedef struct Instance {
    const Rule *rule;
    int length[RULE_BLOCKS]; /* of each group */
    int ninput;
    const Value *input;           /* in the order of declaration */
    Graph from, to;               /* equal numbers of outputs; inputs: those above */
    Graph from_stated, to_stated; /* the same at first; they stay so where a reader expands
                                     composites in from and to */
    int nwhere;
    const Lit *where;
    int nsymbol;
    const Symbol *symbol; /* named sizes and integer attributes that occur, ascending */
    /* It is a dimension of an input, so >= 0; other integers may be negative. */
    const bool *is_size;
    int nneed_from, nneed_to;
    const Lit *need_from, *need_to; /* collected needs of shape() on either side */
    int nreal;
    const char *const *real; /* real variables (EX_PARAM) */
} Instance;
/* E_INVALID when the rule does not type at these lengths (the reason names the node). */
bool rule_instance(World *, Arena *, const Rule *, const int length[], Instance *, Error *);
/* The same with variables that no model has: what is matched in a model's World must be made so. */
bool rule_instance_apart(World *, Arena *, const Rule *, const int length[], Instance *, Error *);
/* All combinations of lengths: start with the first, until false. */
void rule_lengths_first(const Rule *, int length[]);
bool rule_lengths_next(const Rule *, int length[]);
/* Likewise with those that the verdict covers beside: what does not type (it has too many axes) is
   to be passed over. */
bool rule_covered_next(const Rule *, int length[]);
bool rule_is_stated(const Rule *, const int length[]); /* of these lengths the rule itself speaks */
bool rule_for_all(const Rule *, int group);            /* the verdict names the group in `all` */
/* Computes id; a rule that does not type gets one from its text. */
void rule_identify(Arena *, Rule *);
#endif
