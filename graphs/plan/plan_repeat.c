/* plan_repeat.c -- computes once what repeats along an axis.

   Before fusion, an element-wise step whose operands all repeat along some axes computes only one
   element along these; the readers of its result read this element repeatedly. After fusion, a part
   of a program that reads constants alone, such as the square root of a variance, becomes a step of
   its own if it repeats along some axis of the result; the step runs once, when the runner is made.
   A quotient by a square root that repeats becomes a product with its reciprocal, which is within
   two units in the last place. */
#include "graphs/plan/plan_inner.h"
#include <string.h>

/* ---- steps */
static bool repeats_along(const Step *s, int axis) {
    for (int j = 1; j < s->nview; j++)
        if (s->view[j].rank != s->view[0].rank || s->view[j].stride[axis] != 0) return false;
    return s->view[0].dim[axis] > 1;
}
/* The dense view that y becomes with size 1 along the axes `repeated`. */
static View collapsed(const View *y, const bool repeated[]) {
    View v = *y;
    int64_t next = 1;
    for (int a = y->rank - 1; a >= 0; a--) {
        if (repeated[a]) v.dim[a] = 1;
        v.stride[a] = next;
        next *= v.dim[a];
    }
    return v;
}
/* The axis of y that a view of y walks with this stride; -1 if it walks several joined axes. */
static int axis_walked(const View *y, int64_t stride, int64_t size) {
    for (int a = 0; a < y->rank; a++)
        if (y->dim[a] > 1 && y->stride[a] == stride && size <= y->dim[a]) return a;
    return -1;
}
/* Turns v, a view of y, into a view of `few`, to which y is collapsed. Returns false if v does not
   walk along y's axes. */
static bool view_again(const View *v, const View *y, const View *few, const bool repeated[],
                       View *out) {
    int64_t rest = v->offset, end[STEP_RANK]; /* last index of the walk along each axis of y */
    *out = *v;
    out->offset = 0;
    for (int a = 0; a < y->rank; a++) {
        end[a] = 0;
        if (y->dim[a] == 1) continue;
        end[a] = rest / y->stride[a];
        if (!repeated[a]) out->offset += end[a] * few->stride[a];
        rest %= y->stride[a];
    }
    for (int k = 0; k < v->rank; k++) {
        if (v->dim[k] <= 1 || v->stride[k] == 0) continue;
        const int a = axis_walked(y, v->stride[k], v->dim[k]);
        if (a < 0 || (end[a] += v->dim[k] - 1) >= y->dim[a]) return false;
        out->stride[k] = repeated[a] ? 0 : few->stride[a];
    }
    return true;
}
/* Whether the device computes s, a product of 8-bit integers, from the collapsed result, too. */
static bool takes_again(const PlanBuild *b, const Step *s, const View *y, const View *few,
                        const bool repeated[]) {
    if (!step_has_zero(s) || !b->device) return true;
    View *v = arena_copy(b->arena, s->view, (size_t)s->nview * sizeof *v);
    for (int j = 1; j < s->nview; j++)
        if (v[j].slot == y->slot) view_again(&s->view[j], y, few, repeated, &v[j]);
    Step again = *s;
    again.view = v;
    return b->device->backend->choices(b->device->device, &again) > 0;
}
/* Whether the result of step k is written by this step alone and all its readers can read the
   collapsed result. */
static bool can_collapse(const PlanBuild *b, int k, const bool repeated[]) {
    const Plan *p = b->plan;
    const View *y = &p->step[k].step.view[0];
    const View few = collapsed(y, repeated);
    const Slot *slot = &p->slot[y->slot];
    View again;
    if (slot->data || slot->input >= 0 || slot->output >= 0 || y->offset != 0 || !view_gapless(y))
        return false;
    for (int i = 0; i < p->nstep; i++) {
        const Step *s = &p->step[i].step;
        bool reads = false;
        for (int j = 0; j < s->nview; j++) {
            const View *v = &s->view[j];
            if (v->slot != y->slot || (i == k && j == 0)) continue;
            if (j < step_writes(s) || i <= k || !view_again(v, y, &few, repeated, &again))
                return false;
            reads = true;
        }
        if (reads && !takes_again(b, s, y, &few, repeated)) return false;
    }
    return true;
}
static bool names_slot(const Step *s, int slot) {
    for (int j = 0; j < s->nview; j++)
        if (s->view[j].slot == slot) return true;
    return false;
}
static void collapse_step(PlanBuild *b, int k, const bool repeated[]) {
    Plan *p = b->plan;
    const View y = p->step[k].step.view[0], few = collapsed(&y, repeated);
    for (int i = k; i < p->nstep; i++) {
        Step *s = &p->step[i].step;
        if (!names_slot(s, y.slot)) continue;
        View *v = arena_copy(b->arena, s->view, (size_t)s->nview * sizeof *v);
        for (int j = 0; j < s->nview; j++) {
            for (int a = 0; i == k && a < v[j].rank; a++)
                if (repeated[a]) v[j].dim[a] = 1;
            if (i > k && v[j].slot == y.slot) view_again(&s->view[j], &y, &few, repeated, &v[j]);
        }
        if (i == k) v[0] = few;
        s->view = v;
    }
}
void plan_collapse(PlanBuild *b) {
    Plan *p = b->plan;
    for (int k = 0; k < p->nstep; k++) {
        const Step *s = &p->step[k].step;
        bool repeated[STEP_RANK] = {false}, any = false;
        if (s->kind != S_EWISE || view_count(&s->view[0]) == 0) continue;
        for (int a = 0; a < s->view[0].rank; a++) any |= repeated[a] = repeats_along(s, a);
        if (any && can_collapse(b, k, repeated)) collapse_step(b, k, repeated);
    }
}

/* ---- parts of programs */
enum { PART_VIEWS = 96, PARTS = 16 };
typedef struct Parts {
    bool constant[STEP_CODE]; /* the value depends on constants and numbers alone, among them a
                                 constant */
    bool number[STEP_CODE];   /* the value depends on numbers alone */
    bool along[STEP_CODE][STEP_RANK]; /* the value varies along the axis */
} Parts;

static void mark_view(const bool constant[], const Step *s, int i, Parts *parts) {
    const Scalar *c = &s->code[i];
    parts->number[i] = c->op == C_CONST;
    if (c->op != C_VIEW) return;
    const View *v = &s->view[c->a];
    parts->constant[i] =
        v->slot >= 0 && constant[v->slot] && v->dtype == DT_FLOAT && v->rank == s->view[0].rank;
    for (int a = 0; a < v->rank; a++) parts->along[i][a] = v->dim[a] > 1 && v->stride[a] != 0;
}
static void mark_value(const Step *s, int i, Parts *parts) {
    const Scalar *c = &s->code[i];
    const int n = scalar_values(c->op), from[] = {c->a, c->b, c->c};
    bool known = n > 0, view = false;
    for (int k = 0; k < n; k++) {
        known &= parts->constant[from[k]] || parts->number[from[k]];
        view |= parts->constant[from[k]];
        for (int a = 0; a < STEP_RANK; a++) parts->along[i][a] |= parts->along[from[k]][a];
    }
    parts->constant[i] = known && view, parts->number[i] = known && !view;
}
static bool repeats(const Step *s, const bool along[]) {
    for (int a = 0; a < s->view[0].rank; a++)
        if (s->view[0].dim[a] > 1 && !along[a]) return true;
    return false;
}
/* Whether value i is worth a step of its own: it is more than a view, it repeats, and a value that
   is not constant reads it. */
static bool worth_a_step(const Step *s, const Parts *parts, int i) {
    if (!parts->constant[i] || scalar_values(s->code[i].op) == 0 || !repeats(s, parts->along[i]))
        return false;
    for (int j = i + 1; j < s->ncode; j++) {
        const Scalar *c = &s->code[j];
        const int n = scalar_values(c->op), from[] = {c->a, c->b, c->c};
        for (int k = 0; k < n; k++)
            if (from[k] == i && !parts->constant[j]) return true;
    }
    return false;
}
/* Copies the instructions that value i needs, i being the last one; returns their number. */
static int copy_part(const Step *s, int i, Scalar code[]) {
    bool needed[STEP_CODE] = {false};
    int number[STEP_CODE], n = 0;
    needed[i] = true;
    for (int j = i; j >= 0; j--) {
        const int values = needed[j] ? scalar_values(s->code[j].op) : 0;
        const int from[] = {s->code[j].a, s->code[j].b, s->code[j].c};
        for (int k = 0; k < values; k++) needed[from[k]] = true;
    }
    for (int j = 0; j <= i; j++) {
        if (!needed[j]) continue;
        code[n] = s->code[j];
        scalar_renumber(&code[n], number);
        number[j] = n++;
    }
    return n;
}
/* Stores the views that the program reads, each once, at kept[1] and further on, and renumbers them
   in the program. Returns their number, with view 0. */
static int keep_views(Scalar code[], int ncode, const View v[], View kept[]) {
    int number[PART_VIEWS] = {0}, n = 1;
    for (int j = 0; j < ncode; j++) {
        if (code[j].op != C_VIEW) continue;
        if (!number[code[j].a]) number[code[j].a] = n, kept[n++] = v[code[j].a];
        code[j].a = (uint8_t)number[code[j].a];
    }
    return n;
}
/* Makes the step that computes value i of s once. *seen becomes its result as a view with the sizes
   of s. */
static Step part_step(PlanBuild *b, const Step *s, const bool along[], int i, View *seen) {
    Scalar code[STEP_CODE];
    View *v = ARENA_NEW(b->arena, View, s->nview);
    bool repeated[STEP_RANK] = {false};
    Step made = {.kind = S_EWISE, .nview = s->nview, .ncode = copy_part(s, i, code)};
    for (int a = 0; a < s->view[0].rank; a++) repeated[a] = !along[a];
    View whole = view_dense(0, DT_FLOAT, s->view[0].rank, s->view[0].dim);
    v[0] = collapsed(&whole, repeated);
    v[0].slot = plan_slot(b, (Slot){view_count(&v[0]) * (int64_t)sizeof(float),
                                    b->plan->slot[s->view[0].slot].value, NULL, -1, -1, -1});
    made.nview = keep_views(code, made.ncode, s->view, v);
    for (int k = 1; k < made.nview; k++)
        for (int a = 0; a < v[k].rank; a++)
            if (repeated[a]) v[k].dim[a] = 1;
    made.view = v;
    made.code = arena_copy(b->arena, code, (size_t)made.ncode * sizeof *code);
    *seen = v[0];
    memcpy(seen->dim, whole.dim, sizeof seen->dim);
    for (int a = 0; a < seen->rank; a++)
        if (repeated[a]) seen->stride[a] = 0;
    return made;
}
/* Stores the program of s without the instructions and views that are no longer needed. */
static void store_rest(PlanBuild *b, Step *s, const Scalar code[], const View v[]) {
    Scalar rest[STEP_CODE];
    View *kept = ARENA_NEW(b->arena, View, PART_VIEWS);
    Step whole = *s;
    whole.code = code;
    kept[0] = v[0];
    s->ncode = copy_part(&whole, s->ncode - 1, rest);
    s->nview = keep_views(rest, s->ncode, v, kept);
    s->code = arena_copy(b->arena, rest, (size_t)s->ncode * sizeof *rest);
    s->view = kept;
}
/* Whether instruction i is a float32 quotient by a square root that repeats along some axis,
   whereas the dividend does not. */
static bool is_by_root(const Step *s, const Parts *parts, int i) {
    const Scalar *c = &s->code[i];
    return s->view[0].dtype == DT_FLOAT && c->op == C_DIV && s->code[c->b].op == C_SQRT &&
           repeats(s, parts->along[c->b]) && !repeats(s, parts->along[c->a]);
}
/* Turns such quotients into products; each takes two more instructions. */
static void turn_roots(PlanBuild *b, const Parts *parts, Step *s) {
    Scalar code[STEP_CODE];
    int number[STEP_CODE], n = 0, turned = 0;
    for (int i = 0; i < s->ncode; i++) turned += is_by_root(s, parts, i);
    if (!turned || s->ncode + 2 * turned > STEP_CODE) return;
    for (int i = 0; i < s->ncode; i++) {
        Scalar c = s->code[i];
        scalar_renumber(&c, number);
        if (is_by_root(s, parts, i)) {
            code[n] = (Scalar){.op = C_CONST, .k = 1};
            code[n + 1] = (Scalar){.op = C_DIV, .a = (uint8_t)n, .b = c.b};
            n += 2;
            c.op = C_MUL, c.b = (uint8_t)(n - 1);
        }
        code[n] = c;
        number[i] = n++;
    }
    s->code = arena_copy(b->arena, code, (size_t)n * sizeof *code);
    s->ncode = n;
}
static bool of_single_floats(const Step *s) {
    if (s->kind != S_EWISE || s->ncode > STEP_CODE || s->nview > PART_VIEWS / 2) return false;
    for (int j = 0; j < s->nview; j++)
        if (s->view[j].dtype == DT_DOUBLE) return false;
    return true;
}
static void mark_all(const bool constant[], const Step *s, Parts *parts) {
    memset(parts, 0, sizeof *parts);
    for (int i = 0; i < s->ncode; i++) {
        if (scalar_values(s->code[i].op) == 0) mark_view(constant, s, i, parts);
        else mark_value(s, i, parts);
    }
}
/* Splits from s at most PARTS steps that must run before it; returns their number. */
static int split_step(PlanBuild *b, const bool constant[], Step *s, Step out[]) {
    Parts parts;
    Scalar code[STEP_CODE];
    View v[PART_VIEWS];
    int n = 0, nview = s->nview;
    mark_all(constant, s, &parts);
    turn_roots(b, &parts, s);
    mark_all(constant, s, &parts);
    memcpy(code, s->code, (size_t)s->ncode * sizeof *code);
    memcpy(v, s->view, (size_t)nview * sizeof *v);
    for (int i = 0; i < s->ncode && n < PARTS; i++) {
        if (!worth_a_step(s, &parts, i)) continue;
        out[n++] = part_step(b, s, parts.along[i], i, &v[nview]);
        code[i] = (Scalar){.op = C_VIEW, .a = (uint8_t)nview++};
    }
    if (n) store_rest(b, s, code, v);
    return n;
}
/* The slots that hold constants, or what steps that run once made. */
static bool *constant_slots(PlanBuild *b) {
    const Plan *p = b->plan;
    bool *constant = ARENA_NEW(b->w->scratch, bool, p->nslot);
    for (int k = 0; k < p->nslot; k++) constant[k] = p->slot[k].data != NULL;
    for (int k = 0; k < p->nstep; k++)
        if (p->step[k].once) constant[p->step[k].step.view[0].slot] = true;
    return constant;
}
void plan_split_constants(PlanBuild *b) {
    Plan *p = b->plan;
    const PlanStep *before = p->step;
    const int steps = p->nstep;
    bool *constant = constant_slots(b);
    p->step = NULL, p->nstep = b->room_steps = 0;
    for (int k = 0; k < steps; k++) {
        Step parts[PARTS];
        PlanStep whole = before[k];
        const bool empty = view_count(&whole.step.view[0]) == 0; /* its constants may be, too */
        const int n = !whole.once && !empty && of_single_floats(&whole.step)
                          ? split_step(b, constant, &whole.step, parts)
                          : 0;
        ARENA_GROW(b->arena, p->step, b->room_steps, p->nstep + n + 1);
        for (int i = 0; i < n; i++)
            p->step[p->nstep++] = (PlanStep){.step = parts[i], .node = whole.node, .once = true};
        p->step[p->nstep++] = whole;
    }
}
