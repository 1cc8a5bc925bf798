/* einsum: y[i..] = sum over the letters that y has not of the product of the inputs, each axis of
   an input being a letter. letters: for every input its number of axes and the letters of these
   axes; then the same of y. Letters are numbers from 0; one that stands twice in an input takes its
   diagonal. */
#include "op.h"
enum { LETTERS, LETTERS_MAX = 64 };
static const AttrDef attrs[] = {[LETTERS] = {.name = "letters", .kind = A_INTS}, {0}};

typedef struct Operand {
    int n, letter[RANK_MAX];
} Operand;
/* Reads one operand from entry *k on. */
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
    if (!letter_sizes(c, &s, true) || !result(c, &y)) return "letters do not fit the inputs";
    const char *why = same_type(c, "FIU");
    c->out[0].dim = (Dims){.n = y.n};
    for (int a = 0; a < y.n; a++) {
        if (!s.seen[y.letter[a]]) return "a letter of the result that no input has";
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

static const OnnxMap onnx[] = {{"", "Einsum", 12, 0, "letters:equation"}, {0}};
const Op op_einsum = {"einsum", "xs..", "y", attrs, shape, .define = define, .onnx = onnx};
