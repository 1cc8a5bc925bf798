/* onnx.h -- reads and writes ONNX files: the interface of this folder to the rest of the project.

   The reader maps the file, splits it into protobuf messages in place, and builds a graph from
   them. The writer copies every message that did not change byte for byte. Nothing that a valid
   model may contain is an error: a node that is not understood becomes an opaque node. */
#ifndef ISOMER_ONNX_H
#define ISOMER_ONNX_H
#include "graphs/rewrite.h"
#include "ops/base/file.h"
#include "ops/base/options.h"
#include "ops/core/facts.h"

/* An open model: the mapped file, its index, and the graph made of it. It lives in the World's
   arena; the file stays mapped until model_close. */
typedef struct Model Model;
typedef struct ModelStats {
    int nodes, understood, opaque; /* numbers of ONNX nodes outside subgraphs */
    size_t external;               /* bytes of the external data files that its tensors refer to */
} ModelStats;
/* Reads a file and imports its graph. Returns NULL with E_INVALID and the place in the file if the
   file is not a valid model, with E_ENVIRONMENT if it cannot be read, or with E_LIMIT if it is
   larger than 2 GiB. If the caller does not close the model, the World's escape does. */
Model *model_open(World *, const char *path, Error *);
/* Returns the size of an axis of an input that the file leaves open. `param` is the name of the
   size in the file ("" if it has none). A negative result means "not given": the axis then gets the
   size given for another axis of the same name, or stays open. With sizes as numbers, more nodes
   are understood, but the graph holds for these sizes only: such a model is for running, not for
   writing. */
typedef int64_t (*InputSize)(const void *user, const char *input, int axis, const char *param);
/* What the caller knows before the model is read. Where the sizes or the form of a node's result
   depend on data, value() may return that data, computed from the inputs at hand
   (graphs/plan/stage.h). The resulting graph is correct for these inputs only. */
typedef struct OpenOptions {
    InputSize size; /* NULL: every open size stays open */
    const void *size_user;
    bool first_is_one; /* the first axis of an input has size 1 if it would stay open */
    /* Gives the type and the elements of a value, or returns false if they cannot be computed.
       NULL: no data is available. */
    bool (*value)(void *user, const Model *, Value, Type *, const void **bytes);
    void *value_user;
    /* The conditions of Ifs are asked of `value` even if they are known without: the run then does
       not rest on what the reader knows about constants and sizes. Where `value` does not give a
       condition, the known one counts. */
    bool runs_conditions;
    /* External data is searched for in the folder of this file; NULL: in that of the model. */
    const char *base_path;
    /* Domains that the file does not import but whose operators may be written. A result that uses
       one imports it at version 1. */
    int ndomain;
    const char *const *domain;
    /* The contents of the file, `nbytes` long, which must outlive the model; `path` then only
       appears in messages. NULL: the file at `path` is read. */
    const void *bytes;
    size_t nbytes;
    /* The weights of a part that model_part wrote with `refer`; the part must be opened in the
       World of the model it was taken from. These weights are neither copied nor hashed again. */
    int nblob;
    const Blob *blob;
} OpenOptions;
/* Like model_open, with these options. */
Model *model_open_with(World *, const char *path, const OpenOptions *, Error *);
void model_close(Model *);
/* Gives the memory of the mapped files' pages back to the system; the pages are read again when
   they are next used. */
void model_release_pages(const Model *);
/* Performs one step of inlining in the bytes of the file; all other bytes stay as they are. Calls
   of functions that the model defines are replaced by the functions' nodes, except where a function
   is named like an operator that a runtime implements itself. If there are no such calls, each If
   whose condition is a known number is replaced by its branch; `folded` maps values to the
   constants that folding found. If there is none either, an If of whose branches only one fits what
   follows is replaced (import/infer_branch.c). Returns false if nothing can be inlined. The pieces
   belong to the model's file and to the arena. Afterwards the model can only be closed. */
bool model_inline(Model *, const ValueMap *folded, Arena *, Pieces *);
/* Writes the file with numbers in place of open sizes. `size` is called for each axis of an input;
   the number that it returns replaces every size of the same name, also in outputs and other
   values. Returns false if it returned no number. */
bool model_fix_sizes(const Model *, InputSize size, const void *user, Arena *, Pieces *);
/* The graph's inputs are the inputs of the file that are not initializers; its outputs are those of
   the file (none while nodes are still being read). Both are in the order of the file. */
const Graph *model_graph(const Model *);
ModelStats model_stats(const Model *);
/* The version of ONNX's own operator set; 0 if the model does not import it. */
int64_t model_version(const Model *);
const char *model_input_name(const Model *, int);
/* Returns the default of an input: the initializer of the same name, if it has this type and
   `count` elements; else NULL. */
const void *model_input_default(const Model *, int, DType, int64_t count);
const char *model_output_name(const Model *, int);
/* Returns the name that the World gives to a size, given its name in the file (which may contain
   any characters); "" if the size has a number, NULL if no input has such a size. */
const char *model_size_name(const Model *, const char *);
/* Returns the file's names of all these sizes, in the order of the file and separated by commas; ""
   if there are none. */
const char *model_size_names(const Model *, Arena *);
/* A size that inputs leave open: its name in the file or, if it has none there, that of its input
   and its axis ("x.2"); and its symbol. */
typedef struct ModelSize {
    const char *name;
    Symbol symbol;
} ModelSize;
/* Lists these sizes in the arena, in the order of the file, and returns their number. */
int model_open_sizes(const Model *, Arena *, ModelSize **);
/* The name of an original value in the file, or NULL if it has none. */
const char *model_value_name(const Model *, Value);
/* Returns the name and *op_type of the ONNX node that a node was imported from, or NULL if there is
   none. */
const char *model_node_name(const Model *, NodeId, const char **op_type);
/* The position in the file, from 0, of the ONNX node that a node was imported from, or -1 if there
   is none. */
int model_node_index(const Model *, NodeId);
/* An opaque node of the file: its name, or that of its first output if it has none; its operator;
   and why the importer does not understand it. */
typedef struct OpaqueNode {
    const char *name, *op_type, *reason;
} OpaqueNode;
/* Lists the opaque nodes outside subgraphs in the arena, in the order of the file, and returns
   their number, which is that of model_stats. */
int model_opaque_nodes(const Model *, Arena *, OpaqueNode **);
/* Why the importer left a node or an initializer opaque; NULL if it did not. */
const char *model_import_reason(const Model *, NodeId);
/* Why a node is opaque or only known; NULL if it is algebraic. */
const char *model_opaque_reason(const Model *, NodeId);

/* What to write: the model with another graph. If the graph is unchanged, the file is written byte
   for byte. */
typedef struct ModelWrite {
    const Graph *graph; /* the graph to be written */
    /* Maps each live value of the old graph to the value that replaces it. */
    const ValueMap *map;
    /* Names the rule that made a value; new nodes are named and documented after it. May be
       NULL. */
    const char *(*tag)(void *, Value);
    void *user;
    /* model_write: tensors of at least external_threshold bytes go into one file next to the model,
       PATH.data. */
    bool external;
    int64_t external_threshold;
    /* Write sizes that are numbers as numbers instead of reading them off other values. */
    bool known_sizes;
    /* For tests: write every node anew that is not opaque, instead of copying it. */
    bool regenerate;
} ModelWrite;
/* Writes the file atomically: `path` holds either the old contents or all of the new ones. */
bool model_write(Model *, const ModelWrite *, const char *path, Error *);
/* Whether model_write may give this name to the file next to the model at `path`: that of the model
   with .data, .data1, .data2, .. after it. */
bool model_weights_name(const char *path, const char *name);
/* Returns the paths of the model's external data files, relative to its folder. */
StringList model_external_files(const Model *, Arena *);
/* Whether the model's external data can be copied into the folder of `path`: no other file there
   has the name of one of its files. */
bool model_can_copy_external(Model *, const char *path, Arena *, Error *);
/* Return the bytes that model_write would write, either as pieces of the model's file, of the
   World's constants and of the arena, or joined into one block. */
bool model_pieces(Model *, const ModelWrite *, Arena *, Pieces *, Error *);
bool model_bytes(Model *, const ModelWrite *, Arena *, char **bytes, size_t *n, Error *);
/* Whether the result can be expressed in the model's operator set. If not, *why says what cannot;
   it lives in the World's arena. */
bool model_writable(Model *, const ModelWrite *, const char **why);
/* The same for one new node, written either itself or as its expansion. Where sizes are open, this
   fails if an attribute that ONNX wants as a number depends on them. The node's inputs are not
   examined. */
bool model_node_writable(Model *, NodeId, const char **why);
/* Whether this operator can be written in the model's operator set, either itself or as its
   expansion; if not, *why says so. */
bool model_exportable(Model *, const Op *, const char **why);
typedef struct PartBorder {
    /* By node of the model; NULL: times are not known, and the border is not bounded. */
    const double *seconds;
    double most; /* seconds: a node that takes longer stays outside the border */
} PartBorder;
typedef struct ModelPart {
    int n, *node; /* n nodes; node[k] is the position in the model of the part's node k */
    Pieces file;
    int nblob; /* weights that the file only refers to; if 0, any program can read the file */
    const Blob *blob;
} ModelPart;
/* Extracts some nodes of the model (core[k]: node k of the file belongs to the part) with a border
   of nodes around them, as a model of its own for a target to time. All sizes in it are numbers.
   The time of each node of the border may be bounded, so that the border does not hide the core.

   With `refer`, the file contains references instead of large weights. It can then only be opened
   with the part's blobs (OpenOptions) and cannot be written again, but making it costs the same
   however large the weights are. Returns false and *why if the part cannot stand by itself. The
   file's pieces belong to this model and to the arena. */
bool model_part(Model *, Arena *, Sizes, const bool core[], PartBorder, bool refer, ModelPart *,
                const char **why);

/* A body of control flow (bodies.c): a subgraph that is an attribute of a node of the graph. */
typedef struct BodyInput {
    const char *name;
    const Type *type;
} BodyInput;
typedef struct ModelBody {
    /* The node that has the body, and the index of the attribute that is the body. */
    int node, attr;
    const char *name; /* "then_branch of If 'x'" */
    int nodes;        /* of the body */
    /* Set by model_body: the number of states of a Loop that hold the same initializer in every
       iteration. */
    int known;
    /* Set by model_body: the number of values of the surrounding graph that the model takes as
       inputs; the list is in the arena. */
    int ninput;
    BodyInput *input;
} ModelBody;
/* Lists all bodies in the arena and returns their number. */
int model_bodies(Model *, Arena *, ModelBody **);
/* Writes the body as a model of its own, in pieces of this model's file and of the arena. States
   that are known become its initializers. Returns false and *why if the body cannot be a model. */
bool model_body(Model *, ModelBody *, Arena *, Pieces *file, const char **why);
/* Returns the sizes of an input, as --input-shape takes them ("x:1,3"), given the sizes of the
   surrounding graph. Returns NULL if the input has no open sizes, or if they have no values. */
const char *body_input_shape(World *, Arena *, const BodyInput *, Sizes);
/* Writes the file with new bodies: body[k] is replaced by what result[k] computes, which is a model
   made from that body (without bytes: the body stays). Initializers that nothing uses any more are
   left out. Returns false and *why if a new name would hide a name of the surrounding graph. */
bool model_with_bodies(Model *, int n, const ModelBody body[], const Piece result[], Arena *,
                       Pieces *file, const char **why);
/* The nodes that were moved out of a body. */
typedef struct MovedNodes {
    const char *body; /* "body of Loop 'x'" */
    int n;
    const char **node; /* descriptions, "MatMul 'y'", in order */
} MovedNodes;
/* Moves nodes that compute the same value in every iteration out of the bodies of Loop and Scan and
   in front of that Loop or Scan, where they cannot fail and are worth moving at these sizes
   (motion.c, invariants.c). `facts` are those of the model's graph. Returns the number of bodies
   that changed and, if it is not 0, the new file, whose pieces belong to this model's file and to
   the arena. */
int model_move_invariants(Model *, Facts *, Sizes, Arena *, MovedNodes **, Pieces *file);
void onnx_versions(Text *); /* the lines of --version about the libraries and formats for files */
#endif
