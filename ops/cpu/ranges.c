/* ranges.c -- loop programs that only move elements: each result is an element of an input or a
   constant, depending on conditions on its place (triangles, bands, padding with constants,
   shifts).

   The conditions are affine, so that each of them holds on a single range of a row. Rows are
   therefore copied and filled range by range instead of element by element. Rows are distributed
   over the threads. */
#include "ops/core/element.h"
#include "ops/core/loop_form.h"
#include "ops/cpu/cpu.h"
#include <string.h>

enum { VIEWS_MOST = 64 };
typedef struct Affine { /* c + the sum of k[d] * i[d] over the axes d of y */
    int64_t c, k[STEP_RANK];
} Affine;
typedef struct Choice { /* a node of the program: an element, a number, or one of two nodes */
    ExKind kind;
    int input, a, b, nlit; /* input: its view; a, b: the two nodes; nlit: how many conditions */
    Affine at;             /* offset of the element */
    bool *eq;              /* lit[j] must be 0; else >= 0 */
    Affine *lit;
    uint64_t bits; /* the number, in the bytes of an element */
    int byte;      /* the value of all bytes of the element, or -1 if they differ */
} Choice;
typedef struct Ranges {
    int nview, size, along, root, parts; /* along: the axis of the rows; root: the result's node */
    int64_t rows;
    View *view;
    Choice *choice;
} Ranges;
typedef struct RangesRun {
    const Ranges *r;
    char *data[VIEWS_MOST];
} RangesRun;

/* The value at place 0 of the row. */
static int64_t value_at(const Affine *a, int rank, const int64_t i[]) {
    int64_t sum = a->c;
    for (int d = 0; d < rank; d++) sum += a->k[d] * i[d];
    return sum;
}
static int64_t floor_of(int64_t a, int64_t b) {
    if (b == 1) return a; /* the usual case, without a division */
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
/* Restricts the range range[0] <= v < range[1] to those v for which k * v + rest is 0 (eq), or is
   at least 0. */
static void cut_range(bool eq, int64_t k, int64_t rest, int64_t range[2]) {
    int64_t low = range[0], high = range[1];
    if (k == 0) high = (eq ? rest == 0 : rest >= 0) ? high : low;
    else if (eq) {
        const int64_t v = rest % k == 0 ? -(rest / k) : low - 1;
        if (v < low || v >= high) high = low;
        else low = v, high = v + 1;
    } else if (k > 0) {
        const int64_t first = -floor_of(rest, k);
        low = first > low ? first : low;
    } else {
        const int64_t last = floor_of(rest, -k);
        high = last + 1 < high ? last + 1 : high;
    }
    range[0] = low, range[1] = high > low ? high : low;
}
static void fill_run(const Choice *c, int size, char *y, int64_t stride, int64_t n) {
    static const int64_t none = 0;
    if (stride == 1 && c->byte >= 0) memset(y, c->byte, (size_t)(n * size));
    else move_elements(size, y, stride, (const char *)&c->bits, 0, &none, 0, n);
}
/* Computes the places low <= v < high of the row at index i; y is its place 0. */
static void run_range(const RangesRun *run, int node, const int64_t i[], int64_t low, int64_t high,
                      char *y) {
    static const int64_t none = 0;
    const Ranges *r = run->r;
    const Choice *c = &r->choice[node];
    const int64_t stride = r->view[0].stride[r->along];
    const int rank = r->view[0].rank;
    if (low >= high) return;
    if (c->kind == EX_IF) {
        int64_t range[2] = {low, high};
        for (int j = 0; j < c->nlit; j++)
            cut_range(c->eq[j], c->lit[j].k[r->along], value_at(&c->lit[j], rank, i), range);
        if (range[0] >= range[1]) range[0] = range[1] = high;
        run_range(run, c->a, i, range[0], range[1], y);
        run_range(run, c->b, i, low, range[0], y);
        run_range(run, c->b, i, range[1], high, y);
        return;
    }
    char *to = y + low * stride * r->size;
    if (c->kind != EX_AT) {
        fill_run(c, r->size, to, stride, high - low);
        return;
    }
    const int64_t step = c->at.k[r->along];
    const char *x = run->data[c->input] + (value_at(&c->at, rank, i) + low * step) * r->size;
    if (stride == 1 && step == 1) memcpy(to, x, (size_t)((high - low) * r->size));
    else move_elements(r->size, to, stride, x, step, &none, 0, high - low);
}
/* Moves the index of a row, and the offset of its place 0 in y, to the next row. */
static void next_row(const Ranges *r, int64_t i[], int64_t *at) {
    const View *y = &r->view[0];
    for (int a = y->rank - 1; a >= 0; a--) {
        if (a == r->along) continue;
        *at += y->stride[a];
        if (++i[a] < y->dim[a]) return;
        *at -= y->dim[a] * y->stride[a], i[a] = 0;
    }
}
static void run_part(void *job, int k) {
    const RangesRun *run = job;
    const Ranges *r = run->r;
    const View *y = &r->view[0];
    const int64_t first = r->rows * k / r->parts, end = r->rows * (k + 1) / r->parts,
                  length = y->dim[r->along];
    int64_t i[STEP_RANK] = {0}, rest = first, at = 0;
    for (int a = y->rank - 1; a >= 0; a--) {
        if (a == r->along) continue;
        i[a] = rest % y->dim[a], rest /= y->dim[a];
        at += i[a] * y->stride[a];
    }
    for (int64_t row = first; row < end; row++) {
        run_range(run, r->root, i, 0, length, run->data[0] + at * r->size);
        next_row(r, i, &at);
    }
}
static int ranges_run(const Kernel *k, void *const slot[], void *work) {
    const Ranges *r = k->self;
    RangesRun run = {.r = r};
    for (int v = 0; v < r->nview; v++)
        if (r->view[v].rank >= 0) run.data[v] = view_at(&r->view[v], slot, work);
    team_run(k->device->team, r->parts, run_part, &run);
    return 0;
}

/* ---- making: from the nodes of the loop program */
static bool affine_of(const LoopForm *f, int along, int rank, Affine *to) {
    *to = (Affine){.c = f->c};
    if (f->nlane || (f->lane && (along < 0 || along >= rank))) return false;
    if (f->lane) to->k[along] = f->lane;
    for (int j = 0; j < f->n; j++) {
        if (f->t[j].r >= rank) return false;
        to->k[f->t[j].r] += f->t[j].factor;
    }
    return true;
}
static bool number_of(const DecodedNode *n, int dtype, Choice *to) {
    _Alignas(double) char element[8] = {0};
    const int size = dtype_size(dtype);
    element_set_real((DType)dtype, element, 0, n->number.real);
    if (dtype_class((DType)dtype) != 'F' &&
        element_real((DType)dtype, element, 0) != n->number.real)
        return false;
    memcpy(&to->bits, element, sizeof element);
    to->byte = (unsigned char)element[0];
    for (int k = 1; k < size; k++)
        if (element[k] != element[0]) to->byte = -1;
    return true;
}
static bool choice_of(Arena *arena, const Loop *l, const DecodedNode *n, Choice *to) {
    const View *y = &l->view[0];
    *to = (Choice){.kind = n->kind, .a = n->a, .b = n->b, .nlit = n->nlit};
    switch (n->kind) {
    case EX_NUM:
    case EX_REAL: return number_of(n, y->dtype, to);
    case EX_AT:
        to->input = 1 + n->word;
        return l->view[to->input].dtype == y->dtype && !l->view[to->input].format &&
               affine_of(&n->form, n->lane, l->rank, &to->at);
    case EX_IF: break;
    default: return false;
    }
    to->eq = ARENA_NEW(arena, bool, n->nlit);
    to->lit = ARENA_NEW(arena, Affine, n->nlit);
    for (int j = 0; j < n->nlit; j++) {
        to->eq[j] = n->lit[j].eq;
        if (!affine_of(&n->lit[j].form, n->lit[j].use == LIT_LANES ? n->lane : -1, l->rank,
                       &to->lit[j]))
            return false;
    }
    return true;
}
static bool ranges_new(Build *b, const Loop *l, Ranges *r) {
    const View *y = &l->view[0];
    r->size = dtype_size(y->dtype);
    if (y->format || y->rank < 1 || view_count(y) == 0 || l->nvar != l->rank || l->nreg > 0 ||
        l->nview > VIEWS_MOST || !elements_move(y->dtype))
        return false;
    r->choice = ARENA_NEW(b->arena, Choice, l->nnode);
    for (int k = 0; k < l->nnode; k++)
        if (!choice_of(b->arena, l, &l->node[k], &r->choice[k])) return false;
    r->root = l->root, r->nview = l->nview;
    r->view = arena_copy(b->arena, l->view, sizeof *l->view * (size_t)l->nview);
    for (int a = 0; a < y->rank; a++)
        if (y->dim[a] > 1 && (y->dim[r->along] == 1 || y->stride[a] < y->stride[r->along]))
            r->along = a;
    r->rows = view_count(y) / y->dim[r->along];
    r->parts = count_parts(b, r->rows, view_count(y), 0.25);
    return true;
}
static void free_loop(void *loop) { loop_free(loop); }
bool ranges_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    Error e = {0};
    Cleanup loop;
    const Step *s = b->step;
    Ranges *r = ARENA_NEW(b->arena, Ranges, 1);
    Loop *l = loop_new((LoopProgram){s->nparam, s->param}, s->nview, s->view, &numbers_real, &e);
    if (l) cleanup_add(arena_escape(b->arena), &loop, free_loop, l);
    const bool made = l && ranges_new(b, l, r);
    if (l) cleanup_run(&loop);
    k->run = ranges_run, k->self = r;
    return made;
}
