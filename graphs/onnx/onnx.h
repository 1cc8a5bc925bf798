/* onnx.h -- ONNX files in and out. A wire walker slices the mapped file into messages; untouched
   slices are written back verbatim; nothing is an error that a valid model may contain. */
#ifndef ISOMER_ONNX_H
#define ISOMER_ONNX_H
#include "graphs/rewrite.h"
#include "ops/core/facts.h"

typedef struct Model Model; /* the mapped file, its index, the graph made of it; lives in the
                               World's arena, the mapping until model_close */
typedef struct ModelStats {
    int nodes, understood, opaque; /* numbers of ONNX nodes outside subgraphs */
    size_t external;               /* bytes of the files that its tensors name */
} ModelStats;
/* Reads a file and imports its graph. NULL: E_INVALID, with the place in the file; E_ENVIRONMENT:
   it cannot be read; E_LIMIT: it is larger than 2 GiB. The World's escape closes the model if the
   caller does not. */
Model *model_open(World *, const char *path, Error *);
/* A size that the file leaves open: of an axis of an input, whose name in the file is param ("" if
   it has none). Negative: what another axis of this name has, else it stays open. Numbers let more
   nodes be understood: for running, never for writing. */
typedef int64_t (*InputSize)(const void *user, const char *input, int axis, const char *param);
/* What is known beforehand. Where a node's result has sizes or a form that depend on data, value()
   may give the elements of what they depend on, computed from inputs at hand (graphs/plan/stage.h).
   The graph is then the right one for these inputs only. */
typedef struct OpenOptions {
    InputSize size; /* NULL: none */
    const void *size_user;
    bool first_is_one; /* the first axis of an input, if it stays open, has size 1 */
    /* The elements of a value. NULL: there are none. False: they cannot be computed. */
    bool (*value)(void *user, const Model *, Value, Type *, const void **bytes);
    void *value_user;
    const char *base_path; /* external data lies in the folder of this file; NULL: of the model */
    /* Domains whose operators may be written although the file does not import them, at version 1:
       the result does then. */
    int ndomain;
    const char *const *domain;
    /* NULL, or the file's contents, nbytes of them, which outlive the model; the path is for
       messages then. */
    const void *bytes;
    size_t nbytes;
    /* Of a part with referred weights (model_part), the model's World having made both: the
       weights, which are neither copied nor hashed again. */
    int nblob;
    const Blob *blob;
} OpenOptions;
/* model_open with these options. */
Model *model_open_with(World *, const char *path, const OpenOptions *, Error *);
void model_close(Model *);
/* Returns the memory of the mapped file's pages to the system until they are read again. */
void model_release_pages(const Model *);
/* One step of inlining, in the file's bytes; all else stays byte for byte. Calls of functions
   become the functions' nodes (not of functions named like operators that a runtime has). Where
   there are none, each If whose condition is a number (`folded`: what constants make) becomes its
   branch; then an If of whose branches only one fits what follows (import/infer_branch.c). False:
   there is nothing to inline. The pieces are of the model's file and of the arena. Afterwards the
   model can only be closed. */
bool model_inline(Model *, const ValueMap *folded, Arena *, Pieces *);
/* The file with numbers for open sizes: `size` is asked for each axis of an input; the number that
   it gives replaces every size of that name, in outputs and other values, too. False: it gave
   none. */
bool model_fix_sizes(const Model *, InputSize size, const void *user, Arena *, Pieces *);
/* Its inputs are those of the file that are not initializers, in order; its outputs are those of
   the file, in order (none while nodes are still being read). */
const Graph *model_graph(const Model *);
ModelStats model_stats(const Model *);
/* Of ONNX's own operator set; 0: the model does not import it. */
int64_t model_version(const Model *);
const char *model_input_name(const Model *, int);
/* The default of an input: the initializer of its name, `count` elements of this type; NULL: there
   is none. */
const void *model_input_default(const Model *, int, DType, int64_t count);
const char *model_output_name(const Model *, int);
/* The World's name for a size of this name in the file, where a name may have any characters. "":
   the size has a number. NULL: no input has such a size. */
const char *model_size_name(const Model *, const char *);
/* The names of all of these, in the file's order, with commas between them; "": there are none. */
const char *model_size_names(const Model *, Arena *);
/* The name an original value has in the file; NULL: none. */
const char *model_value_name(const Model *, Value);
/* The name and type of the ONNX node that a node was imported from; NULL: there is none. */
const char *model_node_name(const Model *, NodeId, const char **op_type);
/* Its place in the file, from 0; -1: it was imported from none. */
int model_node_index(const Model *, NodeId);
/* Why it is opaque or only known; NULL: it is not. */
const char *model_opaque_reason(const Model *, NodeId);

/* Writes the model with its graph replaced. `map` maps every old live value to the value that has
   its meaning now. `tag` (may be NULL) names the rule that made a value: new nodes are named and
   documented after it. With the graph unchanged the file is written byte for byte. Atomic. */
typedef struct ModelWrite {
    const Graph *graph;
    const ValueMap *map;
    const char *(*tag)(void *, Value);
    void *user;
    bool external; /* model_write: initializers of external_threshold bytes and more go into one
                      file next to the model, PATH.data */
    int64_t external_threshold;
    bool known_sizes; /* sizes that are numbers are written as such, not read off other nodes */
    bool regenerate; /* for tests: every node that is not opaque is newly written, none is copied */
} ModelWrite;
bool model_write(Model *, const ModelWrite *, const char *path, Error *);
/* Removes the copies of external data that model_write made there, the model's own never. */
void model_remove_external(const Model *, const char *folder);
/* The bytes that model_write would write: as pieces of the model's file, of the World's constants
   and of the arena, or joined into one block. */
bool model_pieces(Model *, const ModelWrite *, Arena *, Pieces *, Error *);
bool model_bytes(Model *, const ModelWrite *, Arena *, char **bytes, size_t *n, Error *);
/* Whether the result can be expressed in the model's operator set; *why, if not, lives in the
   World's arena. */
bool model_writable(Model *, const ModelWrite *, const char **why);
/* The same of one new node, itself or as its expansion: where sizes are open, it may have an
   attribute that depends on them and that ONNX wants as a number. What it reads does not matter. */
bool model_node_writable(Model *, NodeId, const char **why);
/* Whether this operator can be written in the model's operator set, itself or as its expansion;
 *why: if not. */
bool model_exportable(Model *, const Op *, const char **why);
typedef struct PartBorder {
    const double *seconds; /* by node of the model; NULL: not known, and there is no bound */
    double most;           /* seconds: a node that takes more stays outside */
} PartBorder;
typedef struct ModelPart {
    int n, *node; /* node[k]: the place in the model of the part's node k */
    Pieces file;
    int nblob; /* weights that the file refers to; 0: it is a model that any program can read */
    const Blob *blob;
} ModelPart;
/* Some nodes of the model (core[k]: its node k, by place in the file) with a border around them, as
   a model of its own, in which all sizes are numbers, for a target to time. The time of each node
   of the border may be bounded, so that the border does not hide the core. `refer`: large weights
   are not in the file, which can only be opened with the part's blobs (OpenOptions), at a cost that
   does not depend on their size, and not be written. False and *why: it cannot stand by itself. The
   file's pieces are of this model and of the arena. */
bool model_part(Model *, Arena *, Sizes, const bool core[], PartBorder, bool refer, ModelPart *,
                const char **why);

/* A body of control flow (bodies.c): a subgraph of a node of the graph. */
typedef struct BodyInput {
    const char *name;
    const Type *type;
} BodyInput;
typedef struct ModelBody {
    int node, attr;   /* the node that has it, which of its attributes it is */
    const char *name; /* "then_branch of If 'x'" */
    int nodes;
    int known;  /* model_body: states of a Loop that are the same initializer in every iteration */
    int ninput; /* model_body: values of the graph around it that the model takes, in the arena */
    BodyInput *input;
} ModelBody;
/* How many there are; all are in the arena. */
int model_bodies(Model *, Arena *, ModelBody **);
/* The body as a model of its own: pieces of this model's file and of the arena. States that are
   known are its initializers. False and *why: it cannot be one. */
bool model_body(Model *, ModelBody *, Arena *, Pieces *file, const char **why);
/* "x:1,3": the sizes that one of its inputs with open ones has at these sizes of the graph around
   it, as --input-shape gives them. NULL: it has no open ones, or they have no values. */
const char *body_input_shape(World *, Arena *, const BodyInput *, Sizes);
/* The file with other bodies: what the model result[k] (no bytes: it stays) computes in place of
   body[k], whose model it was made from. Weights that nothing uses any more are left out. False and
   *why: a new name would hide one of the graph around it. */
bool model_with_bodies(Model *, int n, const ModelBody body[], const Piece result[], Arena *,
                       Pieces *file, const char **why);
/* What was moved out of a body. */
typedef struct MovedNodes {
    const char *body; /* "body of Loop 'x'" */
    int n;
    const char **node; /* "MatMul 'y'", in order */
} MovedNodes;
/* The file in which nodes of the bodies of Loop and Scan that compute the same in every iteration
   stand before the Loop or Scan, where they cannot fail and are worth it at these sizes (motion.c,
   invariants.c); facts: of the model's graph. Returns from how many bodies; 0: there are none.
   Pieces are of this model's file and of the arena. */
int model_move_invariants(Model *, Facts *, Sizes, Arena *, MovedNodes **, Pieces *file);
void onnx_versions(Text *); /* lines of --version: of what reads and writes files */
#endif
