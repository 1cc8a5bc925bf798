/* copy.c -- strided copies between views of equal sizes.

   Axes are joined first. Rows of consecutive elements are then moved as a whole. If the input is
   contiguous along another axis than the output, these two axes are walked in square tiles of about
   a cache line, so that neither side touches a whole cache line for a single element. If the
   innermost axes are short, a longer axis is walked instead. A block of the output that is repeated
   without gaps is written once and then copied as a whole. Repetition of elements and the
   interleaving of a few runs have kernels of their own. If the element types differ, the copy is an
   element-wise program. */
#include "ops/cpu/cpu.h"
#include <stdlib.h>
#include <string.h>

/* The two axes that one call copies. Axis 0 is the innermost one of the output; axis 1 is the one
   along which the input is contiguous, or else the next outer one. take_plane may exchange them. */
typedef struct Plane {
    int64_t n[2], y[2], x[2]; /* sizes, strides */
} Plane;
struct Copy {
    Vector *convert;
    View y, x;
    int size;
    bool tiled; /* the plane is walked in tiles */
    Plane plane;
    Weave *weave;   /* interleaves or separates the runs of the plane; NULL: it has another form */
    Repeat *repeat; /* repeats each element of `rows` rows, which are `apart` elements apart in y;
                       NULL: another form */
    int64_t rows, apart;
    const Simd *transposes;           /* transposes the plane, of 4-byte elements; NULL: another
                                         form */
    TransposeSmall *transposes_small; /* the same for elements of 1 or 2 bytes */
    bool squares;                     /* transposes bytes in squares of 8 x 8 where the plane is too
                                         small for the former */
    const Simd *moves;                /* moves the plane row by row; NULL: another form */
    Copy *block; /* writes a block, which is then repeated, in place of a plane; or NULL */
    size_t bytes, repeats; /* of a block; how often it occurs */
    Nest outer;            /* the remaining axes */
};

enum { SHORT = 16 };
static void exchange_planes(Plane *p) {
    *p = (Plane){.n = {p->n[1], p->n[0]}, .y = {p->y[1], p->y[0]}, .x = {p->x[1], p->x[0]}};
}
static void drop_axis(Nest *n, int axis) {
    int64_t *const ys = n->stride, *const xs = n->stride + STEP_RANK;
    n->rank--;
    for (int a = axis; a < n->rank; a++)
        n->dim[a] = n->dim[a + 1], ys[a] = ys[a + 1], xs[a] = xs[a + 1];
}
/* The longer axis before `inner` along which the input's elements lie closest together. */
static int nearest_axis(const Nest *n, const int64_t xs[], int inner) {
    int best = inner - 1;
    for (int a = 0; a < inner - 1; a++)
        if (n->dim[a] >= SHORT && (n->dim[best] < SHORT || llabs(xs[a]) < llabs(xs[best])))
            best = a;
    return best;
}
/* Moves two axes from the nest to the plane. A short axis along which the input is not contiguous,
   as with a few repetitions of each element or a few interleaved runs, becomes the outer loop. */
static void take_plane(Copy *c) {
    Nest *n = &c->outer;
    int64_t *const ys = n->stride, *const xs = n->stride + STEP_RANK;
    c->plane = (Plane){.n = {1, 1}};
    if (n->rank == 0) return;
    const int inner = n->rank - 1;
    int other = inner - 1;
    if (xs[inner] != 1)
        for (int a = 0; a < inner; a++)
            if (xs[a] == 1) other = a, c->tiled = true;
    c->plane.n[0] = n->dim[inner], c->plane.y[0] = ys[inner], c->plane.x[0] = xs[inner];
    n->rank--;
    if (other < 0) return;
    const bool few = !c->tiled && n->dim[inner] * n->dim[other] < SHORT,
               gaps = few && xs[inner] != 1;
    if (few) other = nearest_axis(n, xs, inner);
    c->plane.n[1] = n->dim[other], c->plane.y[1] = ys[other], c->plane.x[1] = xs[other];
    const bool strided = c->plane.x[0] == 0 || c->tiled || gaps;
    if (c->plane.n[0] < SHORT && strided && c->plane.n[1] > c->plane.n[0])
        exchange_planes(&c->plane), c->tiled = false;
    drop_axis(n, other);
}
/* Takes a plane that repeats each element, and possibly an axis that repeats the whole row. */
static void take_repeat(const Simd *simd, Copy *c) {
    const Plane *p = &c->plane;
    const int64_t k = p->n[1], *const xs = c->outer.stride + STEP_RANK;
    if (p->x[0] != 1 || p->x[1] != 0 || p->y[0] != k || p->y[1] != 1) return;
    c->repeat = repeat_of(simd, c->size, k), c->rows = 1;
    int axis = c->outer.rank - 1;
    while (axis >= 0 && xs[axis]) axis--;
    if (!c->repeat || axis < 0) return;
    c->rows = c->outer.dim[axis], c->apart = c->outer.stride[axis];
    drop_axis(&c->outer, axis);
}

/* Returns the loop that interleaves a few runs into y or separates them, if the plane has this
   form. */
static Weave *weave_of(const Simd *simd, const Copy *c) {
    const Plane *p = &c->plane;
    const int64_t k = p->n[1];
    if (c->size > (int)sizeof(uint32_t) || k < 2 || k >= SIMD_WEAVES) return NULL;
    const int size = c->size / 2; /* log2 of 1, 2 or 4 */
    if (p->x[0] == 1 && p->y[1] == 1 && p->y[0] == k) return simd->weave[size][k];
    return p->y[0] == 1 && p->x[1] == 1 && p->x[0] == k ? simd->unweave[size][k] : NULL;
}

/* Chooses the plane and the loop that copies it. */
static void take_loop(const Simd *simd, Copy *c) {
    take_plane(c);
    take_repeat(simd, c);
    c->weave = weave_of(simd, c);
    const Plane *p = &c->plane;
    if (p->y[0] == 1 && p->x[0] == 1 && p->n[1] > 1 && p->n[0] * c->size <= SIMD_MOVED)
        c->moves = simd;
    const bool crossed = p->y[0] == 1 && p->x[1] == 1;
    if (c->size == sizeof(uint32_t) && crossed && p->n[0] >= 4 && p->n[1] >= 4)
        c->transposes = simd;
    if (!crossed || p->x[0] == 1 || c->size > (int)sizeof(uint16_t) || p->n[0] < 8) return;
    if (p->n[1] * c->size >= SIMD_SMALL_ROW)
        c->transposes_small = simd->transpose_small[c->size - 1];
    c->squares = p->n[1] >= 8;
}
/* The outermost axis along which a block of y without gaps is repeated, other than a row that x has
   as it is; -1: there is none that is long enough. */
enum { BLOCK_LEAST = 256 /* bytes */ };
static int block_axis(const Nest *n, int size) {
    const int64_t *const ys = n->stride, *const xs = n->stride + STEP_RANK;
    int64_t elements = 1;
    int found = -1;
    for (int a = n->rank - 1; a >= 0 && ys[a] == elements; elements *= n->dim[a--])
        if (xs[a] == 0 && elements * size >= BLOCK_LEAST && (a < n->rank - 2 || xs[a + 1] != 1))
            found = a;
    return found;
}
/* Makes the axes after `axis` those of the block. */
static void take_block(Build *b, Copy *c, int axis) {
    Copy *block = c->block = ARENA_NEW(b->arena, Copy, 1);
    Nest *n = &c->outer;
    *block = (Copy){.size = c->size, .outer = *n};
    block->outer.stride = arena_copy(b->arena, n->stride, 2 * STEP_RANK * sizeof *n->stride);
    for (int a = 0; a <= axis; a++) drop_axis(&block->outer, 0);
    c->repeats = (size_t)n->dim[axis], c->bytes = (size_t)(n->stride[axis] * c->size);
    n->rank = axis;
    take_loop(b->device->simd, block);
}
Copy *copy_new(Build *b, const View *y, const View *x) {
    Copy *c = ARENA_NEW(b->arena, Copy, 1);
    c->y = *y, c->x = *x, c->size = dtype_size(y->dtype);
    if (y->dtype != x->dtype) {
        const View views[] = {*y, *x};
        static const Scalar read = {.op = C_VIEW, .a = 1};
        c->convert = vector_new(b, views, 2, NULL, &read, 1);
        return c->convert ? c : NULL;
    }
    if (!c->size) return build_fail(b, "cannot copy elements without a size in bytes"), NULL;
    c->outer = nest_new(b->arena, (const View *const[]){y, x}, 2);
    const int axis = block_axis(&c->outer, c->size);
    if (axis >= 0) take_block(b, c, axis);
    else take_loop(b->device->simd, c);
    return c;
}

typedef struct Complex128 {
    double re, im;
} Complex128;
enum { TILE = 16 };
#define DEFINE_PLANE(T)                                                                          \
    static void rows_##T(const Plane *p, T *restrict y, const T *restrict x) {                   \
        for (int64_t j = 0; j < p->n[1]; j++, y += p->y[1], x += p->x[1]) {                      \
            if (p->y[0] == 1 && p->x[0] == 1) memcpy(y, x, (size_t)p->n[0] * sizeof(T));         \
            else if (p->y[0] == 1 && p->x[0] == 0)                                               \
                for (int64_t i = 0; i < p->n[0]; i++) y[i] = *x;                                 \
            else if (p->y[0] == 1)                                                               \
                for (int64_t i = 0; i < p->n[0]; i++) y[i] = x[i * p->x[0]];                     \
            else                                                                                 \
                for (int64_t i = 0; i < p->n[0]; i++) y[i * p->y[0]] = x[i * p->x[0]];           \
        }                                                                                        \
    }                                                                                            \
    static void tiles_##T(const Plane *p, T *restrict y, const T *restrict x) {                  \
        for (int64_t j = 0; j < p->n[1]; j += TILE)                                              \
            for (int64_t i = 0; i < p->n[0]; i += TILE) {                                        \
                const int64_t h = p->n[1] - j < TILE ? p->n[1] - j : TILE,                       \
                              w = p->n[0] - i < TILE ? p->n[0] - i : TILE;                       \
                const Plane t = {.n = {w, h}, .y = {p->y[0], p->y[1]}, .x = {p->x[0], p->x[1]}}; \
                rows_##T(&t, y + j * p->y[1] + i * p->y[0], x + j * p->x[1] + i * p->x[0]);      \
            }                                                                                    \
    }
DEFINE_PLANE(uint8_t)
DEFINE_PLANE(uint16_t)
DEFINE_PLANE(uint32_t)
DEFINE_PLANE(uint64_t)
DEFINE_PLANE(Complex128)

/* Transposes 8 x 8 bytes. Each row is a 64-bit word; off-diagonal blocks are exchanged, of 4 x 4
   bytes, then 2 x 2, then 1 x 1. */
static inline void exchange(uint64_t *a, uint64_t *b, int shift, uint64_t low) {
    const uint64_t t = (*a >> shift ^ *b) & low;
    *a ^= t << shift, *b ^= t;
}
static inline void square(uint8_t *y, int64_t ys, const uint8_t *x, int64_t xs) {
    enum { N = 8 };
    uint64_t row[N];
    for (int k = 0; k < N; k++) memcpy(&row[k], x + k * xs, sizeof *row);
    _Pragma("GCC unroll 3") for (int half = N / 2; half; half /= 2) {
        const uint64_t low = half == 4   ? 0x00000000ffffffffu
                             : half == 2 ? 0x0000ffff0000ffffu
                                         : 0x00ff00ff00ff00ffu;
        _Pragma("GCC unroll 8") for (int k = 0; k < N; k++) if (!(k & half))
            exchange(&row[k], &row[k + half], 8 * half, low);
    }
    for (int k = 0; k < N; k++) memcpy(y + k * ys, &row[k], sizeof *row);
}
static void squares(const Plane *p, uint8_t *restrict y, const uint8_t *restrict x) {
    const int64_t w = p->n[0] - p->n[0] % 8, h = p->n[1] - p->n[1] % 8;
    for (int64_t j = 0; j < h; j += 8)
        for (int64_t i = 0; i < w; i += 8)
            square(y + j * p->y[1] + i, p->y[1], x + j + i * p->x[0], p->x[0]);
    const Plane right = {.n = {p->n[0] - w, p->n[1]}, .y = {1, p->y[1]}, .x = {p->x[0], 1}},
                below = {.n = {w, p->n[1] - h}, .y = {1, p->y[1]}, .x = {p->x[0], 1}};
    rows_uint8_t(&right, y + w, x + w * p->x[0]);
    rows_uint8_t(&below, y + h * p->y[1], x + h);
}

/* Writes one row many times without gaps. Already written copies are the source of the next ones,
   of more and more rows at once while they fit into the nearest cache. */
enum { ROW_BLOCK_BYTES = 16 << 10 };
static bool is_row_repeated(const Plane *p) {
    return p->y[0] == 1 && p->x[0] == 1 && p->x[1] == 0 && p->y[1] == p->n[0];
}
static void repeat_row(char *y, const char *x, size_t row, size_t rows) {
    const size_t most = row < ROW_BLOCK_BYTES ? ROW_BLOCK_BYTES / row : 1;
    memcpy(y, x, row);
    for (size_t done = 1, more; done < rows; done += more) {
        more = done < most ? done : most;
        if (more > rows - done) more = rows - done;
        memcpy(y + done * row, y, more * row);
    }
}

static void copy_elements(const Copy *, char *y, const char *x);
static void run_plane(const Copy *c, char *y, const char *x) {
    const Plane *p = &c->plane;
    if (c->block) {
        copy_elements(c->block, y, x);
        repeat_row(y + c->bytes, y, c->bytes, c->repeats - 1);
        return;
    }
    if (c->repeat) {
        c->repeat(y, c->apart, c->rows, x, p->n[0]);
        return;
    }
    if (c->weave) {
        c->weave(y, x, p->x[0] == 1 ? p->x[1] : p->y[1], p->n[0]);
        return;
    }
    if (c->transposes) {
        c->transposes->transpose((uint32_t *)(void *)y, p->y[1], (const uint32_t *)(const void *)x,
                                 p->x[0], p->n[0], p->n[1]);
        return;
    }
    if (c->transposes_small) {
        c->transposes_small(y, p->y[1], x, p->x[0], p->n[0], p->n[1]);
        return;
    }
    if (c->squares) {
        squares(p, (uint8_t *)y, (const uint8_t *)x);
        return;
    }
    const bool repeated = is_row_repeated(p);
    if (c->moves && !repeated) {
        c->moves->move_rows(y, p->y[1] * c->size, x, p->x[1] * c->size, p->n[1], p->n[0] * c->size);
        return;
    }
    if (repeated) {
        repeat_row(y, x, (size_t)p->n[0] * (size_t)c->size, (size_t)p->n[1]);
        return;
    }
#define CASE(T)                                                                           \
    case sizeof(T):                                                                       \
        (c->tiled ? tiles_##T : rows_##T)(p, (T *)(void *)y, (const T *)(const void *)x); \
        break;
    switch (c->size) {
        CASE(uint8_t) CASE(uint16_t) CASE(uint32_t) CASE(uint64_t) CASE(Complex128) default : break;
    }
#undef CASE
}

static void copy_elements(const Copy *c, char *y, const char *x) {
    const int last = c->outer.rank - 1;
    const int64_t n = last < 0 ? 1 : c->outer.dim[last],
                  ys = last < 0 ? 0 : c->outer.stride[last] * c->size,
                  xs = last < 0 ? 0 : c->outer.stride[STEP_RANK + last] * c->size;
    int64_t index[STEP_RANK] = {0}, offset[2] = {0};
    do {
        char *to = y + offset[0] * c->size;
        const char *from = x + offset[1] * c->size;
        for (int64_t k = 0; k < n; k++) run_plane(c, to + k * ys, from + k * xs);
    } while (nest_next(&c->outer, 1, index, offset));
}
void copy_run(const Copy *c, void *const slot[], void *work) {
    if (c->convert) vector_run(c->convert, slot, work);
    else if (c->outer.count > 0)
        copy_elements(c, view_at(&c->y, slot, work), view_at(&c->x, slot, work));
}

static int copy_choices(const Device *d, const Step *s) {
    (void)d;
    if (s->view[0].dtype == s->view[1].dtype) return dtype_size(s->view[0].dtype) > 0;
    return dtype_numeric(s->view[0].dtype) && dtype_numeric(s->view[1].dtype);
}
static int run_copy(const Kernel *k, void *const slot[], void *work) {
    copy_run(k->self, slot, work);
    return 0;
}
static bool copy_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    k->run = run_copy;
    k->self = copy_new(b, &b->step->view[0], &b->step->view[1]);
    return k->self != NULL;
}
const Maker copy_maker = {.choices = copy_choices, .build = copy_build, .rows = true};
