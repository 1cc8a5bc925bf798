/* dnn.h -- what the parts of cuDNN's convolutions share: the library, and one convolution with its
   descriptors. */
#ifndef ISOMER_CUDA_DNN_H
#define ISOMER_CUDA_DNN_H
#include "ops/cuda/algorithms.h"
#include <cudnn.h>

#define DNN_FUNCTIONS(X)             \
    X(cudnnCreate)                   \
    X(cudnnDestroy)                  \
    X(cudnnSetStream)                \
    X(cudnnGetVersion)               \
    X(cudnnGetErrorString)           \
    X(cudnnBackendCreateDescriptor)  \
    X(cudnnBackendDestroyDescriptor) \
    X(cudnnBackendSetAttribute)      \
    X(cudnnBackendGetAttribute)      \
    X(cudnnBackendFinalize)          \
    X(cudnnBackendExecute)
enum {
    ALGORITHMS = 4,
    DESCRIPTORS = 32,
    FLOAT = 1, /* ONNX's number */
    AXES = 5,  /* of a tensor, at most */
};
enum { X_ID = 1, W_ID, Y_ID, BIAS_ID, Z_ID, INNER_ID /* and those after it */ };
typedef cudnnBackendDescriptor_t Desc;
typedef struct Dnn {
    Library base;
    Device *device;
    cudnnHandle_t handle;
    Desc described; /* a GPU that is only described, instead of the handle */
    char identity[40];
#define X(f) __typeof__(f) *f##_;
    DNN_FUNCTIONS(X)
#undef X
} Dnn;
typedef struct Epilogue {
    int bias, z; /* views, -1: none */
    bool relu;
} Epilogue;
struct Algorithm {
    Dnn *dnn;
    int nkept, nplan, algorithm;
    bool whole; /* its sums are of whole numbers, exactly (isomer_backend.h) */
    Desc kept[DESCRIPTORS], plan[ALGORITHMS], pack; /* pack: with the memory of the last run */
    int64_t workspace[ALGORITHMS];
    Epilogue epilogue;
    void *memory[INNER_ID + 1];
};

/* dnn_graph.c: descriptors of the algorithm; NULL: cuDNN refuses. Those of dnn_keep live as long as
   the algorithm. */
Desc dnn_keep(Algorithm *, cudnnBackendDescriptorType_t);
bool dnn_set(Algorithm *, Desc, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t n,
             const void *values);
bool dnn_set_desc(Algorithm *, Desc, cudnnBackendAttributeName_t, const Desc *);
/* The descriptor, finalized; NULL: it is not `good`, or cuDNN refuses it. */
Desc dnn_finalized(Algorithm *, Desc, bool good);
/* The operation graph of the step: the convolution, then z, then the bias, then relu, as the
   algorithm's epilogue says; the order that exact engines take. NULL: cuDNN refuses it. */
Desc dnn_graph(Algorithm *, const Step *);
#endif
