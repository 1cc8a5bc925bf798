/* plan_fuse.c -- fuses element-wise steps with their neighbours.

   A step is fused into the only step that reads its result if that reader is element-wise and reads
   it element for element. If the first step is element-wise, too, its program is put before the
   reader's; a gemm, conv, pool or reduce takes over the reader's program as its epilogue. The fused
   step takes the place of the reader, because by then all its operands exist. Only results that no
   other step reads or writes disappear, so that nothing is computed twice. If several steps write
   the parts of what is read, as into a concatenation, each of them takes over the reader's program
   for its part.

   A known number that a program reads becomes a constant of the program: back ends have more
   algorithms for such steps. The price is that the measured cost holds for this number only.

   A result that disappears may have any element type: the joined program computes in the arithmetic
   in which both of its parts did, and converts a value as storing it would have (C_AS) wherever
   that changes it. Only 16-bit floats between steps of one type are not converted: they keep the
   bits that storing them would lose. */
#include "graphs/plan/plan_inner.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

enum { VIEWS_MAX = 48, PARTS_MAX = 64 };

typedef struct Fuse {
    PlanBuild *b;
    SlotUses uses;
} Fuse;

static int own_views(const Step *s) { /* the number of views that are not operands of the program */
    switch (s->kind) {
    case S_GEMM:
    case S_CONV: return 3;
    case S_POOL:
    case S_REDUCE: return 2;
    case S_EWISE: return 1;
    default: return 0;
    }
}

static bool takes_epilogue(const Step *s) {
    return s->kind == S_GEMM || s->kind == S_CONV || s->kind == S_POOL || s->kind == S_REDUCE;
}

void slot_uses_add(SlotUses *u, const Plan *p, int k, int by) {
    const Step *s = &p->step[k].step;
    for (int j = 0; j < s->nview; j++) {
        int slot = s->view[j].slot;
        bool again = false;
        for (int i = 0; i < j; i++)
            again |= s->view[i].slot == slot && (i < step_writes(s)) == (j < step_writes(s));
        if (again || slot < 0) continue;
        if (j < step_writes(s)) u->writers[slot] += by, u->writer[slot] = k;
        else u->readers[slot] += by;
    }
}

SlotUses slot_uses_new(const Plan *p, Arena *a, int more) {
    const int n = p->nslot + more;
    SlotUses u = {ARENA_NEW(a, int, n), ARENA_NEW(a, int, n), ARENA_NEW(a, int, n)};
    for (int k = 0; k < p->nstep; k++) slot_uses_add(&u, p, k, 1);
    return u;
}

int slot_maker(const Plan *p, const SlotUses *u, int slot) {
    if (slot < 0) return -1;
    const Slot *s = &p->slot[slot];
    const bool kept = s->data || s->input >= 0 || s->output >= 0;
    return kept || u->writers[slot] != 1 || u->readers[slot] != 1 ? -1 : u->writer[slot];
}

int view_maker(const Plan *p, const SlotUses *u, int k, int j) {
    const Step *s = &p->step[k].step;
    for (int i = 0; i < s->nview; i++)
        if (s->view[i].slot == s->view[j].slot && !view_same(&s->view[i], &s->view[j])) return -1;
    return slot_maker(p, u, s->view[j].slot);
}

static void count_step(Fuse *f, int k, int by) { slot_uses_add(&f->uses, f->b->plan, k, by); }

/* The step that makes view j of step k, if step k alone reads this result and nothing else keeps
   it; -1 otherwise. */
static int step_maker(const Fuse *f, int k, int j) {
    const Plan *p = f->b->plan;
    const int m = view_maker(p, &f->uses, k, j);
    if (m < 0) return -1;
    const Step *s = &p->step[m].step;
    return m < k && own_views(s) && view_same(&s->view[0], &p->step[k].step.view[j]) ? m : -1;
}

/* ---- arithmetic: the class of numbers in which a program computes, by isomer_backend.h */

typedef enum Arithmetic { NO_ARITHMETIC, INT64, UINT64, FLOAT32, FLOAT64 } Arithmetic;

static Arithmetic type_arithmetic(int dtype) {
    const int bits = dtype_bits((DType)dtype);
    switch (dtype_class((DType)dtype)) {
    case 'B': return INT64;
    case 'I':
    case 'U': return bits < 8 ? NO_ARITHMETIC : dtype == DT_UINT64 ? UINT64 : INT64;
    case 'F': return bits < 16 ? NO_ARITHMETIC : bits < 64 ? FLOAT32 : FLOAT64;
    default: return NO_ARITHMETIC;
    }
}
/* The widest arithmetic of all views; NO_ARITHMETIC if one has a type that programs do not compute
   with. */
static Arithmetic views_arithmetic(const View *v, int n) {
    Arithmetic widest = INT64;
    for (int k = 0; k < n; k++) {
        const Arithmetic a = type_arithmetic(v[k].dtype);
        if (!a) return NO_ARITHMETIC;
        if (a > widest) widest = a;
    }
    return widest;
}

static bool fits_16_bits(int dtype) {
    return type_arithmetic(dtype) == INT64 && dtype_bits((DType)dtype) <= 16;
}
/* Whether an instruction gives in floats what it gives in integers if its operands are whole
   numbers in the range. Those that choose among such numbers, or compare them, do. A conversion
   does if it changes no number: floats saturate, whereas integers wrap. */
static bool same_in_floats(const Scalar *c, IntegerRange all) {
    const IntegerRange type = dtype_range((DType)c->b);
    switch (c->op) {
    case C_CONST:
    case C_VIEW:
    case C_MIN:
    case C_MAX:
    case C_RELU:
    case C_SIGN:
    case C_WHERE: return true;
    case C_AS: return c->b == DT_BOOL || (type.low <= all.low && all.high <= type.high);
    default: return scalar_gives_truth(c->op);
    }
}
static IntegerRange ranges_joined(IntegerRange a, IntegerRange b) {
    return (IntegerRange){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}
static bool step_same_in_floats(const Step *s) {
    const Scalar store = {.op = C_AS, .b = (uint8_t)s->view[0].dtype};
    /* What its instructions read and give: also truth values and signs. */
    IntegerRange all = {0, 1};
    bool same = s->kind == S_EWISE && fits_16_bits(s->view[0].dtype);
    for (int k = 1; k < s->nview; k++) {
        same &= fits_16_bits(s->view[k].dtype);
        all = ranges_joined(all, dtype_range((DType)s->view[k].dtype));
    }
    for (int k = 0; k < s->ncode; k++) {
        if (s->code[k].op != C_CONST) continue;
        const double x = s->code[k].k;
        same &= fabs(x) <= 0x1p16 && x == floor(x);
        if (same) all = ranges_joined(all, (IntegerRange){(int64_t)x, (int64_t)x});
    }
    for (int k = 0; k < s->ncode; k++) same &= same_in_floats(&s->code[k], all);
    return same && same_in_floats(&store, all);
}

/* Whether the step stores sums of 8-bit integers as they are, so that floats read them like the
   accumulator. */
static bool plain_sums(const Step *s) {
    return step_has_zero(s) && s->ncode == 0 && s->view[0].dtype == DT_INT32;
}
/* Whether the value that `made` stores must be converted to the type of its result if the program
   of `reader` goes on in this arithmetic. */
static bool storing_converts(const Step *made, const Step *reader, Arithmetic a) {
    static const int whole[] = {
        [INT64] = DT_INT64, [UINT64] = DT_UINT64, [FLOAT32] = DT_FLOAT, [FLOAT64] = DT_DOUBLE};
    const int type = made->view[0].dtype;
    if (plain_sums(made)) return false;
    const Scalar *last = made->ncode ? &made->code[made->ncode - 1] : NULL;
    if (type == whole[a] || (last && scalar_gives_truth(last->op))) return false;
    if (last && last->op == C_VIEW && made->view[last->a].dtype == type) return false;
    return type_arithmetic(type) != FLOAT32 || reader->view[0].dtype != type;
}

/* ---- programs */

typedef struct FusedProgram {
    const Plan *plan;
    Arithmetic arithmetic;
    int nview, ncode;
    View view[VIEWS_MAX];
    Scalar code[STEP_CODE];
    /* full: the program has no room for an instruction or a view; views: known numbers stay views,
       instead of becoming constants. */
    bool full, views;
} FusedProgram;

static int program_view(FusedProgram *p, const View *v, int fixed) {
    for (int k = fixed; k < p->nview; k++)
        if (p->view[k].slot == v->slot && p->view[k].dtype == v->dtype && view_same(&p->view[k], v))
            return k;
    if (p->nview == VIEWS_MAX) p->full = true;
    else p->view[p->nview++] = *v;
    return p->nview - 1;
}

bool plan_number(const Plan *p, const View *v, double *k) {
    const void *data = v->slot >= 0 ? p->slot[v->slot].data : NULL;
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] != 1 && v->stride[a]) return false;
    if (!data || !type_arithmetic(v->dtype)) return false;
    return element_exact((DType)v->dtype, data, v->offset, k);
}

static int program_add(FusedProgram *p, Scalar c) {
    if (p->ncode == STEP_CODE) p->full = true;
    else p->code[p->ncode++] = c;
    return p->ncode - 1;
}

/* Appends the program of s; returns its last instruction. A read of the view `stands` (NULL: none)
   is replaced by instruction `acc`. Views below `fixed` are not shared with operands. */
static int program_append(FusedProgram *p, const Step *s, const View *stands, int acc, int fixed) {
    int number[STEP_CODE], last = -1;
    p->full |= s->ncode > STEP_CODE;
    for (int k = 0; k < s->ncode && !p->full; k++) {
        Scalar c = s->code[k];
        const View *v = c.op == C_VIEW ? &s->view[c.a] : NULL;
        bool is_acc = v ? stands && v->slot == stands->slot && view_same(v, stands) : false;
        if (v && !is_acc && !p->views && plan_number(p->plan, v, &c.k)) c.op = C_CONST, c.a = 0;
        else if (v && !is_acc) c.a = (uint8_t)program_view(p, v, fixed);
        else scalar_renumber(&c, number);
        last = number[k] = is_acc ? acc : program_add(p, c);
    }
    return last;
}

static void store_program(PlanBuild *b, Step *s, const FusedProgram *p) {
    s->nview = p->nview;
    s->ncode = p->ncode;
    s->view = arena_copy(b->arena, p->view, (size_t)p->nview * sizeof *p->view);
    s->code = arena_copy(b->arena, p->code, (size_t)p->ncode * sizeof *p->code);
}

/* Whether the program is valid: its result is its last instruction, and its views call for the
   arithmetic in which it was joined. */
static bool program_done(const FusedProgram *p, int last) {
    return !p->full && last == p->ncode - 1 && views_arithmetic(p->view, p->nview) == p->arithmetic;
}
/* The arithmetic in which both programs compute what each computes alone. */
static Arithmetic joined_arithmetic(const Step *made, const Step *reader) {
    const Arithmetic inner = views_arithmetic(made->view, made->nview),
                     outer = views_arithmetic(reader->view, reader->nview);
    if (inner == outer || (outer >= FLOAT32 && (step_same_in_floats(made) || plain_sums(made))))
        return outer;
    return NO_ARITHMETIC;
}
/* Given the instruction `inner` whose value `made` stores, returns the instruction whose value
   `reader` reads. */
static int program_store(FusedProgram *p, const Step *made, const Step *reader, int inner) {
    if (inner < 0 || !storing_converts(made, reader, p->arithmetic)) return inner;
    return program_add(
        p, (Scalar){.op = C_AS, .a = (uint8_t)inner, .b = (uint8_t)made->view[0].dtype});
}

/* Turns reader into one element-wise step that computes made and reader. */
static bool join_programs(Fuse *f, const Step *made, Step *reader) {
    FusedProgram p = {f->b->plan, joined_arithmetic(made, reader), .nview = 1,
                      .view = {reader->view[0]}};
    if (!p.arithmetic) return false;
    int inner = program_store(&p, made, reader, program_append(&p, made, NULL, -1, 1));
    if (!program_done(&p, program_append(&p, reader, &made->view[0], inner, 1))) return false;
    store_program(f->b, reader, &p);
    return true;
}

/* Turns reader into the step `made` with reader's program as its epilogue. */
static bool join_epilogue_with(Fuse *f, const Step *made, Step *reader, bool views) {
    int fixed = own_views(made), acc;
    FusedProgram p = {f->b->plan, joined_arithmetic(made, reader), .nview = fixed, .views = views};
    if (made->nview > VIEWS_MAX || !p.arithmetic) return false;
    memcpy(p.view, made->view, (size_t)fixed * sizeof *p.view);
    p.view[0] = reader->view[0];
    if (made->ncode) acc = program_append(&p, made, NULL, -1, fixed);
    else acc = program_add(&p, (Scalar){.op = C_ACC});
    acc = program_store(&p, made, reader, acc);
    if (!program_done(&p, program_append(&p, reader, &made->view[0], acc, fixed))) return false;
    Step joined = *made;
    store_program(f->b, &joined, &p);
    *reader = joined;
    return true;
}

/* Joins without views for known numbers if possible. Sums of 8-bit integers may need such a view,
   because only a view of floats makes the program compute in floats. */
static bool join_epilogue(Fuse *f, const Step *made, Step *reader) {
    return join_epilogue_with(f, made, reader, false) ||
           (step_has_zero(made) && join_epilogue_with(f, made, reader, true));
}

/* Turns known numbers that an element-wise step reads into constants of its program, unless no
   operand would remain. */
static void join_numbers(Fuse *f, Step *s) {
    FusedProgram p = {f->b->plan, views_arithmetic(s->view, s->nview), .nview = 1,
                      .view = {s->view[0]}};
    if (p.arithmetic && program_done(&p, program_append(&p, s, NULL, -1, 1)) && p.nview > 1)
        store_program(f->b, s, &p);
}

/* Turns a copy that only converts elements into an element-wise step. */
static void join_conversion(Fuse *f, Step *s) {
    static const Scalar read = {.op = C_VIEW, .a = 1};
    const View *y = &s->view[0], *x = &s->view[1];
    if (y->dtype == x->dtype || !views_arithmetic(s->view, s->nview) || y->rank != x->rank ||
        !view_gapless(y) || !view_gapless(x))
        return;
    s->kind = S_EWISE;
    s->ncode = 1;
    s->code = arena_copy(f->b->arena, &read, sizeof read);
}

/* ---- search */

static bool join_steps(Fuse *f, int m, int k) {
    Plan *p = f->b->plan;
    Step made = p->step[m].step, reader = p->step[k].step;
    if (!(made.kind == S_EWISE ? join_programs(f, &made, &reader)
                               : join_epilogue(f, &made, &reader)))
        return false;
    count_step(f, m, -1);
    count_step(f, k, -1);
    p->step[m].step.nview = 0; /* gone */
    p->step[k].step = reader;
    count_step(f, k, 1);
    return true;
}

/* Fuses one neighbour into step k: an element-wise one if there is any, else the latest other one,
   but no product or sum of constants into a step that is computed in each run. */
static bool join_one(Fuse *f, int k) {
    const PlanStep *steps = f->b->plan->step;
    const Step *s = &steps[k].step;
    int latest = -1;
    for (int j = 1; j < s->nview; j++) {
        int m = step_maker(f, k, j);
        if (m < 0) continue;
        if (steps[m].step.kind == S_EWISE && join_steps(f, m, k)) return true;
        if (takes_epilogue(&steps[m].step) && steps[m].once <= steps[k].once && m > latest)
            latest = m;
    }
    return latest >= 0 && join_steps(f, latest, k);
}

/* ---- readers of what several steps write in parts */

/* The reader as it would be if the part that `made` writes were all there is. The views of the
   reader are gapless and of one shape, so a part of one is the same part of the other. */
static Step reader_of_part(const Fuse *f, const Step *reader, const Step *made) {
    Step part = *reader;
    View *v = arena_copy(f->b->arena, reader->view, 2 * sizeof *v);
    const int64_t from = reader->view[1].offset, to = reader->view[0].offset;
    v[0] = v[1] = made->view[0];
    v[0].slot = reader->view[0].slot, v[0].dtype = reader->view[0].dtype;
    v[0].offset += to - from;
    part.view = v;
    return part;
}
/* A copy as an element-wise step, whose program only reads. */
static Step as_program(const Step *s) {
    static const Scalar read = {.op = C_VIEW, .a = 1};
    Step copy = *s;
    if (s->kind != S_COPY || s->view[0].dtype != s->view[1].dtype) return copy;
    copy.kind = S_EWISE, copy.ncode = 1, copy.code = &read;
    return copy;
}
static bool same_sizes(const View *a, const View *b) {
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}
/* Whether step k reads only one slot, element for element, that several steps write in parts. */
static bool reads_parts(const Fuse *f, int k) {
    const Plan *p = f->b->plan;
    const Step *s = &p->step[k].step;
    if (s->kind != S_EWISE || s->nview != 2) return false;
    const View *y = &s->view[0], *x = &s->view[1];
    const Slot *slot = &p->slot[x->slot];
    return !slot->data && slot->input < 0 && slot->output < 0 && f->uses.writers[x->slot] > 1 &&
           f->uses.readers[x->slot] == 1 && f->uses.writers[y->slot] == 1 && y->slot != x->slot &&
           view_gapless(x) && view_gapless(y) && same_sizes(x, y);
}
/* Lets all writers of the parts take over the program of step k, or none of them. */
static bool join_parts(Fuse *f, int k) {
    Plan *p = f->b->plan;
    const Step reader = p->step[k].step;
    const int slot = reader.view[1].slot, parts = f->uses.writers[slot];
    int at[PARTS_MAX], n = 0;
    Step joined[PARTS_MAX];
    int64_t left = view_count(&reader.view[1]);
    if (parts > PARTS_MAX) return false;
    for (int m = 0; m < k && n < parts; m++) {
        const Step made = as_program(&p->step[m].step);
        if (!made.nview || made.view[0].slot != slot || step_writes(&made) != 1) continue;
        if (!own_views(&made)) return false;
        at[n] = m, joined[n] = reader_of_part(f, &reader, &made);
        left -= view_count(&made.view[0]);
        if (!(made.kind == S_EWISE ? join_programs(f, &made, &joined[n])
                                   : join_epilogue(f, &made, &joined[n])))
            return false;
        n++;
    }
    if (n < parts || left != 0) return false;
    count_step(f, k, -1);
    p->step[k].step.nview = 0; /* gone */
    for (int i = 0; i < n; i++) {
        count_step(f, at[i], -1);
        p->step[at[i]].step = joined[i];
        count_step(f, at[i], 1);
    }
    for (int i = 0; i < n; i++)
        while (p->step[at[i]].step.kind == S_EWISE && join_one(f, at[i])) {}
    return true;
}

void plan_fuse(PlanBuild *b) {
    Plan *p = b->plan;
    ArenaMark mark = arena_mark(b->w->scratch);
    Fuse f = {.b = b};
    for (int k = 0; k < p->nstep; k++)
        if (p->step[k].step.kind == S_EWISE) join_numbers(&f, &p->step[k].step);
        else if (p->step[k].step.kind == S_COPY) join_conversion(&f, &p->step[k].step);
    f.uses = slot_uses_new(p, b->w->scratch, 0);
    plan_once(b);
    for (int k = 0; k < p->nstep; k++)
        while (p->step[k].step.kind == S_EWISE && join_one(&f, k)) {}
    for (int k = 0; k < p->nstep; k++)
        if (reads_parts(&f, k)) join_parts(&f, k);
    plan_drop_gone(p);
    arena_reset(b->w->scratch, mark);
}
