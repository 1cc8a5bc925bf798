/* dnn.h -- what the files of oneDNN share. dnn.c has the device, chains of primitives and operands,
   dnn_steps.c the steps of floats, dnn_int8.c those of 8-bit integers, dnn_ukernel.c products by
   the micro-kernel, where the header declares it. What the major versions spell differently is
   declared here and defined in dnn_2.c and dnn_3.c, of which the Makefile takes the one that fits
   the header installed; where there is none it takes dnn_none.c in place of all of them. */
#ifndef ISOMER_DNN_H
#define ISOMER_DNN_H
#include "ops/backend/windows.h"
#include "ops/cpu/cpu.h"
#include <oneapi/dnnl/dnnl.h>

/* A memory descriptor as every call takes it. */
#if DNNL_VERSION_MAJOR < 3
typedef const dnnl_memory_desc_t *Layout;
#else
typedef const_dnnl_memory_desc_t Layout;
#endif

enum { MAX_LINKS = 5, MAX_MEMORIES = 12, MAX_LAYOUTS = 12, MAX_ARGUMENTS = 8 };
struct Dnn {
    dnnl_engine_t engine;
    int nstream;
    dnnl_stream_t stream[TEAM_MOST]; /* for each part of a step */
    void (*set_threads)(int);
    int (*threads)(void);
};

typedef struct Memory {
    dnnl_memory_t memory;
    View view;     /* where it lies (slot, offset; slot -1: scratch) */
    Copy *copy;    /* fills it first; may be NULL */
    bool constant; /* its handle was set for good */
} Memory;
typedef struct Link {
    dnnl_primitive_t primitive;
    int n;
    dnnl_exec_arg_t arg[MAX_ARGUMENTS];
} Link;
/* What is done to sums of 8-bit integers before the activations: (sum + bias) * scale[c], or where
   dnn_scales_bias is false sum * scale[c] + bias; zero points of the input and, added last, of the
   result. scale NULL: 1. The axes of c: in the result, in the weights. */
typedef struct Quantization {
    const float *scale;
    int64_t nscale;
    int mask, weight_mask;
    int32_t x_zero, y_zero;
} Quantization;
typedef struct Chain {
    Dnn *dnn;
    dnnl_stream_t stream;
    int nlink, nmemory, nlayout;
    int threads;              /* to be restored however building ends; 1: nothing to do */
    dnnl_primitive_desc_t pd; /* this and the layouts: while building */
    Layout layout[MAX_LAYOUTS];
    const Quantization *q; /* of pd, as long as the chain; NULL: none */
    Link link[MAX_LINKS];
    Memory memory[MAX_MEMORIES];
    Tail tail;
} Chain;
/* An operand, or the output, as a primitive sees it. */
typedef struct Input {
    View view;
    Copy *copy;
    const void *known; /* contents, where the step's view lies as it is and they are known */
    bool packed;       /* they were packed */
    Layout md;
} Input;

/* ---- dnn_2.c, dnn_3.c */
extern const bool dnn_has_winograd; /* for float32 */
extern const bool dnn_has_int8;     /* quantization_attributes works */
extern const bool dnn_scales_bias;  /* of 8-bit sums (Quantization) */
/* In the names of implementations whose 8-bit convolutions are wrong; NULL: none. */
extern const char *const dnn_wrong_conv;
/* By strides in elements; by a tag, with the sizes and the type of another one. NULL: oneDNN has no
   such layout. To be freed; what version 2 makes is in the arena. */
Layout layout_strided(Arena *, int rank, const dnnl_dims_t dim, const dnnl_dims_t stride,
                      dnnl_data_type_t);
Layout layout_tagged(Arena *, Layout like, dnnl_format_tag_t);
void layout_free(Layout);
int layout_rank(Layout);
/* Bytes from the first to the last element of a strided layout. */
size_t layout_reach(Layout);
/* Equal for equal layouts only; false: there is no telling. */
bool layout_digest(Layout, char key[33]);
dnnl_status_t append_activation(dnnl_post_ops_t, dnnl_alg_kind_t, float alpha, float beta);
/* What the primitive is made for, and how many constants it is given when it runs, with which
   numbers: those of the quantization, which keeps them. */
dnnl_status_t quantization_attributes(dnnl_primitive_attr_t, const Quantization *);
enum { QUANTIZATION_ARGUMENTS = 3 };
typedef struct Constant {
    int argument;
    dnnl_data_type_t type;
    int64_t n;
    const void *numbers;
} Constant;
int quantization_arguments(const Quantization *, Constant[QUANTIZATION_ARGUMENTS]);
/* The step as oneDNN takes it: pads before and after, dilations counted from 0; kernel is read for
   pooling only. */
typedef struct Windows {
    dnnl_dims_t kernel, stride, dilation, begin, end;
} Windows;
typedef struct ConvLayouts {
    Layout x, w, bias, y; /* bias: NULL: there is none */
} ConvLayouts;
/* Primitive descriptors for inference; NULL: oneDNN cannot. The bias may be NULL. */
dnnl_primitive_desc_t describe_conv(dnnl_engine_t, dnnl_alg_kind_t, ConvLayouts, const Windows *,
                                    dnnl_primitive_attr_t);
dnnl_primitive_desc_t describe_pool(dnnl_engine_t, dnnl_alg_kind_t, Layout x, Layout y,
                                    const Windows *, dnnl_primitive_attr_t);
dnnl_primitive_desc_t describe_gemm(dnnl_engine_t, Layout x, Layout w, Layout bias, Layout y,
                                    dnnl_primitive_attr_t);

/* ---- dnn.c */
/* Starts a chain: the tail with or without the epilogue (by way of memory of that shape), and the
   output's description. NULL: build_fail was called. */
Chain *chain_new(Build *, Kernel *, bool fused, TailShape, Input *y);
/* The same with what the primitive writes being of that type. */
Chain *chain_typed(Build *, Kernel *, bool fused, int dtype, TailShape, Input *y);
/* Ends it either way; returns ok, and false after build_fail. */
bool chain_end(Build *, Kernel *, bool ok);
/* Links the primitive c->pd with its inputs, weights and one output, unless it is a reference
   implementation, then chain_end; the kernel is said not to read weights that were packed. w and
   bias may be NULL. */
bool chain_finish(Build *, Kernel *, Input *x, Input *w, Input *bias, const Input *y);
/* A layout that lives until the chain ends: the sizes of another one by a tag. */
Layout chain_layout(Build *, Chain *, Layout like, dnnl_format_tag_t);
/* Operand `index` seen as `as`: described as it lies, or packed where oneDNN cannot read such
   strides or the type is a 16-bit float. */
bool input_of(Build *, Chain *, int index, const View *as, Input *);
/* The same as elements of that type. */
bool typed_input_of(Build *, Chain *, int index, const View *as, int dtype, Input *);
/* The same, packed if it is not: oneDNN's fast algorithms refuse images with gaps. */
bool packed_input_of(Build *, Chain *, int index, int dtype, Input *);
/* One whose contents are known, and lie densely. */
bool known_input(Build *, Chain *, const View *dense, const void *known, Input *);
/* Where it lies in `view`, with nothing packed. */
bool output_at(Build *, Chain *, const View *, Input *);
/* With the fused epilogue's activations; NULL: no memory. */
dnnl_primitive_attr_t make_attributes(const Fused *);
/* A layout that oneDNN chooses, of the sizes and the type of another one. */
Layout any_layout(Build *, Chain *, Layout like);
/* Those of an S_CONV or S_POOL, with the pads at the ends that make oneDNN's formula give exactly
   the output's size. */
Windows exact_windows(const Step *);
/* o, c/g, k.. as oneDNN has it where there are several groups: g, o/g, c/g, k.. */
View grouped_weights(const View *w, int64_t group);
bool is_reference(const_dnnl_primitive_desc_t);
/* The name that oneDNN gives to what it chose; "" for NULL. */
const char *implementation(const_dnnl_primitive_desc_t);
#endif
