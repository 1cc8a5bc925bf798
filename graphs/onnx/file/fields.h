/* fields.h -- the numbers of the fields of ONNX's messages (onnx.proto), for files that read or
   write them by the wire walker (wire.h) instead of protobuf-c. A prefix stands for one message. */
#ifndef ISOMER_ONNX_FIELDS_H
#define ISOMER_ONNX_FIELDS_H

enum { /* ModelProto */
       MODEL_IR_VERSION = 1,
       MODEL_GRAPH = 7,
       MODEL_OPSET = 8,
       MODEL_TRAINING = 20,
       MODEL_FUNCTION = 25
};
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 }; /* OperatorSetIdProto */
enum {                                        /* GraphProto */
       GRAPH_NODE = 1,
       GRAPH_NAME = 2,
       GRAPH_INITIALIZER = 5,
       GRAPH_INPUT = 11,
       GRAPH_OUTPUT = 12,
       GRAPH_VALUE_INFO = 13,
       GRAPH_ANNOTATION = 14,
       GRAPH_SPARSE = 15
};
enum { /* NodeProto */
       NODE_INPUT = 1,
       NODE_OUTPUT = 2,
       NODE_NAME = 3,
       NODE_TYPE = 4,
       NODE_ATTRIBUTE = 5,
       NODE_DOC = 6,
       NODE_DOMAIN = 7
};
enum { /* AttributeProto */
       ATTRIBUTE_NAME = 1,
       ATTRIBUTE_TENSOR = 5,
       ATTRIBUTE_GRAPH = 6,
       ATTRIBUTE_TENSORS = 10,
       ATTRIBUTE_GRAPHS = 11,
       ATTRIBUTE_TYPE = 20,
       ATTRIBUTE_SPARSE = 22,
       ATTRIBUTE_SPARSES = 23
};
enum { /* TensorProto */
       TENSOR_DIMS = 1,
       TENSOR_TYPE = 2,
       TENSOR_SEGMENT = 3,
       TENSOR_FLOATS = 4,
       TENSOR_INT32S = 5,
       TENSOR_STRINGS = 6,
       TENSOR_INT64S = 7,
       TENSOR_NAME = 8,
       TENSOR_RAW = 9,
       TENSOR_DOUBLES = 10,
       TENSOR_UINT64S = 11,
       TENSOR_EXTERNAL = 13, /* StringStringEntryProto */
       TENSOR_LOCATION = 14
};
enum { LOCATION_EXTERNAL = 1 };                          /* of TENSOR_LOCATION */
enum { SPARSE_VALUES = 1, SPARSE_INDICES = 2 };          /* SparseTensorProto */
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };                 /* StringStringEntryProto */
enum { INFO_NAME = 1, INFO_TYPE = 2 };                   /* ValueInfoProto */
enum { TYPE_TENSOR = 1 };                                /* TypeProto */
enum { TENSOR_TYPE_ELEMENT = 1, TENSOR_TYPE_SHAPE = 2 }; /* TypeProto.Tensor */
enum { SHAPE_DIM = 1 };                                  /* TensorShapeProto */
enum { DIM_VALUE = 1, DIM_PARAM = 2 };                   /* TensorShapeProto.Dimension */
enum { ANNOTATION_ENTRY = 2 };                           /* TensorAnnotation */
enum { FUNCTION_NAME = 1, FUNCTION_NODE = 7, FUNCTION_DOMAIN = 10 }; /* FunctionProto */
enum { /* TrainingInfoProto; bindings are entries whose keys are initializers */
       TRAINING_INITIALIZATION = 1,
       TRAINING_ALGORITHM = 2,
       TRAINING_INITIALIZATION_BINDING = 3,
       TRAINING_UPDATE_BINDING = 4
};
#endif
