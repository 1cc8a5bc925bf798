/* index.h -- an index of an ONNX file: where the parts of ModelProto, GraphProto and NodeProto are,
   as slices of the file. The wire walker finds them; nothing is decoded. The functions index_put_..
   write messages that several files of this folder need. */
#ifndef ISOMER_ONNX_INDEX_H
#define ISOMER_ONNX_INDEX_H
#include "graphs/onnx/file/wire.h"
#include "ops/base/file.h"
#include "ops/base/intern.h"

/* X(member, number): the repeated message fields of GraphProto, with their field numbers from
   onnx.proto. */
#define GRAPH_LISTS(X)                           \
    X(node, GRAPH_NODE)                          \
    X(initializer, GRAPH_INITIALIZER)            \
    X(input, GRAPH_INPUT)                        \
    X(output, GRAPH_OUTPUT)                      \
    X(value_info, GRAPH_VALUE_INFO)              \
    X(annotation, GRAPH_QUANTIZATION_ANNOTATION) \
    X(sparse, GRAPH_SPARSE_INITIALIZER)
/* The contents of each message of a repeated field. */
typedef struct SliceList {
    int n, room;
    Slice *v;
} SliceList;
typedef struct GraphIndex {
    Slice name;
#define X(member, number) SliceList member;
    GRAPH_LISTS(X)
#undef X
} GraphIndex;
typedef struct Opset {
    Slice domain;
    int64_t version;
} Opset;
typedef struct FileIndex {
    Slice bytes, graph; /* the file; the contents of its GraphProto */
    int64_t ir_version;
    int nopset;
    Opset *opset; /* the domain "ai.onnx" is stored as "" */
    SliceList training, function;
    GraphIndex g;
} FileIndex;

typedef struct AttrSlice {
    Slice name, whole, tensor; /* name; contents of the AttributeProto; contents of its field t */
    SliceList graph;           /* subgraphs, from the fields g and graphs */
    bool small;    /* contains no tensor, graph or sparse tensor, so it may be decoded as a whole */
    uint64_t type; /* AttributeProto.AttributeType; 0: not given */
} AttrSlice;
typedef struct NodeIndex {
    Slice whole, name, type, domain; /* whole: the contents of the NodeProto */
    int nin, nout, nattr;
    Slice *in, *out;
    AttrSlice *attr;
} NodeIndex;

void slices_push(Arena *, SliceList *, Slice);
/* ONNX's own operator set has two names, "" and "ai.onnx"; this function replaces the second by the
   first. */
Slice index_domain(Slice);
/* Index an OperatorSetIdProto, a whole file, a GraphProto at this depth of nesting, and a
   NodeProto. The lists are in the arena, the slices are of the file. They return false with
   E_INVALID and the position of the byte if the message is damaged, or has two messages where ONNX
   has one; index_file also if the file has no graph. */
bool index_opset(Wire message, Opset *);
bool index_file(Arena *, Slice file, const char *place, FileIndex *, Error *);
bool index_graph(Arena *, Wire *message, int depth, GraphIndex *);
bool index_node(Arena *, Wire *message, NodeIndex *);
/* Writes the file with this graph in place of its own; all other fields are copied. */
void index_put_graph(const FileIndex *, const Pieces *graph, Pieces *file);
/* Whether the node has subgraphs, as control flow does; and the subgraph that is this attribute,
   absent if there is none. */
bool index_has_subgraph(const NodeIndex *);
Slice index_subgraph(const NodeIndex *, const char *attribute);
/* Writes an attribute with this graph in place of its subgraph, as a field of NodeProto. */
void index_put_subgraph(Wire attribute, const Pieces *graph, Pieces *node);
/* The name of an entry of the repeated field `number` of GraphProto. */
Slice index_entry_name(Wire entry, uint32_t number);
/* Writes an Identity node from one name to another, as a field of GraphProto. The node gets no name
   if node_name is "". */
void index_put_identity(Arena *, Slice from, Slice to, const char *node_name, Pieces *graph);
/* Returns the name or, if it is taken, the name with a number behind it; either is taken then. */
const char *index_free_name(Arena *, Intern *taken, const char *name);
/* Writes the import of an operator set, as a field of ModelProto. */
void index_put_opset(Arena *, Slice domain, int64_t version, Pieces *file);
/* Calls name(user, text, defined) for each name that the graph defines (defined) and for each name
   that one of its nodes reads (not defined). With `deep`, the subgraphs of its nodes are visited
   too. Returns false if the graph is damaged. */
typedef void NameVisit(void *user, Slice text, bool defined);
bool index_names(Arena *, Wire graph, int depth, bool deep, NameVisit *name, void *user);
#endif
