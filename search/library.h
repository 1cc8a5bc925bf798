/* library.h -- the rules of a run: read, checked, chosen by options, and instantiated once in the
   World for all lengths of their axis blocks and all element types of floats in the model. */
#ifndef ISOMER_LIBRARY_H
#define ISOMER_LIBRARY_H
#include "graphs/onnx/onnx.h"
#include "rules/match.h"

typedef struct LibraryOptions {
    /* A file of rules; "none"; NULL: the library, the search set and the rules discovered for the
       target, which lie next to the program or are installed with it. */
    const char *rules;
    const char *target; /* rules discovered for this target are read, too; NULL: none are */
    const char *own;    /* a file of the user's own rules, which need not exist; NULL: none */
    int nenable, ndisable;
    /* Names or identifiers; enable: only these rules. */
    const char *const *enable, *const *disable;
    unsigned allow; /* classes of rules that are off by default and allowed here */
    /* Element types, as bits 1 << DType, for which F in a rule is instantiated beside float32. */
    unsigned floats;
} LibraryOptions;
typedef struct LibraryRule {
    const Rule *rule;
    bool on;        /* the options choose it, and nothing else excludes it */
    bool saturates; /* it is excluded because sums of its bytes may saturate on this processor */
    /* merges: several values become parts of one (products of the same input, for example). splits:
       the outputs of a Split are computed separately. Rules of both kinds would undo each other. */
    bool merges, splits;
    bool retypes;        /* rule_retypes: integers between its operators change their type */
    bool changes_bytes;  /* rule_changes_bytes: signed bytes become unsigned or the reverse */
    bool shortens_moves; /* rule_shortens_moves */
    /* It only takes work away (rule_shortens_moves or rule_lightens), so it may follow any rule. */
    bool tidies;
    int first, count; /* the range of its instances in Library.instance */
} LibraryRule;
typedef struct Library {
    RuleSet set;
    int n, ninstance;
    /* Rules of options.own that are not used because their proofs do not hold for this version. */
    int nstale;
    LibraryRule *rule; /* sorted by the names of their files, then in the order of the text */
    Instance *instance;
    OpList *needs; /* by instance: the operators that a graph must have for the rule to match */
    /* The model that results are written into: no application makes what this model cannot hold.
       NULL: no such limit. */
    Model *written;
} Library;
/* Reads and instantiates the rules. Every rule must pass rule_check; E_CHECK names the rule that
   does not. Of the file `own`, only rules that pass are used, and only those whose name and meaning
   are not known already. E_ENVIRONMENT: no library was found. E_USAGE: an option names an unknown
   rule. */
bool library_open(World *, Arena *, const LibraryOptions *, Library *, Error *);
/* Chooses again, by other options, among the rules that were read. E_USAGE: an option names an
   unknown rule. */
bool library_choose(Library *, const LibraryOptions *, Error *);
/* Return the index of a rule, given by name or identifier, or as read from the library; -1: there
   is none. */
int library_find(const Library *, const char *name);
int library_index(const Library *, const Rule *);
/* Returns the rule's instance for float32 with these lengths of its axis blocks; NULL: there is
   none. */
const Instance *library_instance(const Library *, int rule, int nlength, const int length[]);
/* Returns the next instance of the same rule with the same lengths, for another element type of
   floats; NULL: there is none. */
const Instance *library_instance_next(const Library *, const Instance *);
#endif
