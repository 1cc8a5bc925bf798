/* dnn_ukernel.c -- matrix products by oneDNN's micro-kernel, if its header declares one (version
   3.8 and later).

   oneDNN generates code for the product of a block of rows and a panel of columns over some of the
   terms, and packs panels; the loops around them are ours (Goto, van de Geijn, Anatomy of
   high-performance matrix multiplication, 2008). A known second factor is packed once. Another one
   is packed in each run if it is transposed or its rows are far apart, and is read in place
   otherwise. Epilogues are a pass over the output, which is faster than oneDNN's
   post-operations. */
#include "ops/base/intern.h"
#include "ops/cpu/dnn.h"
#include <oneapi/dnnl/dnnl_ukernel.h>
#include <string.h>

/* WIDTH: columns of a panel. TERMS: the most terms of a block. ROWS: floats of a block of rows that
   stay in the second-level cache. GROUP: terms that are packed together. LEAST_ROWS, LEAST: the
   least rows, and the least columns and terms, for which a call pays. PAGE: floats of a page of
   memory. MANY_ROWS: rows that make up for packing in each run. */
enum {
    WIDTH = 64,
    TERMS = 2048,
    ROWS = 1 << 16,
    GROUP = 16,
    LEAST_ROWS = 8,
    LEAST = 16,
    PAGE = 1024,
    MANY_ROWS = 64
};
/* An axis that is cut into n blocks of equal length, except for the last one. */
typedef struct Blocks {
    int64_t each, n, last;
} Blocks;
/* There is code for whole blocks (WHOLE) and for a shorter last one (SHORT), and for the blocks of
   terms: the first is stored (FIRST), later ones are added (NEXT, LAST). */
enum { WHOLE, SHORT, SIZES };
enum { FIRST, NEXT, LAST, TURNS };
/* A matrix of a batch. batch: from one matrix to the next. line: from one row to the next, or from
   one column to the next if the matrix is transposed. */
typedef struct Place {
    View view;
    int64_t batch, line;
} Place;
typedef struct Ukernel {
    Blocks rows, columns, terms;
    int64_t batch; /* number of products */
    Place y, x, w;
    bool across, packs;  /* w is transposed; w is packed in each run */
    const float *packed; /* packed once, when the kernel is built; NULL: not */
    View panels, scratch;
    Tail tail;
    dnnl_transform_t pack[SIZES][SIZES];      /* columns, terms */
    dnnl_brgemm_t block[SIZES][SIZES][TURNS]; /* rows, columns, terms */
} Ukernel;

/* ---- blocks */
static Blocks blocks_of(int64_t whole, int64_t most, int64_t unit) {
    const int64_t parts = (whole + most - 1) / most, share = (whole + parts - 1) / parts,
                  each = (share + unit - 1) / unit * unit;
    Blocks b = {.each = each < whole ? each : whole};
    b.n = (whole + b.each - 1) / b.each, b.last = whole - (b.n - 1) * b.each;
    return b;
}
static int64_t length_of(const Blocks *b) { return (b->n - 1) * b->each + b->last; }
static int size_of(const Blocks *b, int64_t i) {
    return i == b->n - 1 && b->last < b->each ? SHORT : WHOLE;
}
static int64_t elements(const Blocks *b, int size) { return size == SHORT ? b->last : b->each; }
static bool occurs(const Blocks *b, int size) { return size == WHOLE || b->last < b->each; }
static int turn_of(const Blocks *terms, int64_t i) {
    return i == 0 ? FIRST : i == terms->n - 1 ? LAST : NEXT;
}
static bool turn_occurs(const Blocks *terms, int turn) {
    return turn == FIRST || terms->n > (turn == NEXT ? 2 : 1);
}

/* ---- panels: a matrix is cut along its columns into panels of equal width, and each panel along
   its terms. There is room for the whole group of terms that packing a transposed matrix writes. */
static int64_t panel_floats(const Ukernel *u) {
    return (length_of(&u->terms) + GROUP - 1) / GROUP * GROUP * WIDTH;
}
static int64_t matrix_floats(const Ukernel *u) { return u->columns.n * panel_floats(u); }
static int64_t panel_at(const Ukernel *u, int64_t column, int64_t term) {
    return column * panel_floats(u) + term * u->terms.each * WIDTH;
}
static int64_t part_at(const Ukernel *u, int64_t column, int64_t term) {
    const int64_t c = column * u->columns.each, t = term * u->terms.each;
    return u->across ? c * u->w.line + t : t * u->w.line + c;
}
static bool pack_matrix(const Ukernel *u, const float *w, float *panels) {
    bool ok = true;
    for (int64_t c = 0; ok && c < u->columns.n; c++)
        for (int64_t t = 0; ok && t < u->terms.n; t++)
            ok = dnnl_transform_execute(u->pack[size_of(&u->columns, c)][size_of(&u->terms, t)],
                                        w + part_at(u, c, t),
                                        panels + panel_at(u, c, t)) == dnnl_success;
    return ok;
}

/* ---- running */
typedef struct Factors {
    float *y;
    const float *x, *w; /* w: panels, or the matrix in place */
    void *scratch;
} Factors;
static bool run_rows(const Ukernel *u, const Factors *f, int64_t row, int64_t term) {
    static const dnnl_dim_t nowhere[2] = {0, 0};
    const bool panels = u->packed || u->packs;
    const int rows = size_of(&u->rows, row), turn = turn_of(&u->terms, term);
    const int64_t from = row * u->rows.each;
    const float *x = f->x + from * u->x.line + term * u->terms.each;
    bool ok = true;
    for (int64_t c = 0; ok && c < u->columns.n; c++) {
        const float *w = f->w + (panels ? panel_at(u, c, term) : part_at(u, c, term));
        float *y = f->y + from * u->y.line + c * u->columns.each;
        ok = dnnl_brgemm_execute(u->block[rows][size_of(&u->columns, c)][turn], x, w, nowhere, y,
                                 f->scratch) == dnnl_success;
    }
    return ok;
}
static bool run_product(const Ukernel *u, const Factors *f) {
    bool ok = true;
    for (int64_t r = 0; ok && r < u->rows.n; r++)
        for (int64_t t = 0; ok && t < u->terms.n; t++) ok = run_rows(u, f, r, t);
    return ok;
}
static int ukernel_run(const Kernel *k, void *const slot[], void *work) {
    const Ukernel *u = k->self;
    const float *x = view_at(&u->x.view, slot, work),
                *w = u->packed ? u->packed : view_at(&u->w.view, slot, work);
    float *y = view_at(&u->y.view, slot, work), *panels = view_at(&u->panels, slot, work);
    bool ok = true;
    for (int64_t i = 0; ok && i < u->batch; i++) {
        const float *here = w + i * u->w.batch;
        if (u->packs) ok = pack_matrix(u, here, panels);
        const Factors f = {y + i * u->y.batch, x + i * u->x.batch, u->packs ? panels : here,
                           view_at(&u->scratch, slot, work)};
        ok = ok && run_product(u, &f);
    }
    if (ok) tail_run(&u->tail, slot, work);
    return ok ? 0 : -1;
}

/* ---- making */
static void forget_packing(Ukernel *u) {
    for (int c = 0; c < SIZES; c++)
        for (int t = 0; t < SIZES; t++)
            if (u->pack[c][t]) dnnl_transform_destroy(u->pack[c][t]), u->pack[c][t] = NULL;
}
static void ukernel_forget(Kernel *k) {
    Ukernel *u = k->self;
    for (int r = 0; r < SIZES; r++)
        for (int c = 0; c < SIZES; c++)
            for (int t = 0; t < TURNS; t++)
                if (u->block[r][c][t])
                    dnnl_brgemm_destroy(u->block[r][c][t]), u->block[r][c][t] = NULL;
    forget_packing(u);
}

static bool make_packing(Ukernel *u) {
    const dnnl_pack_type_t lies = u->across ? dnnl_pack_type_trans : dnnl_pack_type_no_trans;
    bool ok = true;
    for (int c = 0; c < SIZES; c++)
        for (int t = 0; t < SIZES; t++)
            if (ok && occurs(&u->columns, c) && occurs(&u->terms, t))
                ok = dnnl_transform_create(&u->pack[c][t], elements(&u->terms, t),
                                           elements(&u->columns, c), lies, u->w.line, WIDTH,
                                           dnnl_f32, dnnl_f32) == dnnl_success &&
                     dnnl_transform_generate(u->pack[c][t]) == dnnl_success;
    return ok;
}
static bool make_block(Ukernel *u, int row, int column, int turn, size_t *scratch) {
    const int64_t w_line = u->packed || u->packs ? WIDTH : u->w.line,
                  terms = turn == LAST ? u->terms.last : u->terms.each;
    dnnl_brgemm_t *block = &u->block[row][column][turn];
    size_t bytes = 0;
    const bool ok = dnnl_brgemm_create(block, elements(&u->rows, row),
                                       elements(&u->columns, column), terms, 1, u->x.line, w_line,
                                       u->y.line, dnnl_f32, dnnl_f32, dnnl_f32) == dnnl_success &&
                    dnnl_brgemm_set_add_C(*block, turn != FIRST) == dnnl_success &&
                    dnnl_brgemm_finalize(*block) == dnnl_success &&
                    dnnl_brgemm_generate(*block) == dnnl_success &&
                    dnnl_brgemm_get_scratchpad_size(*block, &bytes) == dnnl_success;
    if (bytes > *scratch) *scratch = bytes;
    return ok;
}
static bool make_blocks(Build *b, Ukernel *u) {
    size_t scratch = 0;
    bool ok = true;
    for (int r = 0; r < SIZES; r++)
        for (int c = 0; c < SIZES; c++)
            for (int t = 0; t < TURNS; t++)
                if (ok && occurs(&u->rows, r) && occurs(&u->columns, c) &&
                    turn_occurs(&u->terms, t))
                    ok = make_block(u, r, c, t, &scratch);
    u->scratch = (View){.slot = SLOT_SCRATCH, .dtype = DT_UINT8};
    u->scratch.offset = (int64_t)build_bytes(b, scratch);
    return ok;
}

/* The key under which the panels of a known factor are shared. */
static void ukernel_key(const Ukernel *u, const float *w, char key[33]) {
    struct {
        int64_t columns, terms, batch, next, line, across, first;
        char known[33], name[15];
    } of;
    memset(&of, 0, sizeof of);
    of.columns = length_of(&u->columns), of.terms = length_of(&u->terms), of.batch = u->batch,
    of.next = u->w.batch, of.line = u->w.line, of.across = u->across;
    of.first = shared_digest(&u->w.view, w, of.known);
    strcpy(of.name, "micro-kernel");
    hash_hex(&of, sizeof of, key);
}
/* Packs a known factor, once for all kernels that need the same panels. */
static bool pack_known(Build *b, Ukernel *u) {
    const float *w = (const float *)b->weights[2] + u->w.view.offset;
    const int64_t n = u->w.batch ? u->batch : 1, matrix = matrix_floats(u);
    Share *share = build_share(b);
    char key[33];
    ukernel_key(u, w, key);
    const bool there = (share->bytes = shared_find(b->device, key)) != NULL;
    if (!there) share->bytes = shared_new(b->device, key, (size_t)(n * matrix) * sizeof(float));
    float *panels = share->bytes;
    if (!panels) return build_no_memory(b);
    bool ok = true;
    for (int64_t i = 0; ok && !there && i < n; i++)
        ok = pack_matrix(u, w + i * u->w.batch, panels + i * matrix);
    if (!ok) return shared_drop(b->device, panels), share->bytes = NULL, false;
    u->packed = panels, u->w.batch = u->w.batch ? matrix : 0;
    b->kernel->packed = 1 << 2;
    return true;
}

/* ---- which products */
/* Finds out whether rows lie apart and have adjacent elements or, across, columns do. */
static bool place_of(const View *v, bool across, Place *p) {
    const int r = v->rank - 2, line = across ? r + 1 : r, along = across ? r : r + 1;
    *p = (Place){.view = *v, .batch = v->rank == 3 ? v->stride[0] : 0, .line = v->stride[line]};
    if (v->dim[line] == 1) p->line = v->dim[along];
    return (v->stride[along] == 1 || v->dim[along] == 1) && p->line >= v->dim[along] &&
           p->line <= INT32_MAX && p->batch >= 0;
}
static bool places_of(const View flat[3], Ukernel *u) {
    u->across = !place_of(&flat[2], false, &u->w);
    return place_of(&flat[0], false, &u->y) && place_of(&flat[1], false, &u->x) &&
           (!u->across || place_of(&flat[2], true, &u->w));
}
static bool large(const View flat[3]) {
    const int r = flat[0].rank - 2;
    return flat[0].dim[r] >= LEAST_ROWS && flat[0].dim[r + 1] >= LEAST &&
           flat[1].dim[r + 1] >= LEAST;
}
/* Whether oneDNN supports the processor, and takes floats that need no special packing, as our
   panels assume. */
static bool has_ukernel(void) {
    dnnl_pack_type_t type = dnnl_pack_type_undef;
    return dnnl_brgemm_get_B_pack_type(&type, dnnl_f32, dnnl_f32) == dnnl_success &&
           type == dnnl_pack_type_no_trans;
}
bool dnn_ukernel_possible(const Device *d, const Step *s) {
    View flat[3];
    Ukernel u;
    for (int i = 0; i < 3; i++)
        if (s->view[i].dtype != DT_FLOAT || view_count(&s->view[i]) == 0) return false;
    return d->dnn && gemm_flatten(s, flat) && large(flat) && places_of(flat, &u) && has_ukernel();
}

/* Whether packing in each run pays: each line is in pages of its own, and many rows read it
   again. */
static bool pays_packing(const Ukernel *u) {
    return u->w.line >= PAGE && length_of(&u->rows) >= MANY_ROWS;
}
static bool make_all(Build *b, Ukernel *u) {
    const bool known = b->weights && b->weights[2];
    u->packs = !known && (u->across || pays_packing(u));
    if (u->packs) u->panels = build_scratch(b, DT_FLOAT, 1, (int64_t[]){matrix_floats(u)});
    if ((known || u->packs) && !make_packing(u)) return false;
    if (known && !pack_known(b, u)) return false;
    if (known) forget_packing(u);
    return make_blocks(b, u);
}
bool dnn_ukernel_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *s = b->step;
    Ukernel *u = ARENA_NEW(b->arena, Ukernel, 1);
    View flat[3];
    *u = (Ukernel){.batch = 1};
    if (!tail_new(b, DT_FLOAT, TAIL_ANY, &u->tail)) return false;
    View views[3] = {u->tail.into, s->view[1], s->view[2]};
    Step there = *s;
    there.view = views;
    if (!gemm_flatten(&there, flat) || !places_of(flat, u))
        return build_fail(b, "oneDNN's micro-kernel cannot write to these strides");
    const int r = flat[0].rank - 2;
    const int64_t m = flat[0].dim[r], terms = flat[1].dim[r + 1], most = ROWS / terms;
    u->batch = r ? flat[0].dim[0] : 1;
    u->rows = blocks_of(m, most > WIDTH ? most : WIDTH, 1);
    u->columns = blocks_of(flat[0].dim[r + 1], WIDTH, WIDTH);
    u->terms = blocks_of(terms, TERMS, GROUP);
    k->self = u, k->run = ukernel_run, k->forget = ukernel_forget;
    if (make_all(b, u)) return true;
    ukernel_forget(k);
    k->forget = NULL;
    return *b->failure != COMPILE_NO_MEMORY &&
           build_fail(b, "oneDNN's micro-kernel does not support this shape");
}
