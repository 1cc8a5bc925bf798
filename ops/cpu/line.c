/* line.c -- joins chains of up to four instructions of an element-wise program into one pass.

   A chain adds a number to a varying value, multiplies it by up to two numbers and adds another:
   ((x - k0) * k1) * k2 + k3, as normalizations and their scales do. The numbers must be invariant
   along the row, and a tile must be a part of one row. The pass rounds after each operation, as the
   chain does, so results do not change; for this reason divisions are not replaced by products. */
#include "ops/cpu/vector.h"

/* Matches a sum or product of a varying value and a number, and enters the number at `place` of the
   line. *rest is the varying value. */
static bool take_member(const Vector *v, const Scalar *c, bool sum, int place, Line *line,
                        int *rest) {
    const int ops[] = {sum ? C_ADD : C_MUL, sum ? C_SUB : C_MUL};
    if (c->op != ops[0] && c->op != ops[1]) return false;
    const Invariance left = v->code[c->a].invariance, right = v->code[c->b].invariance;
    const bool second = left == VARIES && right != VARIES,
               first = right == VARIES && left != VARIES && c->op != C_SUB;
    if (!first && !second) return false;
    line->number[place] = first ? c->a : c->b;
    line->negative[place] = sum && (c->op == C_ADD) == (place == 0);
    *rest = first ? c->b : c->a;
    return true;
}
/* Joins the chain that ends with instruction i. The inner instructions must have no other
   readers. */
static void join_at(Build *b, Vector *v, const Scalar code[], const int reads[], int i) {
    Line line = {.number = {-1, -1, -1, -1}};
    int member[LINE], n = 0, at = i;
    for (int place = LINE - 1; place >= 0; place--) {
        const Instruction *c = &v->code[at];
        if (c->source || c->absorbed || c->joined || (n && reads[at] != 1)) break;
        int rest;
        if (!take_member(v, &code[at], place == 0 || place == LINE - 1, place, &line, &rest))
            continue;
        member[n++] = at, at = rest;
    }
    if (n < 2) return;
    for (int k = 1; k < n; k++) v->code[member[k]].absorbed = true;
    Instruction *to = &v->code[i];
    to->a = to->b = to->c = at;
    to->joined = b->device->simd->line;
    to->line = ARENA_NEW(b->arena, Line, 1);
    *to->line = line;
}

void line_join(Build *b, Vector *v, const Scalar code[]) {
    int reads[MAX_CODE] = {0};
    if (v->class != CLASS_FLOAT || v->rows_axis) return;
    for (int i = 0; i < v->ncode; i++) {
        const int n = v->code[i].source ? 0 : op_values(code[i].op);
        const int from[] = {code[i].a, code[i].b, code[i].c};
        for (int k = 0; k < n && k < 3; k++) reads[from[k]]++;
    }
    for (int i = v->ncode - 1; i >= 0; i--)
        if (v->code[i].invariance == VARIES) join_at(b, v, code, reads, i);
}
