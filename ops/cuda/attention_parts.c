/* attention_parts.c -- takes the step "sdpa" (graphs/plan/plan_attention.c) apart again: a product,
   a softmax over rows that includes the scale and the mask, and another product. All scores are in
   memory at once, which the single kernel (attention.c) avoids, but the products can be those of a
   library. */
#include "ops/cuda/attention_parts.h"
#include "ops/backend/isomer_op_steps.h"
#include "ops/cuda/generate.h"
#include <math.h>
#include <string.h>

enum { ALIGNMENT = 256 };

static View without_offset(const Step *s, int k) {
    View v = s->view[k];
    v.slot = k, v.offset = 0;
    return v;
}
static View scores_view(const Step *s) {
    const View *q = &s->view[ATTENTION_Q], *k = &s->view[ATTENTION_K];
    View v = {.slot = s->nview, .dtype = q->dtype, .rank = 4};
    int64_t stride = 1;
    for (int a = 0; a < 3; a++) v.dim[a] = q->dim[a];
    v.dim[3] = k->dim[2];
    for (int a = 3; a >= 0; stride *= v.dim[a--]) v.stride[a] = stride;
    return v;
}
static View turned(View v) {
    const int64_t dim = v.dim[2], stride = v.stride[2];
    v.dim[2] = v.dim[3], v.stride[2] = v.stride[3];
    return v.dim[3] = dim, v.stride[3] = stride, v;
}
static bool fits(const Step *s) {
    if (!step_is_sdpa(s) || s->nparam != SDPA_PARAMS) return false;
    for (int a = 0; a < 2; a++) /* equally many batches and heads */
        if (s->view[ATTENTION_K].dim[a] != s->view[ATTENTION_Q].dim[a] ||
            s->view[ATTENTION_V].dim[a] != s->view[ATTENTION_Q].dim[a])
            return false;
    return s->nview <= ATTENTION_MASK || s->view[ATTENTION_MASK].rank == 4 ||
           s->view[ATTENTION_MASK].rank < 0;
}
/* Writes the instructions of the softmax; returns how many there are. */
static int write_softmax(Scalar code[], double scale, bool mask, bool mended) {
    int n = 0;
    code[n++] = (Scalar){.op = C_VIEW, .a = 1};
    if (scale != 1) {
        code[n] = (Scalar){.op = C_CONST, .k = scale};
        code[n + 1] = (Scalar){.op = C_MUL, .a = 0, .b = 1};
        n += 2;
    }
    if (mask) {
        code[n] = (Scalar){.op = C_VIEW, .a = 2};
        code[n + 1] = (Scalar){.op = C_ADD, .a = (uint8_t)(n - 1), .b = (uint8_t)n};
        n += 2;
    }
    const uint8_t x = (uint8_t)(n - 1), most = (uint8_t)n;
    code[n++] = (Scalar){.op = C_ROW_MAX, .a = x};
    code[n++] = (Scalar){.op = C_SUB, .a = x, .b = most};
    code[n++] = (Scalar){.op = C_EXP, .a = (uint8_t)(most + 1)};
    code[n++] = (Scalar){.op = C_ROW_SUM, .a = (uint8_t)(most + 2)};
    code[n++] = (Scalar){.op = C_DIV, .a = (uint8_t)(most + 2), .b = (uint8_t)(most + 3)};
    if (!mended) return n;
    const uint8_t share = (uint8_t)(n - 1);
    code[n++] = (Scalar){.op = C_ISNAN, .a = share};
    code[n++] = (Scalar){.op = C_CONST};
    code[n++] =
        (Scalar){.op = C_WHERE, .a = (uint8_t)(share + 1), .b = (uint8_t)(share + 2), .c = share};
    return n;
}

bool attention_parts(const Step *s, AttentionParts *p) {
    if (s->nview <= ATTENTION_V || !fits(s)) return false;
    const bool mask = s->nview > ATTENTION_MASK && s->view[ATTENTION_MASK].rank >= 0;
    double scale = param_real(s->param[ATTENTION_SCALE]);
    if (scale == 0) scale = 1 / sqrt((double)s->view[ATTENTION_Q].dim[3]);
    const View scores = scores_view(s);
    p->view[0] = scores, p->view[1] = without_offset(s, ATTENTION_Q);
    p->view[2] = turned(without_offset(s, ATTENTION_K));
    p->view[3] = p->view[4] = scores;
    if (mask) p->view[5] = without_offset(s, ATTENTION_MASK);
    p->view[6] = without_offset(s, ATTENTION_Y), p->view[7] = scores,
    p->view[8] = without_offset(s, ATTENTION_V);
    p->rows = 1; /* the last axis is a row */
    p->step[0] = (Step){.kind = S_GEMM, .nview = 3, .view = &p->view[0]};
    p->step[1] = (Step){.kind = S_ROWS,
                        .nview = 2 + mask,
                        .nparam = 1,
                        .view = &p->view[3],
                        .param = &p->rows,
                        .code = p->code};
    p->step[1].ncode = write_softmax(p->code, scale, mask, s->param[SDPA_UNSEEN] == UNSEEN_MENDED);
    p->step[2] = (Step){.kind = S_GEMM, .nview = 3, .view = &p->view[6]};
    const size_t bytes = sizeof(float) * (size_t)dims_product(&scores, 0, scores.rank);
    p->scores = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}
