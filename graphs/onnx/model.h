/* model.h -- the representation of an open model, which the files of this folder share. Names of
   values are numbered; number 0 is the empty name. Each name is defined once, by its source: an
   input, an initializer or a node. */
#ifndef ISOMER_ONNX_MODEL_H
#define ISOMER_ONNX_MODEL_H
#include "graphs/onnx/file/index.h"
#include "graphs/onnx/onnx.h"
#include "graphs/onnx/file/tensor.h"
#include "ops/base/file.h"
#include <sys/stat.h>

typedef uint32_t NameId;
typedef enum Source { FROM_NOTHING, FROM_INPUT, FROM_INITIALIZER, FROM_SPARSE, FROM_NODE } Source;
/* Whether the file itself gives the value, so that no node computes it. */
static inline bool source_is_given(Source s) {
    return s == FROM_INPUT || s == FROM_INITIALIZER || s == FROM_SPARSE;
}
typedef struct NameInfo {
    const char *text;
    Source source;
    int index;  /* of the input, initializer or node, by source */
    Slice type; /* the ValueInfoProto of this name; absent if there is none */
    Value value;
    Value fallback;           /* of an input: its default, a constant; 0 if it has none */
    bool used;                /* by a node or a subgraph, or as an output of the graph */
    bool defined_in_subgraph; /* a subgraph defines this name, so it must not be given to a new
                                 value */
    /* Training information or an annotation refers to it: it must keep its name and meaning. */
    bool pinned;
    bool trained; /* training changes its value, so this initializer is not a constant */
} NameInfo;

typedef struct OnnxNode {
    NodeIndex x; /* its parts in the file */
    const char *name, *type, *domain;
    /* Of the domain's operator set; 0: the model does not import the domain. */
    int64_t version;
    /* The names of its inputs and outputs, and the outer names that its subgraphs use. */
    NameId *in, *out, *capture;
    int ncapture;
    const char *reason; /* why it is opaque; NULL if it is not */
    /* A size of its result that depends on data; the symbol is made once and reused. */
    Poly count;
    int number;       /* its position in the file as it was read */
    bool of_subgraph; /* it belongs to a subgraph, so it is not in Model.node */
    bool impossible;  /* an input has a rank that ONNX forbids, so every run fails at this node */
    /* It calls a function that the model defines, even if it is named like an operator. */
    bool calls_function;
    /* The node made of it, if that carries a serial number (opaque or random): made once, then
       rebuilt when it is normalized on other inputs. */
    NodeId serial_node;
} OnnxNode;

/* The names that a node reads: its inputs, followed by the outer names that its subgraphs
   capture. */
static inline int node_input_count(const OnnxNode *n) { return n->x.nin + n->ncapture; }
static inline NameId node_input(const OnnxNode *n, int k) {
    return k < n->x.nin ? n->in[k] : n->capture[k - n->x.nin];
}

/* Except for NONE and OTHER, the numbers are those of AttributeProto.AttributeType. */
typedef enum OnnxAttrKind {
    ONNX_ATTR_NONE = 0,
    ONNX_ATTR_FLOAT = 1,
    ONNX_ATTR_INT = 2,
    ONNX_ATTR_TEXT = 3,
    ONNX_ATTR_TENSOR = 4,
    ONNX_ATTR_FLOATS = 6,
    ONNX_ATTR_INTS = 7,
    ONNX_ATTR_TEXTS = 8,
    ONNX_ATTR_OTHER = 99
} OnnxAttrKind;
typedef struct OnnxAttr { /* An attribute of an ONNX node, decoded or to be written. */
    OnnxAttrKind kind;    /* says which of the other fields holds the value; lists have n entries */
    const char *name;     /* under which it is written */
    int64_t i;
    float f;
    const char *text;
    int n;
    const int64_t *ints;
    const float *floats;
    const char *const *texts;
    Slice tensor;
} OnnxAttr;

/* A size that has a name in the file. */
typedef struct SizeName {
    const char *text; /* the World's name for it */
    Poly poly;
    int64_t number; /* the number that OpenOptions.size gave, plus 1; 0: none */
} SizeName;

/* A file with external data, mapped. */
typedef struct MappedFile {
    const char *path;
    Slice bytes;
    /* A file last found or written as a copy of this one; st_ino is 0 if none is known. */
    struct stat copy;
    struct MappedFile *next;
} MappedFile;
struct Model {
    World *w;
    Cleanup cleanup;           /* unmaps the files if the caller does not close the model */
    const char *path, *folder; /* folder ends with '/', or is empty */
    Slice mapped; /* the file; x.bytes differ from it once calls of functions were inlined */
    FileIndex x;  /* the parts of the file */
    MappedFile *external;
    Intern *name_numbers, *size_numbers; /* number the names of values, and those of sizes */
    /* The last name of the model itself, before model_with_bodies added names of results; 0: it
       added none yet. */
    NameId own_names;
    NameInfo *name; /* by NameId */
    uint32_t name_room;
    SizeName *size; /* by number of the size's name */
    uint32_t size_room;
    bool borrowed;    /* the bytes of the file belong to the caller, who unmaps them */
    OpenOptions open; /* as given to model_open_with; its functions may be NULL */
    /* An open first axis of an input gets size 1 now (second pass over the sizes). */
    bool first_is_one;
    int nnode;
    OnnxNode *node; /* in topological order; once all are read, x.g.node.v has the same order */
    int ninput;
    NameId *input, *output; /* of `graph` */
    Graph graph;
    NodeId norigin;
    /* By NodeId: 1 + the index of the ONNX node that it was imported from; 0: none. */
    uint32_t *origin;
    NameId *value_name; /* by Value: the first name of the value */
    uint32_t nvalue;
    /* Nodes are being normalized again in order to be written; opaque nodes exist already. */
    bool assembling;
};

/* Returns a walker over the fields of a message of this file. */
static inline Wire model_wire(const Model *m, Slice message, Error *e) {
    return wire_new(message, m->x.bytes.at, m->path, e);
}
/* The number of a name, which is added if it is new; 0 if the name is empty or, with an error set,
   contains a zero byte. */
NameId name_id(Model *, Slice, Error *);
/* Copies the bytes to the arena as a string. */
const char *slice_text(Arena *, Slice);
/* Whether the model defines a function of this name. It may have the name of any operator, and
   replaces it. */
bool model_has_function(const Model *, Slice domain, Slice name);
/* The version of a domain's operator set; 0 if the model does not import the domain. */
int64_t model_opset(const Model *, Slice domain);
/* Whether operators of this domain may be written although the file does not import it
   (OpenOptions.domain). */
bool model_allows(const Model *, const char *domain);
/* Reads a NodeProto except for the names of its values; in[] and out[] have room for these. */
bool node_read(Model *, Wire message, OnnxNode *);
/* The node's name or, if it has none, that of its first result. */
const char *node_display_name(Arena *, const OnnxNode *);
/* The place of an error, for messages: file, number, name and type of the node. */
const char *node_place(Model *, const OnnxNode *);
/* import/values.c: reads the type from a ValueInfoProto; the type is not `known` if the message
   states none. Returns false with E_INVALID if the message is damaged. */
bool value_info_type(Model *, Slice info, const char *name, bool input, Type *, Error *);
/* Whether the name of a size stands for "no name". Exporters write ?, _, -1 or None for sizes
   without a name, and two such sizes need not be equal. */
bool size_is_unnamed(Slice name);
/* constant_copied makes a constant of these elements, whose sizes must be numbers; constant_integer
   and constant_real make a scalar. The bytes are copied. */
Value constant_copied(World *, DType, Dims, const void *bytes);
Value constant_integer(World *, DType, int64_t);
Value constant_real(World *, DType, double);
/* Makes a constant of a tensor; *out is 0 if the tensor cannot be one (strings, too many axes, an
   unknown type). Returns false with the error set if the data is invalid. */
bool tensor_constant(Model *, const FileTensor *, Value *, Error *);

/* file/external.c: the files with external data. external_open maps all of them; it fails with
   E_ENVIRONMENT if one is missing and with E_INVALID if a path leaves the model's folder. */
/* As location: the data is not a file but the blob OpenOptions.blob[offset] of the caller. */
#define EXTERNAL_BLOB "*"
typedef bool ExternalFile(void *, const char *location);
/* Calls the function once for every location named in a file's bytes; stops with false as soon as
   it returns false. */
bool external_each(Arena *, Slice file, const char *place, ExternalFile *, void *, Error *);
bool external_open(Model *, Error *);
/* Gets the elements of a tensor with external data, as a slice of the mapped file. Fails with
   E_INVALID if offset and length do not fit the file or the tensor's sizes. */
bool external_bytes(Model *, const FileTensor *, Slice *, const char *place, Error *);
/* Returns whether the tensor's elements are a blob that the caller gave. With an error of
   E_INVALID, and *out 0, there is no such blob or it has another size. */
bool external_blob(const Model *, const FileTensor *, Blob *out, const char *place, Error *);
/* Copies the external files that the result refers to into the folder of `path`, except the file
   `but`. */
bool external_copy(Model *, Slice result, const char *path, const char *but, Arena *, Error *);

/* The first IR version in which initializers need not be inputs. From this version on, an
   initializer that is an input is a default, which a caller may replace. */
enum { IR_FREE_INITIALIZERS = 4 };
/* export/part.c: writes a file with this graph and the model's operator sets and functions. An IR
   version older than IR_FREE_INITIALIZERS becomes that version. */
void model_around(const Model *, Arena *, const Pieces *graph, Pieces *file);

/* bodies.c: returns the tensor that input k of the body has in every iteration, for a node that is
   a Loop with this body: an initializer or Constant with which the state starts and which the body
   passes on unchanged. Absent if the state may change, or starts as anything else. */
Slice body_known_state(const Model *, Arena *, const OnnxNode *, const GraphIndex *g, int k);

/* import/model_extras.c: reads training information and quantization annotations, which are outside
   the graph but refer to its names. */
bool extras_read(Model *, Error *);

/* import/inline_if.c: writes the file with an If replaced by this branch or, for node < 0, every If
   whose condition is decided by the branch it takes. Returns false if there is none, or if names
   would clash. */
bool inline_branch(Model *, const ValueMap *folded, Arena *, int node, bool then, Pieces *);

/* import/inline_function.c: writes the file with calls of the functions that it defines replaced by
   their nodes; with `all`, also calls of functions named like operators that a runtime implements.
   Returns false if there is no such call. The pieces belong to the file and to the arena. */
bool inline_functions(const FileIndex *, const char *path, bool all, Arena *, Pieces *);

/* model.c: makes a node with one result, whose attributes are these lists; the array ends with {0}
   and may be NULL. Returns 0 if the operator refuses the attributes or inputs. */
typedef struct NamedList {
    const char *attr;
    PolyList list;
} NamedList;
Value node_call(World *, const Op *, int nin, const Value in[], const NamedList[]);

/* import/opaque.c: translates one ONNX node into nodes of the graph, given the values of its inputs
   followed by those of its captures. It never fails: a node that is not understood becomes opaque,
   and *opaque says why (NULL if it did not). It is deterministic: equal inputs give equal
   outputs. */
void normalize_node(Model *, OnnxNode *, const Value in[], Value out[], const char **opaque);
/* Makes an opaque node in place of an initializer that cannot be a constant. */
Value normalize_source(Model *, Slice message, const Type *);
/* import/captures.c: adds the outer names that this subgraph uses to OnnxNode.capture. */
bool subgraph_uses(Model *, OnnxNode *, Slice graph, Error *);
/* Fills OnnxNode.capture and reserves the names that the node's subgraphs define. */
bool subgraph_captures(Model *, OnnxNode *, Error *);
#endif
