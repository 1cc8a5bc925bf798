/* rule.h -- a substitution rule: as text, and as two graphs over shared variables (an Instance) for
   given lengths of its axis blocks. rules/README.md specifies the notation.

   A rule has a direction, from its left side to its right side. Its identifier is the hash of its
   canonical form. The verdict says what was proved, under which conditions, and with which
   definitions of the operators (as a digest). It follows the rule in the file and is not part of
   the identifier. rule.c reads rules, rule_text.c prints them, canonical.c computes identifiers and
   seals and checks verdicts, and instance.c makes instances. */
#ifndef ISOMER_RULE_H
#define ISOMER_RULE_H
#include "graphs/graph_text.h"
#include "graphs/numeric_class.h"
#include "ops/core/facts.h"

enum { RULE_BLOCKS = 6 /* at most in a rule */, RULE_ID = 17 /* bytes of an identifier */ };

/* An axis block `h..` stands for any number of axes; blocks of one group have the same length. A
   verdict covers the lengths least..most of every group, and all lengths from least on for the
   groups that it names in `all_ranks`. */
typedef struct RuleBlock {
    const char *name;
    int group;
} RuleBlock;
typedef struct RuleGroup {
    int least, most;
} RuleGroup;
typedef enum Verdict { VERDICT_NONE, VERDICT_PROVED, VERDICT_REFUTED, VERDICT_UNKNOWN } Verdict;
typedef struct RulePart { /* some lines of the rule's text, without their indentation */
    const char *text;
    int line;          /* line number of the first one in the file */
    const int *indent; /* for each line, the number of bytes before it in the file; NULL: none */
} RulePart;
/* Converts the place of an error in a part's text (line and column, from 1) to the place in the
   file. */
void rule_part_place(const RulePart *, Error *);

/* One rule as read. Strings live in the arena; nothing here refers to a World. */
typedef struct Rule {
    const char *name, *file;
    int line;
    const char *section; /* comments separated from it by a blank line, without #; "" if none */
    const char *comment; /* the # lines right above it, without #; "" if none */
    int nblock, ngroup;
    RuleBlock block[RULE_BLOCKS];
    RuleGroup group[RULE_BLOCKS];
    RulePart inputs, from, to, where; /* where: the author's conditions; text NULL if none */
    char id[RULE_ID];                 /* 16 hexadecimal digits */
    Verdict verdict;
    unsigned classes;      /* bits of NumericClass */
    const char *condition; /* further conditions under which it was proved; "" if none */
    const char *all_ranks; /* "b.., h..": a block of each group proved at all ranks; "" if none */
    char defs[33];         /* digest of the definitions of its operators, in hexadecimal */
    char digest[33];       /* digest of the rule, the verdict and defs */
} Rule;
typedef struct RuleSet {
    int n;
    Rule *v;
    Arena *arena;
    const char *end; /* comments after the last rule, as in Rule.section; NULL or "" if none */
} RuleSet;

/* Appends the rules of a file, or of a text that `file` names in errors. Fails with E_INVALID, line
   and column; two rules of one name are an error. Verdicts are only parsed here: rule_check says
   whether a verdict holds. */
bool rules_read(Arena *, const char *path, RuleSet *, Error *);
bool rules_parse(Arena *, const char *file, const char *text, size_t n, RuleSet *, Error *);
/* Prints the comments after the last rule. */
void rules_end_print(const RuleSet *, Text *);
/* Appends a copy without any check. */
void rules_add(RuleSet *, Arena *, const Rule *);
const Rule *rules_find(const RuleSet *, const char *name_or_id); /* NULL: none */
/* Prints the rule with comment and verdict, in the form that rules_parse reads. */
void rule_print(const Rule *, Text *);
/* Part of what a verdict's digest covers. Raised whenever the verifier gives some rules another
   class than before, which makes all verdicts invalid that were written before. */
enum { CLASSES_VERSION = 5 };
/* Returns true if the rule is proved and its verdict holds. Otherwise fails with E_CHECK, file and
   rule: there is no proof, the verdict was edited, or a definition has changed since. */
bool rule_check(World *, const Rule *, Error *);
void rule_seal(World *, Arena *, Rule *); /* computes defs and digest after a verdict was set */

/* A rule with block lengths fixed: two graphs in a World whose inputs are shared placeholders. */
typedef struct Instance {
    const Rule *rule;
    int length[RULE_BLOCKS]; /* the length of each group of axis blocks */
    DType floats;            /* the element type that F stands for */
    unsigned classes;        /* those of the rule, and more where F is narrower than float32 */
    char mark;               /* ends the names of all sizes and attributes; 0: none */
    int ninput;
    const Value *input;           /* in the order of declaration */
    Graph from, to;               /* both over these inputs, with equally many outputs */
    Graph from_stated, to_stated; /* the same graphs as written; `from` and `to` may be replaced by
                                     graphs with composites expanded */
    Graph from_whole, to_whole;   /* the same graphs; after rule_instance_expand, with the results
                                     of composites that nobody reads as further outputs */
    int nwhere;
    const Lit *where; /* the author's conditions */
    int nsymbol;
    const Symbol *symbol; /* named sizes and integer attributes that occur, ascending */
    const bool *is_size;  /* whether the symbol is a size of an input and thus >= 0; others may be
                             negative */
    int nneed_from, nneed_to;
    const Lit *need_from, *need_to; /* what shape() requires on each side */
    int nreal;
    const char *const *real; /* real variables (EX_PARAM) */
} Instance;
/* Builds the graphs. Fails with E_INVALID if they do not type-check at these lengths; the reason
   names the node. */
bool rule_instance(World *, Arena *, const Rule *, const int length[], Instance *, Error *);
/* The same, but with variables whose names no model uses, for matching in a model's World. */
bool rule_instance_apart(World *, Arena *, const Rule *, const int length[], Instance *, Error *);
/* Replaces the composites of both graphs by their expansions, which definitions describe. */
bool rule_instance_expand(World *, Arena *, Instance *, Error *);
/* The same instance with another element type of floats in place of F, in the same World. Returns
   false with the reason if the proof does not carry over (element_type.c). */
bool rule_instance_retyped(World *, Arena *, const Instance *, DType, Instance *, Error *);
/* Facts about the symbols of an instance, without its needs and conditions: an integer attribute
   may be negative, a size may not. */
Facts *rule_instance_facts(World *, Arena *, const Instance *);
/* rule_lengths_first and rule_lengths_next go through all combinations of lengths that the rule
   states. The latter returns false if there are no more. */
void rule_lengths_first(const Rule *, int length[]);
bool rule_lengths_next(const Rule *, int length[]);
/* Like rule_lengths_next, including the lengths that the verdict covers by `all_ranks`. Some may
   not type because they have too many axes; the caller skips these. */
bool rule_covered_next(const Rule *, int length[]);
/* Whether the rule itself states these lengths. */
bool rule_is_stated(const Rule *, const int length[]);
/* Computes the identifier. A rule that does not type-check gets one from its text. */
void rule_identify(Arena *, Rule *);
#endif
