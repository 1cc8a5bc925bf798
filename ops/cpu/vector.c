/* vector.c -- builds element-wise programs for vector_run.c, which runs them tile by tile.

   A tile is some rows of the two innermost axes (after axes are joined), or a part of one row: at
   most BLOCK bytes of the class. Each instruction is one call of an inner loop (simd.h) over a
   tile. A view that is contiguous within the tile and has the type of the class is read in place;
   other views are loaded into a register, an area of the scratch memory, and converted. The last
   instruction writes directly into y where it can. Registers are reused after the last use of their
   value.

   Constants and views of one element are loaded once per run, and values that depend only on them
   are computed then. Values that are the same for all tiles along their axis are computed once for
   these tiles, as a single number where a tile is a part of one row. */
#include "ops/core/element.h"
#include "ops/cpu/vector.h"
#include <string.h>

typedef struct Making {
    Build *b;
    Vector *v;
    View used[MAX_CODE + 2];
    int nused, source_of_view[MAX_CODE], acc_source; /* indices of sources; -1: none */
} Making;

static bool use_type(Making *m, const View *view) {
    m->used[m->nused++] = *view;
    return dtype_numeric(view->dtype) || build_fail(m->b, "elementwise: a type is not numeric");
}

/* Records the types of all views that the program reads as it was given. They determine its class,
   even if known views become constants later. */
static bool check_views(Making *m, const View *view, int nview, const View *acc, const Scalar *code,
                        int ncode) {
    bool seen[MAX_CODE] = {false}, seen_acc = false;
    if (!use_type(m, &view[0])) return false;
    for (int i = 0; i < ncode; i++) {
        const int k = code[i].a;
        if (code[i].op == C_VIEW) {
            if (k >= nview)
                return build_fail(m->b,
                                  "elementwise: the program reads a view that does not exist");
            if (!seen[k] && !use_type(m, &view[k])) return false;
            seen[k] = true;
        } else if (code[i].op == C_ACC) {
            if (!acc)
                return build_fail(
                    m->b, "elementwise: the program reads an accumulator, but the step has none");
            if (!seen_acc && !use_type(m, acc)) return false;
            seen_acc = true;
        }
    }
    return true;
}

static int add_source(Making *m, const View *view) {
    Source *s = &m->v->source[m->v->nsource];
    s->view = *view;
    s->size = dtype_size(view->dtype);
    return m->v->nsource++;
}

/* Lists the views that are still read after known numbers have become constants. */
static void gather_sources(Making *m, const View *view, const View *acc, const Scalar *code,
                           int ncode) {
    for (int i = 0; i < MAX_CODE; i++) m->source_of_view[i] = -1;
    m->acc_source = -1;
    for (int i = 0; i < ncode; i++) {
        const int k = code[i].a;
        if (code[i].op == C_VIEW && m->source_of_view[k] < 0)
            m->source_of_view[k] = add_source(m, &view[k]);
        if (code[i].op == C_ACC && m->acc_source < 0) m->acc_source = add_source(m, acc);
    }
}

static int literal_source(Vector *v, double k) {
    for (int i = 0; i < v->nsource; i++)
        if (v->source[i].literal && memcmp(&v->source[i].k, &k, sizeof k) == 0) return i;
    v->source[v->nsource] = (Source){.literal = true, .once = true, .k = k, .size = 8};
    return v->nsource++;
}

/* Whether value i is a power with this constant exponent. x^2 becomes x*x, which is exact and a
   hundred times faster than pow. x^3, which occurs in the tanh form of gelu that exporters write,
   becomes x*x*x, within a unit in the last place. */
static bool is_power(const Scalar *code, int i, double exponent) {
    return code[i].op == C_POW && code[code[i].b].op == C_CONST && code[code[i].b].k == exponent;
}

static bool reads_earlier(const Scalar *c, int i) {
    const int n = c->op < FURTHER_OP_COUNT ? op_values(c->op) : 4;
    return n < 4 && (n < 1 || c->a < i) && (n < 2 || c->b < i) && (n < 3 || c->c < i);
}
static int source_of(Making *m, const Scalar *c) {
    return c->op == C_VIEW  ? m->source_of_view[c->a]
           : c->op == C_ACC ? m->acc_source
                            : literal_source(m->v, c->k);
}
/* Replaces groups of instructions by one pass each: quantizing and then dequantizing (seven
   instructions), activations (two to nine), quantizing alone (three), dequantizing alone (two). */
static void join(Making *m, const Scalar *code, int ncode) {
    const Simd *simd = m->b->device->simd;
    for (int i = ncode - 1; i >= 0; i--) {
        Joined r;
        bool by_erf = false;
        Pass *pass = NULL;
        if (m->v->code[i].absorbed) continue;
        if (requantize_match(code, ncode, i, &r)) pass = simd->requantize;
        else if (activation_match(code, ncode, i, &by_erf, &r))
            pass = by_erf ? simd->gate_erf : simd->gate_sigmoid;
        else if (quantize_match(code, ncode, i, &r)) pass = simd->quantize;
        else if (dequantize_match(code, ncode, i, &r)) pass = simd->dequantize;
        if (!pass) continue;
        Instruction *to = &m->v->code[i];
        for (int k = 0; k < r.nabsorbed; k++) m->v->code[r.absorbed[k]].absorbed = true;
        to->a = to->b = to->c = r.x;
        to->joined = pass, to->k = arena_copy(m->b->arena, r.k, sizeof r.k);
    }
}

static bool translate_code(Making *m, const Scalar *code, int ncode) {
    const Simd *simd = m->b->device->simd;
    Vector *v = m->v;
    for (int i = 0; i < ncode; i++) {
        const Scalar *c = &code[i];
        const int n = op_values(c->op);
        const bool square = n && is_power(code, i, 2),
                   cube = n && v->class == CLASS_FLOAT && is_power(code, i, 3);
        Instruction *to = &v->code[i];
        *to = (Instruction){.source = n == 0, .a = n ? c->a : source_of(m, c)};
        to->b = n < 2 || square || cube ? to->a : c->b;
        to->c = n < 3 ? to->a : c->c;
        if (cube) to->op = simd->cube;
        else if (c->op == C_AS) to->op = simd->as[v->class][c->b];
        else if (n) to->op = simd->op[v->class][square ? C_MUL : c->op];
        if (n && !to->op && c->op != C_WHERE)
            return build_fail(m->b, "elementwise: an operation that the element types do not have");
    }
    if (v->class == CLASS_FLOAT) join(m, code, ncode);
    return true;
}

/* Marks sources that are the same for all tiles, and values that depend only on such sources. */
static void find_invariants(Making *m) {
    Vector *v = m->v;
    for (int i = 0; i < v->ncode; i++) {
        Instruction *c = &v->code[i];
        if (c->source) {
            const Source *s = &v->source[c->a];
            c->invariance = s->once ? INVARIANT : s->repeated ? INVARIANT_ALONG : VARIES;
            continue;
        }
        const Invariance of[] = {v->code[c->a].invariance, v->code[c->b].invariance,
                                 v->code[c->c].invariance};
        c->invariance = INVARIANT;
        for (int k = 0; k < 3; k++)
            if (of[k] == VARIES || c->invariance == VARIES) c->invariance = VARIES;
            else if (of[k] == INVARIANT_ALONG) c->invariance = INVARIANT_ALONG;
        if (i == v->ncode - 1) c->invariance = VARIES;
    }
}
/* Marks values that are the same along the row but are read by instructions that vary along it, or
   by any that is computed for several rows. */
static void find_spread(Vector *v) {
    for (int i = 0; i < v->ncode; i++) {
        const Instruction *c = &v->code[i];
        if (c->source || c->absorbed || (!v->rows_axis && c->invariance != VARIES)) continue;
        v->code[c->a].spread = v->code[c->b].spread = v->code[c->c].spread = true;
    }
}
/* Marks sources of which only the first element is read, because they are the same along the row
   and only numbers of passes. */
static void find_numbers(Vector *v) {
    for (int k = 0; k < v->nsource; k++)
        v->source[k].number = v->rows_axis ? v->source[k].by_row : v->source[k].repeated;
    for (int i = 0; i < v->ncode; i++) {
        const Instruction *c = &v->code[i];
        if (c->source && (c->spread || i == v->ncode - 1)) v->source[c->a].number = false;
    }
}
static void count_tiles(Vector *v) {
    const Nest *n = &v->nest;
    const int axis = n->rank - 1 - v->rows_axis;
    const int64_t step = v->rows_axis ? v->tile_rows : v->tile_columns;
    v->tiles = step ? (n->dim[axis] + step - 1) / step : 0;
    v->outer = 1;
    for (int a = 0; a < axis; a++) v->outer *= n->dim[a];
}
/* Makes tiles longer if the program is a single pass from one view to another. */
static void lengthen_tiles(Vector *v) {
    const int end = v->ncode - 1, last = v->nest.rank - 1;
    const Instruction *c = &v->code[end], *x = &v->code[c->a];
    if (v->rows_axis || !c->joined || !x->source || !v->y.native) return;
    for (int i = 0; i < end; i++)
        if (!v->code[i].source && !v->code[i].absorbed && v->code[i].invariance == VARIES) return;
    if (!v->source[x->a].native || v->nest.stride[last] != 1 ||
        v->nest.stride[(x->a + 1) * STEP_RANK + last] != 1)
        return;
    const int64_t columns = v->nest.dim[last];
    for (int k = 0; k < v->nsource; k++)
        if (k != x->a && !v->source[k].once && !v->source[k].number) return;
    v->tile_columns = columns < LONG ? columns : LONG;
    count_tiles(v);
}
/* Gives a register of its own to each source and each invariant value. The other values share
   registers: one is free again after the last use of its value. */
static void assign_registers(Making *m) {
    Vector *v = m->v;
    int last[MAX_CODE], spare[MAX_CODE], nspare = 0;
    size_t at[MAX_CODE];
    for (int i = 0; i < v->nsource; i++)
        v->source[i].at = build_bytes(m->b, (size_t)v->block * v->size);
    for (int i = 0; i < v->ncode; i++) {
        last[i] = i;
        if (!v->code[i].source && !v->code[i].absorbed)
            last[v->code[i].a] = last[v->code[i].b] = last[v->code[i].c] = i;
    }
    int count = 0;
    for (int i = 0; i < v->ncode; i++) {
        Instruction *c = &v->code[i];
        if (c->source || c->absorbed) continue;
        if (c->invariance != VARIES) {
            c->at = build_bytes(m->b, (size_t)v->block * v->size), last[i] = -1;
            continue;
        }
        if (!nspare) {
            at[count] = build_bytes(m->b, (size_t)v->block * v->size);
            spare[nspare++] = count++;
        }
        const int r = spare[--nspare];
        c->at = at[r];
        for (int k = 0; k < i; k++)
            if (!v->code[k].source && !v->code[k].absorbed && last[k] == i) {
                int back = 0;
                while (at[back] != v->code[k].at) back++;
                spare[nspare++] = back;
                last[k] = -1;
            }
        if (last[i] == i) spare[nspare++] = r;
    }
}

/* The largest divisor of n that is at most `most`. */
static int64_t divisor_below(int64_t n, int64_t most) {
    int64_t d = most < n ? most : n;
    while (d > 1 && n % d) d--;
    return d;
}
/* Returns an axis along which some source is contiguous although it is strided along the last axis,
   where each element would take a cache line; -1: there is none. */
static int crossed_axis(const Nest *n) {
    const int last = n->rank - 1;
    for (int i = 1; i < n->n; i++) {
        const int64_t *stride = n->stride + i * STEP_RANK;
        if (stride[last] == 0 || stride[last] == 1 || stride[last] == -1) continue;
        for (int a = 0; a < last; a++)
            if (stride[a] == 1 && n->dim[a] > 1) return a;
    }
    return -1;
}
/* Prepares a change of layout: moves the axis along which the source is contiguous next to the last
   one and cuts the last axis into pieces. The pieces are short enough for a tile to contain all of
   each cache line that it reads. */
static void cross_axes(Nest *n) {
    enum { LEAST = 8, PIECE = 32 };
    const int crossed = crossed_axis(n), last = n->rank - 1;
    const int64_t piece = crossed < 0 ? 0 : divisor_below(n->dim[last], PIECE);
    const bool cut = piece < n->dim[last];
    if (piece < LEAST || (cut && n->rank == STEP_RANK)) return;
    int64_t *const row[] = {n->dim, n->stride};
    for (int k = 0; k <= n->n; k++) {
        int64_t *of = k ? row[1] + (k - 1) * STEP_RANK : row[0];
        const int64_t moved = of[crossed], inner = of[last];
        for (int a = crossed; a + 1 < last; a++) of[a] = of[a + 1];
        if (cut) {
            of[last - 1] = k ? inner * piece : inner / piece;
            of[last] = moved, of[last + 1] = k ? inner : piece;
        } else of[last - 1] = moved;
    }
    n->rank += cut;
}

/* Whether rows are long enough for each to be a tile: several sources are single numbers in each
   row, which then need not be copied for each element. */
static bool numbers_of_rows(const Nest *n) {
    enum { NUMBERS = 2, LONG_ROW = 192 };
    const int last = n->rank - 1;
    int numbers = 0;
    for (int i = 1; i < n->n; i++) {
        const int64_t *stride = n->stride + i * STEP_RANK;
        numbers += stride[last] == 0 && stride[last - 1] != 0;
    }
    return numbers >= NUMBERS && n->dim[last] >= LONG_ROW;
}
static void make_nest(Making *m) {
    Vector *v = m->v;
    const View *views[2 * MAX_CODE + 2];
    View nothing = {.rank = v->y.view.rank};
    views[0] = &v->y.view;
    for (int i = 0; i < v->nsource; i++)
        views[i + 1] = v->source[i].literal ? &nothing : &v->source[i].view;
    v->nest = nest_new(m->b->arena, views, v->nsource + 1);
    Nest *n = &v->nest;
    nest_with_axis(n);
    cross_axes(n);
    for (int i = 0; i < v->nsource; i++) {
        bool still = true;
        for (int a = 0; a < n->rank; a++) still = still && n->stride[(i + 1) * STEP_RANK + a] == 0;
        v->source[i].once = still;
    }
    const int64_t columns = n->dim[n->rank - 1];
    v->tile_columns = columns < v->block ? columns : v->block;
    v->rows_axis = n->rank > 1 && columns > 0 && columns <= v->block && !numbers_of_rows(n);
    v->tile_rows = v->rows_axis ? v->block / columns : 1;
    v->repeat = v->rows_axis ? repeat_of(m->b->device->simd, (int)v->size, columns) : NULL;
    for (int i = 0; i < v->nsource; i++) {
        const int64_t *last = n->stride + (i + 1) * STEP_RANK + n->rank - 1;
        v->source[i].by_row = v->rows_axis && *last == 0 && !v->source[i].once;
        v->source[i].repeated = last[-v->rows_axis] == 0; /* along the axis of the tiles */
    }
    count_tiles(v);
}

/* Whether view k is a single number whose value is known at compile time. */
static bool known_number(const Build *b, const View *view, int k, double *number) {
    const View *v = &view[k];
    if (view != b->step->view || !b->weights || !b->weights[k]) return false;
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] > 1 && v->stride[a] != 0) return false;
    *number = element_real((DType)v->dtype, b->weights[k], v->offset);
    return dtype_size(v->dtype) <= 4;
}
static void renumber(Scalar *c, const int number[]) {
    if (c->op < SCALAR_OP_COUNT) scalar_renumber(c, number);
    else c->a = (uint8_t)number[c->a], c->b = (uint8_t)number[op_values(c->op) > 1 ? c->b : 0];
}
/* Merges repeated reads of a view (lowering emits a new one for each use) and turns views of one
   known number into constants. */
void program_read_once(const Build *b, const View *view, const Scalar *code, int ncode,
                       Scalar own[]) {
    int first[MAX_CODE];
    for (int i = 0; i < ncode; i++) {
        first[i] = i, own[i] = code[i];
        if (ncode <= MAX_CODE / 2 && own[i].op == C_VIEW &&
            known_number(b, view, own[i].a, &own[i].k))
            own[i].op = C_CONST, own[i].a = 0;
        if (own[i].op == C_VIEW || own[i].op == C_ACC)
            for (int k = i - 1; k >= 0; k--)
                if (own[k].op == own[i].op && own[k].a == own[i].a) first[i] = k;
        if (reads_earlier(&own[i], i)) renumber(&own[i], first);
    }
}

/* Chooses the class in which the program is computed, the length of a tile, and whether its result
   has the type of y without conversion. */
static void choose_class(const Making *m, const View *view, const View *acc, const Scalar own[]) {
    Vector *v = m->v;
    const Simd *simd = m->b->device->simd;
    const int ncode = v->ncode;
    v->class = view_class(m->used, m->nused);
    if (v->class == CLASS_INT) v->class = narrow_class(simd, view, acc, own, ncode);
    v->size = (size_t)dtype_size(class_dtype(v->class));
    v->block = v->class == CLASS_FLOAT ? FLOATS : BLOCK / (int64_t)v->size;
    v->y = (Source){.view = view[0],
                    .size = dtype_size(view[0].dtype),
                    .native = view[0].dtype == class_dtype(v->class)};
    if (view[0].dtype == DT_BOOL && v->class == CLASS_UINT8 && ncode > 1)
        v->y.native = own[ncode - 1].op < SCALAR_OP_COUNT && scalar_gives_truth(own[ncode - 1].op);
}
static void take_loops(const Simd *simd, Vector *v) {
    v->where = simd->where[v->class];
    v->fill = simd->load[v->class][class_dtype(v->class)];
    v->transpose = simd->transpose;
    v->move_rows = simd->move_rows;
    v->row_scaled = simd->row_scaled;
    v->store = simd->store[v->class][v->y.view.dtype];
}
static void take_loads(const Simd *simd, Vector *v) {
    for (int i = 0; i < v->nsource; i++) {
        Source *s = &v->source[i];
        const int dtype = s->literal ? DT_DOUBLE : s->view.dtype;
        s->native = dtype == class_dtype(v->class) && !s->literal;
        s->load = simd->load[v->class][dtype];
    }
}

Vector *vector_new(Build *b, const View *view, int nview, const View *acc, const Scalar *code,
                   int ncode) {
    if (ncode < 1 || ncode > MAX_CODE)
        return build_fail(b, "elementwise: the program is empty or too long"), NULL;
    Making m = {.b = b, .v = ARENA_NEW(b->arena, Vector, 1)};
    Vector *v = m.v;
    v->source = ARENA_NEW(b->arena, Source, 2 * ncode); /* room for views and for the constants that
                                                           replace them */
    v->code = ARENA_NEW(b->arena, Instruction, ncode);
    v->ncode = ncode;
    if (!check_views(&m, view, nview, acc, code, ncode)) return NULL;
    Scalar own[MAX_CODE];
    program_read_once(b, view, code, ncode, own);
    gather_sources(&m, view, acc, own, ncode);
    for (int i = 0; i < ncode; i++)
        if (!reads_earlier(&own[i], i) || (own[i].op == C_AS && !dtype_numeric(own[i].b)))
            return build_fail(b, "elementwise: the program is malformed"), NULL;
    choose_class(&m, view, acc, own);
    take_loops(b->device->simd, v);
    if (!translate_code(&m, own, ncode)) return NULL;
    take_loads(b->device->simd, v);
    make_nest(&m);
    find_invariants(&m);
    line_join(b, v, own);
    find_spread(v);
    find_numbers(v);
    lengthen_tiles(v);
    const size_t before = b->workspace;
    assign_registers(&m);
    v->registers = b->workspace - before;
    return v;
}

/* ---- steps */
static int vector_choices(const Device *d, const Step *s) {
    (void)d;
    for (int i = 0; i < s->nview; i++)
        if (!dtype_numeric(s->view[i].dtype)) return 0;
    return s->ncode >= 1 && s->ncode <= MAX_CODE;
}
static int run_program(const Kernel *k, void *const slot[], void *work) {
    vector_run(k->self, slot, work);
    return 0;
}

typedef struct Program { /* a program that runs in several parts, each with its own registers */
    Vector *vector;
    int parts;
} Program;
typedef struct Job {
    const Program *program;
    void *const *slot;
    void *work;
} Job;
static void run_program_part(void *job, int k) {
    const Job *j = job;
    vector_run_part(j->program->vector, j->slot, j->work, k, j->program->parts);
}
static int run_parts(const Kernel *k, void *const slot[], void *work) {
    const Program *p = k->self;
    Job j = {p, slot, work};
    team_run(k->device->team, p->parts, run_program_part, &j);
    return 0;
}

bool program_build(Build *b, const View *view, int nview, const Scalar *code, int ncode,
                   Kernel *k) {
    Vector *v = vector_new(b, view, nview, NULL, code, ncode);
    const int parts = split_parts(b);
    k->run = run_program;
    k->self = v;
    if (!v || parts < 2) return v != NULL;
    Program *p = ARENA_NEW(b->arena, Program, 1);
    const int64_t tiles = v->outer * v->tiles;
    *p = (Program){v, tiles < parts ? (int)tiles : parts};
    build_bytes(b, (size_t)(p->parts - 1) * v->registers);
    k->run = run_parts;
    k->self = p;
    return true;
}
static bool vector_build(Build *b, int choice, Kernel *k) {
    const Step *s = b->step;
    (void)choice;
    for (int i = 0; i < s->ncode; i++)
        if (s->code[i].op >= SCALAR_OP_COUNT || !reads_earlier(&s->code[i], i) ||
            (s->code[i].op == C_VIEW && s->code[i].a >= s->nview))
            return build_fail(b, "elementwise: the program is malformed");
    if (s->ncode >= 1 && s->ncode <= MAX_CODE) {
        Scalar own[MAX_CODE];
        program_read_once(b, s->view, s->code, s->ncode, own);
        if (quantize_build(b, own, s->ncode, split_parts(b), k)) return true;
    }
    return program_build(b, s->view, s->nview, s->code, s->ncode, k);
}
const Maker vector_maker = {.choices = vector_choices, .build = vector_build};

static bool fill_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Scalar constant = {.op = C_CONST, .k = b->step->code[0].k};
    return program_build(b, b->step->view, 1, &constant, 1, k);
}
const Maker fill_maker = {.choices = vector_choices, .build = fill_build};
