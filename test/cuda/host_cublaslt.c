/* host_cublaslt.c -- implements cuBLASLt's functions on the host, by its documentation, so that the
   plug-in of a test can use lt.c as it is. Products are column-major and plain loops.

   The functions refuse what the library refuses: sizes that do not fit together, memory that is
   aligned to less than the heuristics were told, a bias epilogue without a pointer. There are two
   algorithms: an exact one, and one that rounds to TF32. $ISOMER_HOST can contain: "mask-ignored"
   (the heuristics always give the second algorithm first), "mask-unknown" (they give none for any
   mask but all ones), "silent" (algorithms declare nothing), "no-lt" (the library does not start).
   host_products counts the products that ran, by epilogue. */
#include "ops/cuda/library.h"
#include "test/cuda/host_work.h"
#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH = 512, EPILOGUES = 8, BIAS_ALIGNED = 16 };
enum { EXACT, TF32 };
typedef struct Layout {
    int64_t rows, columns, leading, stride;
    int32_t batch;
} Layout;
typedef struct Desc {
    cublasComputeType_t compute;
    cublasOperation_t turned[2];
    cublasLtEpilogue_t epilogue;
    const void *bias;
} Desc;
typedef struct Preference {
    uint64_t mask, room;
    uint32_t align[4];
} Preference;
typedef struct Product {
    Desc desc;
    Layout a, b, d;
    const float *at[3]; /* a, b, bias */
    float *to;
    char *workspace;
    int kind;
} Product;
__attribute__((visibility("default"))) extern int host_products[EPILOGUES];
int host_products[EPILOGUES];

static bool behaves(const char *word) {
    const char *all = getenv("ISOMER_HOST");
    return all && strstr(all, word);
}
static cublasStatus_t take(void *to, size_t room, const void *from, size_t n) {
    if (n != room) return CUBLAS_STATUS_INVALID_VALUE;
    return memcpy(to, from, n), CUBLAS_STATUS_SUCCESS;
}

/* ---- descriptors */
static cublasStatus_t desc_new(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                               cudaDataType_t scale) {
    if (scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
    Desc *d = calloc(1, sizeof *d);
    if (d) d->compute = compute, d->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    return *out = (cublasLtMatmulDesc_t)d, d ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
static cublasStatus_t desc_end(cublasLtMatmulDesc_t d) { return free(d), CUBLAS_STATUS_SUCCESS; }
static cublasStatus_t desc_set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t name,
                               const void *v, size_t n) {
    Desc *d = (Desc *)desc;
    switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(&d->turned[0], sizeof d->turned[0], v, n);
    case CUBLASLT_MATMUL_DESC_TRANSB: return take(&d->turned[1], sizeof d->turned[1], v, n);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(&d->epilogue, sizeof d->epilogue, v, n);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(&d->bias, sizeof d->bias, v, n);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}
static cublasStatus_t layout_new(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows,
                                 uint64_t columns, int64_t leading) {
    if (type != CUDA_R_32F || leading < (int64_t)rows || !rows || !columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    Layout *l = malloc(sizeof *l);
    if (l) *l = (Layout){(int64_t)rows, (int64_t)columns, leading, 0, 1};
    return *out = (cublasLtMatrixLayout_t)l, l ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
static cublasStatus_t layout_end(cublasLtMatrixLayout_t l) {
    return free(l), CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t layout_set(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t name, const void *v, size_t n) {
    Layout *l = (Layout *)layout;
    switch (name) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return take(&l->batch, sizeof l->batch, v, n);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        return take(&l->stride, sizeof l->stride, v, n);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}
static cublasStatus_t preference_new(cublasLtMatmulPreference_t *out) {
    Preference *p = malloc(sizeof *p);
    if (p) *p = (Preference){~(uint64_t)0, 0, {256, 256, 256, 256}};
    return *out = (cublasLtMatmulPreference_t)p,
           p ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
static cublasStatus_t preference_end(cublasLtMatmulPreference_t p) {
    return free(p), CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t preference_set(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t name, const void *v,
                                     size_t n) {
    Preference *p = (Preference *)preference;
    const int k = (int)name - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (name == CUBLASLT_MATMUL_PREF_IMPL_MASK) return take(&p->mask, sizeof p->mask, v, n);
    if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return take(&p->room, sizeof p->room, v, n);
    return k >= 0 && k < 4 ? take(&p->align[k], sizeof p->align[k], v, n)
                           : CUBLAS_STATUS_INVALID_VALUE;
}

/* ---- heuristics */
static bool has_bias(const Desc *d) {
    return d->epilogue == CUBLASLT_EPILOGUE_BIAS || d->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}
static bool fit(const Desc *d, const Layout *a, const Layout *b, const Layout *c) {
    const bool ta = d->turned[0] == CUBLAS_OP_T, tb = d->turned[1] == CUBLAS_OP_T;
    return (ta ? a->columns : a->rows) == c->rows && (tb ? b->rows : b->columns) == c->columns &&
           (ta ? a->rows : a->columns) == (tb ? b->columns : b->rows) && a->batch == b->batch &&
           b->batch == c->batch && c->batch >= 1;
}
static uint64_t flags_of(int kind) {
    return CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
           (kind == EXACT
                ? CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F
                : CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32);
}
/* An algorithm's data are its kind and the alignment of memory that it may rely on. */
static cublasStatus_t heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                cublasLtMatmulPreference_t preference, int most,
                                cublasLtMatmulHeuristicResult_t found[], int *n) {
    const Desc *p = (const Desc *)desc;
    const Preference *wish = (const Preference *)preference;
    const bool ignored = behaves("mask-ignored");
    (void)handle;
    *n = 0;
    if (!host_context()) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (c != d || !fit(p, (Layout *)a, (Layout *)b, (Layout *)d))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (has_bias(p) && !p->bias) return CUBLAS_STATUS_NOT_SUPPORTED;
    for (int k = 0; k < 2 && *n < most; k++) {
        const int kind = ignored ? !k : k;
        if (kind == TF32 && p->compute == CUBLAS_COMPUTE_32F && !ignored &&
            !behaves("mask-unknown"))
            continue;
        if (!ignored && (flags_of(kind) & ~wish->mask)) continue;
        if (behaves("mask-unknown") && wish->mask != ~(uint64_t)0) continue;
        if (wish->room < SCRATCH) continue;
        found[*n] = (cublasLtMatmulHeuristicResult_t){.workspaceSize = SCRATCH};
        found[*n].algo.data[0] = (uint64_t)kind;
        found[(*n)++].algo.data[1] = wish->align[0];
    }
    return *n ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
static cublasStatus_t capability(const cublasLtMatmulAlgo_t *algo,
                                 cublasLtMatmulAlgoCapAttributes_t name, void *v, size_t room,
                                 size_t *n) {
    const uint64_t flags = flags_of((int)algo->data[0]);
    if (behaves("silent") || name != CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS || room < sizeof flags)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return memcpy(v, &flags, sizeof flags), *n = sizeof flags, CUBLAS_STATUS_SUCCESS;
}

/* ---- products */
static float rounded(float x, int kind) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (kind == TF32 && x - x == 0) bits = (bits + 0x1000) & ~(uint32_t)0x1fff;
    return memcpy(&x, &bits, sizeof x), x;
}
static float at(const float *m, const Layout *l, cublasOperation_t turned, int64_t row,
                int64_t column) {
    return turned == CUBLAS_OP_T ? m[column + row * l->leading] : m[row + column * l->leading];
}
static int multiply(void *data) {
    const Product *p = data;
    const Desc *d = &p->desc;
    const int64_t terms = d->turned[0] == CUBLAS_OP_T ? p->a.rows : p->a.columns;
    const bool relu =
        d->epilogue == CUBLASLT_EPILOGUE_RELU || d->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
    memset(p->workspace, 1, SCRATCH);
    host_products[d->epilogue % EPILOGUES]++;
    for (int64_t z = 0; z < p->d.batch; z++)
        for (int64_t j = 0; j < p->d.columns; j++)
            for (int64_t i = 0; i < p->d.rows; i++) {
                float sum = 0;
                for (int64_t k = 0; k < terms; k++)
                    sum +=
                        rounded(at(p->at[0] + z * p->a.stride, &p->a, d->turned[0], i, k),
                                p->kind) *
                        rounded(at(p->at[1] + z * p->b.stride, &p->b, d->turned[1], k, j), p->kind);
                if (has_bias(d)) sum += p->at[2][i];
                if (relu && sum < 0) sum = 0;
                p->to[z * p->d.stride + j * p->d.leading + i] = sum;
            }
    return 0;
}
static bool aligned(const void *p, uint64_t to) { return p && (uintptr_t)p % to == 0; }
static cublasStatus_t product(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t la, const void *b,
                              cublasLtMatrixLayout_t lb, const void *beta, const void *c,
                              cublasLtMatrixLayout_t lc, void *d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t room,
                              cudaStream_t stream) {
    Product p = {*(Desc *)desc,
                 *(Layout *)la,
                 *(Layout *)lb,
                 *(Layout *)ld,
                 .to = d,
                 .workspace = workspace,
                 .kind = (int)algo->data[0]};
    const float one = 1, zero = 0;
    (void)handle;
    if (!stream || c != d || lc != ld || memcmp(alpha, &one, 4) || memcmp(beta, &zero, 4) ||
        !fit(&p.desc, &p.a, &p.b, &p.d) || room < SCRATCH || !aligned(workspace, BIAS_ALIGNED) ||
        !aligned(a, algo->data[1]) || !aligned(b, algo->data[1]) || !aligned(d, algo->data[1]) ||
        (has_bias(&p.desc) && !aligned(p.desc.bias, BIAS_ALIGNED)))
        return CUBLAS_STATUS_INVALID_VALUE;
    p.at[0] = a, p.at[1] = b, p.at[2] = p.desc.bias;
    return host_work(multiply, &p, sizeof p) ? CUBLAS_STATUS_EXECUTION_FAILED
                                             : CUBLAS_STATUS_SUCCESS;
}

/* ---- the library */
static cublasStatus_t create(cublasLtHandle_t *h) {
    if (behaves("no-lt")) return CUBLAS_STATUS_NOT_INITIALIZED;
    return *h = (cublasLtHandle_t)(uintptr_t)1, CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t destroy(cublasLtHandle_t h) { return (void)h, CUBLAS_STATUS_SUCCESS; }
static size_t version(void) { return 130000; }
static const char *status_text(cublasStatus_t r) {
    return r == CUBLAS_STATUS_NOT_INITIALIZED ? "not initialized" : "refused on the host";
}
typedef void Function(void);
static const struct {
    const char *name;
    Function *function;
} functions[] = {
#define F(name, function) \
    { #name, (Function *)(function) }
    F(cublasLtCreate, create),
    F(cublasLtDestroy, destroy),
    F(cublasLtGetVersion, version),
    F(cublasLtGetStatusString, status_text),
    F(cublasLtMatmul, product),
    F(cublasLtMatmulAlgoCapGetAttribute, capability),
    F(cublasLtMatmulAlgoGetHeuristic, heuristic),
    F(cublasLtMatmulDescCreate, desc_new),
    F(cublasLtMatmulDescDestroy, desc_end),
    F(cublasLtMatmulDescSetAttribute, desc_set),
    F(cublasLtMatmulPreferenceCreate, preference_new),
    F(cublasLtMatmulPreferenceDestroy, preference_end),
    F(cublasLtMatmulPreferenceSetAttribute, preference_set),
    F(cublasLtMatrixLayoutCreate, layout_new),
    F(cublasLtMatrixLayoutDestroy, layout_end),
    F(cublasLtMatrixLayoutSetAttribute, layout_set),
#undef F
};
void *library_open(const char *folder, const char *name, const char *wheel, char *why, size_t n) {
    static char itself;
    return (void)folder, (void)name, (void)wheel, (void)why, (void)n, &itself;
}
bool library_functions(void *library, const char *what, int count, const char *const name[],
                       void **const function[], char *why, size_t n) {
    (void)library;
    for (int k = 0; k < count; k++) {
        size_t j = 0;
        while (j < sizeof functions / sizeof *functions && strcmp(functions[j].name, name[k])) j++;
        if (j == sizeof functions / sizeof *functions)
            return snprintf(why, n, "%s lacks %s", what, name[k]), false;
        *(Function **)function[k] = functions[j].function;
    }
    return true;
}
