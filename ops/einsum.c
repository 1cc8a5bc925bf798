/* einsum: y[i..] = the sum, over the letters that y lacks, of the product of the inputs, where each
   axis of a tensor is named by a letter. A letter that occurs twice in an input takes its diagonal.
   The attribute `letters` lists, for each input and then for y, the number of axes and the letter
   of each axis; letters are numbers from 0. */
#include "ops/operator/op.h"
#include <string.h>
enum { LETTERS, LETTERS_MAX = 64 };
static const AttrDef attrs[] = {[LETTERS] = {.name = "letters", .kind = A_INTS}, {0}};

typedef struct Operand {
    int n, letter[RANK_MAX];
} Operand;
/* Reads the letters of one operand, from entry *k of the list on, and moves *k behind them. */
static bool operand(Call *c, int *k, Operand *o) {
    PolyList list = ints(c, LETTERS);
    int64_t n, letter;
    if (*k >= list.n || !is_const(c, list.v[*k], &n) || n < 0 || n > RANK_MAX ||
        *k + 1 + n > list.n)
        return false;
    o->n = (int)n;
    for (int j = 0; j < o->n; j++) {
        if (!is_const(c, list.v[*k + 1 + j], &letter) || letter < 0 || letter >= LETTERS_MAX)
            return false;
        o->letter[j] = (int)letter;
    }
    *k += 1 + o->n;
    return true;
}
typedef struct LetterSizes {
    Poly size[LETTERS_MAX];
    bool seen[LETTERS_MAX];
} LetterSizes;
static bool letter_sizes(Call *c, LetterSizes *s, bool needed) {
    Operand o;
    for (int j = 0, k = 0; j < c->nin; j++) {
        if (!operand(c, &k, &o) || o.n != c->in[j]->dim.n) return false;
        for (int a = 0; a < o.n; a++) {
            if (s->seen[o.letter[a]] && needed)
                need_eq(c, s->size[o.letter[a]], c->in[j]->dim.v[a]);
            if (!s->seen[o.letter[a]]) s->size[o.letter[a]] = c->in[j]->dim.v[a];
            s->seen[o.letter[a]] = true;
        }
    }
    return true;
}
static bool result(Call *c, Operand *y) {
    int k = 0;
    for (int j = 0; j < c->nin; j++)
        if (!operand(c, &k, y)) return false;
    return operand(c, &k, y) && k == ints(c, LETTERS).n;
}

static const char *shape(Call *c) {
    LetterSizes s = {{0}, {false}};
    Operand y;
    if (!letter_sizes(c, &s, true) || !result(c, &y)) return "the letters do not match the inputs";
    const char *why = same_type(c, "FIU");
    c->out[0].dim = (Dims){.n = y.n};
    for (int a = 0; a < y.n; a++) {
        if (!s.seen[y.letter[a]]) return "the result has a letter that no input has";
        c->out[0].dim.v[a] = s.size[y.letter[a]];
    }
    return why;
}
static Ex define(Call *c, Dims i) {
    LetterSizes s = {{0}, {false}};
    Operand y, o;
    Poly index[LETTERS_MAX];
    bool kept[LETTERS_MAX] = {false};
    Dims n = {0};
    int summed[RANK_MAX];
    letter_sizes(c, &s, false);
    result(c, &y);
    for (int a = 0; a < y.n; a++) index[y.letter[a]] = i.v[a], kept[y.letter[a]] = true;
    for (int l = 0; l < LETTERS_MAX; l++) {
        if (!s.seen[l] || kept[l]) continue;
        if (n.n == RANK_MAX) return 0;
        summed[n.n] = l;
        n.v[n.n++] = s.size[l];
    }
    Dims k = bound(c, n);
    for (int j = 0; j < n.n; j++) index[summed[j]] = k.v[j];
    Ex e = 0;
    for (int j = 0, from = 0; j < c->nin; j++) {
        operand(c, &from, &o);
        Dims x = {.n = o.n};
        for (int a = 0; a < o.n; a++) x.v[a] = index[o.letter[a]];
        e = e ? mul(c, e, at(c, j, x)) : at(c, j, x);
    }
    return n.n ? sum(c, k, (Cond){0}, e) : e;
}

/* ---- The item letters:equation: ONNX's text of an equation becomes the list of letters. */

enum { NAMED = 52, ENTRIES = 160 };
typedef struct Equation {
    Call *c;
    Poly list[ENTRIES];
    int nlist;
    bool full;                     /* an entry found no room in the list */
    int number[128];               /* 1 + the number of a letter, by first appearance; 0: new */
    int nletter, count[128], dots; /* dots: most axes that an ellipsis stands for */
} Equation;

static void add_entry(Equation *e, int number) {
    if (e->nlist == ENTRIES) e->full = true;
    else e->list[e->nlist++] = poly_int(e->c->w, number);
}
/* Ends the operand that begins at this place of the list, with its number of axes. */
static void end_operand(Equation *e, int place) {
    if (!e->full) e->list[place] = poly_int(e->c->w, e->nlist - place - 1);
}
/* Is c a letter of ONNX's equations, whatever the locale of the program? */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static int letter_number(Equation *e, char c) {
    if (!e->number[(int)c]) e->number[(int)c] = ++e->nletter;
    return e->number[(int)c] - 1;
}
/* Reads one term, up to a comma or arrow, as the letters of an operand of this rank; an ellipsis
   stands for the axes that have no letter. For the result, rank is -1, and an ellipsis stands for
   all axes that the inputs' ellipses do. Returns the end of the term, or NULL if it does not
   fit. */
static const char *term(Equation *e, const char *at, int rank) {
    int explicit_axes = 0;
    const char *end = at + strcspn(at, ",-");
    for (const char *c = at; c < end; c++) explicit_axes += is_letter(*c);
    int hidden = rank < 0 ? e->dots : rank - explicit_axes;
    if (hidden < 0) return NULL;
    int place = e->nlist;
    bool dotted = false;
    add_entry(e, 0);
    for (; at < end; at++) {
        if (is_letter(*at)) add_entry(e, letter_number(e, *at)), e->count[(int)*at]++;
        else if (*at == '.' && !dotted) {
            dotted = true;
            if (rank >= 0 && hidden > e->dots) e->dots = hidden;
            for (int k = 0; k < hidden; k++) add_entry(e, NAMED + RANK_MAX - hidden + k);
        } else if (*at != '.' && *at != ' ') return NULL;
    }
    if (!dotted && rank >= 0 && hidden) return NULL;
    end_operand(e, place);
    return end;
}
/* Adds the result of an equation without an arrow: the ellipsis, then the letters that occur once,
   in alphabetical order. */
static void implicit_result(Equation *e) {
    int place = e->nlist;
    add_entry(e, 0);
    for (int k = 0; k < e->dots; k++) add_entry(e, NAMED + RANK_MAX - e->dots + k);
    for (int c = 'A'; c <= 'z'; c++)
        if (e->count[c] == 1) add_entry(e, e->number[c] - 1);
    end_operand(e, place);
}
static bool read_equation(Call *c, OnnxRead *r, int attr) {
    const char *at = r->text(r, "equation", NULL);
    if (!at) return r->refuse(r, "the equation is missing");
    Equation e = {.c = c};
    for (int k = 0; k < c->nin; k++) {
        if (!c->in[k]) return r->refuse(r, "an input is missing");
        if (k && *at++ != ',')
            return r->refuse(r, "the equation has fewer terms than there are inputs");
        if (!(at = term(&e, at, c->in[k]->dim.n)))
            return r->refuse(r, "the equation does not match the inputs");
    }
    if (strncmp(at, "->", 2) == 0) at = term(&e, at + 2, -1);
    else implicit_result(&e);
    if (!at || *at) return r->refuse(r, "the equation cannot be parsed");
    if (e.full) return r->refuse(r, "the equation is too long");
    r->give(r, attr, e.nlist, e.list);
    return true;
}
static bool write_equation(Call *c, OnnxWrite *w, int attr) {
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[64] = "", text[2 * ENTRIES], *to = text;
    int next = 0, which = 0;
    PolyList list = ints(c, attr);
    int64_t n, letter;
    if (list.n > ENTRIES)
        return w->refuse(w, "the equation needs more letters than the alphabet has");
    for (int k = 0; k < list.n && is_const(c, list.v[k], &n); k += 1 + (int)n, which++) {
        if (which && which < c->nin) *to++ = ',';
        if (which && which == c->nin) *to++ = '-', *to++ = '>';
        for (int j = 1; j <= n && k + j < list.n && is_const(c, list.v[k + j], &letter); j++) {
            if (letter < 0 || letter >= 64 || (!name[letter] && next == NAMED))
                return w->refuse(w, "the equation needs more letters than the alphabet has");
            if (!name[letter]) name[letter] = alphabet[next++];
            *to++ = name[letter];
        }
    }
    return w->text(w, "equation", arena_string(c->w->arena, text, (size_t)(to - text)));
}
static const OnnxItem items[] = {{"letters", "equation", read_equation, write_equation}, {0}};

/* ---- Steps for a product of two inputs, as batched matrix products: letters of both inputs and of
   y are batch axes, letters of one input and of y are rows or columns, and letters that y lacks are
   summed. */
/* Axes.has[letter] is a set of these. */
enum { IN_A = 1, IN_B = 2, IN_Y = 4 };
/* The axes of y, a and b, by letter. A stride is 0 where a tensor lacks the letter; `order` lists
   the n letters, those of a first. */
typedef struct Axes {
    int has[LETTERS_MAX], n, order[2 * RANK_MAX];
    int64_t dim[LETTERS_MAX], stride[3][LETTERS_MAX];
} Axes;
static bool add_axes(Axes *t, const Operand *o, const View *v, int which) {
    for (int a = 0; a < o->n; a++) {
        const int l = o->letter[a];
        if (t->has[l] & 1 << which) return false; /* the letter takes a diagonal */
        if (!t->has[l]) t->order[t->n++] = l;
        t->has[l] |= 1 << which;
        t->dim[l] = v->dim[a], t->stride[which][l] = v->stride[a];
    }
    return true;
}
/* Sets axis place[k] of each view v[k] to a letter, or to size 1 if letter < 0; a place of -1
   leaves the view out. */
static void put_axis(View v[3], const Axes *t, int letter, const int place[3]) {
    static const int which[] = {2, 0, 1}; /* the index of views y, a, b in Axes.stride */
    for (int k = 0; k < 3; k++) {
        if (place[k] < 0) continue;
        v[k].dim[place[k]] = letter < 0 ? 1 : t->dim[letter];
        v[k].stride[place[k]] = letter < 0 ? 0 : t->stride[which[k]][letter];
    }
}
/* Joins the summed letters into one, which works if they follow each other in the memory of both
   inputs. Returns that letter, -1 if there is none, or LETTERS_MAX if they cannot be joined. */
static int join_summed(Axes *t) {
    int k = -1;
    for (int j = 0; j < t->n; j++) {
        const int l = t->order[j];
        if (t->has[l] != (IN_A | IN_B)) continue;
        for (int w = 0; k >= 0 && w < 2; w++)
            if (t->stride[w][k] != t->stride[w][l] * t->dim[l]) return LETTERS_MAX;
        if (k >= 0) t->dim[l] *= t->dim[k];
        k = l;
    }
    return k;
}
/* Adds a step v[0] = v[1] * v[2]; their letters are o[2], o[0] and o[1]. Returns false if no step
   was added. */
static bool add_product(const Operand o[3], View v[3], StepBuf *b) {
    Axes t = {.n = 0};
    int last[2] = {-1, -1}, rank = 0;
    if (!add_axes(&t, &o[0], &v[1], 0) || !add_axes(&t, &o[1], &v[2], 1) ||
        !add_axes(&t, &o[2], &v[0], 2))
        return false;
    const int summed = join_summed(&t);
    if (summed == LETTERS_MAX) return false;
    for (int j = 0; j < t.n; j++) { /* the matrices take the last row and column letters */
        const int has = t.has[t.order[j]];
        if (has == IN_A || has == IN_B) return false;
        if (has == (IN_A | IN_Y)) last[0] = t.order[j];
        if (has == (IN_B | IN_Y)) last[1] = t.order[j];
    }
    for (int j = 0; j < t.n; j++) {
        const int l = t.order[j];
        if (l == last[0] || l == last[1] || !(t.has[l] & IN_Y)) continue;
        if (rank == STEP_RANK - 2) return false;
        put_axis(v, &t, l, (const int[]){rank, rank, rank});
        rank++;
    }
    put_axis(v, &t, last[0], (const int[]){rank, rank, -1});
    put_axis(v, &t, last[1], (const int[]){rank + 1, -1, rank + 1});
    put_axis(v, &t, summed, (const int[]){-1, rank + 1, rank});
    for (int k = 0; k < 3; k++) v[k].rank = rank + 2;
    step_add(b, S_GEMM, 3, v);
    return true;
}

/* ---- Steps for more inputs: two at a time, first the pair whose product takes the fewest
   multiplications. */
enum { FACTORS = 8 };
typedef struct Factors { /* the factors that are still to be multiplied */
    int n;
    Operand o[FACTORS], y;
    View v[FACTORS];
} Factors;
/* Returns how many multiplications the product of factors i and j takes, or -1 if it has too many
   axes. *o becomes its letters, those that y or another factor has, and dim their sizes. */
static double product_cost(const Factors *f, int i, int j, Operand *o, int64_t dim[]) {
    bool seen[LETTERS_MAX] = {false}, wanted[LETTERS_MAX] = {false};
    double all = 1;
    o->n = 0;
    for (int a = 0; a < f->y.n; a++) wanted[f->y.letter[a]] = true;
    for (int k = 0; k < f->n; k++)
        for (int a = 0; k != i && k != j && a < f->o[k].n; a++) wanted[f->o[k].letter[a]] = true;
    for (int side = 0; side < 2; side++) {
        const int k = side ? j : i;
        for (int a = 0; a < f->o[k].n; a++) {
            const int l = f->o[k].letter[a];
            if (seen[l]) continue;
            seen[l] = true, all *= (double)f->v[k].dim[a];
            if (!wanted[l]) continue;
            if (o->n == STEP_RANK || o->n == RANK_MAX) return -1;
            dim[o->n] = f->v[k].dim[a], o->letter[o->n++] = l;
        }
    }
    return all;
}
static bool multiply_pair(Factors *f, const View *y, StepBuf *b) {
    int first = -1, second = -1;
    int64_t dim[STEP_RANK];
    double least = 0;
    Operand o[3];
    View v[3] = {*y};
    for (int i = 0; i < f->n; i++)
        for (int j = i + 1; j < f->n; j++) {
            const double cost = product_cost(f, i, j, &o[2], dim);
            if (cost >= 0 && (first < 0 || cost < least)) first = i, second = j, least = cost;
        }
    if (first < 0) return false;
    product_cost(f, first, second, &o[2], dim);
    if (f->n == 2) o[2] = f->y;
    else if (!step_buffer(b, y->dtype, o[2].n, dim, &v[0])) return false;
    const View product = v[0];
    o[0] = f->o[first], v[1] = f->v[first], o[1] = f->o[second], v[2] = f->v[second];
    if (!add_product(o, v, b)) return false;
    f->n--;
    f->o[first] = o[2], f->v[first] = product;
    f->o[second] = f->o[f->n], f->v[second] = f->v[f->n];
    return true;
}
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    Factors f = {.n = c->nin};
    const int steps = b->n, buffers = b->nbuffers;
    int from = 0;
    bool done = true;
    if (c->nin < 2 || c->nin > FACTORS || !is_float(c->in[0]) || !result(c, &f.y)) return 0;
    for (int k = 0; k < c->nin; k++) {
        if (!operand(c, &from, &f.o[k])) return 0;
        f.v[k] = in[k];
    }
    while (f.n > 1 && done) done = multiply_pair(&f, &out[0], b);
    if (!done) b->n = steps, b->nbuffers = buffers;
    return done;
}

static const OnnxMap onnx[] = {{"", "Einsum", 12, 0, "letters:equation letters:ordered"}, {0}};
const Op op_einsum = {
    "einsum",     "xs..",        "y", attrs, shape, .define = define, .steps = write_steps,
    .onnx = onnx, .items = items};
