/* dnn_2.c -- what dnn.h asks of a major version, for oneDNN 2 (2.6 is tested): memory descriptors
   are structs, and primitives are described by way of operation descriptors. */
#include "ops/base/intern.h"
#include "ops/cpu/dnn.h"

const bool dnn_has_winograd = true;

Layout layout_strided(Arena *arena, int rank, const dnnl_dims_t dim, const dnnl_dims_t stride) {
    dnnl_memory_desc_t *md = ARENA_NEW(arena, dnnl_memory_desc_t, 1);
    const bool ok =
        dnnl_memory_desc_init_by_strides(md, rank, dim, dnnl_f32, stride) == dnnl_success;
    return ok ? md : NULL;
}
Layout layout_tagged(Arena *arena, Layout like, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t *md = ARENA_NEW(arena, dnnl_memory_desc_t, 1);
    const bool ok =
        dnnl_memory_desc_init_by_tag(md, like->ndims, like->dims, dnnl_f32, tag) == dnnl_success;
    return ok ? md : NULL;
}
void layout_free(Layout md) { (void)md; }
int layout_rank(Layout md) { return md->ndims; }
size_t layout_reach(Layout md) {
    int64_t last = 0;
    for (int i = 0; i < md->ndims; i++)
        last += (md->dims[i] - 1) * md->format_desc.blocking.strides[i];
    return (size_t)(last + 1) * sizeof(float);
}
/* oneDNN sets every byte of a descriptor that it makes. */
bool layout_digest(Layout md, char key[33]) {
    hash_hex(md, sizeof *md, key);
    return true;
}

dnnl_status_t append_activation(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha,
                                float beta) {
    return dnnl_post_ops_append_eltwise(ops, 1.0f, kind, alpha, beta);
}

static dnnl_primitive_desc_t describe(const void *operation, dnnl_engine_t engine,
                                      dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_t pd = NULL;
    const bool ok = dnnl_primitive_desc_create(&pd, operation, attr, engine, NULL) == dnnl_success;
    return ok ? pd : NULL;
}
dnnl_primitive_desc_t describe_conv(dnnl_engine_t engine, dnnl_alg_kind_t kind, Layout x, Layout w,
                                    Layout bias, Layout y, const Windows *at,
                                    dnnl_primitive_attr_t attr) {
    dnnl_convolution_desc_t operation;
    const bool ok = dnnl_dilated_convolution_forward_desc_init(
                        &operation, dnnl_forward_inference, kind, x, w, bias, y, at->stride,
                        at->dilation, at->begin, at->end) == dnnl_success;
    return ok ? describe(&operation, engine, attr) : NULL;
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
