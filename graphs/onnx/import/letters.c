/* letters.c -- imports a product that letters describe (Einsum) as products of two inputs each, in
   one of few forms, so that rules need to know these forms only.

   The axes of an input are put in order by a transpose, axes of the same role are joined by a
   reshape, and the result is converted back in the same way. A letter that occurs in both inputs
   belongs to the batch if it also occurs in the result y, and is summed if it does not. The input
   that has the last letter of y provides the columns, the other one the rows. The forms are:

   1. m k, k n -> m n;
   2. ..b m k, ..b k n -> ..b m n;
   3. m k, ..b k n -> ..b m n, where the batch consists of letters that only the second factor has
      and that come first in y.

   A node stays as it is if a letter occurs twice in a term, or occurs in one input and nowhere
   else. */
#include "graphs/onnx/import/import.h"

enum { Y = 2, BATCH_MAX = 3, LETTERS = 64 };
typedef struct Term { /* the letters of a tensor's axes */
    int n, letter[RANK_MAX];
} Term;
typedef struct LetterProduct {
    Term term[3]; /* the first factor, the second factor, y */
    Value factor[2];
    bool in[3][LETTERS]; /* by term and letter: whether the term has the letter */
    Poly size[LETTERS];  /* by letter */
    Term batch, rows, columns, summed;
    bool shared; /* the batch belongs to both factors */
} LetterProduct;

static void append(Term *t, int letter) { t->letter[t->n++] = letter; }
static void extend(Term *t, const Term *more) {
    for (int j = 0; j < more->n; j++) append(t, more->letter[j]);
}

/* Reads the attribute of the operator einsum: a term for each of the n inputs, then one for the
   result. */
static Term *read_terms(Import *s, PolyList list, int n) {
    Term *t = ARENA_NEW(s->w->arena, Term, n + 1);
    int at = 0;
    for (int k = 0; k <= n; k++) {
        int64_t axes, letter;
        if (at >= list.n || !number_at(s, list, at++, &axes) || axes > RANK_MAX ||
            at + axes > list.n)
            return NULL;
        for (t[k].n = 0; t[k].n < axes;) {
            if (!number_at(s, list, at++, &letter) || letter >= LETTERS) return NULL;
            append(&t[k], (int)letter);
        }
    }
    return at == list.n ? t : NULL;
}

static bool set_terms(LetterProduct *p, const Term *a, const Term *b, const Term *y) {
    const Term *term[] = {a, b, y};
    for (int k = 0; k < 3; k++) {
        p->term[k] = *term[k];
        for (int j = 0; j < term[k]->n; j++) {
            bool *in = &p->in[k][term[k]->letter[j]];
            if (*in) return false; /* a diagonal */
            *in = true;
        }
    }
    return true;
}

static bool read_sizes(Import *s, LetterProduct *p) {
    for (int k = 0; k < 2; k++) {
        const Dims *d = &value_type(s->w, p->factor[k])->dim;
        if (d->n != p->term[k].n) return false;
        for (int j = 0; j < d->n; j++) p->size[p->term[k].letter[j]] = d->v[j];
    }
    return true;
}

/* Exchanges the factors unless the second one has the last letter of y. */
static void order_factors(LetterProduct *p) {
    const LetterProduct old = *p;
    const Term *y = &p->term[Y];
    if (!y->n || p->in[1][y->letter[y->n - 1]]) return;
    for (int k = 0; k < 2; k++) {
        p->term[k] = old.term[1 - k], p->factor[k] = old.factor[1 - k];
        for (int l = 0; l < LETTERS; l++) p->in[k][l] = old.in[1 - k][l];
    }
}

/* Whether y consists of some letters of the second factor, then all rows, then other letters of the
   second factor. */
static bool has_own_batch(const LetterProduct *p) {
    const Term *y = &p->term[Y];
    int turns = 0;
    for (int j = 0; j < y->n; j++) {
        if (p->in[0][y->letter[j]] && p->in[1][y->letter[j]]) return false;
        turns += j > 0 && p->in[1][y->letter[j]] != p->in[1][y->letter[j - 1]];
    }
    return turns == 2 && p->in[1][y->letter[0]];
}

static bool find_roles(LetterProduct *p) {
    const Term *y = &p->term[Y];
    const bool own = has_own_batch(p);
    for (int j = 0; j < y->n; j++) {
        const int l = y->letter[j];
        if (p->in[0][l] && p->in[1][l]) append(&p->batch, l);
        else if (p->in[0][l]) append(&p->rows, l);
        else append(own && !p->rows.n ? &p->batch : &p->columns, l);
    }
    p->shared = !own;
    for (int k = 1; k >= 0; k--)
        for (int j = 0; j < p->term[k].n; j++) {
            const int l = p->term[k].letter[j];
            if (!p->in[1 - k][l] && !p->in[Y][l]) return false;
            if (k == 1 && p->in[0][l] && !p->in[Y][l]) append(&p->summed, l);
        }
    return p->batch.n <= BATCH_MAX;
}

/* Sets perm[] to the order of `to` in that of `from`. Returns whether they are the same. */
static bool find_order(Import *s, const Term *from, const Term *to, Poly perm[]) {
    bool same = true;
    for (int j = 0; j < to->n; j++)
        for (int k = 0; k < from->n; k++)
            if (from->letter[k] == to->letter[j]) perm[j] = poly_int(s->w, k), same &= k == j;
    return same;
}

/* The letters whose size is not known to be 1; *size receives their sizes. */
static Term without_ones(Import *s, const LetterProduct *p, const Term *t, Dims *size) {
    Term out = {.n = 0};
    *size = (Dims){.n = 0};
    for (int j = 0; j < t->n; j++)
        if (!poly_is(s->w, p->size[t->letter[j]], 1)) {
            size->v[size->n++] = p->size[t->letter[j]];
            append(&out, t->letter[j]);
        }
    return out;
}

/* Transposes x, whose axes are named by the letters of `from`, to the order of `to`. Axes of size 1
   are left out: runtimes move runs of elements, which a last axis of size 1 would make single
   elements. The result may lack these axes. */
static Value reordered(Import *s, const LetterProduct *p, Value x, const Term *from,
                       const Term *to) {
    Poly *perm = ARENA_NEW(s->w->arena, Poly, RANK_MAX);
    if (find_order(s, from, to, perm)) return x;
    Dims size, ignored;
    const Term kept = without_ones(s, p, from, &size), order = without_ones(s, p, to, &ignored);
    if (kept.n < from->n && !(x = reshape_to(s, x, size))) return 0;
    if (find_order(s, &kept, &order, perm)) return x;
    Attr attr = {.ints = {order.n, perm}};
    const char *why = NULL;
    Value y = node_make(s->w, &op_transpose, &attr, 1, &x, 1, &why);
    if (!y) import_fail(s, "%s", why);
    return y;
}

static Dims sizes_of(const LetterProduct *p, const Term *t) {
    Dims d = {.n = t->n};
    for (int j = 0; j < t->n; j++) d.v[j] = p->size[t->letter[j]];
    return d;
}

static Poly joined(Import *s, const LetterProduct *p, const Term *t) {
    Poly size = poly_int(s->w, 1);
    for (int j = 0; j < t->n; j++) size = poly_mul(s->w, size, p->size[t->letter[j]]);
    return size;
}

/* Converts a factor to a batch of matrices. */
static Value as_matrices(Import *s, const LetterProduct *p, int k) {
    const Term none = {.n = 0}, *batch = k || p->shared ? &p->batch : &none;
    const Term *first = k ? &p->summed : &p->rows, *last = k ? &p->columns : &p->summed;
    Term order = *batch;
    extend(&order, first), extend(&order, last);
    Value x = reordered(s, p, p->factor[k], &p->term[k], &order);
    Dims d = {.n = batch->n + 2};
    for (int j = 0; j < batch->n; j++) d.v[j] = p->size[batch->letter[j]];
    d.v[d.n - 2] = joined(s, p, first), d.v[d.n - 1] = joined(s, p, last);
    return x ? reshape_to(s, x, d) : 0;
}

/* The attribute `letters` of the form: the batch is numbered first, then m, k, n. */
static PolyList form(Import *s, const LetterProduct *p) {
    Poly *list = ARENA_NEW(s->w->arena, Poly, 3 * (RANK_MAX + 1));
    const int b = p->batch.n, ends[3][2] = {{b, b + 1}, {b + 1, b + 2}, {b, b + 2}};
    int n = 0;
    for (int k = 0; k < 3; k++) {
        const int batch = k || p->shared ? b : 0;
        list[n++] = poly_int(s->w, batch + 2);
        for (int j = 0; j < batch; j++) list[n++] = poly_int(s->w, j);
        for (int j = 0; j < 2; j++) list[n++] = poly_int(s->w, ends[k][j]);
    }
    return (PolyList){n, list};
}

static Value pair_ordered(Import *s, LetterProduct *p) {
    order_factors(p);
    if (!read_sizes(s, p) || !find_roles(p)) return 0;
    Value factor[2] = {as_matrices(s, p, 0), as_matrices(s, p, 1)};
    Attr attr = {.ints = form(s, p)};
    const char *why = NULL;
    Value y = factor[0] && factor[1] ? node_make(s->w, s->op, &attr, 2, factor, 1, &why) : 0;
    if (!y) return 0;
    Term made = p->batch;
    extend(&made, &p->rows), extend(&made, &p->columns);
    y = reshape_to(s, y, sizes_of(p, &made));
    if (y) y = reordered(s, p, y, &made, &p->term[Y]);
    return y ? reshape_to(s, y, sizes_of(p, &p->term[Y])) : 0;
}

static bool has(const Term *t, int letter) {
    for (int j = 0; j < t->n; j++)
        if (t->letter[j] == letter) return true;
    return false;
}

/* Collects the letters of a and b, each once, that also occur in one of the n later terms. Returns
   false if they are too many for a tensor. */
static bool needed_later(const Term *a, const Term *b, const Term later[], int n, Term *out) {
    const Term *term[] = {a, b};
    out->n = 0;
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < term[k]->n; j++) {
            const int letter = term[k]->letter[j];
            bool needed = false;
            for (int i = 0; i < n; i++) needed |= has(&later[i], letter);
            if (!needed || has(out, letter)) continue;
            if (out->n == RANK_MAX) return false;
            append(out, letter);
        }
    return true;
}

Value product_ordered(Import *s, PolyList letters, int n, const Value in[]) {
    const Term *t = read_terms(s, letters, n);
    if (!t || n < 2) return 0;
    Term so_far = t[0], y;
    Value x = in[0];
    for (int k = 1; k < n && x; k++, so_far = y) {
        LetterProduct p = {.factor = {x, in[k]}};
        y = t[n];
        if (k < n - 1 && !needed_later(&so_far, &t[k], t + k + 1, n - k, &y)) return 0;
        x = set_terms(&p, &so_far, &t[k], &y) ? pair_ordered(s, &p) : 0;
    }
    return x;
}
