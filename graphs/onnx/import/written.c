/* written.c -- imports ScatterND whose indices are places that follow each other on axis 0, as
   exporters write y[.., a:b] = u: the result is u between what is before and after it in x. */
#include "graphs/onnx/items.h"
#include "graphs/shapevalue.h"

/* Whether the elements are start, start + 1, .. */
static bool is_run(Import *s, PolyList list, int64_t *start) {
    if (!list.n || !number_at(s, list, 0, start) || *start < 0) return false;
    for (int k = 1; k < list.n; k++)
        if (list.v[k] != poly_int(s->w, *start + k)) return false;
    return true;
}

/* Whether u replaces rows of x from `start` on, all of which x has. */
static bool replaces(Import *s, Dims x, Dims u, int64_t start) {
    int64_t rows, more;
    if (!x.n || x.n != u.n || !poly_constant(s->w, x.v[0], &rows) ||
        !poly_constant(s->w, u.v[0], &more))
        return false;
    for (int k = 1; k < x.n; k++)
        if (x.v[k] != u.v[k]) return false;
    return start <= rows && more <= rows - start;
}

/* Input 1 must hold one place for each row of input 2. */
bool import_written(Import *s, int attr) {
    const Poly axis = poly_int(s->w, 0);
    PolyList places;
    const Type *x = s->nin == 3 ? import_type(s, s->in[0]) : NULL,
               *index = x ? import_type(s, s->in[1]) : NULL,
               *u = index ? import_type(s, s->in[2]) : NULL;
    if (!u) return import_fail(s, "sizes are not known");
    if (index->dim.n != 2 || !poly_is(s->w, index->dim.v[1], 1) ||
        !value_elements(s->w, s->in[1], &places) || !is_run(s, places, &s->written_at) ||
        !replaces(s, x->dim, u->dim, s->written_at))
        return import_fail(s, "the indices are not places that follow each other on axis 0");
    import_take(s, 1);
    give_ints(s, attr, 1, &axis);
    return s->written = true;
}

/* Rows of x on axis 0. */
static Value rows_of(Import *s, Value x, Poly start, Poly count) {
    Dims d = value_type(s->w, x)->dim;
    Poly starts[RANK_MAX];
    for (int k = 0; k < d.n; k++) starts[k] = k ? poly_int(s->w, 0) : start;
    d.v[0] = count;
    const NamedList part[] = {{"starts", {d.n, starts}}, {"sizes", {d.n, d.v}}, {0}};
    Value y = node_call(s->w, &op_slice, 1, &x, part);
    if (!y) import_fail(s, "the rows beside those that are replaced cannot be taken");
    return y;
}

int written_parts(Import *s, const Value in[], Value part[]) {
    World *w = s->w;
    const Poly rows = value_type(w, in[0])->dim.v[0], here = value_type(w, in[1])->dim.v[0],
               start = poly_int(w, s->written_at), end = poly_add(w, start, here),
               after = poly_sub(w, rows, end);
    int n = 0;
    if (s->written_at) part[n++] = rows_of(s, in[0], poly_int(w, 0), start);
    part[n++] = in[1];
    if (!poly_is(w, after, 0)) part[n++] = rows_of(s, in[0], end, after);
    return s->why ? 0 : n;
}
