/* changes.h -- what a run changed, node by node of both files: which nodes are gone, new or
   changed, and which application of a rule caused it. */
#ifndef ISOMER_CHANGES_H
#define ISOMER_CHANGES_H
#include "graphs/onnx/file/index.h"
#include "search/run.h"

typedef enum Change { KEPT, CHANGED, GONE, NEW } Change;
typedef struct FileNode {
    const char *name, *type; /* name "": it has none */
    int nin, nout;
    const char **in, **out; /* "": an optional one that is left out */
    Slice whole;            /* the bytes of the node in its file */
    Change change;
    /* Result: the application that made it; original: the first that replaced it; -1: none. */
    int step;
    int other; /* the same node in the other file; -1: none */
    int place; /* number of its place: nodes that changed together; -1: it was kept */
} FileNode;
typedef struct FileSide {
    int n, nin, nout;
    FileNode *v;
    const char **in, **out; /* inputs and outputs of the graph */
    Intern *names;          /* names of values */
    int *maker;             /* by name: the node that makes this value; -1: none */
} FileSide;
typedef struct NodeSet {
    int n, *v;
} NodeSet; /* ascending indices of nodes */
typedef struct Changes {
    Run *r;
    Arena *arena;
    const Derivation *d;
    FileSide side[2]; /* [0] the original, [1] the result */
    bool *varies;     /* by value: it depends on an input or on random data */
    NodeSet *origin;  /* by application: the nodes of the original that it replaced */
    NodeSet *earlier; /* by application: earlier ones whose results it replaced */
    int nplace;
} Changes;
/* Finds what a derivation changed. It must be finished and writable, or have applied nothing.
   Everything lives in the run's arena. NULL: the run's error says why. */
Changes *changes_find(Run *, const Derivation *);
/* The node's name, or else that of its first output. */
const char *change_label(const FileNode *);
/* The rule that made or replaced it; NULL: none did. */
const Rule *change_rule(const Changes *, const FileNode *);
int changes_count(const Changes *, int side, Change);
/* The node that makes the value; -1: none. */
int changes_maker(const FileSide *, const char *name);
void changes_print(const Changes *, Text *); /* prints the text of --diff */
/* Prints the text of --explain for a node or value of either file, given by name, or says that
   neither file has it. */
void changes_explain(const Changes *, const char *node, Text *);
#endif
