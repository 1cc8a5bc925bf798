/* dnn.h -- cuDNN, and one convolution with its descriptors, shared by dnn.c and dnn_graph.c. */
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
    FLOAT = 1, /* ONNX's number of this element type */
    AXES = 5,  /* the most axes of a tensor */
};
enum {
    X_ID = 1,
    W_ID,
    Y_ID,
    BIAS_ID,
    Z_ID,
    INNER_ID /* the first of the tensors between
                operations */
};
typedef cudnnBackendDescriptor_t Desc;
typedef struct Dnn {
    Library base;
    Device *device;
    cudnnHandle_t handle;
    Desc described; /* the description of a GPU, used in place of a handle */
    char identity[40];
#define X(f) __typeof__(f) *f##_;
    DNN_FUNCTIONS(X)
#undef X
} Dnn;
typedef struct Epilogue {
    int bias, z; /* their views; -1: none */
    bool relu;
} Epilogue;
struct Algorithm {
    Dnn *dnn;
    int nkept, nplan, algorithm;
    bool whole; /* the sums are of integers and must be exact (isomer_backend.h) */
    /* pack describes the memory of the last run. */
    Desc kept[DESCRIPTORS], plan[ALGORITHMS], pack;
    int64_t workspace[ALGORITHMS];
    Epilogue epilogue;
    void *memory[INNER_ID + 1];
};

/* ---- dnn_graph.c. Descriptors are NULL if cuDNN refuses them. Those made by dnn_keep live as long
   as the algorithm. */
Desc dnn_keep(Algorithm *, cudnnBackendDescriptorType_t);
bool dnn_set(Algorithm *, Desc, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t n,
             const void *values);
bool dnn_set_desc(Algorithm *, Desc, cudnnBackendAttributeName_t, const Desc *);
/* Finalizes a descriptor; NULL if it is not `good` or cuDNN refuses it. */
Desc dnn_finalized(Algorithm *, Desc, bool good);
/* The operation graph of the step: the convolution, followed by z, bias and relu as far as the
   algorithm's epilogue has them. Exact engines accept only this order. NULL: cuDNN refuses it. */
Desc dnn_graph(Algorithm *, const Step *);
#endif
