/* index.h -- where things are in an ONNX file: slices of ModelProto, GraphProto and NodeProto,
   found by the wire walker, nothing decoded. */
#ifndef ISOMER_ONNX_INDEX_H
#define ISOMER_ONNX_INDEX_H
#include "graphs/onnx/file/wire.h"

/* X(member, number): the repeated messages of GraphProto, kept by their numbers in onnx.proto */
#define GRAPH_LISTS(X)                           \
    X(node, GRAPH_NODE)                          \
    X(initializer, GRAPH_INITIALIZER)            \
    X(input, GRAPH_INPUT)                        \
    X(output, GRAPH_OUTPUT)                      \
    X(value_info, GRAPH_VALUE_INFO)              \
    X(annotation, GRAPH_QUANTIZATION_ANNOTATION) \
    X(sparse, GRAPH_SPARSE_INITIALIZER)
typedef struct SliceList {
    int n, room;
    Slice *v;
} SliceList; /* contents of each message */
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
    Slice bytes, graph; /* the file; GraphProto's contents */
    int64_t ir_version;
    int nopset;
    Opset *opset; /* "ai.onnx" is written "" */
    SliceList training, function;
    GraphIndex g;
} FileIndex;

/* NodeProto and AttributeProto. */
typedef struct AttrSlice {
    Slice name, whole, tensor; /* contents of AttributeProto; contents of its member t */
    SliceList graph;           /* subgraphs: g and graphs */
    bool small;    /* no tensor, graph or sparse tensor in it: may be decoded as a whole */
    uint64_t type; /* AttributeProto.AttributeType; 0: not given */
} AttrSlice;
typedef struct NodeIndex {
    Slice whole, name, type, domain; /* contents of NodeProto */
    int nin, nout, nattr;
    Slice *in, *out;
    AttrSlice *attr;
} NodeIndex;

void slices_push(Arena *, SliceList *, Slice);
/* ONNX's own operator set has two names; here it is always "". */
Slice index_domain(Slice);
/* Of an OperatorSetIdProto, a whole file, a GraphProto at this depth of nesting, a NodeProto. The
   lists are in the arena, the slices of the file. False: E_INVALID, with the byte. */
bool index_opset(Wire message, Opset *);
bool index_file(Arena *, Slice file, const char *place, FileIndex *, Error *);
bool index_graph(Arena *, Wire *message, int depth, GraphIndex *);
bool index_node(Arena *, Wire *message, NodeIndex *);
/* The file with this graph, all else as it is. */
void index_put_graph(const FileIndex *, const Pieces *graph, Pieces *file);
/* Whether the node has subgraphs, as control flow does. The one that is this attribute; absent:
   there is none. */
bool index_has_subgraph(const NodeIndex *);
Slice index_subgraph(const NodeIndex *, const char *attribute);
/* An attribute with this graph in place of its subgraph, as a field of NodeProto. */
void index_put_subgraph(Wire attribute, const Pieces *graph, Pieces *node);
/* What an entry of a list of GraphProto is called, by the number of the list. */
Slice index_entry_name(Wire entry, uint32_t number);
/* An Identity that gives a value another name, as a field of GraphProto. node_name: "": none. */
void index_put_identity(Arena *, Slice from, Slice to, const char *node_name, Pieces *graph);
/* An import of an operator set, as a field of ModelProto. */
void index_put_opset(Arena *, Slice domain, int64_t version, Pieces *file);
/* name(user, text, defined) for each name that the graph defines (defined) or a node of it reads;
   `deep`: in the subgraphs of its nodes too. */
typedef void NameVisit(void *user, Slice text, bool defined);
bool index_names(Arena *, Wire graph, int depth, bool deep, NameVisit *name, void *user);
#endif
