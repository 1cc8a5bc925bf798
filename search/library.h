/* library.h -- the rules of a run: read, checked, chosen by options, and their instances at all
   block lengths, for all element types of floats, made once in the World. */
#ifndef ISOMER_LIBRARY_H
#define ISOMER_LIBRARY_H
#include "graphs/onnx/onnx.h"
#include "rules/match.h"

typedef struct LibraryOptions {
    /* A file; "none"; NULL: the library, the search set and the target's discovered rules, next to
       the program or installed with it. */
    const char *rules;
    const char *target; /* whose discovered rules are read, too; NULL: none are */
    const char *own;    /* a file of further rules (library_open); NULL: none */
    int nenable, ndisable;
    const char *const *enable, *const *disable; /* rule names; enable: only these */
    unsigned allow;                             /* classes beyond the default ones */
    unsigned floats; /* bits 1 << DType: element types that F of a rule stands for as well */
} LibraryOptions;
typedef struct LibraryRule {
    const Rule *rule;
    bool on; /* chosen by the options */
    /* merges: several roots become one (products of the same input, for example); splits: the
       outputs of a Split are computed separately. Both at once would undo each other. */
    bool merges, splits;
    bool retypes;        /* between its operators are integers of another type (rule_retypes) */
    bool changes_bytes;  /* signed ones for unsigned ones or the reverse (rule_changes_bytes) */
    bool shortens_moves; /* rule_shortens_moves */
    bool tidies; /* it takes work away and may follow any: it shortens moves or rule_lightens */
    int first, count; /* its instances */
} LibraryRule;
typedef struct Library {
    RuleSet set;
    int n, ninstance;
    int nstale;        /* rules of options.own that are not used: their proofs do not hold here */
    LibraryRule *rule; /* in the order of the files' names, then of their text */
    Instance *instance;
    OpList *needs; /* by instance: the operators without which it does not match */
    /* As which a result is written: what it cannot hold, no application makes. NULL: anything. */
    Model *written;
} Library;
/* Every rule must pass rule_check: E_CHECK names the one that does not. Of `own`, which need not
   exist, those that pass are taken, unless the name or what it says is known. E_ENVIRONMENT: no
   library found. E_USAGE: an option names an unknown rule. */
bool library_open(World *, Arena *, const LibraryOptions *, Library *, Error *);
/* Chooses again among the rules that were read, by other options. E_USAGE: an option names an
   unknown rule. */
bool library_choose(Library *, const LibraryOptions *, Error *);
/* -1: none. */
int library_find(const Library *, const char *name);
int library_index(const Library *, const Rule *);
/* The rule's instance of these lengths for float32; NULL: it has none. */
const Instance *library_instance(const Library *, int rule, int nlength, const int length[]);
/* The next after it, of these lengths for another element type of floats; NULL: there is none. */
const Instance *library_instance_next(const Library *, const Instance *);
#endif
