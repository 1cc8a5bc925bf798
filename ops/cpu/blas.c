/* blas.c -- matrix products by OpenBLAS, and the choice among all algorithms for them.

   OpenBLAS is opened with dlopen, so that the environment can be set first, which the library reads
   when it is loaded. Its functions cannot replace this: none sets what OPENBLAS_CORETYPE does,
   which may name an older core; and openblas_set_num_threads can be called only after a build with
   threads has started them, does not end them, and would change the setting for other users of the
   library in this process. The environment has no effect on them once the library is loaded. Views
   of float and double are passed to gemm or gemv in place if their rows or columns have stride 1;
   other views are packed. Batch axes are joined or folded into the rows. 16-bit floats are computed
   as float; integers by our inner loops, in 32 bits if the operands and the result have at most 32
   (sums wrap alike), else in 64. If the rows of an integer product are shorter than its columns,
   its transpose is computed from the transposed factors. */
#include "ops/cpu/cpu.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 }; /* as in cblas.h */
#define DEFINE_CALLS(T, p)                                                                        \
    typedef void (*Gemm_##p)(int order, int ta, int tb, int m, int n, int k, T alpha, const T *a, \
                             int lda, const T *b, int ldb, T beta, T *c, int ldc);                \
    typedef void (*Gemv_##p)(int order, int t, int m, int n, T alpha, const T *a, int lda,        \
                             const T *x, int dx, T beta, T *y, int dy);
DEFINE_CALLS(float, s)
DEFINE_CALLS(double, d)

/* OpenBLAS's serial build hands out its packing buffers without a lock, so two threads that use it
   at once get wrong products. There is one library per process, and therefore one lock. The lock
   also keeps two threads from changing the environment at once. */
static pthread_mutex_t serial_build = PTHREAD_MUTEX_INITIALIZER;

struct Blas {
    void *library;
    bool locks; /* it is the serial build */
    char core[64], config[160];
    Gemm_s sgemm;
    Gemv_s sgemv;
    Gemm_d dgemm;
    Gemv_d dgemv;
};

/* ---- opening */
typedef struct Saved {
    const char *name;
    char *value; /* our own copy; NULL: it was not set */
} Saved;
/* Sets an environment variable, or removes it if value is NULL, and saves the old value. False: out
   of memory; nothing is changed. */
static bool environment_set(const char *name, const char *value, Saved *before) {
    const char *old = getenv(name);
    const size_t bytes = old ? strlen(old) + 1 : 0;
    *before = (Saved){name, old ? mem_realloc(NULL, bytes) : NULL};
    if (old && !before->value) return false;
    if (old) memcpy(before->value, old, bytes);
    if (!(value ? setenv(name, value, 1) : unsetenv(name))) return true;
    mem_free(before->value), before->value = NULL;
    return false;
}
static void environment_restore(Saved *s) {
    if (s->value) setenv(s->name, s->value, 1);
    else unsetenv(s->name);
    mem_free(s->value), s->value = NULL;
}

/* Opens the serial build if there is one: threads of its own would compete with ours. */
static void *open_library(const char *path) {
    static const char *const usual[] = {
        "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0", "libopenblas.so.0",
        "libopenblas.so"};
    if (path) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        void *library = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    return NULL;
}

static void copy_text(void *library, const char *function, char *to, size_t n) {
    char *(*text)(void) = NULL;
    *(void **)&text = dlsym(library, function);
    snprintf(to, n, "%s", text ? text() : "?");
}

/* Opens OpenBLAS with one thread and the requested core. The environment is restored before it
   returns. */
static void *open_with(const BlasOptions *o, char *why, size_t n) {
    Saved core, threads;
    void *library = NULL;
    if (!environment_set("OPENBLAS_CORETYPE", o->coretype, &core))
        return snprintf(why, n, "out of memory"), NULL;
    if (environment_set("OPENBLAS_NUM_THREADS", "1", &threads)) {
        library = open_library(o->path);
        if (!library) snprintf(why, n, "OpenBLAS cannot be opened: %s", dlerror());
        environment_restore(&threads);
    } else snprintf(why, n, "out of memory");
    environment_restore(&core);
    return library;
}

Blas *blas_open(const BlasOptions *o, char *why, size_t n) {
    pthread_mutex_lock(&serial_build);
    void *library = open_with(o, why, n);
    pthread_mutex_unlock(&serial_build);
    if (!library) return NULL;
    Blas *b = mem_realloc(NULL, sizeof *b);
    if (!b) return dlclose(library), snprintf(why, n, "out of memory"), NULL;
    *b = (Blas){.library = library};
    *(void **)&b->sgemm = dlsym(library, "cblas_sgemm");
    *(void **)&b->sgemv = dlsym(library, "cblas_sgemv");
    *(void **)&b->dgemm = dlsym(library, "cblas_dgemm");
    *(void **)&b->dgemv = dlsym(library, "cblas_dgemv");
    copy_text(library, "openblas_get_corename", b->core, sizeof b->core);
    copy_text(library, "openblas_get_config", b->config, sizeof b->config);
    b->locks = strstr(b->config, "SINGLE_THREADED") != NULL;
    if (b->sgemm && b->sgemv && b->dgemm && b->dgemv) return b;
    snprintf(why, n,
             "the OpenBLAS found lacks cblas_sgemm, cblas_sgemv, cblas_dgemm or cblas_dgemv");
    blas_close(b);
    return NULL;
}

void blas_close(Blas *b) {
    if (!b) return;
    dlclose(b->library);
    mem_free(b);
}

void blas_identity(const Blas *b, char *text, size_t n) {
    if (!b) snprintf(text, n, "no OpenBLAS");
    else
        snprintf(text, n, "%.*s core %s",
                 (int)strcspn(b->config, " ") + 1 +
                     (int)strcspn(b->config + strcspn(b->config, " ") + 1, " "),
                 b->config, b->core);
}

/* ---- one product */
/* How BLAS sees a view of two axes: as a row-major matrix with this leading dimension, or as the
   transpose of one. */
typedef struct Matrix {
    int order; /* AS_IS or TRANSPOSED */
    int ld;    /* the leading dimension */
} Matrix;
typedef struct Product {
    ComputeClass class;
    int size;        /* bytes of an element; of integers, 4 or 8 */
    int64_t m, n, k; /* y is m x n, a is m x k, b is k x n */
    Matrix a, b, y; /* if y is TRANSPOSED, its transpose is computed from the transposed operands */
    int64_t dx_a, dx_b, dy; /* strides of operands that are vectors */
    Blas *blas;             /* NULL: not used */
    const Simd *simd;
} Product;
typedef struct MatMul {
    Operand a, b;
    Tail tail;
    Product p;  /* each product of the batch */
    Nest batch; /* views: y, a, b */
} MatMul;

static int at_least_1(int64_t n) { return n > 1 ? (int)n : 1; }
/* Whether BLAS can read r x c elements with these strides; it cannot with a stride of 0. */
static bool matrix_of(int64_t r, int64_t c, int64_t sr, int64_t sc, Matrix *m) {
    if (sr > INT32_MAX || sc > INT32_MAX || r > INT32_MAX || c > INT32_MAX) return false;
    if ((sc == 1 || c == 1) && (sr >= c || r == 1)) {
        *m = (Matrix){AS_IS, at_least_1(r == 1 ? c : sr)};
        return true;
    }
    if ((sr == 1 || r == 1) && (sc >= r || c == 1)) {
        *m = (Matrix){TRANSPOSED, at_least_1(c == 1 ? r : sc)};
        return true;
    }
    return false;
}
static bool view_matrix(const View *v, Matrix *m) {
    const int r = v->rank - 2, c = v->rank - 1;
    return matrix_of(v->dim[r], v->dim[c], v->stride[r], v->stride[c], m);
}
static int flip(int order) { return order == AS_IS ? TRANSPOSED : AS_IS; }

#define DEFINE_PRODUCT(T, p)                                                                    \
    static void product_##p(const Product *g, T *y, const T *a, const T *b) {                   \
        const int m = (int)g->m, n = (int)g->n, k = (int)g->k;                                  \
        if (m == 1 && g->dy > 0 && g->dx_a > 0)                                                 \
            g->blas->p##gemv(ROW_MAJOR, flip(g->b.order), g->b.order == AS_IS ? k : n,          \
                             g->b.order == AS_IS ? n : k, 1, b, g->b.ld, a, (int)g->dx_a, 0, y, \
                             (int)g->dy);                                                       \
        else if (n == 1 && g->dy > 0 && g->dx_b > 0)                                            \
            g->blas->p##gemv(ROW_MAJOR, g->a.order, g->a.order == AS_IS ? m : k,                \
                             g->a.order == AS_IS ? k : m, 1, a, g->a.ld, b, (int)g->dx_b, 0, y, \
                             (int)g->dy);                                                       \
        else if (g->y.order == AS_IS)                                                           \
            g->blas->p##gemm(ROW_MAJOR, g->a.order, g->b.order, m, n, k, 1, a, g->a.ld, b,      \
                             g->b.ld, 0, y, g->y.ld);                                           \
        else                                                                                    \
            g->blas->p##gemm(ROW_MAJOR, flip(g->b.order), flip(g->a.order), n, m, k, 1, b,      \
                             g->b.ld, a, g->a.ld, 0, y, g->y.ld);                               \
    }
DEFINE_PRODUCT(float, s)
DEFINE_PRODUCT(double, d)

/* Multiplies dense operands into a dense y. Sums wrap modulo 2^32 or 2^64. */
static void product_integer(const Product *g, char *y, const char *a, const char *b) {
    const int64_t size = g->size;
    void (*add)(void *, const void *, int64_t, const void *, int64_t) =
        size == 4 ? g->simd->scale_add_32 : g->simd->scale_add[g->class];
    memset(y, 0, (size_t)(g->m * g->n * size));
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t l = 0; l < g->k; l++)
            add(y + i * g->n * size, b + l * g->n * size, 1, a + (i * g->k + l) * size, g->n);
}

static void run_product(const MatMul *g, char *y, const char *a, const char *b) {
    const Product *p = &g->p;
    void *to = y;
    const void *left = a, *right = b;
    if (p->class == CLASS_FLOAT) product_s(p, to, left, right);
    else if (p->class == CLASS_DOUBLE) product_d(p, to, left, right);
    else product_integer(p, to, left, right);
}

static int gemm_run(const Kernel *k, void *const slot[], void *work) {
    const MatMul *g = k->self;
    const char *a = operand_at(&g->a, slot, work), *b = operand_at(&g->b, slot, work);
    char *y = view_at(&g->tail.into, slot, work);
    int64_t index[STEP_RANK] = {0}, offset[3] = {0};
    const bool lock = g->p.blas && g->p.blas->locks;
    if (lock) pthread_mutex_lock(&serial_build);
    do
        run_product(g, y + offset[0] * g->p.size, a + offset[1] * g->p.size,
                    b + offset[2] * g->p.size);
    while (nest_next(&g->batch, 0, index, offset));
    if (lock) pthread_mutex_unlock(&serial_build);
    tail_run(&g->tail, slot, work);
    return 0;
}

/* Runs a product without terms: y is 0 before its epilogue. */
static int gemm_run_empty(const Kernel *k, void *const slot[], void *work) {
    const MatMul *g = k->self;
    memset(view_at(&g->tail.into, slot, work), 0, (size_t)(view_count(&g->tail.into) * g->p.size));
    tail_run(&g->tail, slot, work);
    return 0;
}

/* ---- building */
/* Whether sums are of integers, so that their order does not matter. */
static bool exact_sums(const Step *s) {
    const ComputeClass class = view_class(s->view, 3);
    return class == CLASS_INT || class == CLASS_UINT;
}
/* The type in which sums are accumulated: integers of 32 bits suffice if no more are stored, and
   nothing reads the sums before. */
static int sum_type(const Step *s) {
    const ComputeClass class = view_class(s->view, 3);
    bool narrow = exact_sums(s) && s->ncode == 0;
    for (int i = 0; i < 3; i++) narrow = narrow && dtype_bits((DType)s->view[i].dtype) <= 32;
    return !narrow ? class_dtype(class) : class == CLASS_INT ? DT_INT32 : DT_UINT32;
}
static bool read_matrix(Build *b, int index, int dtype, Operand *o, Matrix *m) {
    const View *v = &b->step->view[index];
    if (v->dtype == dtype && view_matrix(v, m)) {
        *o = operand_as_is(b, index);
        return true;
    }
    return operand_pack(b, index, dtype, o) && view_matrix(&o->view, m);
}

/* Folds batch axes into the rows, from the last axis on, while b is the same along the axis and
   each matrix of a and y begins where the one before ends. */
static void fold_batch(MatMul *g, const View *y) {
    Nest *n = &g->batch;
    const View *a = &g->a.view;
    while (n->rank > 0) {
        const int l = n->rank - 1;
        const int64_t *s = n->stride + l;
        const bool tall = s[2 * STEP_RANK] == 0 && s[0] == y->stride[y->rank - 2] * g->p.m &&
                          s[STEP_RANK] == a->stride[a->rank - 2] * g->p.m;
        if (!tall || g->p.m == 1 || g->p.a.order != AS_IS || g->p.y.order != AS_IS ||
            g->p.m * n->dim[l] > INT32_MAX)
            return;
        g->p.m *= n->dim[l];
        n->rank--;
    }
}

static Nest batch_nest(Build *b, const View *y, const View *x1, const View *x2) {
    View v[] = {*y, *x1, *x2};
    for (int i = 0; i < 3; i++) v[i].rank -= 2;
    return nest_new(b->arena, (const View *const[]){&v[0], &v[1], &v[2]}, 3);
}

/* Completes a product whose operands, of these sizes, have been read and which writes y. */
static void finish_build(Build *b, MatMul *g, const View *y, Kernel *k) {
    const int r = y->rank - 2, c = y->rank - 1;
    Product *p = &g->p;
    p->m = y->dim[r], p->n = y->dim[c], p->k = g->a.view.dim[c], p->simd = b->device->simd;
    p->size = dtype_size(y->dtype);
    p->dx_a = p->k == 1 ? 1 : g->a.view.stride[c], p->dx_b = p->k == 1 ? 1 : g->b.view.stride[r];
    g->batch = batch_nest(b, y, &g->a.view, &g->b.view);
    fold_batch(g, y);
    p->dy = p->m == 1 ? (p->n == 1 ? 1 : y->stride[c]) : y->stride[r];
    k->run = p->k == 0 ? gemm_run_empty : gemm_run;
    k->self = g;
}
static bool blas_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    MatMul *g = ARENA_NEW(b->arena, MatMul, 1);
    const View *v = b->step->view;
    Product *p = &g->p;
    const int dtype = sum_type(b->step);
    *p = (Product){.class = view_class(v, 3), .blas = b->device->blas};
    if (!read_matrix(b, 1, dtype, &g->a, &p->a) || !read_matrix(b, 2, dtype, &g->b, &p->b))
        return false;
    const bool dense = v[1].dim[v[1].rank - 1] == 0 || !view_matrix(&v[0], &p->y);
    if (!tail_new(b, dtype, dense ? TAIL_DENSE : TAIL_ANY, &g->tail) ||
        !view_matrix(&g->tail.into, &p->y))
        return false;
    return finish_build(b, g, &g->tail.into, k), true;
}

/* Reads v, a view of the slot of view[index], in place if each of its matrices is dense. */
static bool read_dense(Build *b, int index, const View *v, int dtype, Operand *o) {
    const int r = v->rank - 2, c = v->rank - 1;
    const bool dense =
        (v->stride[c] == 1 || v->dim[c] == 1) && (v->stride[r] == v->dim[c] || v->dim[r] == 1);
    if (!dense || v->dtype != dtype) return operand_pack_as(b, index, v, dtype, o);
    *o = (Operand){.view = *v};
    return true;
}
/* The rows of y are extended while terms are added, so they should be longer than its columns;
   otherwise the transposed product is computed. */
static bool integers_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    MatMul *g = ARENA_NEW(b->arena, MatMul, 1);
    const View *v = b->step->view;
    const int r = v[0].rank - 2, c = v[0].rank - 1, dtype = sum_type(b->step);
    const bool turned = v[0].dim[c] < v[0].dim[r];
    const View left = turned ? matrix_transposed(&v[2]) : v[1],
               right = turned ? matrix_transposed(&v[1]) : v[2];
    const Matrix dense = {AS_IS, 0};
    g->p = (Product){.class = view_class(v, 3), .a = dense, .b = dense, .y = dense};
    if (!read_dense(b, turned ? 2 : 1, &left, dtype, &g->a) ||
        !read_dense(b, turned ? 1 : 2, &right, dtype, &g->b))
        return false;
    const View y = turned ? matrix_transposed(&v[0]) : v[0],
               rows = view_dense(0, dtype, y.rank, y.dim), columns = matrix_transposed(&rows);
    if (!(turned ? tail_like(b, dtype, &columns, &g->tail)
                 : tail_new(b, dtype, TAIL_DENSE, &g->tail)))
        return false;
    const View into = turned ? matrix_transposed(&g->tail.into) : g->tail.into;
    return finish_build(b, g, &into, k), true;
}

/* The views must be of one rank, and have the sizes [.., m, n], [.., m, k], [.., k, n]. */
bool gemm_fits(const Step *s) {
    const View *y = &s->view[0], *a = &s->view[1], *b = &s->view[2];
    const int c = y->rank - 1;
    if (c < 1 || a->rank != c + 1 || b->rank != c + 1) return false;
    for (int i = 0; i < c - 1; i++)
        if (a->dim[i] != y->dim[i] || b->dim[i] != y->dim[i]) return false;
    return a->dim[c - 1] == y->dim[c - 1] && b->dim[c] == y->dim[c] && a->dim[c] == b->dim[c - 1];
}
static bool gemm_possible(const Device *d, const Step *s) {
    if (!gemm_fits(s)) return false;
    for (int i = 0; i < 3; i++)
        if (!dtype_numeric(s->view[i].dtype)) return false;
    return d->blas || exact_sums(s);
}
/* The algorithms, the one expected to be fastest first: our panels for known weights, which are
   packed; single rows by other matrices; oneDNN or, if the batches cannot be joined, our panels for
   each product. The micro-kernel is last because it does not exist everywhere, and the other
   algorithms should keep their numbers. */
typedef enum GemmAlgorithm {
    GEMM_PANELS,
    GEMM_ONE_ROW,
    GEMM_DNN,
    GEMM_BATCHES,
    GEMM_BLAS,
    GEMM_UKERNEL,
    GEMM_ALGORITHMS
} GemmAlgorithm;
static int gemm_algorithms(const Device *d, const Step *s, GemmAlgorithm of[GEMM_ALGORITHMS]) {
    View flat[3];
    int n = 0;
    const bool joined = gemm_flatten(s, flat), batches = batches_possible(d, s);
    if (panels_gemm_possible(d, s)) of[n++] = GEMM_PANELS;
    if (onerow_possible(s)) of[n++] = GEMM_ONE_ROW;
    if (dnn_gemm_choices(d, s)) of[n++] = GEMM_DNN;
    if (!joined && batches) of[n++] = GEMM_BATCHES;
    of[n++] = GEMM_BLAS;
    if (joined && batches) of[n++] = GEMM_BATCHES;
    if (dnn_ukernel_possible(d, s)) of[n++] = GEMM_UKERNEL;
    return n;
}
static int gemm_choices(const Device *d, const Step *s) {
    GemmAlgorithm of[GEMM_ALGORITHMS];
    return gemm_possible(d, s) ? gemm_algorithms(d, s, of) : 0;
}
/* Cuts the product along the batch or the rows, or along the columns. The axis of the larger factor
   is tried first, so that each part reads only its own part of it. */
static bool split_gemm(Build *b, Make *make, bool compare, Kernel *k) {
    const View *v = b->step->view, *y = &v[0];
    const int row = y->rank - 2, column = y->rank - 1;
    int batch = 0;
    while (batch < row && y->dim[batch] == 1) batch++;
    const bool matrix = batch == row, wide = matrix && y->dim[column] > y->dim[row];
    const Cut rows = {batch, matrix ? 16 : 1, compare}, columns = {column, 64, compare};
    return split_build(b, make, 0,
                       wide ? (const Cut[]){columns, rows} : (const Cut[]){rows, columns}, 2, k);
}
static bool build_algorithm(Build *b, GemmAlgorithm algorithm, Kernel *k) {
    return algorithm == GEMM_PANELS    ? split_gemm(b, panels_gemm_build, false, k)
           : algorithm == GEMM_ONE_ROW ? split_gemm(b, onerow_build, false, k)
           : algorithm == GEMM_DNN     ? split_gemm(b, dnn_gemm_build, true, k)
           : algorithm == GEMM_BATCHES ? split_gemm(b, batches_build, false, k)
           : algorithm == GEMM_UKERNEL ? split_gemm(b, dnn_ukernel_build, true, k)
                                       : blas_build(b, 0, k);
}
/* Builds the product. Weights that take few values use levels.c with every choice, because the
   speed then depends on the numbers, which are not known when choices are timed. Choice 0 always
   works: if an algorithm refuses the step, the next one takes its place. */
static bool gemm_build(Build *b, int choice, Kernel *k) {
    const size_t before = b->workspace;
    if (exact_sums(b->step)) return split_gemm(b, integers_build, false, k);
    if (levels_gemm_build(b, k)) return true;
    kernel_drop(k), b->workspace = before;
    GemmAlgorithm of[GEMM_ALGORITHMS];
    const int n = gemm_algorithms(b->device, b->step, of);
    bool done = build_algorithm(b, of[choice], k);
    for (int i = 1; i < n && choice == 0 && !done; i++) {
        b->workspace = before;
        done = build_algorithm(b, of[i], k);
    }
    return done;
}
const Maker gemm_maker = {.choices = gemm_choices, .build = gemm_build};
