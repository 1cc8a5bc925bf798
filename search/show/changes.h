/* changes.h -- what a run changed, node by node of the two files: which nodes are gone, new or
   changed, and which application of a rule did it. */
#ifndef ISOMER_CHANGES_H
#define ISOMER_CHANGES_H
#include "graphs/onnx/file/index.h"
#include "search/run.h"

typedef enum Change { KEPT, CHANGED, GONE, NEW } Change;
typedef struct FileNode {
    const char *name, *type; /* name: "" if it has none */
    int nin, nout;
    const char **in, **out; /* "": left out */
    Slice whole;
    Change change;
    int step;  /* the application that made it (result) or first replaced it (original); -1: none */
    int other; /* the same node in the other file, -1: none */
    int place; /* changes that belong together have the same number; -1: kept */
} FileNode;
typedef struct FileSide {
    int n, nin, nout;
    FileNode *v;
    const char **in, **out; /* of the graph */
    Intern *names;          /* of values */
    int *maker;             /* by name: the node that makes it; -1: none */
} FileSide;
typedef struct NodeSet {
    int n, *v;
} NodeSet; /* indices, ascending */
typedef struct Changes {
    Run *r;
    Arena *arena;
    const Derivation *d;
    FileSide side[2]; /* the original, the result */
    bool *varies;     /* by value: it depends on an input */
    NodeSet *origin;  /* by application: nodes of the original that its result replaced */
    NodeSet *earlier; /* by application: the applications whose results it replaced */
    int nplace;
} Changes;
/* The derivation is finished and can be written, or nothing was applied. Everything lives in the
   run's arena. NULL: the run's error says why. */
Changes *changes_find(Run *, const Derivation *);
const char *change_label(const FileNode *);                 /* its name, or its first output's */
const Rule *change_rule(const Changes *, const FileNode *); /* NULL: none made or replaced it */
int changes_count(const Changes *, int side, Change);
int changes_maker(const FileSide *, const char *name); /* the node that makes it; -1: none */
void changes_print(const Changes *, Text *);           /* --diff */
/* --explain: a node or value of either file, by its name; or that neither has one. */
void changes_explain(const Changes *, const char *node, Text *);
#endif
