/* control.c -- imports If, Loop and Scan if the data is at hand, that is, when a model is run. A
   condition is computed first; then the nodes of the branch that is taken, or of every iteration of
   the loop, become nodes of the graph itself. So the sizes may change from one iteration to the
   next, and what runs is a single plan. In a long loop, the values that it carries are computed in
   each iteration and continue as constants, so that no iteration costs more than the first. Without
   data these operators are opaque. */
#include "graphs/onnx/import/control_body.h"
#include "ops/core/element.h"
#include <string.h>

enum { ITERATIONS_KEPT = 32, ITERATIONS_MAX = 1 << 16 };

/* ---- values */

/* Replaces a value that the loop carries by a constant with its contents once there were many
   iterations. */
static bool settle_value(Import *s, int64_t iterations, Value *v) {
    Type t;
    const void *bytes;
    int64_t n;
    if (iterations < ITERATIONS_KEPT || !*v || constant_get(s->w, *v, NULL, NULL)) return true;
    if (!import_data(s, *v, &t, &bytes) || !poly_constant(s->w, type_count(s->w, &t), &n))
        return import_fail(s, "the values carried by a long loop cannot be computed");
    *v = constant_make(s->w, &t, blob_put(s->w, bytes, element_bytes(t.dtype, n)));
    return true;
}

static bool element_of(Import *s, Value v, int64_t *out) {
    return import_number(s, v, out) ||
           import_fail(s, "a condition or trip count that cannot be computed");
}

static bool axis_list(Import *s, const char *name, int n, int64_t out[]) {
    OnnxAttr t;
    PolyList list;
    for (int k = 0; k < n; k++) out[k] = 0;
    if (!onnx_attr(s, name, &t)) return true;
    if (!onnx_attr_list(&t, &list, s) || list.n != n)
        return import_fail(s, "attribute %s has the wrong length", name);
    for (int k = 0; k < n; k++)
        if (!number_at(s, list, k, &out[k])) return false;
    return true;
}

/* Returns element t along an axis, without that axis. */
static Value pick_element(Import *s, Value x, int axis, int64_t t) {
    Dims d = value_type(s->w, x)->dim, rest = {0};
    Poly start[RANK_MAX] = {0};
    for (int k = 0; k < d.n; k++) {
        if (k == axis) d.v[k] = poly_int(s->w, 1), start[k] = poly_int(s->w, t);
        else rest.v[rest.n++] = d.v[k], start[k] = poly_int(s->w, 0);
    }
    const NamedList part[] = {{"starts", {d.n, start}}, {"sizes", {d.n, d.v}}, {0}};
    Value y = node_call(s->w, &op_slice, 1, &x, part);
    return y ? reshape_to(s, y, rest) : 0;
}

/* Joins n values of the same type along a new axis. If n is 0, the type is the one that the
   subgraph states for its output `from`. */
static Value stack(Import *s, Body *b, int from, int n, Value v[], int64_t along) {
    int axis;
    int64_t size;
    Type t;
    if (!n) {
        if (!value_info_type(s->m, b->g.output.v[from], "", false, &t, &b->error) || !t.known ||
            t.dim.n >= RANK_MAX)
            return import_fail(s, "a loop without iterations whose results have no stated sizes"),
                   0;
    } else t = *value_type(s->w, v[0]);
    if (t.dim.n >= RANK_MAX) return import_fail(s, "more than %d axes", RANK_MAX), 0;
    if (!import_axis(s, along, t.dim.n + 1, &axis)) return 0;
    for (int k = t.dim.n++; k > axis; k--) t.dim.v[k] = t.dim.v[k - 1];
    t.dim.v[axis] = poly_int(s->w, n ? 1 : 0);
    Poly where = poly_int(s->w, axis);
    if (!n) {
        for (int k = 0; k < t.dim.n; k++)
            if (!poly_constant(s->w, t.dim.v[k], &size)) t.dim.v[k] = poly_int(s->w, 0);
        return constant_make(s->w, &t, blob_put(s->w, "", 0));
    }
    for (int k = 0; k < n; k++)
        if (!v[k] || value_type(s->w, v[k])->dim.n + 1 != t.dim.n ||
            !(v[k] = reshape_to(s, v[k], t.dim)))
            return import_fail(s, "results whose sizes change between iterations"), 0;
    Value y = n == 1 ? v[0]
                     : node_call(s->w, &op_concat, n, v, (NamedList[]){{"axis", {1, &where}}, {0}});
    if (!y) import_fail(s, "results whose sizes change between iterations");
    return y;
}

/* ---- If, Loop, Scan */

/* Gets the condition of an If: if OpenOptions.runs_conditions is set, as `value` computes it. If it
   is not set, the condition is a constant of the file, or `value` does not give it, it is found
   like any other number. */
static bool condition_of(Import *s, Value v, int64_t *out) {
    const OpenOptions *open = &s->m->open;
    Type t;
    const void *bytes;
    const bool asked =
        open->runs_conditions && open->value && v && !constant_get(s->w, v, NULL, NULL);
    return (asked && open->value(open->value_user, s->m, v, &t, &bytes) &&
            first_integer(s->w, &t, bytes, out)) ||
           element_of(s, v, out);
}

static bool take_if(Import *s, Value out[]) {
    int64_t condition;
    Body b;
    if (s->nin != 1 || !condition_of(s, s->in[0], &condition))
        return import_fail(s, "the condition is missing");
    if (!body_read(s, condition ? "then_branch" : "else_branch", &b)) return false;
    if (b.g.output.n != s->n->x.nout)
        return import_fail(s, "a branch with the wrong number of results");
    return body_run(&b, 0, NULL, out);
}

typedef struct Iterations { /* a loop that is being imported */
    Import *s;
    Body b;
    int nstate, nscan; /* numbers of states, which are carried, and of results that are gathered */
    Value *in, *out;   /* the values of one iteration */
    int64_t n, room;
    Value **gathered; /* [scan][iteration] */
} Iterations;

static bool iterations_new(Iterations *l, Import *s, int nin, int nstate, int first_out) {
    Arena *a = s->w->arena;
    *l = (Iterations){.s = s, .nstate = nstate};
    if (!body_read(s, "body", &l->b)) return false;
    l->nscan = l->b.g.output.n - first_out - nstate;
    if (l->nscan < 0 || s->n->x.nout > nstate + l->nscan)
        return import_fail(s, "a body with the wrong number of results");
    l->in = ARENA_NEW(a, Value, nin), l->out = ARENA_NEW(a, Value, l->b.g.output.n),
    l->gathered = ARENA_NEW(a, Value *, l->nscan);
    return true;
}

static void iterations_grow(Iterations *l) {
    int64_t room = l->room;
    for (int k = 0; k < l->nscan; k++) {
        room = l->room;
        ARENA_GROW(l->s->w->arena, l->gathered[k], room, l->n + 1);
    }
    l->room = room;
}

/* Imports one more iteration. The states are the inputs from `at` on and the outputs from `from`
   on. */
static bool iterations_next(Iterations *l, int nin, int at, int from) {
    if (l->n == ITERATIONS_MAX)
        return import_fail(l->s, "a loop of more than %d iterations", ITERATIONS_MAX);
    if (!body_run(&l->b, nin, l->in, l->out)) return false;
    if (l->n == l->room) iterations_grow(l);
    for (int k = 0; k < l->b.g.output.n; k++)
        if (!settle_value(l->s, l->n, &l->out[k])) return false;
    for (int k = 0; k < l->nstate; k++) l->in[at + k] = l->out[from + k];
    for (int k = 0; k < l->nscan; k++) l->gathered[k][l->n] = l->out[from + l->nstate + k];
    l->n++;
    return true;
}

static bool take_loop(Import *s, Value out[]) {
    Iterations l;
    int nstate = s->nin > 2 ? s->nin - 2 : 0;
    int64_t most = INT64_MAX, go = 1;
    bool counted = s->nin > 0 && s->in[0], asked = s->nin > 1 && s->in[1];
    if ((counted && !element_of(s, s->in[0], &most)) || (asked && !element_of(s, s->in[1], &go)))
        return false;
    if (!iterations_new(&l, s, nstate + 2, nstate, 1)) return false;
    for (int k = 0; k < nstate; k++) l.in[k + 2] = s->in[k + 2];
    while (go && l.n < most) {
        l.in[0] = constant_integer(s->w, DT_INT64, l.n);
        l.in[1] = constant_integer(s->w, DT_BOOL, true);
        if (!iterations_next(&l, nstate + 2, 2, 1)) return false;
        if (l.out[0] != l.in[1] && !element_of(s, l.out[0], &go)) return false;
    }
    for (int k = 0; k < nstate && k < s->n->x.nout; k++) out[k] = l.in[k + 2];
    for (int k = 0; k + nstate < s->n->x.nout; k++)
        if (!(out[nstate + k] = stack(s, &l.b, 1 + nstate + k, (int)l.n, l.gathered[k], 0)))
            return false;
    return true;
}

static bool scan_length(Import *s, int n, const Value x[], int64_t axis[], int64_t *length) {
    *length = -1;
    for (int k = 0; k < n; k++) {
        const Type *t = import_type(s, x[k]);
        int64_t size;
        int at;
        if (!t || !import_axis(s, axis[k], t->dim.n, &at)) return false;
        axis[k] = at;
        if (!poly_constant(s->w, t->dim.v[at], &size))
            return import_fail(s, "a scan along an axis whose size is not known");
        if (*length >= 0 && *length != size)
            return import_fail(s, "scanned inputs of different lengths");
        *length = size;
    }
    return true;
}

/* For each input that is scanned and each result that is gathered: the axis, and whether it is
   traversed backwards. */
typedef struct ScanAxes {
    int64_t *in, *in_back, *out, *out_back;
} ScanAxes;
static bool scan_axes(Import *s, int nin, int nout, ScanAxes *x) {
    Arena *a = s->w->arena;
    *x = (ScanAxes){ARENA_NEW(a, int64_t, nin), ARENA_NEW(a, int64_t, nin),
                    ARENA_NEW(a, int64_t, nout), ARENA_NEW(a, int64_t, nout)};
    const char *directions = s->n->version < 9 ? "directions" : "scan_input_directions";
    return axis_list(s, "scan_input_axes", nin, x->in) &&
           axis_list(s, "scan_output_axes", nout, x->out) &&
           axis_list(s, directions, nin, x->in_back) &&
           axis_list(s, "scan_output_directions", nout, x->out_back);
}

static void reverse(int64_t n, Value v[]) {
    for (int64_t i = 0; i < n / 2; i++) {
        const Value other = v[n - 1 - i];
        v[n - 1 - i] = v[i], v[i] = other;
    }
}

/* Imports a Scan of version 9 or later. `values` are the states, followed by the inputs that are
   scanned. */
static bool scan(Import *s, Value values[], int nin, Value out[]) {
    Iterations l;
    ScanAxes axes;
    OnnxAttr t;
    int64_t length;
    if (!onnx_attr(s, "num_scan_inputs", &t) || t.i < 1 || t.i > nin)
        return import_fail(s, "num_scan_inputs is missing or wrong");
    int n = (int)t.i, nstate = nin - n;
    if (!iterations_new(&l, s, nin, nstate, 0)) return false;
    if (!scan_axes(s, n, l.nscan, &axes) || !scan_length(s, n, values + nstate, axes.in, &length))
        return false;
    memcpy(l.in, values, sizeof *values * (size_t)nstate);
    while (l.n < length) {
        for (int k = 0; k < n; k++)
            if (!(l.in[nstate + k] = pick_element(s, values[nstate + k], (int)axes.in[k],
                                                  axes.in_back[k] ? length - 1 - l.n : l.n)))
                return false;
        if (!iterations_next(&l, nin, 0, 0)) return false;
    }
    for (int k = 0; k < nstate && k < s->n->x.nout; k++) out[k] = l.in[k];
    for (int k = 0; k + nstate < s->n->x.nout; k++) {
        Value *v = l.gathered[k];
        if (axes.out_back[k]) reverse(l.n, v);
        out[nstate + k] = stack(s, &l.b, nstate + k, (int)l.n, v, axes.out[k]);
        if (!out[nstate + k]) return false;
    }
    return true;
}

/* Imports a Scan of version 8: every input has a leading batch axis, and the batches are scanned
   one by one. Lengths of single sequences are not supported. */
static bool scan_batches(Import *s, Value out[]) {
    const Type *x = s->nin > 1 ? import_type(s, s->in[s->nin - 1]) : NULL;
    int64_t batches;
    Body b;
    if (!x || s->in[0] || !x->dim.n || !poly_constant(s->w, x->dim.v[0], &batches) || batches < 1)
        return import_fail(s, "a batched scan with sequence lengths, or without batches");
    if (batches > ITERATIONS_MAX)
        return import_fail(s, "a scan of more than %d batches", ITERATIONS_MAX);
    Value *in = ARENA_NEW(s->w->arena, Value, s->nin),
          **one = ARENA_NEW(s->w->arena, Value *, batches);
    Value *same = ARENA_NEW(s->w->arena, Value, batches);
    for (int64_t j = 0; j < batches; j++) {
        one[j] = ARENA_NEW(s->w->arena, Value, s->n->x.nout);
        for (int k = 1; k < s->nin; k++)
            if (!import_type(s, s->in[k]) || !(in[k - 1] = pick_element(s, s->in[k], 0, j)))
                return import_fail(s, "an input without batches");
        if (!scan(s, in, s->nin - 1, one[j])) return false;
    }
    if (!body_read(s, "body", &b)) return false;
    for (int k = 0; k < s->n->x.nout; k++) {
        for (int64_t j = 0; j < batches; j++) same[j] = one[j][k];
        if (!(out[k] = stack(s, &b, k, (int)batches, same, 0))) return false;
    }
    return true;
}

static bool take_scan(Import *s, Value out[]) {
    if (s->n->version < 9) return scan_batches(s, out);
    return scan(s, arena_copy(s->w->arena, s->in, sizeof(Value) * (size_t)s->nin), s->nin, out);
}

bool control_import(Import *s, Value out[]) {
    static const struct {
        const char *type;
        bool (*take)(Import *, Value out[]);
    } table[] = {{"If", take_if}, {"Loop", take_loop}, {"Scan", take_scan}};
    if (!s->m->open.value || s->n->x.domain.n) return import_fail(s, "it has a subgraph");
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (!strcmp(s->n->type, table[k].type)) return table[k].take(s, out);
    return import_fail(s, "it has a subgraph");
}
