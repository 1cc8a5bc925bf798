/* line.c -- joins chains of instructions of an element-wise program into one pass.

   A chain adds a number to a varying value, multiplies it by up to two numbers, adds another and
   limits the result to a range: ((x - k0) * k1) * k2 + k3, as normalizations and their scales do,
   then the maximum and the minimum with constants. The numbers must be invariant along the row. If
   a tile spans several rows, they must be sources, the rows long enough, and there are no limits.
   The pass rounds after each operation, as the chain does, so results do not change; for this
   reason divisions are not replaced by products. */
#include "ops/cpu/vector.h"
#include <math.h>

/* Whether a value is a number of each row. */
static bool is_number(const Vector *v, int i) {
    const Instruction *c = &v->code[i];
    if (!v->rows_axis) return c->invariance != VARIES;
    return c->source && (v->source[c->a].by_row || v->source[c->a].once);
}
/* Matches a sum or product of a varying value and a number, and enters the number at `place` of the
   line. *rest is the varying value. */
static bool take_member(const Vector *v, const Scalar *c, bool sum, int place, Line *line,
                        int *rest) {
    const int ops[] = {sum ? C_ADD : C_MUL, sum ? C_SUB : C_MUL};
    if (c->op != ops[0] && c->op != ops[1]) return false;
    const bool left = is_number(v, c->a), right = is_number(v, c->b), second = right && !left,
               first = left && !right && c->op != C_SUB;
    if (!first && !second) return false;
    line->number[place] = first ? c->a : c->b;
    line->negative[place] = sum && (c->op == C_ADD) == (place == 0);
    *rest = first ? c->b : c->a;
    return true;
}
/* Matches the maximum or minimum of a varying value, *rest, and a constant, *limit. */
static bool take_limit(const Vector *v, const Scalar *c, int op, float *limit, int *rest) {
    if (c->op != op) return false;
    for (int swap = 0; swap < 2; swap++) {
        const int varying = swap ? c->b : c->a, number = swap ? c->a : c->b;
        const Instruction *source = &v->code[number];
        if (v->code[varying].invariance != VARIES || !source->source ||
            !v->source[source->a].literal || isnan(v->source[source->a].k))
            continue;
        *limit = (float)v->source[source->a].k, *rest = varying;
        return true;
    }
    return false;
}
typedef struct Chain {
    Line line;
    int member[LINE + 2], n, at; /* at: the value that the next member must compute */
} Chain;
static bool may_join(const Vector *v, const int reads[], const Chain *chain) {
    const Instruction *c = &v->code[chain->at];
    return !c->source && !c->absorbed && !c->joined && !c->line &&
           (!chain->n || reads[chain->at] == 1);
}
/* Takes the limits at the end of a chain. A minimum and then a maximum are a range, too, if the
   limits are in order. */
static void take_limits(const Vector *v, const Scalar code[], const int reads[], Chain *chain) {
    static const int order[] = {C_MIN, C_MAX, C_MIN};
    Line *l = &chain->line;
    bool low = false, high = false;
    for (int k = 0; k < 3 && may_join(v, reads, chain); k++) {
        float limit;
        int rest;
        const bool least = order[k] == C_MAX;
        if ((least ? low : high) || !take_limit(v, &code[chain->at], order[k], &limit, &rest))
            continue;
        if (!least && low && limit < l->low) return;
        if (least) l->low = limit, low = true;
        else l->high = limit, high = true;
        chain->member[chain->n++] = chain->at, chain->at = rest;
    }
}
/* Whether a chain of one member is worth a pass: if its number is not a constant, it would have to
   be copied along the row. */
static bool varies_by_row(const Vector *v, const Line *l) {
    for (int k = 0; k < LINE; k++) {
        const Instruction *c = l->number[k] < 0 ? NULL : &v->code[l->number[k]];
        if (c && (v->rows_axis ? v->source[c->a].by_row : c->invariance == INVARIANT_ALONG))
            return true;
    }
    return false;
}
/* Joins the chain that ends with instruction i. The inner instructions must have no other
   readers. */
static void join_at(Build *b, Vector *v, const Scalar code[], const int reads[], int i) {
    Chain chain = {.line = {.number = {-1, -1, -1, -1}, .low = -INFINITY, .high = INFINITY},
                   .at = i};
    if (!v->rows_axis) take_limits(v, code, reads, &chain);
    const int limits = chain.n;
    for (int place = LINE - 1; place >= 0 && may_join(v, reads, &chain); place--) {
        int rest;
        if (!take_member(v, &code[chain.at], place == 0 || place == LINE - 1, place, &chain.line,
                         &rest))
            continue;
        chain.member[chain.n++] = chain.at, chain.at = rest;
    }
    const bool by_row = varies_by_row(v, &chain.line);
    if (v->rows_axis ? !by_row : chain.n < 2 && !(chain.n && by_row)) return;
    for (int k = 1; k < chain.n; k++) v->code[chain.member[k]].absorbed = true;
    Instruction *to = &v->code[i];
    to->a = to->b = to->c = chain.at;
    if (!v->rows_axis) to->joined = limits ? b->device->simd->limited : b->device->simd->line;
    to->line = ARENA_NEW(b->arena, Line, 1);
    *to->line = chain.line;
}

void line_join(Build *b, Vector *v, const Scalar code[]) {
    int reads[MAX_CODE] = {0};
    if (v->class != CLASS_FLOAT || (v->rows_axis && v->tile_columns < LINE_ROW)) return;
    for (int i = 0; i < v->ncode; i++) {
        const int n = v->code[i].source ? 0 : op_values(code[i].op);
        const int from[] = {code[i].a, code[i].b, code[i].c};
        for (int k = 0; k < n && k < 3; k++) reads[from[k]]++;
    }
    for (int i = v->ncode - 1; i >= 0; i--)
        if (v->code[i].invariance == VARIES) join_at(b, v, code, reads, i);
}
