/* plan_text.c -- prints steps and plans as text, and says what a step costs in operations and
   bytes, judging by its kind and sizes. */
#include "graphs/plan/plan_inner.h"
#include <inttypes.h>
#include <string.h>

static const char *const kind_name[] = {
#define X(id, name) [id] = name,
    STEP_KINDS(X)
#undef X
};
static const struct {
    const char *name;
    char operands;
} scalar[] = {
#define X(id, name, operands) [id] = {name, operands},
    SCALAR_OPS(X)
#undef X
};
enum { PARAMS_PRINTED = 40 };

const char *step_kind_name(StepKind kind) { return kind_name[kind]; }

/* ---- views */

static double view_elements(const View *v) {
    double n = 1;
    for (int k = 0; k < v->rank; k++) n *= (double)v->dim[k];
    return n;
}

/* The number of elements of a view, with repeated ones counted once. */
static double distinct(const View *v) {
    double n = 1;
    for (int k = 0; k < v->rank; k++) n *= v->stride[k] || !v->dim[k] ? (double)v->dim[k] : 1;
    return n;
}

/* A step of an operator has the number in its first parameter. */
int step_writes(const Step *s) { return s->kind == S_OP ? (int)s->param[OP_OUTPUTS] : 1; }

/* ---- cost */

/* The number of instructions of the step's program that compute something. */
static int operations(const Step *s) {
    int n = 0;
    for (int k = 0; k < s->ncode; k++) n += scalar_values(s->code[k].op) > 0;
    return n;
}

/* The operations of a step of attention (plan_attention.c) for one element of y, two products and a
   softmax, or of a turn (plan_rotate.c) for a pair. < 0: another operator. */
static double op_flops(const Step *s) {
    if (step_is_rotate(s)) return 6;
    if (!step_is_sdpa(s)) return -1;
    const double keys = (double)s->view[ATTENTION_K].dim[2],
                 d = (double)s->view[ATTENTION_Q].dim[3];
    return 2 * keys + (2 * d + 5) * keys / (double)s->view[0].dim[3];
}
/* The operations for one element of the result before the epilogue; < 0 if the kind does not
   tell. */
static double element_flops(const Step *s) {
    const View *v = s->view;
    double n = 1;
    switch (s->kind) {
    case S_GEMM: return 2 * (double)v[1].dim[v[1].rank - 1];
    case S_CONV:
        for (int k = 1; k < v[2].rank; k++) n *= (double)v[2].dim[k];
        return 2 * n;
    case S_POOL:
        for (int k = 0; k < step_spatial_axes(s); k++) n *= (double)s->param[POOL_KERNEL + k];
        return n;
    case S_REDUCE:
        return view_elements(&v[0]) > 0 ? view_elements(&v[1]) / view_elements(&v[0]) : 0;
    case S_SOFTMAX: return 5;
    case S_OP: return op_flops(s);
    case S_LOOP: return -1;
    default: return 0;
    }
}

double step_flops(const Step *s) {
    double n = element_flops(s);
    return n < 0 ? n : (n + operations(s)) * view_elements(&s->view[0]);
}

double step_bytes(const Step *s) {
    double n = 0;
    for (int k = 0; k < s->nview; k++)
        n += distinct(&s->view[k]) * (double)dtype_bits((DType)s->view[k].dtype) / 8;
    return n;
}

/* ---- text */

static void print_list(const int64_t *v, int n, Text *t) {
    text_add(t, "[");
    for (int k = 0; k < n; k++) text_add(t, k ? ",%" PRId64 : "%" PRId64, v[k]);
    text_add(t, "]");
}

/* Prints the type and sizes of a view, and the strides unless it is dense. */
static void print_view(const View *v, Text *t) {
    text_add(t, "%s", dtype_name((DType)v->dtype));
    print_list(v->dim, v->rank, t);
    if (v->format) text_add(t, "f%d", (int)v->format);
    if (view_gapless(v)) return;
    View s = *v;
    for (int k = 0; k < s.rank; k++)
        if (s.dim[k] == 1) s.stride[k] = 0;
    text_add(t, ":");
    print_list(s.stride, s.rank, t);
}

static void print_code(const Step *s, Text *t) {
    text_add(t, " {");
    for (int k = 0; k < s->ncode; k++) {
        const Scalar *c = &s->code[k];
        text_add(t, "%s%s", k ? "; " : "", scalar[c->op].name);
        switch (scalar[c->op].operands) {
        case 'k': text_add(t, " %.17g", c->k); break;
        case '3': text_add(t, " %d %d %d", c->a, c->b, c->c); break;
        case '2': text_add(t, " %d %d", c->a, c->b); break;
        case 't': text_add(t, " %d %s", c->a, dtype_name((DType)c->b)); break;
        case '1':
        case 'v': text_add(t, " %d", c->a); break;
        default: break;
        }
    }
    text_add(t, "}");
}

static void print_params(const Step *s, Text *t) {
    char hash[33];
    text_add(t, " ");
    if (s->nparam <= PARAMS_PRINTED) {
        print_list(s->param, s->nparam, t);
        return;
    }
    hash_hex(s->param, (size_t)s->nparam * sizeof *s->param, hash);
    text_add(t, "#%s", hash);
}

/* Prints neither slots nor offsets. */
void step_print(const Step *s, Text *t) {
    text_add(t, "%s", kind_name[s->kind]);
    if (s->op) text_add(t, " %s", s->op);
    for (int k = 0; k < s->nview; k++) text_add(t, " "), print_view(&s->view[k], t);
    if (s->nparam) print_params(s, t);
    if (s->ncode) print_code(s, t);
}

static void print_slot(const Plan *p, int k, Text *t) {
    const Slot *s = &p->slot[k];
    text_add(t, "  slot %d: %" PRId64 " bytes", k, s->bytes);
    if (s->data) text_add(t, ", constant");
    if (s->input >= 0) text_add(t, ", input %d", s->input);
    if (s->output >= 0) text_add(t, ", output %d", s->output);
    if (s->arena_offset >= 0) text_add(t, ", at %" PRId64, s->arena_offset);
    text_add(t, "\n");
}

void plan_print(World *w, const Plan *p, Text *t) {
    text_add(t, "plan: %d step%s, %d slot%s, %" PRId64 " bytes of work memory\n", p->nstep,
             p->nstep == 1 ? "" : "s", p->nslot, p->nslot == 1 ? "" : "s", p->work_bytes);
    for (int k = 0; k < p->nslot; k++) print_slot(p, k, t);
    for (int k = 0; k < p->nstep; k++) {
        const PlanStep *s = &p->step[k];
        text_add(t, "  %d%s %s:", k, s->once ? " once" : "", node_get(w, s->node).op->name);
        for (int j = 0; j < s->step.nview; j++)
            text_add(t, " %d+%" PRId64, (int)s->step.view[j].slot, s->step.view[j].offset);
        text_add(t, " | ");
        step_print(&s->step, t);
        text_add(t, "\n");
    }
}
