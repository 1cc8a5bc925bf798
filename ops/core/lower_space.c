/* lower_space.c -- turns index polynomials into offsets into views.

   The offset of an element must be a sum of multiples of the space's indices. Floors and digits in
   an index are resolved in two ways: digits of the same number are joined if the strides allow it
   (a reshape of dense data then reads the number itself), and the rest are decided by ranges. An
   axis whose quotients and remainders are read can be split into several axes, along which they are
   plain indices. */
#include "ops/core/lower_space.h"
#include <string.h>

enum { DIGITS = 16 };
typedef struct AffineLine {
    int64_t c, factor[SPACE_AXES];
} AffineLine; /* c + the sum of factor[a] * index on axis a */
typedef struct Digit {
    Poly of;
    int64_t unit, radix, factor;
} Digit; /* factor * (floor(of / unit) mod radix); radix 0: without mod */
typedef struct Offset {
    AffineLine line;
    int n;
    Digit digit[DIGITS];
} Offset;

bool space_size(const LowerSpace *s, Poly p, int64_t *v) { return poly_eval(s->w, p, s->sizes, v); }

static bool take_digit(const LowerSpace *s, const SymbolDef *d, int64_t k, Offset *o) {
    Digit g = {d->arg[0], 1, 0, k};
    if (d->kind == SYM_FLOOR && !space_size(s, d->arg[1], &g.unit)) return false;
    if (d->kind == SYM_DIGIT) {
        if (!space_size(s, d->arg[d->word + 1], &g.radix)) return false;
        for (uint32_t j = d->word + 2; j < d->narg; j++) {
            int64_t r;
            if (!space_size(s, d->arg[j], &r) || __builtin_mul_overflow(g.unit, r, &g.unit))
                return false;
        }
        if (g.radix == 1) return true; /* the digit is 0 */
    }
    if (g.unit <= 0 || g.radix < 0 || (d->kind == SYM_DIGIT && !g.radix) || o->n == DIGITS)
        return false;
    o->digit[o->n++] = g;
    return true;
}

static bool take_monomial(const LowerSpace *s, const Monomial *m, int64_t k, Offset *o) {
    int index = -1;
    SymbolDef other = {0};
    bool found = false;
    if (__builtin_mul_overflow(k, m->coefficient, &k)) return false;
    for (uint32_t j = 0; j < m->degree; j++) {
        Symbol y = m->symbol[j];
        int64_t v;
        int a = 0;
        while (a < s->nindex && s->index[a].symbol != y) a++;
        if (a == s->nindex && space_size(s, poly_symbol(s->w, y), &v)) {
            if (__builtin_mul_overflow(k, v, &k)) return false;
            continue;
        }
        if (found) return false; /* a product of indices */
        found = true;
        if (a < s->nindex) index = a;
        else other = symbol_def(s->w, y);
    }
    if (!found) return o->line.c += k, true;
    for (int j = index; j >= 0 && j < s->nindex; j++)
        if (s->index[j].symbol == s->index[index].symbol)
            o->line.factor[s->index[j].axis] += k * s->index[j].factor;
    if (index >= 0) return true;
    return (other.kind == SYM_FLOOR || other.kind == SYM_DIGIT) && take_digit(s, &other, k, o);
}

static bool take_poly(const LowerSpace *s, Poly p, int64_t k, Offset *o) {
    Monomial m;
    for (PolyScan scan = poly_scan(s->w, p); poly_next(&scan, &m);)
        if (!take_monomial(s, &m, k, o)) return false;
    return true;
}

/* Joins two adjacent digits of the same number whose strides continue each other: high * radix +
   low is one digit. False: there are none. */
static bool join_offset(Offset *o) {
    for (int a = 0; a < o->n; a++)
        for (int b = 0; b < o->n; b++) {
            Digit *high = &o->digit[a], *low = &o->digit[b];
            if (a == b || !low->radix || high->of != low->of ||
                high->unit != low->unit * low->radix || high->factor != low->factor * low->radix)
                continue;
            low->radix *= high->radix;
            *high = o->digit[--o->n];
            return true;
        }
    return false;
}

/* Splits the line into m * high + low. False: floor(low / m) is not the same number *z
   everywhere. */
static bool split_line(const LowerSpace *s, const AffineLine *l, int64_t m, AffineLine *high,
                       AffineLine *low, int64_t *z) {
    int64_t least = 0, most = 0;
    *high = *low = (AffineLine){0};
    low->c = least = most = l->c;
    for (int a = 0; a < s->n; a++) {
        if (s->extent[a] <= 1) continue;
        if (l->factor[a] % m == 0) {
            high->factor[a] = l->factor[a] / m;
            continue;
        }
        low->factor[a] = l->factor[a];
        *(l->factor[a] < 0 ? &least : &most) += l->factor[a] * (s->extent[a] - 1);
    }
    *z = integer_floor_div(least, m);
    return *z == integer_floor_div(most, m);
}

static bool line_of(const LowerSpace *, Offset *);

static bool resolve_digit(const LowerSpace *s, const Digit *d, AffineLine *out) {
    Offset of = {0};
    AffineLine high, low;
    int64_t z;
    if (!take_poly(s, d->of, 1, &of) || !line_of(s, &of) ||
        !split_line(s, &of.line, d->unit, &high, &low, &z))
        return false;
    high.c += z;
    *out = high;
    if (!d->radix) return true;
    if (!split_line(s, &high, d->radix, &(AffineLine){0}, out, &z)) return false;
    out->c -= z * d->radix;
    return true;
}

static bool line_of(const LowerSpace *s, Offset *o) {
    while (join_offset(o)) {}
    for (int j = 0; j < o->n; j++) {
        AffineLine l;
        if (!resolve_digit(s, &o->digit[j], &l)) return false;
        o->line.c += o->digit[j].factor * l.c;
        for (int a = 0; a < s->n; a++) o->line.factor[a] += o->digit[j].factor * l.factor[a];
    }
    o->n = 0;
    return true;
}

LowerSpace space_new(World *w, Sizes sizes, const View *like) {
    LowerSpace s = {.w = w, .sizes = sizes, .n = like->rank, .nindex = like->rank};
    for (int a = 0; a < s.n; a++) {
        s.index[a] = (SpaceIndex){symbol_index(w, (uint32_t)a), a, 1};
        s.extent[a] = like->dim[a];
    }
    return s;
}
bool space_bind(LowerSpace *s, Symbol bound) {
    if (s->n == STEP_RANK || !space_size(s, symbol_def(s->w, bound).arg[0], &s->extent[s->n]))
        return false;
    s->index[s->nindex++] = (SpaceIndex){bound, s->n++, 1};
    return true;
}

bool space_bind_all(LowerSpace *s, const ExNode *x) {
    for (int k = 0; k < x->n; k++) {
        const Symbol bound = poly_is_symbol(s->w, x->dims[k]);
        int64_t size = 0;
        if (s->nindex == SPACE_AXES) return false;
        if (s->n + x->n - k > STEP_RANK && space_size(s, symbol_def(s->w, bound).arg[0], &size) &&
            size == 1)
            s->index[s->nindex++] = (SpaceIndex){bound, 0, 0};
        else if (!space_bind(s, bound)) return false;
    }
    return true;
}

bool space_view(const LowerSpace *s, const ExNode *at, const View *x, View *out) {
    Offset o = {0};
    if (x->rank != at->n || s->n > STEP_RANK || x->format) return false;
    for (int k = 0; k < at->n; k++)
        if (!take_poly(s, at->dims[k], x->stride[k], &o)) return false;
    if (!line_of(s, &o)) return false;
    *out = (View){.slot = x->slot, .dtype = x->dtype, .rank = s->n, .offset = x->offset + o.line.c};
    for (int a = 0; a < s->n; a++) {
        out->dim[a] = s->extent[a];
        out->stride[a] = s->extent[a] == 1 ? 0 : o.line.factor[a];
    }
    return true;
}

/* ---- splitting axes */
enum { POINTS = 4, NODES_MAX = 4000 };
typedef struct Points { /* where to split each axis: the sizes of the trailing parts, ascending */
    const LowerSpace *s;
    int n[STEP_RANK], nodes;
    int64_t at[STEP_RANK][POINTS];
} Points;

static void add_point(Points *p, int axis, int64_t m) {
    const int64_t extent = p->s->extent[axis];
    int n = p->n[axis], k = 0;
    if (m <= 1 || m >= extent || extent % m || n == POINTS) return;
    while (k < n && p->at[axis][k] < m) k++;
    if ((k < n && (p->at[axis][k] == m || p->at[axis][k] % m)) || (k > 0 && m % p->at[axis][k - 1]))
        return;
    memmove(&p->at[axis][k + 1], &p->at[axis][k], (size_t)(n - k) * sizeof m);
    p->at[axis][k] = m;
    p->n[axis]++;
}
static void find_in_poly(Points *p, Poly of) {
    Monomial m;
    for (PolyScan scan = poly_scan(p->s->w, of); poly_next(&scan, &m);)
        for (uint32_t j = 0; j < m.degree; j++) {
            const SymbolDef d = symbol_def(p->s->w, m.symbol[j]);
            Offset o = {0};
            if (d.kind != SYM_FLOOR && d.kind != SYM_DIGIT) continue;
            find_in_poly(p, d.arg[0]);
            const Symbol index = poly_is_symbol(p->s->w, d.arg[0]);
            for (int a = 0; a < p->s->nindex && index; a++) {
                if (p->s->index[a].symbol != index || !take_digit(p->s, &d, 1, &o) || !o.n)
                    continue;
                add_point(p, p->s->index[a].axis, o.digit[0].unit);
                if (o.digit[0].radix)
                    add_point(p, p->s->index[a].axis, o.digit[0].unit * o.digit[0].radix);
            }
        }
}
static void find_points(Points *p, Ex e) {
    ExNode x;
    if (p->nodes++ > NODES_MAX) return;
    ex_get(p->s->w, e, &x);
    for (int k = 0; k < x.n && x.kind == EX_AT; k++) find_in_poly(p, x.dims[k]);
    for (int k = 0; k < ex_children(x.kind); k++) find_points(p, x.child[k]);
}
bool space_split(LowerSpace *s, Ex e, View *like) {
    Points p = {.s = s};
    int more = 0;
    find_points(&p, e);
    for (int a = 0; a < s->n; a++) more += p.n[a];
    if (!more || s->n + more > STEP_RANK) return false;
    LowerSpace apart = {.w = s->w, .sizes = s->sizes};
    View y = *like;
    y.rank = 0;
    for (int a = 0; a < s->n; a++)
        for (int k = p.n[a]; k >= 0; k--) { /* outer parts, with greater steps, come first */
            const int64_t step = k ? p.at[a][k - 1] : 1,
                          end = k < p.n[a] ? p.at[a][k] : s->extent[a];
            apart.index[apart.nindex++] = (SpaceIndex){s->index[a].symbol, apart.n, step};
            y.dim[y.rank] = apart.extent[apart.n++] = end / step;
            y.stride[y.rank++] = like->stride[a] * step;
        }
    *s = apart, *like = y;
    return true;
}
