/* dnn_graph.c -- builds the cuDNN graph of a convolution and its program `[+ z] + bias [relu]`. */
#include "ops/cuda/dnn.h"

/* ---- descriptors */
Desc dnn_keep(Algorithm *w, cudnnBackendDescriptorType_t type) {
    Desc d = NULL;
    if (w->nkept == DESCRIPTORS || w->dnn->cudnnBackendCreateDescriptor_(type, &d)) return NULL;
    return w->kept[w->nkept++] = d;
}
bool dnn_set(Algorithm *w, Desc d, cudnnBackendAttributeName_t name_,
             cudnnBackendAttributeType_t type, int64_t n, const void *v) {
    return d && !w->dnn->cudnnBackendSetAttribute_(d, name_, type, n, v);
}
bool dnn_set_desc(Algorithm *w, Desc d, cudnnBackendAttributeName_t name_, const Desc *v) {
    return *v && dnn_set(w, d, name_, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, v);
}
Desc dnn_finalized(Algorithm *w, Desc d, bool good) {
    return good && !w->dnn->cudnnBackendFinalize_(d) ? d : NULL;
}

static Desc tensor(Algorithm *w, int64_t id, int rank, const int64_t dim[], const int64_t stride[],
                   int64_t align, bool inner) {
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    Desc d = dnn_keep(w, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    return dnn_finalized(
        w, d,
        dnn_set(w, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type) &&
            dnn_set(w, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, dim) &&
            dnn_set(w, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, stride) &&
            dnn_set(w, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id) &&
            dnn_set(w, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align) &&
            dnn_set(w, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &inner));
}
/* A tensor for a view. It gets two spatial axes at least, since a single one is preceded by an axis
   of size 1. An axis of size 1 gets the stride that it would have in a dense tensor. */
static Desc view_tensor(Algorithm *w, int64_t id, const View *v, bool inner) {
    int64_t dim[AXES], stride[AXES];
    const int more = v->rank == 3;
    int n = 0;
    for (int a = 0; a < v->rank; a++) {
        if (a == 2 && more) dim[n] = 1, stride[n++] = v->dim[2] * v->stride[2];
        dim[n] = v->dim[a], stride[n++] = v->stride[a];
    }
    for (int a = n - 1; a >= 0; a--)
        if (dim[a] == 1) stride[a] = a + 1 < n ? dim[a + 1] * stride[a + 1] : 1;
    return tensor(w, id, n, dim, stride, v->offset % 4 ? 4 : 16, inner);
}
static Desc bias_tensor(Algorithm *w, const View *v, const View *y) {
    int64_t dim[AXES] = {1, y->dim[1], 1, 1, 1}, stride[AXES] = {y->dim[1], 1, 1, 1, 1};
    return tensor(w, BIAS_ID, y->rank < 4 ? 4 : y->rank, dim, stride, v->offset % 4 ? 4 : 16,
                  false);
}

/* ---- the graph */
static Desc convolution(Algorithm *w, const Step *s) {
    const int n = step_spatial_axes(s), more = n == 1;
    const int64_t axes = n + more;
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    static const cudnnBackendAttributeName_t names[WINDOW_LISTS] = {
        [WINDOW_STRIDES] = CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
        [WINDOW_BEGINS] = CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
        [WINDOW_ENDS] = CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
        [WINDOW_DILATIONS] = CUDNN_ATTR_CONVOLUTION_DILATIONS};
    Desc d = dnn_keep(w, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    bool good =
        dnn_set(w, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type) &&
        dnn_set(w, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode) &&
        dnn_set(w, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &axes);
    for (int k = 0; k < WINDOW_LISTS; k++) {
        int64_t v[AXES] = {k == WINDOW_STRIDES || k == WINDOW_DILATIONS};
        for (int a = 0; a < n; a++) v[a + more] = s->param[window_param(s, k, a)];
        good = good && dnn_set(w, d, names[k], CUDNN_TYPE_INT64, axes, v);
    }
    return dnn_finalized(w, d, good);
}
static Desc convolve(Algorithm *w, const Step *s, Desc y) {
    const Desc x = view_tensor(w, X_ID, &s->view[1], false),
               weights = view_tensor(w, W_ID, &s->view[2], false), c = convolution(w, s);
    const double alpha = 1, beta = 0;
    Desc o = dnn_keep(w, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    return dnn_finalized(
        w, o,
        dnn_set_desc(w, o, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, &x) &&
            dnn_set_desc(w, o, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, &weights) &&
            dnn_set_desc(w, o, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, &y) &&
            dnn_set_desc(w, o, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, &c) &&
            dnn_set(w, o, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_DOUBLE, 1,
                    &alpha) &&
            dnn_set(w, o, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_DOUBLE, 1,
                    &beta));
}
/* The operation y = mode(x) or, if b is not NULL, y = mode(x, b). */
static Desc pointwise(Algorithm *w, cudnnPointwiseMode_t mode, Desc x, Desc b, Desc y) {
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    Desc p = dnn_keep(w, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    p = dnn_finalized(
        w, p,
        dnn_set(w, p, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode) &&
            dnn_set(w, p, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type));
    Desc o = dnn_keep(w, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    return dnn_finalized(w, o,
                         dnn_set_desc(w, o, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, &p) &&
                             dnn_set_desc(w, o, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, &x) &&
                             (!b || dnn_set_desc(w, o, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, &b)) &&
                             dnn_set_desc(w, o, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, &y));
}
Desc dnn_graph(Algorithm *w, const Step *s) {
    const View *y = &s->view[0];
    const Epilogue *e = &w->epilogue;
    const int after = (e->z >= 0) + (e->bias >= 0) + e->relu;
    Desc part[4], made[4];
    int n = 0;
    for (int k = 0; k <= after; k++)
        made[k] = view_tensor(w, k == after ? Y_ID : INNER_ID + k, y, k < after);
    part[n++] = convolve(w, s, made[0]);
    if (e->z >= 0) {
        Desc z = view_tensor(w, Z_ID, &s->view[e->z], false);
        part[n] = pointwise(w, CUDNN_POINTWISE_ADD, made[n - 1], z, made[n]), n++;
    }
    if (e->bias >= 0) {
        Desc b = bias_tensor(w, &s->view[e->bias], y);
        part[n] = pointwise(w, CUDNN_POINTWISE_ADD, made[n - 1], b, made[n]), n++;
    }
    if (e->relu) part[n] = pointwise(w, CUDNN_POINTWISE_RELU_FWD, made[n - 1], NULL, made[n]), n++;
    bool good = true;
    for (int k = 0; k < n; k++) good = good && part[k];
    Desc g = dnn_keep(w, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    good = good &&
           dnn_set(w, g, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, part);
    if (w->dnn->handle)
        good = good && dnn_set(w, g, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
                               &w->dnn->handle);
    return dnn_finalized(w, g, good);
}
