/* export.h -- proved rules in the formats of others (rules/EXPORT.md). What is not proved, or whose
   verdict does not hold any more, is never handed on: it is left out and counted. A new format is
   one file, rules/export_NAME.c, and one line here. */
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

typedef struct ExportReason { /* why rules were left out */
    const char *text, *first; /* the first rule's name */
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
    const Rule **rule;      /* chosen, in the order in which they were read */
    int passed_over;        /* proved, but not what the options ask for */
    ExportReasons unproved; /* without a verdict that holds */
    ExportReasons lost;     /* what the format cannot say: rules or, in onnx and egglog, entries */
    int expressed;          /* rules of which something is in the result */
    int written;            /* entries in the result: a rule may have one for each length of its
                               axis blocks */
} Export;
typedef struct ExportOptions {
    unsigned classes; /* rules whose class is among these; exact ones always */
    bool any_class;   /* all of them */
    bool conditional; /* also those with conditions on sizes */
    int nop;          /* 0: any */
    const Op *const *op;
} ExportOptions;

/* Checks every verdict and chooses by the options. False only where a rule's text cannot be
   read. */
bool export_choose(World *, Arena *, const RuleSet *, const ExportOptions *, Export *, Error *);
void export_leave(Export *, ExportReasons *, const Rule *, const char *reason);

typedef struct ExportFormat {
    const char *name, *what; /* of what the path becomes: "a file", .. for the help */
    bool (*write)(Export *, const char *path, Error *);
    bool folder; /* the path becomes a new folder */
} ExportFormat;
#define X(name) extern const ExportFormat export_##name
EXPORT_FORMATS(X, ;);
#undef X
const ExportFormat *export_format(const char *name); /* NULL: none */
typedef struct GraphFile { /* an ONNX model: its path, its graph's name, its opset */
    const char *path, *name;
    int opset;
} GraphFile;
/* Writes a graph whose sizes are numbers as an ONNX model, with the names of its inputs and with
   results result_0, .. False: *why says what ONNX has no words for, or the error what went
   wrong. */
bool export_graph(World *, Arena *, const Graph *, GraphFile, const char **why, Error *);
const char *export_source(const Rule *); /* its file's name without folders */
#endif
