/* source.c -- writes the text of the kernel for a step: decides which steps have one, and writes
   the frame around what the files for the kinds of steps write. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cuda/generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Which steps have kernels. */
static bool types_fit(const Step *s) {
    for (int k = 0; k < s->nview; k++)
        if (s->view[k].rank >= 0 && !source_element_bytes(s->view[k].dtype)) return false;
    return s->nview >= 1 && s->nview <= VIEWS_MOST && s->view[0].rank >= 0;
}
int source_variants(const Step *s) {
    if (!types_fit(s) || step_has_zero(s)) return 0;
    switch (s->kind) {
    case S_EWISE:
    case S_COPY:
    case S_FILL: return flat_variants(s);
    case S_GEMM:
    case S_CONV: return product_variants(s);
    case S_REDUCE:
    case S_SOFTMAX: return rows_variants(s);
    case S_SAMPLE: return sample_variants(s);
    case S_POOL: return 1;
    case S_ROWS: return chain_variants(s);
    case S_LOOP: return loop_variants(s);
    case S_OP: return attention_variants(s);
    default: return 0;
    }
}

/* The class of the step's program: the widest of the output, the operands of an accumulator, and
   the views that the program reads. */
static char program_class(const Step *s) {
    const int own = s->kind == S_GEMM || s->kind == S_CONV     ? 2
                    : s->kind == S_POOL || s->kind == S_REDUCE ? 1
                                                               : 0;
    char class = class_with(sum_class(s, own), s->view[0].dtype);
    for (int i = 0; i < s->ncode; i++)
        if (s->code[i].op == C_VIEW) class = class_with(class, s->view[s->code[i].a].dtype);
    return class;
}

/* Whether all offsets within views, and the counts of elements, are so small that 32 bits hold
   them. */
static bool is_small(const Step *s) {
    for (int k = 0; k < s->nview; k++) {
        const View *v = &s->view[k];
        double reach = 0, n = 1;
        for (int a = 0; a < v->rank; a++) {
            reach += (double)v->dim[a] * (v->stride[a] < 0 ? -1.0 : 1.0) * (double)v->stride[a];
            n *= (double)v->dim[a];
        }
        if (reach > 0x1p30 || n > 0x1p30) return false;
    }
    return true;
}

static void head(Gen *g) {
    const Step *s = g->step;
    const bool small = is_small(s);
    bool alone = true; /* no other view is in the slot of the output */
    for (int k = 1; k < s->nview; k++) alone = alone && s->view[k].slot != s->view[0].slot;
    const int written = s->kind == S_OP ? (int)s->param[OP_OUTPUTS] : 1;
    const char *own = alone ? " RESTRICT" : "", *views = "";
    for (int k = 0; k < s->nview; k++)
        views = say(g, "%s%s%s%s *%s v%d", views, k ? ", " : "", k < written ? "" : "const ",
                    s->view[k].rank < 0 ? "void" : type_name(s->view[k].dtype), own, k);
    if (s->kind == S_SAMPLE) views = say(g, "%s, const i64 *RESTRICT table", views);
    line(g, "typedef %s place_t;", small ? "int" : "i64");
    line(g, "typedef %s count_t;", small ? "u32" : "u64");
    line(g, "KERNEL void k(%s)", views);
    line(g, "{");
}

static void body(Gen *g, int variant) {
    switch (g->step->kind) {
    case S_GEMM:
    case S_CONV: product_write(g, variant); break;
    case S_POOL: window_pool(g); break;
    case S_REDUCE:
    case S_SOFTMAX: rows_write(g, variant); break;
    case S_SAMPLE: sample_write(g); break;
    case S_ROWS: chain_write(g, variant); break;
    case S_LOOP: loop_write(g); break;
    case S_OP: attention_write(g, variant); break;
    default: flat_write(g, variant);
    }
}

static bool nothing_to_do(const Step *s) {
    for (int a = 0; a < s->view[0].rank; a++)
        if (s->view[0].dim[a] == 0) return true;
    return false;
}

bool source_write(const Step *s, int variant, KernelSource *o, char *why, size_t n) {
    *o = (KernelSource){0};
    if (variant < 0 || variant >= source_variants(s))
        return snprintf(why, n, "there is no generated kernel for this step"), false;
    Gen g = {.step = s, .out = o, .class = program_class(s)};
    if (!nothing_to_do(s)) {
        head(&g);
        body(&g, variant);
        line(&g, "}");
    }
    said_free(&g);
    if (!o->failed) return true;
    free(o->text);
    return snprintf(why, n, "out of memory for the text of a kernel"), false;
}
