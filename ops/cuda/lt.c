/* lt.c -- matrix products of float32 by cuBLASLt.

   Unless the options ask for TF32 or 16-bit floats, only algorithms with true fp32 arithmetic are
   used (fused multiply-add, no tensor cores). cuBLASLt is column-major: it computes the row-major
   product y = a b as y' = b' a'. A bias along the columns and relu are part of the algorithm; any
   other program follows as a generated kernel. The batch axes must amount to one axis with one
   stride. */
#include "ops/cuda/library.h"
#include "ops/cuda/algorithms.h"
#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>

#define LT_FUNCTIONS(X)                     \
    X(cublasLtCreate)                       \
    X(cublasLtDestroy)                      \
    X(cublasLtGetVersion)                   \
    X(cublasLtGetStatusString)              \
    X(cublasLtMatmul)                       \
    X(cublasLtMatmulAlgoCapGetAttribute)    \
    X(cublasLtMatmulAlgoGetHeuristic)       \
    X(cublasLtMatmulDescCreate)             \
    X(cublasLtMatmulDescDestroy)            \
    X(cublasLtMatmulDescSetAttribute)       \
    X(cublasLtMatmulPreferenceCreate)       \
    X(cublasLtMatmulPreferenceDestroy)      \
    X(cublasLtMatmulPreferenceSetAttribute) \
    X(cublasLtMatrixLayoutCreate)           \
    X(cublasLtMatrixLayoutDestroy)          \
    X(cublasLtMatrixLayoutSetAttribute)
enum {
    ALGORITHMS = 4,
    FLOAT = 1,          /* ONNX's number of this element type */
    BATCH_MOST = 65535, /* products in a batch: the limit of a grid's last axis */
    WELL_ALIGNED = 4 * sizeof(float)
};
static const uint64_t exact_flags = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA |
                                    CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
                                    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
typedef struct Lt {
    Library base;
    Device *device;
    cublasLtHandle_t handle;
    char identity[40];
#define X(f) __typeof__(f) *f##_;
    LT_FUNCTIONS(X)
#undef X
} Lt;
static const char *const name[] = {
#define X(f) #f,
    LT_FUNCTIONS(X)
#undef X
};
struct Algorithm {
    Lt *lt;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t left, right, result; /* the layouts of b', a' and y' */
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found[ALGORITHMS];
    int count, algorithm, bias; /* bias: the view of the bias, -1: none */
};

/* ---- Which steps fit. */
/* A column-major matrix with its leading dimension; turned: it is the transpose of the wanted
   one. */
typedef struct Matrix {
    int64_t rows, columns, leading, batch_stride;
    bool turned;
} Matrix;
typedef struct LtProduct {
    Matrix left, right, result;
    int64_t batch;
} LtProduct;

/* Describes the last two axes of a view, transposed, as a column-major matrix. */
static bool matrix_of(const View *v, Matrix *m) {
    const int r = v->rank;
    const int64_t down = v->dim[r - 2], across = v->dim[r - 1], ds = v->stride[r - 2],
                  as = v->stride[r - 1];
    if ((as == 1 || across == 1) && (ds >= across || down == 1)) {
        *m = (Matrix){across, down, down == 1 && ds < across ? across : ds, 0, false};
        return true;
    }
    *m = (Matrix){down, across, across == 1 && as < down ? down : as, 0, true};
    return (ds == 1 || down == 1) && (as >= down || across == 1);
}
/* Joins the batch axes of all three views into one, if they are contiguous in each view or have
   stride 0 throughout. */
static bool batch_of(const Step *s, LtProduct *p) {
    Matrix *const m[] = {&p->result, &p->right, &p->left};
    const View *y = &s->view[0];
    int64_t inner = 1;
    bool first = true;
    p->batch = 1;
    for (int a = y->rank - 3; a >= 0; a--) {
        if (y->dim[a] == 1) continue;
        for (int k = 0; k < 3; k++) {
            if (first) m[k]->batch_stride = s->view[k].stride[a];
            else if (s->view[k].stride[a] != m[k]->batch_stride * inner) return false;
        }
        first = false;
        inner *= y->dim[a];
        p->batch *= y->dim[a];
    }
    return p->batch <= BATCH_MOST;
}
static bool product_of(const Step *s, LtProduct *p) {
    *p = (LtProduct){.batch = 1};
    if (s->kind != S_GEMM) return false;
    for (int k = 0; k < 3; k++) {
        if (s->view[k].dtype != FLOAT) return false;
        for (int a = 0; a < s->view[k].rank; a++)
            if (s->view[k].dim[a] < 1 || s->view[k].dim[a] > INT32_MAX) return false;
    }
    return matrix_of(&s->view[0], &p->result) && !p->result.turned &&
           matrix_of(&s->view[1], &p->right) && matrix_of(&s->view[2], &p->left) && batch_of(s, p);
}

/* Recognizes a program that cuBLASLt can run: [+ bias along the columns] [relu]. *bias becomes the
   view of the bias, or -1. */
static bool epilogue_of(const Step *s, cublasLtEpilogue_t *e, int *bias) {
    const Scalar *c = s->code;
    int at = 1;
    *e = CUBLASLT_EPILOGUE_DEFAULT, *bias = -1;
    if (!s->ncode) return true;
    if (c[0].op != C_ACC) return false;
    if (s->ncode >= 3 && c[1].op == C_VIEW && c[2].op == C_ADD && c[2].a + c[2].b == 1) {
        const View *v = &s->view[c[1].a];
        if (v->dtype != FLOAT || v->offset % 4 ||
            (v->stride[v->rank - 1] != 1 && v->dim[v->rank - 1] > 1))
            return false;
        for (int a = 0; a + 1 < v->rank; a++)
            if (v->stride[a] && v->dim[a] > 1) return false;
        *bias = c[1].a, at = 3;
    }
    const bool relu = s->ncode == at + 1 && c[at].op == C_RELU && c[at].a == at - 1;
    *e = *bias >= 0 ? (relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
         : relu     ? CUBLASLT_EPILOGUE_RELU
                    : CUBLASLT_EPILOGUE_DEFAULT;
    return relu || (s->ncode == at && at == 3);
}

/* ---- descriptors */
static cublasLtMatrixLayout_t layout_of(Lt *l, const Matrix *m, int64_t batch) {
    cublasLtMatrixLayout_t out = NULL;
    const int32_t count = (int32_t)batch;
    if (l->cublasLtMatrixLayoutCreate_(&out, CUDA_R_32F, (uint64_t)m->rows, (uint64_t)m->columns,
                                       m->leading))
        return NULL;
    l->cublasLtMatrixLayoutSetAttribute_(out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                         sizeof count);
    l->cublasLtMatrixLayoutSetAttribute_(out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                         &m->batch_stride, sizeof m->batch_stride);
    return out;
}

/* The alignment of the views in bytes: slots begin at multiples of 64 bytes, views anywhere in
   slots. */
static uint32_t alignment(const Step *s) {
    for (int k = 0; k < 3; k++)
        if (s->view[k].offset % 4) return sizeof(float);
    return WELL_ALIGNED;
}

/* Sets the preferences for algorithms; `flags` says what they may do to numbers. */
static bool prefer(Lt *l, Algorithm *w, const Step *s, uint64_t flags) {
    const size_t room = l->device->options.workspace;
    const uint32_t align = alignment(s);
    static const cublasLtMatmulPreferenceAttributes_t aligned[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    bool good = !l->cublasLtMatmulPreferenceSetAttribute_(
                    w->preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &flags, sizeof flags) &&
                !l->cublasLtMatmulPreferenceSetAttribute_(
                    w->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room);
    for (int k = 0; k < 4; k++)
        good = good && !l->cublasLtMatmulPreferenceSetAttribute_(w->preference, aligned[k], &align,
                                                                 sizeof align);
    return good;
}
static bool describe_product(Lt *l, Algorithm *w, const LtProduct *p, cublasLtEpilogue_t e) {
    const cublasOperation_t left = p->left.turned ? CUBLAS_OP_T : CUBLAS_OP_N,
                            right = p->right.turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    static const cublasComputeType_t type[] = {
        [ARITHMETIC_FP32] = CUBLAS_COMPUTE_32F,
        [ARITHMETIC_TF32] = CUBLAS_COMPUTE_32F_FAST_TF32,
        [ARITHMETIC_FP16] = CUBLAS_COMPUTE_32F_FAST_16F,
    };
    if (l->cublasLtMatmulDescCreate_(&w->product, type[l->device->options.arithmetic], CUDA_R_32F))
        return false;
    w->left = layout_of(l, &p->left, p->batch);
    w->right = layout_of(l, &p->right, p->batch);
    w->result = layout_of(l, &p->result, p->batch);
    /* the heuristics take the alignment of the bias from this pointer; a run sets the real one */
    const void *const somewhere = (const void *)(uintptr_t)WELL_ALIGNED;
    return w->left && w->right && w->result &&
           !l->cublasLtMatmulDescSetAttribute_(w->product, CUBLASLT_MATMUL_DESC_TRANSA, &left,
                                               sizeof left) &&
           !l->cublasLtMatmulDescSetAttribute_(w->product, CUBLASLT_MATMUL_DESC_TRANSB, &right,
                                               sizeof right) &&
           !l->cublasLtMatmulDescSetAttribute_(w->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &e,
                                               sizeof e) &&
           (w->bias < 0 ||
            !l->cublasLtMatmulDescSetAttribute_(w->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                &somewhere, sizeof somewhere));
}
static void lt_forget(Algorithm *w) {
    Lt *l = w->lt;
    if (w->preference) l->cublasLtMatmulPreferenceDestroy_(w->preference);
    if (w->left) l->cublasLtMatrixLayoutDestroy_(w->left);
    if (w->right) l->cublasLtMatrixLayoutDestroy_(w->right);
    if (w->result) l->cublasLtMatrixLayoutDestroy_(w->result);
    if (w->product) l->cublasLtMatmulDescDestroy_(w->product);
    free(w);
}
/* Whether an algorithm declares that it changes float32 no more than the options allow: fp32 inputs
   and sums, fused multiply-adds, and neither tensor cores nor TF32 unless asked for. `asked`: the
   heuristics were asked for such algorithms only, so a missing declaration does not matter. */
static bool keeps_arithmetic(const Lt *l, const cublasLtMatmulAlgo_t *algo, bool asked) {
    uint64_t flags = 0;
    size_t n = 0;
    if (l->device->options.arithmetic != ARITHMETIC_FP32) return true;
    if (l->cublasLtMatmulAlgoCapGetAttribute_(algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags,
                                              sizeof flags, &n) ||
        n != sizeof flags)
        return asked;
    return flags && !(flags & ~exact_flags);
}
/* Asks the heuristics for algorithms that do only what `flags` allow, and keeps those that can
   run. */
static int ask(Lt *l, Algorithm *w, const Step *s, uint64_t flags) {
    int n = 0, good = 0;
    if (!prefer(l, w, s, flags) ||
        l->cublasLtMatmulAlgoGetHeuristic_(l->handle, w->product, w->left, w->right, w->result,
                                           w->result, w->preference, ALGORITHMS, w->found, &n))
        return 0;
    for (int k = 0; k < n; k++)
        if (w->found[k].state == CUBLAS_STATUS_SUCCESS &&
            w->found[k].workspaceSize <= l->device->options.workspace &&
            keeps_arithmetic(l, &w->found[k].algo, flags == exact_flags))
            w->found[good++] = w->found[k];
    return good;
}
/* Whether a bias can be part of the product. On GPUs older than sm_80, cuBLASLt does not add it to
   all elements if the columns of the result are not adjacent
   (github.com/dfyz/cublaslt-bias-epilogue). */
static bool adds_bias(const Lt *l, const LtProduct *p) {
    return l->device->capability >= 80 || p->result.leading == p->result.rows;
}
/* Finds all algorithms that the heuristics know, with their descriptors. If the heuristics know no
   exact one, they are asked for any, of which those that are exact after all are taken. */
static Algorithm *find_algorithms(Lt *l, const Step *s, bool *rest) {
    const bool exact = l->device->options.arithmetic == ARITHMETIC_FP32;
    LtProduct p;
    cublasLtEpilogue_t e;
    int bias;
    if (!product_of(s, &p)) return NULL;
    *rest = !epilogue_of(s, &e, &bias) || (bias >= 0 && !adds_bias(l, &p));
    if (*rest) e = CUBLASLT_EPILOGUE_DEFAULT, bias = -1;
    Algorithm *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->lt = l, w->bias = bias;
    if (!l->cublasLtMatmulPreferenceCreate_(&w->preference) && describe_product(l, w, &p, e)) {
        if (exact) w->count = ask(l, w, s, exact_flags);
        if (!w->count) w->count = ask(l, w, s, ~(uint64_t)0);
    }
    return w->count > 0 ? w : (lt_forget(w), NULL);
}

/* ---- the library */
static int lt_algorithms(Library *base, const Step *s) {
    bool rest;
    Algorithm *w = find_algorithms((Lt *)base, s, &rest);
    const int count = w ? w->count : 0;
    if (w) lt_forget(w);
    return count;
}
static Algorithm *lt_make(Library *base, const Step *s, int algorithm, bool *rest,
                          size_t *workspace, char *why, size_t n) {
    Algorithm *w = find_algorithms((Lt *)base, s, rest);
    if (!w || algorithm >= w->count) {
        if (w) lt_forget(w);
        return snprintf(why, n, "cuBLASLt has no such algorithm"), NULL;
    }
    w->algorithm = algorithm;
    *workspace = w->found[algorithm].workspaceSize;
    return w;
}
static int lt_run(Algorithm *w, void *const view[], void *workspace) {
    Lt *l = w->lt;
    const float one = 1, zero = 0;
    const cublasLtMatmulHeuristicResult_t *f = &w->found[w->algorithm];
    cublasStatus_t r = CUBLAS_STATUS_SUCCESS;
    if (w->bias >= 0)
        r = l->cublasLtMatmulDescSetAttribute_(w->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                               &view[w->bias], sizeof view[w->bias]);
    if (!r)
        r = l->cublasLtMatmul_(l->handle, w->product, &one, view[2], w->left, view[1], w->right,
                               &zero, view[0], w->result, view[0], w->result, &f->algo, workspace,
                               f->workspaceSize, l->device->stream);
    if (!r) return 0;
    Device *d = l->device;
    snprintf(d->failure, sizeof d->failure, "cublasLtMatmul: %s", l->cublasLtGetStatusString_(r));
    return -1;
}
static void lt_close(Library *base) {
    Lt *l = (Lt *)base;
    if (l->handle) l->cublasLtDestroy_(l->handle);
    free(l);
}

bool lt_open(Device *d, Library **out, char *why, size_t n) {
    static const char file[] = "libcublasLt.so.13";
    void *library = library_open(d->options.lib, file, "nvidia-cublas", why, n);
    Lt *l = library ? calloc(1, sizeof *l) : NULL;
    if (!l) return false;
#define X(f) (void **)&l->f##_,
    void **const function[] = { LT_FUNCTIONS(X) };
#undef X
    if (!library_functions(library, file, sizeof name / sizeof *name, name, function, why, n))
        return free(l), false;
    l->device = d;
    l->base = (Library){l->identity, lt_algorithms, lt_make, lt_run, lt_forget, lt_close};
    *out = &l->base;
    const cublasStatus_t r = l->cublasLtCreate_(&l->handle);
    if (r)
        return l->handle = NULL,
               snprintf(why, n, "cuBLASLt does not start on this GPU: %s",
                        l->cublasLtGetStatusString_(r)),
               false;
    snprintf(l->identity, sizeof l->identity, ", cuBLASLt %zu", l->cublasLtGetVersion_());
    return true;
}
