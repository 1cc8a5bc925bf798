/* export.h -- exports proved rules in formats of other programs (rules/EXPORT.md). A rule that is
   not proved, or whose verdict no longer holds, is never exported: it is left out and counted. A
   new format takes one file, rules/export_NAME.c, and one line here. */
#ifndef ISOMER_RULES_EXPORT_H
#define ISOMER_RULES_EXPORT_H
#include "rules/rule.h"

#define EXPORT_FORMATS(X, between) \
    X(json)                        \
    between X(taso)                \
    between X(onnx)                \
    between X(egglog)
#define EXPORT_NAME(name) #name
#define EXPORT_NAMES EXPORT_FORMATS(EXPORT_NAME, ", ") /* "json, .." */

typedef struct ExportReason { /* a reason why rules were left out */
    const char *text, *first; /* first: the name of the first of these rules */
    int count;
} ExportReason;
typedef struct ExportReasons {
    int n, room;
    ExportReason *v;
} ExportReasons;

typedef struct Export {
    World *w;
    Arena *arena;
    int n;
    const Rule **rule;      /* the chosen rules, in the order in which they were read */
    int passed_over;        /* number of proved rules that the options do not ask for */
    ExportReasons unproved; /* rules without a verdict that holds */
    ExportReasons lost; /* what the format cannot express: rules or, in onnx and egglog, entries */
    int expressed;      /* number of rules with something in the result */
    int written; /* number of entries in the result: a rule may have one for each length of its axis
                    blocks */
} Export;
typedef struct ExportOptions {
    unsigned classes; /* the classes that are allowed; exact rules always are */
    bool any_class;   /* all classes are allowed */
    bool conditional; /* conditions on sizes are allowed */
    int nop;          /* 0: all operators are allowed */
    const Op *const *op;
} ExportOptions;

/* Checks every verdict and chooses rules by the options. Returns false only if a rule's text cannot
   be read. */
bool export_choose(World *, Arena *, const RuleSet *, const ExportOptions *, Export *, Error *);
/* Adds the lengths of an instance's blocks, as in "@1.2"; nothing if it has none. */
void export_lengths(const Instance *, Text *);
/* Counts a rule that is left out for this reason. */
void export_leave(Export *, ExportReasons *, const Rule *, const char *reason);

typedef struct ExportFormat {
    const char *name, *what; /* what: what the path becomes, for the help: "a file ..", .. */
    bool (*write)(Export *, const char *path, Error *);
    bool folder; /* the path becomes a new folder */
} ExportFormat;
#define X(name) extern const ExportFormat export_##name
EXPORT_FORMATS(X, ;);
#undef X
const ExportFormat *export_format(const char *name); /* NULL: none */
typedef struct GraphFile { /* path, graph name and opset of an ONNX model */
    const char *path, *name;
    int opset;
} GraphFile;
/* Writes a graph whose sizes are numbers as an ONNX model, with the names of its inputs and with
   results result_0, .. Returns false with *why if ONNX cannot express it, or with the error. */
bool export_graph(World *, Arena *, const Graph *, GraphFile, const char **why, Error *);
const char *export_source(const Rule *); /* the name of the rule's file, without folders */
#endif
