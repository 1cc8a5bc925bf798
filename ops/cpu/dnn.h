/* dnn.h -- what the files that use oneDNN share.

   dnn.c has the device, chains of primitives and operands, dnn_steps.c the steps of floats,
   dnn_int8.c those of 8-bit integers, and dnn_ukernel.c products by the micro-kernel, where the
   header declares it. Functions that differ between major versions are declared here and defined in
   dnn_2.c and dnn_3.c; the Makefile picks the file that fits the installed header. Without oneDNN
   it compiles dnn_none.c instead of all of them. */
#ifndef ISOMER_DNN_H
#define ISOMER_DNN_H
#include "ops/backend/windows.h"
#include "ops/cpu/cpu.h"
#include <oneapi/dnnl/dnnl.h>

/* A memory descriptor in the form that every call takes. */
#if DNNL_VERSION_MAJOR < 3
typedef const dnnl_memory_desc_t *Layout;
#else
typedef const_dnnl_memory_desc_t Layout;
#endif

enum { MAX_LINKS = 5, MAX_MEMORIES = 12, MAX_LAYOUTS = 12, MAX_ARGUMENTS = 8 };
struct Dnn {
    dnnl_engine_t engine;
    int nstream;
    dnnl_stream_t stream[TEAM_MOST]; /* one for each part of a step */
    void (*set_threads)(int); /* sets the number of OpenMP's threads; NULL: there is no OpenMP */
    int (*threads)(void);     /* returns it; may be NULL */
};

typedef struct Memory {
    dnnl_memory_t memory;
    View view;     /* where it lies (slot SLOT_SCRATCH: scratch memory) */
    Copy *copy;    /* fills it before each run; may be NULL */
    bool constant; /* its contents do not change: the handle was set when the kernel was built */
} Memory;
/* One primitive of a chain with its arguments. */
typedef struct Link {
    dnnl_primitive_t primitive;
    int n; /* arguments */
    dnnl_exec_arg_t arg[MAX_ARGUMENTS];
} Link;
/* What is done to sums of 8-bit integers before the activations: (sum + bias) * scale[c], or sum *
   scale[c] + bias where dnn_scales_bias is false. scale NULL: 1. `mask` and `weight_mask` name the
   axis of c in the result and in the weights (bit i: axis i). x_zero is the zero point of the
   input; y_zero, that of the result, is added last. */
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
    int threads;              /* OpenMP's threads before building, to be restored when it ends; 1:
                                 nothing to restore */
    dnnl_primitive_desc_t pd; /* the primitive descriptor; it and the layouts exist only while
                                 building */
    Layout layout[MAX_LAYOUTS];
    const Quantization *q; /* the numbers of `pd`; they live as long as the chain. NULL: none */
    Link link[MAX_LINKS];
    Memory memory[MAX_MEMORIES];
    Copy *last; /* moves the result from scratch memory after the links; may be NULL */
    Tail tail;
} Chain;
/* An operand or the output as a primitive sees it. */
typedef struct Input {
    View view;
    Copy *copy;
    const void *known; /* the contents of the view, if they are known */
    bool packed;       /* the primitive reads a copy that was packed at compile time */
    Layout md;         /* describes the view to oneDNN */
} Input;

/* ---- dnn_2.c, dnn_3.c */
extern const bool dnn_has_winograd; /* oneDNN's Winograd algorithm exists for float32 */
extern const bool dnn_has_int8;     /* quantization_attributes works */
extern const bool dnn_scales_bias;  /* scales of 8-bit sums apply to the bias, too (see
                                       Quantization) */
/* A text in the names of implementations whose 8-bit convolutions are wrong; NULL: there are
   none. */
extern const char *const dnn_wrong_conv;
/* Layouts by strides, in elements, or by a tag, with the sizes and the type of another layout.
   NULL: oneDNN has no such layout. layout_free frees them; version 2 allocates them in the
   arena. */
Layout layout_strided(Arena *, int rank, const dnnl_dims_t dim, const dnnl_dims_t stride,
                      dnnl_data_type_t);
Layout layout_tagged(Arena *, Layout like, dnnl_format_tag_t);
void layout_free(Layout);
int layout_rank(Layout);
/* The bytes from the first to the last element of a strided layout, inclusive. */
size_t layout_reach(Layout);
/* A digest that is equal only for equal layouts. False: it cannot be computed. */
bool layout_digest(Layout, char key[33]);
dnnl_status_t append_activation(dnnl_post_ops_t, dnnl_alg_kind_t, float alpha, float beta);
/* quantization_attributes tells a primitive descriptor which quantization it has.
   quantization_arguments lists the numbers that its primitive gets as arguments in each run, and
   returns how many arguments there are. They point into the Quantization, which must live as
   long. */
dnnl_status_t quantization_attributes(dnnl_primitive_attr_t, const Quantization *);
enum { QUANTIZATION_ARGUMENTS = 3 };
typedef struct Constant {
    int argument; /* DNNL_ARG_.. */
    dnnl_data_type_t type;
    int64_t n; /* how many numbers */
    const void *numbers;
} Constant;
int quantization_arguments(const Quantization *, Constant[QUANTIZATION_ARGUMENTS]);
/* The windows of a step in oneDNN's form: pads before and after, dilations counted from 0. `kernel`
   is set for pooling only. */
typedef struct Windows {
    dnnl_dims_t kernel, stride, dilation, begin, end;
} Windows;
typedef struct ConvLayouts {
    Layout x, w, bias, y; /* bias NULL: there is none */
} ConvLayouts;
/* Describe primitives for inference. NULL: oneDNN cannot. The bias may be NULL. */
dnnl_primitive_desc_t describe_conv(dnnl_engine_t, dnnl_alg_kind_t, ConvLayouts, const Windows *,
                                    dnnl_primitive_attr_t);
dnnl_primitive_desc_t describe_pool(dnnl_engine_t, dnnl_alg_kind_t, Layout x, Layout y,
                                    const Windows *, dnnl_primitive_attr_t);
dnnl_primitive_desc_t describe_gemm(dnnl_engine_t, Layout x, Layout w, Layout bias, Layout y,
                                    dnnl_primitive_attr_t);

/* ---- dnn.c */
/* Starts the chain of a kernel with its tail and describes the output. fused: oneDNN computes the
   epilogue, else the tail does. The primitive writes floats, into the output or into scratch memory
   of this shape. NULL: build_fail was called. */
Chain *chain_new(Build *, Kernel *, bool fused, TailShape, Input *y);
/* The same for a primitive that writes elements of this type. */
Chain *chain_typed(Build *, Kernel *, bool fused, int dtype, TailShape, Input *y);
/* Ends building in both cases. Returns ok; if it is false, frees the chain and calls build_fail. */
bool chain_end(Build *, Kernel *, bool ok);
/* Links primitive c->pd with its inputs, weights and output, unless it is a reference
   implementation, and calls chain_end. If weights were packed, records that the kernel does not
   read them. w and bias may be NULL. */
bool chain_finish(Build *, Kernel *, Input *x, Input *w, Input *bias, const Input *y);
/* A layout with the sizes and the type of another one, by a tag. It lives until building ends. */
Layout chain_layout(Build *, Chain *, Layout like, dnnl_format_tag_t);
/* Describes operand `index`, seen as view `as`, as floats. It is read in place, or packed if it has
   another type or strides that oneDNN cannot read. */
bool input_of(Build *, Chain *, int index, const View *as, Input *);
/* The same with elements of this type. */
bool typed_input_of(Build *, Chain *, int index, const View *as, int dtype, Input *);
/* Describes an operand that lies in place or is copied in each run. */
bool operand_input(Build *, Chain *, const Operand *, Input *);
/* The same, but the operand is packed if it has gaps, because oneDNN's fast algorithms refuse
   images with gaps. */
bool packed_input_of(Build *, Chain *, int index, int dtype, Input *);
/* Describes an operand whose contents are known and dense. */
bool known_input(Build *, Chain *, const View *dense, const void *known, Input *);
/* Describes an output that lies where `view` says; nothing is packed. */
bool output_at(Build *, Chain *, const View *, Input *);
/* Attributes with the activations of a fused epilogue; NULL: out of memory, or oneDNN refuses an
   activation. */
dnnl_primitive_attr_t make_attributes(const Fused *);
/* A layout that oneDNN chooses, with the sizes and the type of another one. */
Layout any_layout(Build *, Chain *, Layout like);
/* The windows of an S_CONV or S_POOL. Their end pads are those for which oneDNN's formula gives
   exactly the output's size. */
Windows exact_windows(const Step *);
/* The weights [o, c/g, k..] in oneDNN's form if there are several groups: [g, o/g, c/g, k..]. */
View grouped_weights(const View *w, int64_t group);
/* Whether the implementation is oneDNN's slow reference code. */
bool is_reference(const_dnnl_primitive_desc_t);
/* The name of the implementation that oneDNN chose; "" for NULL. */
const char *implementation(const_dnnl_primitive_desc_t);
#endif
