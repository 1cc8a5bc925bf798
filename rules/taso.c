/* taso.c -- reads TASO's file: RuleCollection{1: rule*}; Rule{1: source operator*, 2: destination
   operator*, 3: output*}; Operator{1: type, 2: input*, 3: parameter*}; Tensor{1: operator, 2:
   port}; Parameter{1: key, 2: value}; MapOutput{1: source operator, 2: destination operator, 3:
   source port, 4: destination port}. Operators are counted from 0 on each side; a negative number
   is a variable of the rule. Every number is checked before it is used. */
#include "rules/taso.h"
#include "graphs/onnx/file/wire.h"
#include "ops/base/file.h"
#include "rules/taso_inner.h"
#include <string.h>

/* Reads up to four small numbers from a message that has nothing else; missing ones are 0. */
static bool read_numbers(const Wire *outer, const Field *f, int n, int out[]) {
    Wire w = wire_inner(outer, f->bytes);
    Field g;
    memset(out, 0, sizeof *out * (size_t)n);
    while (wire_next(&w, &g)) {
        int64_t v = (int64_t)g.value;
        if (!wire_want(&w, &g, WIRE_VARINT)) return false;
        if (g.number < 1 || g.number > (uint32_t)n)
            return wire_fail_format(&w, g.whole.at, "a field that the format does not have");
        if (v < INT16_MIN || v > INT16_MAX)
            return wire_fail(&w, g.whole.at, "a number out of range");
        out[g.number - 1] = (int)v;
    }
    return !w.failed;
}

static bool read_input(Wire *w, const Field *f, TasoOp *op) {
    int v[2];
    if (op->nin == TASO_INPUTS) return wire_fail(w, f->whole.at, "too many inputs");
    if (!read_numbers(w, f, 2, v)) return false;
    op->in[op->nin++] = (TasoTensor){v[0], v[1]};
    return true;
}

static bool read_parameter(Wire *w, const Field *f, TasoOp *op) {
    int v[2];
    if (!read_numbers(w, f, 2, v)) return false;
    if (v[0] < 0 || v[0] >= TASO_PARAMETER_COUNT)
        return wire_fail(w, f->whole.at, "an unknown parameter");
    op->parameter[v[0]] = v[1];
    return true;
}

static bool read_op(const Wire *outer, const Field *f, TasoOp *op) {
    Wire w = wire_inner(outer, f->bytes);
    Field g;
    *op = (TasoOp){.kind = TASO_NONE};
    for (int k = 0; k < TASO_PARAMETER_COUNT; k++) op->parameter[k] = TASO_NONE;
    while (wire_next(&w, &g)) {
        if (!wire_want(&w, &g, g.number == 1 ? WIRE_VARINT : WIRE_BYTES)) return false;
        if (g.number == 1) {
            if (g.value >= TASO_KINDS) return wire_fail(&w, g.whole.at, "an unknown operator");
            op->kind = (int)g.value;
        } else if (g.number > 3) {
            return wire_fail_format(&w, g.whole.at, "a field that the format does not have");
        } else if (g.number == 2 ? !read_input(&w, &g, op) : !read_parameter(&w, &g, op)) {
            return false;
        }
    }
    return !w.failed &&
           (op->kind != TASO_NONE || wire_fail(&w, f->whole.at, "an operator without type"));
}

static bool tensor_exists(const TasoSide *s, int before, TasoTensor t) {
    if (t.op < 0) return t.port == 0;
    return t.op < before && (t.port == 0 || (t.port == 1 && s->op[t.op].kind == TASO_SPLIT));
}

static bool read_side(Wire *w, const Field *f, TasoSide *s) {
    if (s->n == TASO_NODES) return wire_fail(w, f->whole.at, "too many operators");
    TasoOp *op = &s->op[s->n];
    if (!read_op(w, f, op)) return false;
    for (int k = 0; k < op->nin; k++)
        if (!tensor_exists(s, s->n, op->in[k]))
            return wire_fail(w, f->whole.at,
                             "an input that is not the result of an earlier operator");
    s->n++;
    return true;
}

static bool read_output(Wire *w, const Field *f, TasoRule *r) {
    int v[4];
    if (r->nout == TASO_OUTPUTS) return wire_fail(w, f->whole.at, "too many outputs");
    if (!read_numbers(w, f, 4, v)) return false;
    r->out[r->nout][0] = (TasoTensor){v[0], v[2]};
    r->out[r->nout++][1] = (TasoTensor){v[1], v[3]};
    return true;
}

static bool read_rule(const Wire *outer, const Field *f, TasoRule *r) {
    Wire w = wire_inner(outer, f->bytes);
    Field g;
    memset(r, 0, sizeof *r);
    while (wire_next(&w, &g)) {
        if (!wire_want(&w, &g, WIRE_BYTES)) return false;
        if (g.number < 1 || g.number > 3)
            return wire_fail_format(&w, g.whole.at, "a field that the format does not have");
        if (g.number == 3 ? !read_output(&w, &g, r) : !read_side(&w, &g, &r->side[g.number - 1]))
            return false;
    }
    for (int k = 0; k < r->nout; k++)
        for (int s = 0; s < 2; s++)
            if (!tensor_exists(&r->side[s], r->side[s].n, r->out[k][s]))
                return wire_fail(&w, f->whole.at,
                                 "an output that is not the result of an operator");
    return !w.failed && (r->nout || wire_fail(&w, f->whole.at, "a rule without outputs"));
}

static void count_refusal(Arena *a, TasoRefusals *list, int number, const char *reason) {
    const TasoRefusal refusal = {number, reason};
    ARENA_APPEND(a, list->v, list->n, refusal);
}

bool taso_is(const void *bytes, size_t n) {
    const unsigned char *b = bytes;
    if (!n || b[0] > '\n') return false; /* protobuf begins with the number of a field */
    for (size_t k = 0; k < n && k < 256; k++)
        if (b[k] < '\t') return true;
    return false;
}

bool taso_parse(Arena *a, const char *file, const void *bytes, size_t n, RuleSet *set,
                TasoRefusals *refused, Error *e) {
    Error own = {0};
    Wire w = wire_new((Slice){bytes, n}, bytes, file, e ? e : &own);
    w.format = "a file of rules (text or TASO's)";
    Field f;
    TasoRule *rule = ARENA_NEW(a, TasoRule, 1);
    for (int number = 0; wire_next(&w, &f); number++) {
        const char *why = "";
        if (!wire_want(&w, &f, WIRE_BYTES)) return false;
        if (f.number != 1)
            return wire_fail_format(&w, f.whole.at, "a field that the format does not have");
        if (!read_rule(&w, &f, rule)) return false;
        const char *text = taso_text(a, rule, number, &why);
        Error typed = {0};
        int before = set->n;
        if (text && !rules_parse(a, file, text, strlen(text), set, &typed))
            why = arena_string(a, typed.reason, strlen(typed.reason));
        if (set->n == before) count_refusal(a, refused, number, why);
        else set->v[before].line = number + 1; /* in place of a line: the number of the rule */
    }
    return !w.failed;
}

bool rules_load(Arena *a, const char *path, RuleSet *set, TasoRefusals *refused, Error *e) {
    char *data;
    size_t n;
    if (!file_read(a, path, &data, &n, e)) return false;
    const char *name = arena_string(a, path, strlen(path));
    return taso_is(data, n) ? taso_parse(a, name, data, n, set, refused, e)
                            : rules_parse(a, name, data, n, set, e);
}
