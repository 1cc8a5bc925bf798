/* products.c -- writes kernels for matrix products, and for convolutions as products of the weights
   with the windows of x, which are read in place and never materialized. Any type, stride and size
   is supported.

   A thread block computes a tile of the output in registers. The operands pass through shared
   memory, DEPTH terms at a time; consecutive threads of a warp read an operand along the axis on
   which it is contiguous. */
#include "ops/cuda/generate.h"

enum { SIDE = 16, DEPTH = 16 }; /* a thread block has SIDE x SIDE threads; DEPTH: terms at a time */
/* The variants, as the number of elements that a thread computes in both directions; 0: one thread
   per element, without tiles. */
static const int tile_of[] = {0, 4, 2, 8, 1};
enum { VARIANTS = sizeof tile_of / sizeof *tile_of };

typedef struct TiledProduct {
    int64_t m, n, k, batch;              /* rows, columns, terms of a sum, products */
    bool a_by_terms, b_by_terms;         /* the terms of an operand are adjacent in memory */
    bool column_major;                   /* the rows of the output are adjacent in memory */
    int tile;                            /* rows and columns that one thread computes */
    void (*places)(Gen *);               /* adds lines that locate the thread block's tile */
    void (*column)(Gen *);               /* adds lines that split the column n into an index */
    const char *(*a)(Gen *, char class); /* the text of the element (m, k); may add lines first */
    void (*b)(Gen *, char class);        /* adds lines that set e (0 before) to element (k, n) */
    void (*index)(Gen *);                /* adds lines that declare the output's index for (m, n) */
} TiledProduct;

/* ---- gemm */
static int rank_of(const Gen *g) { return g->step->view[0].rank; }
static void gemm_places(Gen *g) {
    const View *y = &g->step->view[0];
    for (int a = y->rank - 3; a >= 0; a--)
        line(g, "const place_t i%d = (place_t)(q %% %lluu); q /= %lluu;", a,
             (unsigned long long)y->dim[a], (unsigned long long)y->dim[a]);
}
static void gemm_column(Gen *g) { (void)g; }
static const char *gemm_place(Gen *g, int view, const char *row, const char *column) {
    const View *v = &g->step->view[view];
    const int r = v->rank;
    const char *at = place_of(g, view, r - 2, "");
    return say(g, "%s + (place_t)%lld*%s + (place_t)%lld*%s", at, (long long)v->stride[r - 2], row,
               (long long)v->stride[r - 1], column);
}
static const char *gemm_a(Gen *g, char class) {
    return element(g, 1, gemm_place(g, 1, "m", "k"), class);
}
static void gemm_b(Gen *g, char class) {
    line(g, "e = %s;", element(g, 2, gemm_place(g, 2, "k", "n"), class));
}
static void gemm_index(Gen *g) {
    line(g, "const place_t i%d = m, i%d = n;", rank_of(g) - 2, rank_of(g) - 1);
}
static TiledProduct gemm_product(const Step *s) {
    const View *y = &s->view[0], *a = &s->view[1], *b = &s->view[2];
    const int r = y->rank;
    return (TiledProduct){.m = y->dim[r - 2],
                          .n = y->dim[r - 1],
                          .k = a->dim[r - 1],
                          .batch = dims_product(y, 0, r - 2),
                          .a_by_terms = a->stride[r - 1] == 1,
                          .b_by_terms = b->stride[r - 2] == 1 && b->stride[r - 1] != 1,
                          .column_major = y->stride[r - 2] == 1 && y->stride[r - 1] != 1,
                          .places = gemm_places,
                          .column = gemm_column,
                          .a = gemm_a,
                          .b = gemm_b,
                          .index = gemm_index};
}
static void gemm_single(Gen *g) {
    const View *y = &g->step->view[0];
    const char class = sum_class(g->step, 2);
    each_element(g, dims_product(y, 0, y->rank));
    index_lines(g, "item", y->rank);
    line(g, "const place_t m = i%d, n = i%d;", y->rank - 2, y->rank - 1);
    line(g, "%s acc = 0, e;", class_name(class));
    line(g, "for (place_t k = 0; k < %lld; k++) {", (long long)g->step->view[1].dim[y->rank - 1]);
    gemm_b(g, class);
    line(g, "acc += %s * e;", gemm_a(g, class));
    line(g, "}");
    program_lines(g, "acc", class);
    line(g, "}");
}

/* ---- conv: a row is a channel of one group, a column a place in one of the images, and a term is
   a channel and tap of the weights. */
static void conv_places(Gen *g) { line(g, "const place_t group = (place_t)q;"); }
/* Adds lines that split n into PREFIX0 (the image) and PREFIX2, .. (the place in it). */
static void column_lines(Gen *g, char prefix) {
    const View *y = &g->step->view[0];
    line(g, "place_t d = n;");
    for (int a = y->rank - 1; a >= 2; a--)
        line(g, "const place_t %c%d = d %% %lld; d /= %lld;", prefix, a, (long long)y->dim[a],
             (long long)y->dim[a]);
    line(g, "const place_t %c0 = d;", prefix);
}
static void conv_column(Gen *g) { column_lines(g, 'b'); }
/* Adds lines that split k into the channel c and the taps k0, .. */
static void term_lines(Gen *g) {
    const View *w = &g->step->view[2];
    line(g, "place_t t = k;");
    for (int a = w->rank - 1; a >= 2; a--)
        line(g, "const place_t k%d = t %% %lld; t /= %lld;", a - 2, (long long)w->dim[a],
             (long long)w->dim[a]);
    line(g, "const place_t c = t;");
}
static const char *conv_a(Gen *g, char class) {
    const View *w = &g->step->view[2];
    const int64_t outs = g->step->view[0].dim[1] / g->step->param[CONV_GROUP];
    const char *at = say(g, "(place_t)%lld*(group * (place_t)%lld + m) + (place_t)%lld*c",
                         (long long)w->stride[0], (long long)outs, (long long)w->stride[1]);
    term_lines(g);
    for (int a = 2; a < w->rank; a++)
        at = say(g, "%s + (place_t)%lld*k%d", at, (long long)w->stride[a], a - 2);
    return element(g, 2, at, class);
}
static void conv_b(Gen *g, char class) {
    const View *x = &g->step->view[1], *w = &g->step->view[2];
    const StepWindow window = step_window(g->step);
    const int n = window.n;
    const char *inside = "",
               *at = say(g, "(place_t)%lld*b0 + (place_t)%lld*(group * %lld + c)",
                         (long long)x->stride[0], (long long)x->stride[1], (long long)w->dim[1]);
    term_lines(g);
    for (int a = 0; a < n; a++) {
        line(g, "const place_t h%d = b%d * (place_t)%lld - %lld + k%d * (place_t)%lld;", a, 2 + a,
             (long long)window.stride[a], (long long)window.begin[a], a,
             (long long)window.dilation[a]);
        inside = say(g, "%s%sh%d >= 0 && h%d < %lld", inside, a ? " && " : "", a, a,
                     (long long)x->dim[2 + a]);
        at = say(g, "%s + (place_t)%lld*h%d", at, (long long)x->stride[2 + a], a);
    }
    line(g, "if (%s) e = %s;", n ? inside : "1", element(g, 1, at, class));
}
static void conv_index(Gen *g) {
    column_lines(g, 'i');
    line(g, "const place_t i1 = group * (place_t)%lld + m;",
         (long long)(g->step->view[0].dim[1] / g->step->param[CONV_GROUP]));
}
static TiledProduct conv_product(const Step *s) {
    const View *y = &s->view[0], *w = &s->view[2];
    const int64_t group = s->param[CONV_GROUP] ? s->param[CONV_GROUP] : 1;
    return (TiledProduct){.m = y->dim[1] / group,
                          .n = y->dim[0] * dims_product(y, 2, y->rank),
                          .k = dims_product(w, 1, w->rank),
                          .batch = group,
                          .a_by_terms = w->stride[w->rank - 1] == 1,
                          .b_by_terms = false,
                          .column_major = y->stride[1] == 1 && y->stride[y->rank - 1] != 1,
                          .places = conv_places,
                          .column = conv_column,
                          .a = conv_a,
                          .b = conv_b,
                          .index = conv_index};
}
static TiledProduct product_of(const Step *s) {
    return s->kind == S_GEMM ? gemm_product(s) : conv_product(s);
}

/* ---- tiles */
/* Adds lines that fill as[DEPTH][size] or bs[DEPTH][size], with zeros beyond the matrix. */
static void load_tile(Gen *g, const TiledProduct *p, bool is_a, char class) {
    const char *const outer = is_a ? "m" : "n", *const part = is_a ? "as" : "bs";
    const bool by_terms = is_a ? p->a_by_terms : p->b_by_terms;
    const int size = SIDE * p->tile, fast = by_terms ? DEPTH : size;
    const char *lane = say(g, "(int)threadIdx.x %% %d", fast);
    line(g, "for (int s = (int)threadIdx.x / %d; s < %d; s += %d) {", fast, by_terms ? size : DEPTH,
         THREADS / fast);
    line(g, "const place_t k = first + %s;", by_terms ? lane : "s");
    line(g, "const place_t %s = %s0 + %s;", outer, outer, by_terms ? "s" : lane);
    line(g, "%s e = 0;", class_name(class));
    line(g, "if (%s < %lld && k < %lld) {", outer, (long long)(is_a ? p->m : p->n),
         (long long)p->k);
    if (is_a) line(g, "e = %s;", p->a(g, class));
    else p->column(g), p->b(g, class);
    line(g, "}");
    line(g, by_terms ? "%s[%s][s] = e;" : "%s[s][%s] = e;", part, lane);
    line(g, "}");
}
static void tile_sums(Gen *g, const TiledProduct *p, char class) {
    const char *T = class_name(class), *a = p->column_major ? "tx" : "ty",
               *b = p->column_major ? "ty" : "tx";
    line(g, "UNROLL");
    line(g, "for (int s = 0; s < %d; s++) {", DEPTH);
    line(g, "%s a[%d], b[%d];", T, p->tile, p->tile);
    line(g, "UNROLL");
    line(g, "for (int u = 0; u < %d; u++) {", p->tile);
    line(g, "a[u] = as[s][%s + %d * u], b[u] = bs[s][%s + %d * u];", a, SIDE, b, SIDE);
    line(g, "}");
    line(g, "UNROLL");
    line(g, "for (int u = 0; u < %d; u++) {", p->tile);
    line(g, "UNROLL");
    line(g, "for (int v = 0; v < %d; v++) acc[u][v] += a[u] * b[v];", p->tile);
    line(g, "}");
    line(g, "}");
}
static void tile_results(Gen *g, const TiledProduct *p, char class) {
    line(g, "UNROLL");
    line(g, "for (int u = 0; u < %d; u++) {", p->tile);
    line(g, "UNROLL");
    line(g, "for (int v = 0; v < %d; v++) {", p->tile);
    line(g, "const place_t m = m0 + %s + %d * u, n = n0 + %s + %d * v;",
         p->column_major ? "tx" : "ty", SIDE, p->column_major ? "ty" : "tx", SIDE);
    line(g, "if (m < %lld && n < %lld) {", (long long)p->m, (long long)p->n);
    p->index(g);
    program_lines(g, "acc[u][v]", class);
    line(g, "}");
    line(g, "}");
    line(g, "}");
}
static void tiles_write(Gen *g, const TiledProduct *p) {
    const char class = sum_class(g->step, 2), *T = class_name(class);
    const int size = SIDE * p->tile;
    const int64_t down = (p->m + size - 1) / size, across = (p->n + size - 1) / size;
    g->out->block = THREADS;
    g->out->grid = (unsigned)(down * across * p->batch);
    line(g, "SHARED %s as[%d][%d], bs[%d][%d];", T, DEPTH, size + 1, DEPTH, size + 1);
    line(g, "const place_t tx = threadIdx.x %% %d, ty = threadIdx.x / %d;", SIDE, SIDE);
    line(g, "count_t q = blockIdx.x;");
    line(g, "const place_t n0 = (place_t)(q %% %lluu) * %d; q /= %lluu;",
         (unsigned long long)across, size, (unsigned long long)across);
    line(g, "const place_t m0 = (place_t)(q %% %lluu) * %d; q /= %lluu;", (unsigned long long)down,
         size, (unsigned long long)down);
    p->places(g);
    line(g, "%s acc[%d][%d];", T, p->tile, p->tile);
    line(g, "for (int u = 0; u < %d; u++)", p->tile);
    line(g, "    for (int v = 0; v < %d; v++) acc[u][v] = 0;", p->tile);
    line(g, "for (place_t first = 0; first < %lld; first += %d) {", (long long)p->k, DEPTH);
    load_tile(g, p, true, class);
    load_tile(g, p, false, class);
    line(g, "SYNC();");
    tile_sums(g, p, class);
    line(g, "SYNC();");
    line(g, "}");
    tile_results(g, p, class);
}

/* ---- Variants: only tiles that are not mostly empty. Those that keep every multiprocessor busy
   come first. */
static bool tile_fits(const TiledProduct *p, int tile) {
    const int64_t half = SIDE * tile / 2;
    return tile == 0 || (p->m * p->n > half * half && (tile == 1 || (p->m > half && p->n > half)));
}
static int variant_tile(const TiledProduct *p, int variant) {
    enum { BUSY = 128 }; /* thread blocks that keep a GPU busy */
    int order[VARIANTS], n = 0;
    for (int few = 0; few < 2; few++)
        for (int k = 1; k < VARIANTS; k++) {
            const int64_t size = SIDE * tile_of[k];
            const bool busy = (p->m / size + 1) * (p->n / size + 1) * p->batch >= BUSY;
            if (busy != few && tile_fits(p, tile_of[k])) order[n++] = tile_of[k];
        }
    const bool thin = p->m < 8 || p->n < 8 || p->k < 8;
    order[n++] = 0;
    return thin ? order[(variant + n - 1) % n] : order[variant];
}
int product_variants(const Step *s) {
    const TiledProduct p = product_of(s);
    int n = 0;
    for (int k = 0; k < VARIANTS; k++) n += tile_fits(&p, tile_of[k]);
    return n;
}
void product_write(Gen *g, int variant) {
    TiledProduct p = product_of(g->step);
    p.tile = variant_tile(&p, variant);
    if (p.tile) tiles_write(g, &p);
    else if (g->step->kind == S_GEMM) gemm_single(g);
    else window_conv(g);
}
