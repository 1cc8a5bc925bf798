/* dnn_2.c -- the version-dependent functions of dnn.h for oneDNN 2 (tested with 2.6). In this
   version memory descriptors are structs, and primitives are described by operation descriptors. */
#include "ops/base/intern.h"
#include "ops/cpu/dnn.h"
#include "ops/cpu/processor.h"
#include <string.h>

const bool dnn_has_winograd = true, dnn_has_int8 = true, dnn_scales_bias = true;
const char *const dnn_wrong_conv = NULL;

Layout layout_strided(Arena *arena, int rank, const dnnl_dims_t dim, const dnnl_dims_t stride,
                      dnnl_data_type_t type) {
    dnnl_memory_desc_t *md = ARENA_NEW(arena, dnnl_memory_desc_t, 1);
    const bool ok = dnnl_memory_desc_init_by_strides(md, rank, dim, type, stride) == dnnl_success;
    return ok ? md : NULL;
}
Layout layout_tagged(Arena *arena, Layout like, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t *md = ARENA_NEW(arena, dnnl_memory_desc_t, 1);
    const bool ok = dnnl_memory_desc_init_by_tag(md, like->ndims, like->dims, like->data_type,
                                                 tag) == dnnl_success;
    return ok ? md : NULL;
}
void layout_free(Layout md) { (void)md; }
int layout_rank(Layout md) { return md->ndims; }
size_t layout_reach(Layout md) {
    int64_t last = 0;
    for (int i = 0; i < md->ndims; i++)
        last += (md->dims[i] - 1) * md->format_desc.blocking.strides[i];
    const bool bytes = md->data_type == dnnl_u8 || md->data_type == dnnl_s8;
    return (size_t)(last + 1) * (bytes ? 1 : sizeof(float));
}
/* A digest of all bytes is possible because oneDNN sets every byte of a descriptor that it
   makes. */
bool layout_digest(Layout md, char key[33]) {
    hash_hex(md, sizeof *md, key);
    return true;
}

dnnl_status_t append_activation(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha,
                                float beta) {
    return dnnl_post_ops_append_eltwise(ops, 1.0f, kind, alpha, beta);
}

static dnnl_status_t set_zero(dnnl_primitive_attr_t attr, int argument, int32_t zero) {
    return zero ? dnnl_primitive_attr_set_zero_points(attr, argument, 1, 0, &zero) : dnnl_success;
}
dnnl_status_t quantization_attributes(dnnl_primitive_attr_t attr, const Quantization *q) {
    dnnl_status_t status = dnnl_success;
    if (q->scale)
        status = dnnl_primitive_attr_set_output_scales(attr, q->nscale, q->mask, q->scale);
    if (status == dnnl_success) status = set_zero(attr, DNNL_ARG_SRC, q->x_zero);
    return status == dnnl_success ? set_zero(attr, DNNL_ARG_DST, q->y_zero) : status;
}
int quantization_arguments(const Quantization *q, Constant into[QUANTIZATION_ARGUMENTS]) {
    return (void)q, (void)into, 0;
}

static dnnl_primitive_desc_t describe(const void *operation, dnnl_engine_t engine,
                                      dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_t pd = NULL;
    const bool ok = dnnl_primitive_desc_create(&pd, operation, attr, engine, NULL) == dnnl_success;
    return ok ? pd : NULL;
}
/* ---- implementations that ask the processor about AMX by CPUID in each call. In a virtual machine
   they may take longer than those without AMX. oneDNN prefers them only because its other
   implementation for AMX (brgconv) supports no zero points. */
typedef struct Speed {
    const char *name; /* how the names of such implementations begin */
    int questions;    /* how often they execute CPUID in a call */
    double product;   /* nanoseconds per product of two numbers, about */
} Speed;
/* The time that a convolution takes with this implementation, about; 0: it is of no known kind. */
static double expected_time(const char *name, double products, double question) {
    static const Speed kinds[] = {
        {"jit_1x1:avx512_core_amx", 6, 0.7e-3},       {"jit:avx512_core_amx", 2, 0.7e-3},
        {"brgconv_1x1:avx512_core_vnni", 0, 2.6e-3},  {"brgconv:avx512_core_vnni", 0, 2.6e-3},
        {"jit_int8_1x1:avx512_core_vnni", 0, 2.6e-3}, {"jit_int8:avx512_core_vnni", 0, 2.8e-3}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strncmp(name, kinds[k].name, strlen(kinds[k].name)) == 0)
            return kinds[k].questions * question + products * kinds[k].product;
    return 0;
}
static bool asks(const char *name) { return expected_time(name, 0, 1) > 0; }
static double count_products(const ConvLayouts *l) {
    const int groups = l->w->ndims > l->x->ndims;
    double n = 1;
    for (int a = 0; a < l->y->ndims; a++) n *= (double)l->y->dims[a];
    for (int a = groups + 1; a < l->w->ndims; a++) n *= (double)l->w->dims[a];
    return n;
}
/* Replaces the description that oneDNN prefers by the one that is expected to be fastest. */
static dnnl_primitive_desc_t choose(dnnl_primitive_desc_t first, const void *operation,
                                    const ConvLayouts *l, dnnl_engine_t engine,
                                    dnnl_primitive_attr_t attr) {
    if (!asks(implementation(first))) return first;
    const double products = count_products(l), question = processor_answers_in();
    double best = expected_time(implementation(first), products, question);
    dnnl_primitive_desc_iterator_t each;
    if (dnnl_primitive_desc_iterator_create(&each, operation, attr, engine, NULL) != dnnl_success)
        return first;
    while (dnnl_primitive_desc_iterator_next(each) == dnnl_success) {
        dnnl_primitive_desc_t pd = dnnl_primitive_desc_iterator_fetch(each), worse = pd;
        const double time = expected_time(implementation(pd), products, question);
        if (time > 0 && time < best) best = time, worse = first, first = pd;
        dnnl_primitive_desc_destroy(worse);
    }
    dnnl_primitive_desc_iterator_destroy(each);
    return first;
}
dnnl_primitive_desc_t describe_conv(dnnl_engine_t engine, dnnl_alg_kind_t kind, ConvLayouts l,
                                    const Windows *at, dnnl_primitive_attr_t attr) {
    dnnl_convolution_desc_t operation;
    const bool ok = dnnl_dilated_convolution_forward_desc_init(
                        &operation, dnnl_forward_inference, kind, l.x, l.w, l.bias, l.y, at->stride,
                        at->dilation, at->begin, at->end) == dnnl_success;
    dnnl_primitive_desc_t pd = ok ? describe(&operation, engine, attr) : NULL;
    return pd ? choose(pd, &operation, &l, engine, attr) : NULL;
}
dnnl_primitive_desc_t describe_pool(dnnl_engine_t engine, dnnl_alg_kind_t kind, Layout x, Layout y,
                                    const Windows *at, dnnl_primitive_attr_t attr) {
    dnnl_pooling_v2_desc_t operation;
    const bool ok = dnnl_pooling_v2_forward_desc_init(&operation, dnnl_forward_inference, kind, x,
                                                      y, at->stride, at->kernel, at->dilation,
                                                      at->begin, at->end) == dnnl_success;
    return ok ? describe(&operation, engine, attr) : NULL;
}
dnnl_primitive_desc_t describe_gemm(dnnl_engine_t engine, Layout x, Layout w, Layout bias, Layout y,
                                    dnnl_primitive_attr_t attr) {
    dnnl_matmul_desc_t operation;
    const bool ok = dnnl_matmul_desc_init(&operation, x, w, bias, y) == dnnl_success;
    return ok ? describe(&operation, engine, attr) : NULL;
}
