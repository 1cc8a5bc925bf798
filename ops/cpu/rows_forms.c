/* rows_forms.c -- analyzes the program of a step over rows: which values are a single number for
   each row or column, and which instructions a single inner loop computes together. A sum or
   product with a row's numbers is computed again for each reader, which costs less than storing
   it. */
#include "ops/cpu/rows.h"

static bool is_row_reduction(int op) { return op == C_ROW_SUM || op == C_ROW_MAX; }
static bool is_number(const Value *v, int i) { return v[i].kind <= KIND_ROW; }
static Kind wider(Kind a, Kind b) {
    return a == b || b == KIND_NUMBER ? a : a == KIND_NUMBER ? b : KIND_FULL;
}

/* ---- kinds and levels */
static void find_kind(Value v[], int i) {
    const int n = scalar_values(v[i].code.op), of[] = {v[i].code.a, v[i].code.b, v[i].code.c};
    v[i].kind = KIND_NUMBER, v[i].level = 0;
    for (int k = 0; k < n; k++) {
        v[i].kind = wider(v[i].kind, v[of[k]].kind);
        if (v[of[k]].level > v[i].level) v[i].level = v[of[k]].level;
    }
    if (!is_row_reduction(v[i].code.op)) return;
    v[i].kind = KIND_ROW, v[i].level++;
}

/* ---- forms */
static void form_new(Value *v, Form form, int x) {
    v->form = form, v->x = x, v->scale = v->shift = v->sum = -1, v->divides = false;
    for (int k = 0; k < NUMBERS; k++) v->number[k] = -1, v->negative[k] = false;
}
/* Whether value i is a value *x minus a number of its row. */
static bool less_number(const Value *v, int i, int *x, int *number) {
    const Scalar *c = &v[i].code;
    if (c->op != C_SUB || v[c->a].kind != KIND_FULL || !is_number(v, c->b)) return false;
    *x = c->a, *number = c->b;
    return true;
}
/* Whether value i is `op` of a value that varies fully and of a column, in either order. */
static bool with_column(const Value *v, int i, int op, int *full, int *column) {
    const Scalar *c = &v[i].code;
    if (c->op != op || v[i].kind != KIND_FULL) return false;
    const bool second = v[c->b].kind == KIND_COLUMN;
    *full = second ? c->a : c->b, *column = second ? c->b : c->a;
    return v[*full].kind == KIND_FULL && v[*column].kind == KIND_COLUMN;
}
/* Whether value `at` is a quotient by a number that differs from row to row, at place 1 of a line
   over value *x. */
static bool take_divisor(const Value *v, int at, Value *to, int *x) {
    const Scalar *c = &v[at].code;
    if (c->op != C_DIV || v[c->a].kind != KIND_FULL || v[c->b].kind != KIND_ROW) return false;
    to->number[1] = c->b, to->divides = true, *x = c->a;
    return true;
}
/* Whether value `at` is the operation at this place of a line (FORM_LINE) over value *x. If so, its
   number is entered into `to`. */
static bool take_number(const Value *v, int at, int place, Value *to, int *x) {
    const Scalar *c = &v[at].code;
    const bool sum = place == 0 || place == NUMBERS - 1;
    if (place == 1 && take_divisor(v, at, to, x)) return true;
    if (v[at].kind != KIND_FULL || (sum ? c->op != C_ADD && c->op != C_SUB : c->op != C_MUL))
        return false;
    const bool second = v[c->a].kind == KIND_FULL && is_number(v, c->b),
               first = v[c->b].kind == KIND_FULL && is_number(v, c->a) && c->op != C_SUB;
    if (!first && !second) return false;
    to->number[place] = first ? c->a : c->b;
    to->negative[place] = sum && (c->op == C_ADD) == (place == 0);
    *x = first ? c->b : c->a;
    return true;
}
static bool match_line(Value v[], int i) {
    int at = i, x, column, found = 0;
    form_new(&v[i], FORM_LINE, -1);
    if (with_column(v, at, C_ADD, &x, &column)) v[i].shift = column, at = x;
    if (with_column(v, at, C_MUL, &x, &column)) v[i].scale = column, at = x;
    const bool scaled = v[i].scale >= 0 || v[i].shift >= 0;
    bool rows = false;
    for (int place = NUMBERS - 1 - scaled; place >= 0; place--)
        if (take_number(v, at, place, &v[i], &x))
            rows = rows || v[v[i].number[place]].kind == KIND_ROW, at = x, found++;
    v[i].x = at;
    if (scaled) v[i].form = FORM_SCALED;
    return rows || found > 1;
}
static bool match_squares(const Value v[], int i, int *x, int *number) {
    const Scalar *square = &v[v[i].code.a].code;
    if (square->op != C_MUL || square->a != square->b || v[square->a].kind != KIND_FULL)
        return false;
    if (less_number(v, square->a, x, number)) return true;
    return *x = square->a, *number = -1, true;
}
static int sum_of(const Value *v, int ncode, int i) {
    for (int k = i + 1; k < ncode; k++)
        if (v[k].needed && v[k].code.op == C_ROW_SUM && v[k].code.a == i) return k;
    return -1;
}
static void choose_form(Value v[], int ncode, int i) {
    const Scalar *c = &v[i].code;
    int x, number;
    if (c->op == C_VIEW) return form_new(&v[i], FORM_LOAD, -1);
    if (c->op == C_CONST) return form_new(&v[i], FORM_CONSTANT, -1);
    if (c->op == C_ROW_SUM && match_squares(v, i, &x, &number)) {
        form_new(&v[i], FORM_SQUARES, x);
        v[i].number[0] = number;
        return;
    }
    if (is_row_reduction(c->op))
        return form_new(&v[i], c->op == C_ROW_SUM ? FORM_SUM : FORM_MAX, c->a);
    if (v[i].kind == KIND_FULL && match_line(v, i)) return;
    form_new(&v[i], FORM_OP, -1);
    if (c->op == C_DIV && v[c->a].code.op == C_ROW_SUM && v[c->b].code.op == C_CONST) {
        v[i].form = FORM_MEAN, v[i].number[0] = c->a;
        return;
    }
    if (c->op == C_EXP && v[i].kind == KIND_FULL) {
        const int sum = sum_of(v, ncode, i);
        if (sum < 0 && !less_number(v, c->a, &x, &number)) return;
        form_new(&v[i], FORM_EXPS, c->a);
        if (less_number(v, c->a, &x, &number)) {
            v[i].x = x, v[i].number[0] = number;
            v[i].bounded = v[number].code.op == C_ROW_MAX && v[number].code.a == x;
        }
        v[i].sum = sum;
    }
}
/* Marks what the form of value i reads as needed, and as spread where it is read as if it varied
   along the row or from row to row. */
static void need(Value v[], int i) {
    const Value *of = &v[i];
    const int n = of->form == FORM_OP ? scalar_values(of->code.op) : 0,
              from[] = {of->code.a, of->code.b, of->code.c};
    for (int k = 0; k < n; k++) {
        v[from[k]].needed = true;
        if (of->kind == KIND_FULL || of->kind == KIND_COLUMN)
            v[from[k]].spread = v[from[k]].spread || v[from[k]].kind != of->kind;
    }
    if (of->x >= 0) v[of->x].needed = true;
    if (of->x >= 0 && v[of->x].kind != KIND_FULL) v[of->x].spread = true;
    if (of->scale >= 0) v[of->scale].needed = true;
    if (of->shift >= 0) v[of->shift].needed = true;
    for (int k = 0; k < NUMBERS; k++)
        if (of->number[k] >= 0) v[of->number[k]].needed = true;
}

/* Replaces x^2 by x*x. */
static void square(Value v[], int i) {
    Scalar *c = &v[i].code;
    if (c->op == C_POW && v[c->b].code.op == C_CONST && v[c->b].code.k == 2)
        c->op = C_MUL, c->b = c->a;
}
static bool has_op(const Simd *s, Value *v) {
    const int op = v->code.op;
    if (op == C_VIEW || op == C_CONST || op == C_WHERE || is_row_reduction(op)) return true;
    v->op = op >= SCALAR_OP_COUNT || op == C_ACC ? NULL
            : op == C_AS ? dtype_numeric(v->code.b) ? s->as[CLASS_FLOAT][v->code.b] : NULL
                         : s->op[CLASS_FLOAT][op];
    return v->op != NULL;
}
/* Whether anything except its sum reads value i, which is an EXPS with a sum. */
static bool is_kept(const Value *v, int ncode, int i) {
    for (int k = i + 1; k < ncode; k++) {
        const int n = v[k].form == FORM_OP ? scalar_values(v[k].code.op) : 0,
                  of[] = {v[k].code.a, v[k].code.b, v[k].code.c};
        bool reads = v[k].x == i && k != v[i].sum;
        for (int j = 0; j < n; j++) reads = reads || of[j] == i;
        if (v[k].needed && reads) return true;
    }
    return i == ncode - 1;
}
bool rows_analyze(const Simd *s, const Kind view[], Value v[], int ncode) {
    for (int i = 0; i < ncode; i++) {
        v[i].needed = v[i].spread = v[i].only_summed = v[i].bounded = false;
        square(v, i);
        if (!has_op(s, &v[i])) return false;
        if (v[i].code.op != C_VIEW) find_kind(v, i);
        else v[i].level = 0, v[i].kind = view[v[i].code.a];
    }
    v[ncode - 1].needed = true;
    v[ncode - 1].spread = v[ncode - 1].kind != KIND_FULL;
    for (int i = ncode - 1; i >= 0; i--) {
        if (!v[i].needed) continue;
        choose_form(v, ncode, i);
        need(v, i);
        v[i].only_summed = v[i].form == FORM_EXPS && v[i].sum >= 0 && !is_kept(v, ncode, i);
    }
    return true;
}
