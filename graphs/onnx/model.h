/* model.h -- what the files of this folder share: an open model. Names are numbered, 0 is the empty
   name; every name has one source. */
#ifndef ISOMER_ONNX_MODEL_H
#define ISOMER_ONNX_MODEL_H
#include "graphs/onnx/file/index.h"
#include "graphs/onnx/onnx.h"
#include "graphs/onnx/file/tensor.h"
#include <sys/stat.h>

typedef uint32_t NameId;
typedef enum Source { FROM_NOTHING, FROM_INPUT, FROM_INITIALIZER, FROM_SPARSE, FROM_NODE } Source;
/* The file gives the value itself: no node computes it. */
static inline bool source_is_given(Source s) {
    return s == FROM_INPUT || s == FROM_INITIALIZER || s == FROM_SPARSE;
}
typedef struct NameInfo {
    const char *text;
    Source source;
    int index;  /* of the input, initializer or node */
    Slice type; /* the ValueInfoProto of this name; absent: none */
    Value value;
    Value fallback; /* of an input: the constant that it is where a caller gives nothing; 0: none */
    bool used;      /* by a node, a subgraph or as an output */
    bool inner;     /* a subgraph defines it: not for new values */
    bool pinned;    /* training or an annotation refers to it: it stays, and means the same */
    bool trained;   /* training changes it: an initializer that is not a constant */
} NameInfo;

typedef struct OnnxNode {
    NodeIndex x;
    const char *name, *type, *domain;
    int64_t version;            /* of its domain; 0: the model does not import it */
    NameId *in, *out, *capture; /* capture: outer names that its subgraphs use */
    int ncapture;
    const char *reason; /* why it is opaque; NULL: it is not */
    Poly count;         /* the size of its result that depends on data, made once */
    int number;         /* its place in the file */
    bool inner;         /* of a subgraph: not among Model.node */
    bool impossible;    /* an input has a rank that ONNX forbids: no run gets past this node */
    bool call;          /* of a function of the model, whatever its name */
    NodeId random; /* its node if that carries a serial (opaque, random numbers): made once, then
                      rebuilt on other inputs */
} OnnxNode;

/* The names that a node reads: its inputs, then what its subgraphs capture. */
static inline int node_input_count(const OnnxNode *n) { return n->x.nin + n->ncapture; }
static inline NameId node_input(const OnnxNode *n, int k) {
    return k < n->x.nin ? n->in[k] : n->capture[k - n->x.nin];
}

typedef enum OnnxAttrKind { /* those that we read or write are AttributeProto.AttributeType */
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
typedef struct OnnxAttr { /* an attribute of an ONNX node, decoded or to be written */
    OnnxAttrKind kind;    /* says which of the others holds it; lists have n entries */
    const char *name;     /* where it is to be written */
    int64_t i;
    float f;
    const char *text;
    int n;
    const int64_t *ints;
    const float *floats;
    const char *const *texts;
    Slice tensor;
} OnnxAttr;

/* Where the value of a size that is named in the file is kept. */
typedef struct SizeName {
    const char *text;
    Poly poly;
    int64_t number; /* by OpenOptions.size, plus 1; 0: none */
} SizeName;

typedef struct MappedFile {
    const char *path;
    Slice bytes;
    struct stat copy; /* the last file known to be a copy of it; st_ino is 0: none */
    struct MappedFile *next;
} MappedFile;
struct Model {
    World *w;
    Cleanup cleanup;           /* the mapped files */
    const char *path, *folder; /* folder ends with '/', or is empty */
    Slice mapped; /* the file; x.bytes are others where calls of its functions were inlined */
    FileIndex x;
    MappedFile *external;
    Intern *names, *sizes;
    NameId own_names; /* the last one before model_with_bodies read results; 0: it has not yet */
    NameInfo *name;   /* by NameId */
    uint32_t room;
    SizeName *size;
    uint32_t size_room;
    bool borrowed;     /* the file's bytes belong to the caller */
    OpenOptions open;  /* numbers for what is open; its functions may be NULL */
    bool first_is_one; /* what is left open of an input's first axis */
    int nnode;
    OnnxNode *node; /* in topological order, as x.g.node is once they are read */
    int ninput;
    NameId *input, *output; /* of `graph` */
    Graph graph;
    NodeId norigin;
    uint32_t *origin;   /* by NodeId: 1 + the ONNX node that it was imported from, 0: none */
    NameId *value_name; /* by Value: the first name it has */
    uint32_t nvalue;
    bool assembling; /* nodes are normalized again, to be written: opaque ones exist already */
};

/* The fields of a message that stands in the file. */
static inline Wire model_wire(const Model *m, Slice message, Error *e) {
    return wire_new(message, m->x.bytes.at, m->path, e);
}
NameId name_id(Model *, Slice, Error *); /* numbers a name; 0: empty or (error set) not a text */
const char *slice_text(Arena *, Slice);
/* Whether the model defines a function of this name, which may be that of any operator and takes
   its place. */
bool model_has_function(const Model *, Slice domain, Slice name);
int64_t model_opset(const Model *, Slice domain); /* 0: not imported */
/* Whether operators of this domain may be written although the file does not import it
   (OpenOptions.domain). */
bool model_allows(const Model *, const char *domain);
/* Reads a NodeProto but for the names of its values: in[] and out[] have room for these. */
bool node_read(Model *, Wire message, OnnxNode *);
const char *node_shown(Arena *, const OnnxNode *); /* its name, or that of its first result */
const char *node_place(Model *, const OnnxNode *); /* for an error: file, number, name, type */
/* import/values.c: the type that a ValueInfoProto gives; not known where it says nothing.
   False: E_INVALID. */
bool value_info_type(Model *, Slice info, const char *name, bool input, Type *, Error *);
/* Exporters write ?, _, -1 or None for sizes that have no name: two of them need not be equal. */
bool size_is_unnamed(Slice name);
/* A constant of these elements, whose sizes are numbers, and that of one number. The bytes are
   copied. */
Value constant_copied(World *, DType, Dims, const void *bytes);
Value constant_integer(World *, DType, int64_t);
Value constant_real(World *, DType, double);
/* *out = 0: a tensor that cannot be a constant of ours. False: the error is set. */
bool tensor_constant(Model *, const FileTensor *, Value *, Error *);

/* file/external.c: files that tensors name. external_open maps them all: E_ENVIRONMENT where one is
   missing, E_INVALID where a path leaves the model's folder. */
#define EXTERNAL_BLOB "*" /* no file, but OpenOptions.blob[offset], where the caller gave these */
typedef bool ExternalFile(void *, const char *location);
bool external_each(
    Arena *, Slice file, const char *place, ExternalFile *, void *,
    Error *); /* every location in a file's bytes, once; false: at once when it says so */
bool external_open(Model *, Error *);
bool external_bytes(Model *, const FileTensor *, Slice *, const char *place, Error *);
/* Whether the tensor's elements are a blob that the caller gave. E_INVALID: not one of these, or of
   another size; *out is 0 then. */
bool external_blob(const Model *, const FileTensor *, Blob *out, const char *place, Error *);
/* Copies the external files that the result names into the folder of `path`, except `but`. */
bool external_copy(Model *, Slice result, const char *path, const char *but, Arena *, Error *);

/* The first IR version in which initializers need not be inputs. Where they are, a caller may give
   others. */
enum { IR_FREE_INITIALIZERS = 4 };
/* export/part.c: a file with this graph, with the model's versions and functions; an older IR
   version becomes IR_FREE_INITIALIZERS. */
void model_around(const Model *, Arena *, const Pieces *graph, Pieces *file);

/* bodies.c: the tensor that input k of the body of this node, a Loop, is in every iteration: it
   starts as that initializer or Constant, and the body, `g`, passes it on as it is. Absent: it may
   change, or is neither. */
Slice body_known_state(const Model *, Arena *, const OnnxNode *, const GraphIndex *g, int k);

/* import/model_extras.c: training and annotations of quantization: what is outside the graph and
   refers to its names. */
bool extras_read(Model *, Error *);

/* import/inline_if.c: the file with this branch of that node (node < 0: those that are decided) in
   place of it; false: there is none, or names would clash. */
bool inline_branch(Model *, const ValueMap *folded, Arena *, int node, bool then, Pieces *);

/* import/inline_function.c: the file with the nodes of the functions that it defines in place of
   their calls; all: also of those named like operators that a runtime has. False: there is no such
   call. Contents are of the file and of the arena. */
bool inline_functions(const FileIndex *, const char *path, bool all, Arena *, Pieces *);

/* model.c: a node with one result and these lists among its attributes, the last {0}; NULL: none.
   0: it refuses them. */
typedef struct NamedList {
    const char *attr;
    PolyList list;
} NamedList;
Value node_call(World *, const Op *, int nin, const Value in[], const NamedList[]);

/* import/opaque.c: one ONNX node as nodes of ours, on these values of its inputs (captured ones
   after them). Never fails: what is not understood becomes opaque. Deterministic: the same inputs
   give the same outputs. *opaque (may be NULL): why it became opaque; NULL: it did not. */
void normalize_node(Model *, OnnxNode *, const Value in[], Value out[], const char **opaque);
/* An opaque node in place of an initializer that cannot be a constant of ours. */
Value normalize_source(Model *, Slice message, const Type *);
/* import/captures.c. Adds the outer names that this subgraph uses to OnnxNode.capture. */
bool subgraph_uses(Model *, OnnxNode *, Slice graph, Error *);
/* Finds OnnxNode.capture and reserves the inner names. */
bool subgraph_captures(Model *, OnnxNode *, Error *);
#endif
