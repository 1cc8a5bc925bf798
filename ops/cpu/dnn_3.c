/* dnn_3.c -- the version-dependent functions of dnn.h for oneDNN 3 (tested with 3.7). In this
   version memory descriptors are handles, and primitives are described by a single call. Winograd
   for float32 no longer exists. */
#include "ops/base/intern.h"
#include "ops/cpu/dnn.h"
#include <string.h>

const bool dnn_has_winograd = false, dnn_has_int8 = true, dnn_scales_bias = false;
/* Convolutions that 3.7.2 computes as matrix products on AVX-512 are wrong: 45 of 52 cases in 1,500
   rounds of test/ops_int8.c. */
const char *const dnn_wrong_conv = "gemm";

Layout layout_strided(Arena *arena, int rank, const dnnl_dims_t dim, const dnnl_dims_t stride,
                      dnnl_data_type_t type) {
    (void)arena;
    dnnl_memory_desc_t md = NULL;
    const bool ok =
        dnnl_memory_desc_create_with_strides(&md, rank, dim, type, stride) == dnnl_success;
    return ok ? md : NULL;
}
static dnnl_data_type_t layout_type(Layout md) {
    dnnl_data_type_t type = dnnl_f32;
    dnnl_memory_desc_query(md, dnnl_query_data_type, &type);
    return type;
}
static const int64_t *layout_line(Layout md, dnnl_query_t what) {
    const dnnl_dims_t *line = NULL;
    const bool ok = dnnl_memory_desc_query(md, what, &line) == dnnl_success;
    return ok && line ? *line : NULL;
}
Layout layout_tagged(Arena *arena, Layout like, dnnl_format_tag_t tag) {
    (void)arena;
    dnnl_memory_desc_t md = NULL;
    const bool ok =
        dnnl_memory_desc_create_with_tag(&md, layout_rank(like), layout_line(like, dnnl_query_dims),
                                         layout_type(like), tag) == dnnl_success;
    return ok ? md : NULL;
}
void layout_free(Layout md) { dnnl_memory_desc_destroy((dnnl_memory_desc_t)(uintptr_t)md); }

static int layout_number(Layout md, dnnl_query_t what) {
    int n = 0;
    dnnl_memory_desc_query(md, what, &n);
    return n;
}
int layout_rank(Layout md) { return layout_number(md, dnnl_query_ndims_s32); }
size_t layout_reach(Layout md) {
    const int64_t *dim = layout_line(md, dnnl_query_dims),
                  *stride = layout_line(md, dnnl_query_strides);
    int64_t last = 0;
    for (int i = 0; i < layout_rank(md); i++) last += (dim[i] - 1) * stride[i];
    const bool bytes = layout_type(md) == dnnl_u8 || layout_type(md) == dnnl_s8;
    return (size_t)(last + 1) * (bytes ? 1 : sizeof(float));
}
#if DNNL_VERSION_MINOR >= 4
bool layout_digest(Layout md, char key[33]) {
    uint8_t blob[4096];
    size_t n = 0;
    if (dnnl_memory_desc_get_blob(NULL, &n, md) != dnnl_success || n > sizeof blob ||
        dnnl_memory_desc_get_blob(blob, &n, md) != dnnl_success)
        return false;
    hash_hex(blob, n, key);
    return true;
}
#else
/* Before 3.4 no descriptor can be serialized. These queries describe a blocked layout of floats
   completely; other layouts cannot be inspected. */
bool layout_digest(Layout md, char key[33]) {
    static const dnnl_query_t line[] = {dnnl_query_dims, dnnl_query_padded_dims,
                                        dnnl_query_padded_offsets, dnnl_query_strides},
                              block[] = {dnnl_query_inner_blks, dnnl_query_inner_idxs};
    enum { LINES = sizeof line / sizeof *line, BLOCKS = sizeof block / sizeof *block };
    int64_t all[3 + LINES + BLOCKS][DNNL_MAX_NDIMS];
    dnnl_format_kind_t kind = dnnl_format_kind_undef;
    const int rank = layout_rank(md), blocks = layout_number(md, dnnl_query_inner_nblks_s32);
    if (dnnl_memory_desc_query(md, dnnl_query_format_kind, &kind) != dnnl_success ||
        kind != dnnl_blocked || layout_type(md) != dnnl_f32)
        return false;
    memset(all, 0, sizeof all);
    all[0][0] = rank, all[0][1] = layout_type(md), all[1][0] = blocks,
    all[2][0] = (int64_t)dnnl_memory_desc_get_size(md);
    for (int i = 0; i < LINES + BLOCKS; i++) {
        const int64_t *values = layout_line(md, i < LINES ? line[i] : block[i - LINES]);
        const int n = i < LINES ? rank : blocks;
        if (n && !values) return false;
        for (int j = 0; j < n; j++) all[3 + i][j] = values[j];
    }
    hash_hex(all, sizeof all, key);
    return true;
}
#endif

/* In version 3, scales and zero points are arguments of a run. The scales are those of the
   weights. */
static dnnl_status_t mark_zero(dnnl_primitive_attr_t attr, int argument, int32_t zero) {
    return zero ? dnnl_primitive_attr_set_zero_points_mask(attr, argument, 0) : dnnl_success;
}
dnnl_status_t quantization_attributes(dnnl_primitive_attr_t attr, const Quantization *q) {
    dnnl_status_t status = dnnl_success;
    if (q->scale)
        status = dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, q->weight_mask);
    if (status == dnnl_success) status = mark_zero(attr, DNNL_ARG_SRC, q->x_zero);
    return status == dnnl_success ? mark_zero(attr, DNNL_ARG_DST, q->y_zero) : status;
}
static int add_zero(Constant into[], int argument, const int32_t *zero) {
    *into = (Constant){DNNL_ARG_ATTR_ZERO_POINTS | argument, dnnl_s32, 1, zero};
    return *zero != 0;
}
int quantization_arguments(const Quantization *q, Constant into[QUANTIZATION_ARGUMENTS]) {
    int n = 0;
    into[n] = (Constant){DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, dnnl_f32, q->nscale, q->scale};
    n += q->scale != NULL;
    n += add_zero(into + n, DNNL_ARG_SRC, &q->x_zero);
    return n + add_zero(into + n, DNNL_ARG_DST, &q->y_zero);
}
dnnl_status_t append_activation(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha,
                                float beta) {
    return dnnl_post_ops_append_eltwise(ops, kind, alpha, beta);
}

dnnl_primitive_desc_t describe_conv(dnnl_engine_t engine, dnnl_alg_kind_t kind, ConvLayouts l,
                                    const Windows *at, dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_t pd = NULL;
    const bool ok = dnnl_convolution_forward_primitive_desc_create(
                        &pd, engine, dnnl_forward_inference, kind, l.x, l.w, l.bias, l.y,
                        at->stride, at->dilation, at->begin, at->end, attr) == dnnl_success;
    return ok ? pd : NULL;
}
dnnl_primitive_desc_t describe_pool(dnnl_engine_t engine, dnnl_alg_kind_t kind, Layout x, Layout y,
                                    const Windows *at, dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_t pd = NULL;
    const bool ok = dnnl_pooling_forward_primitive_desc_create(
                        &pd, engine, dnnl_forward_inference, kind, x, y, at->stride, at->kernel,
                        at->dilation, at->begin, at->end, attr) == dnnl_success;
    return ok ? pd : NULL;
}
dnnl_primitive_desc_t describe_gemm(dnnl_engine_t engine, Layout x, Layout w, Layout bias, Layout y,
                                    dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_t pd = NULL;
    const bool ok =
        dnnl_matmul_primitive_desc_create(&pd, engine, x, w, bias, y, attr) == dnnl_success;
    return ok ? pd : NULL;
}
