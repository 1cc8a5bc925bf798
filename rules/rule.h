/* rule.h -- a substitution rule: as text, and, for given lengths of its axis blocks, as two graphs
   over shared variables (an Instance). rules/README.md specifies the notation. A rule has a
   direction, from its left side to its right side. Its identifier is the hash of its canonical
   form. The verdict (what was proved, under which conditions, with which digest of the operators'
   definitions) follows the rule in the file and is not part of the identifier. rule.c reads rules,
   rule_text.c prints them, canonical.c computes identifiers, seals and checks verdicts, instance.c
   makes instances. */
#ifndef ISOMER_RULE_H
#define ISOMER_RULE_H
#include "graphs/graph_text.h"
#include "graphs/numeric_class.h"

enum { RULE_BLOCKS = 6 /* at most in a rule */, RULE_ID = 17 /* bytes of an identifier */ };

/* An axis block `h..` stands for any number of axes; blocks of one group have the same length. A
   verdict covers the lengths least..most of every group, and all lengths from least on for the
   groups that it names in `all`. */
typedef struct RuleBlock {
    const char *name;
    int group;
} RuleBlock;
typedef struct RuleGroup {
    int least, most;
} RuleGroup;
typedef enum Verdict { VERDICT_NONE, VERDICT_PROVED, VERDICT_REFUTED, VERDICT_UNKNOWN } Verdict;
typedef struct RulePart { /* lines of the rule's text, without their indentation */
    const char *text;
    int line;          /* the number of the first in the file */
    const int *indent; /* by line: bytes before it on its line of the file; NULL: none */
} RulePart;
/* Makes the place of an error in a part's text (line and column, from 1) one in the file. */
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
    RulePart inputs, from, to, where; /* where: conditions the author demands; text NULL if none */
    char id[RULE_ID];                 /* 16 hexadecimal digits */
    Verdict verdict;
    unsigned classes;      /* bits of NumericClass */
    const char *condition; /* further conditions under which it was proved; "" if none */
    const char *all;       /* "b.., h..": a block of each group proved at all ranks; "" if none */
    char defs[33];         /* digest of the definitions of its operators, in hexadecimal */
    char digest[33];       /* digest of the rule, the verdict and defs */
} Rule;
typedef struct RuleSet {
    int n;
    Rule *v;
    Arena *arena;
} RuleSet;

/* Appends the rules of a file or of a text (`file` names it in errors). E_INVALID with line and
   column; two rules of one name are an error. Verdicts are only parsed here: rule_check says
   whether one holds. */
bool rules_read(Arena *, const char *path, RuleSet *, Error *);
bool rules_parse(Arena *, const char *file, const char *text, size_t n, RuleSet *, Error *);
/* Appends a copy; nothing is checked. */
void rules_add(RuleSet *, Arena *, const Rule *);
const Rule *rules_find(const RuleSet *, const char *name_or_id); /* NULL: none */
/* With comment and verdict, as rules_parse reads it. */
void rule_print(const Rule *, Text *);
/* True if the rule is proved and its verdict holds. E_CHECK with file and rule: it has no proof,
   the verdict was edited, or a definition has changed since. */
bool rule_check(World *, const Rule *, Error *);
void rule_seal(World *, Arena *, Rule *); /* computes defs and digest after a verdict was set */

/* A rule with block lengths fixed: two graphs in a World whose inputs are shared placeholders. */
typedef struct Instance {
    const Rule *rule;
    int length[RULE_BLOCKS]; /* of each group of axis blocks */
    DType floats;            /* the element type that F stands for */
    unsigned classes;        /* the rule's, and what is added where F is narrower */
    int ninput;
    const Value *input;           /* in the order of declaration */
    Graph from, to;               /* over these inputs, with equally many outputs */
    Graph from_stated, to_stated; /* the same as written: from and to may be replaced by graphs with
                                     composites expanded, these stay */
    int nwhere;
    const Lit *where; /* the author's conditions */
    int nsymbol;
    const Symbol *symbol; /* named sizes and integer attributes that occur, ascending */
    const bool *is_size;  /* the symbol is a size of an input, so >= 0; others may be negative */
    int nneed_from, nneed_to;
    const Lit *need_from, *need_to; /* what shape() requires on either side */
    int nreal;
    const char *const *real; /* real variables (EX_PARAM) */
} Instance;
/* Builds the graphs. E_INVALID if they do not type-check at these lengths; the reason names
   the node. */
bool rule_instance(World *, Arena *, const Rule *, const int length[], Instance *, Error *);
/* The same with variables of names that no model uses: for matching in a model's World. */
bool rule_instance_apart(World *, Arena *, const Rule *, const int length[], Instance *, Error *);
/* The same instance with another element type of floats in place of F, in the same World. False,
   with the reason: the proof does not carry over (element_type.c). */
bool rule_instance_retyped(World *, Arena *, const Instance *, DType, Instance *, Error *);
/* Goes through all combinations of lengths that the rule states; false: there are no more. */
void rule_lengths_first(const Rule *, int length[]);
bool rule_lengths_next(const Rule *, int length[]);
/* The same with the lengths that the verdict covers by `all`. Some may not type, because they have
   too many axes; the caller skips these. */
bool rule_covered_next(const Rule *, int length[]);
bool rule_is_stated(const Rule *, const int length[]); /* the rule states these lengths itself */
/* Computes the identifier; a rule that does not type-check gets one from its text. */
void rule_identify(Arena *, Rule *);
#endif
