/* special_form.c -- items by which a node says what its operator is a case of: Einsum's equation,
   hidden sizes, element types of results, whether it trains. */
#include "graphs/onnx/import.h"
#include "graphs/onnx/export.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool give_word_of(Import *s, int attr, DType t) {
    s->attr[attr].word = (int)t;
    return s->given[attr] = true;
}
static DType type_of(const Import *s, int k) {
    return k < s->nin && s->in[k] ? value_type(s->w, s->in[k])->dtype : DT_NONE;
}

static DType stated_dtype(Import *s) {
    int64_t t = their_int(s, "output_dtype", 0);
    return t > 0 && t < DT_COUNT ? (DType)t : DT_NONE;
}

bool special_to_quantized(Import *s, int attr) {
    DType zero = type_of(s, 2), stated = stated_dtype(s);
    return give_word_of(s, attr, zero ? zero : stated ? stated : DT_UINT8);
}
bool special_to_scale(Import *s, int attr) {
    DType stated = stated_dtype(s);
    return give_word_of(s, attr, stated ? stated : type_of(s, 1));
}

/* A rank that ONNX demands. Another one is no limit of ours: the node cannot run. */
static bool demanded(Import *s, int have, int wanted) {
    if (have == wanted) return true;
    s->n->impossible = true;
    return import_fail(s, "an input of %d axes where ONNX demands %d", have, wanted);
}
bool special_rank_3(Import *s, int attr) {
    const Type *x = s->nin ? import_type(s, s->in[0]) : NULL;
    return (void)attr, x && demanded(s, x->dim.n, 3);
}
bool special_rank_kernel(Import *s, int attr) {
    int kernel = op_input_named(s->op, "w");
    const Type *x = kernel >= 0 && kernel < s->nin ? import_type(s, s->in[0]) : NULL,
               *w = x ? import_type(s, s->in[kernel]) : NULL;
    return (void)attr, w && demanded(s, x->dim.n, w->dim.n);
}

/* Whether a node trains. attribute: training_mode is 1; input, off: input 2 is true, or false or
   left out. */
bool special_training_attribute(Import *s, int attr) {
    (void)attr;
    return their_int(s, "training_mode", 0) == 1 ||
           import_fail(s, "attribute training_mode is not 1");
}
static bool training(Import *s, bool wanted) {
    Type type;
    const void *bytes;
    bool trains = false;
    for (int k = 1; k < s->nin; k++) s->taken |= 1ull << k;
    if (s->nin > 2 && s->in[2]) {
        if (!import_data(s, s->in[2], &type, &bytes))
            return import_fail(s, "a training mode that is computed from data");
        trains = *(const unsigned char *)bytes != 0;
    }
    return trains == wanted || import_fail(s, "training mode");
}
bool special_training_input(Import *s, int attr) { return (void)attr, training(s, true); }
bool special_training_off(Import *s, int attr) { return (void)attr, training(s, false); }

/* The sizes of input 0, which is dropped; the attribute dtype, or else the element type of input
   0. */
bool special_shape_like(Import *s, int attr) {
    const Type *x = s->nin ? import_type(s, s->in[0]) : NULL;
    s->taken |= 1;
    if (x) give_ints(s, attr, x->dim.n, x->dim.v);
    return x != NULL;
}
bool special_dtype_like(Import *s, int attr) {
    int64_t stated = their_int(s, "dtype", 0);
    return give_word_of(s, attr, stated > 0 && stated < DT_COUNT ? (DType)stated : type_of(s, 0));
}

bool special_axis_dft(Import *s, int attr) {
    Poly last_but_one = poly_int(s->w, -2);
    give_ints(s, attr, 1, &last_but_one);
    return give_input(s, attr, 2);
}

bool special_length_dft(Import *s, int attr) { return give_input(s, attr, 1); }

bool special_hidden(Import *s, int attr) {
    const Type *r = s->nin > 2 ? import_type(s, s->in[2]) : NULL;
    if (!r || r->dim.n != 3) return import_fail(s, "input 2 has not three axes");
    their_int(s, "hidden_size", 0);
    give_ints(s, attr, 1, &r->dim.v[2]);
    return true;
}

/* The names of activations for each direction: `n` of them, from the set `usual`, if given. Case
   does not matter. */
static bool activations(Import *s, int n, const char *const usual[]) {
    Their t;
    if (!their(s, "activations", &t)) return true;
    if (t.kind != THEIR_TEXTS || (t.n != n && t.n != 2 * n))
        return import_fail(s, "activations is not a list of %d names for each direction", n);
    for (int k = 0; k < t.n; k++)
        if (strcasecmp(t.texts[k], usual[k % n]) != 0)
            return import_fail(s, "the activation %s, where only %s is known", t.texts[k],
                               usual[k % n]);
    return true;
}
bool special_activations_gru(Import *s, int attr) {
    static const char *const usual[] = {"sigmoid", "tanh"};
    (void)attr;
    return activations(s, 2, usual);
}
bool special_activations_lstm(Import *s, int attr) {
    static const char *const usual[] = {"sigmoid", "tanh", "tanh"};
    (void)attr;
    return activations(s, 3, usual);
}

/* Of a simple recurrent network: tanh or relu, in both directions the same. */
bool special_activation(Import *s, int attr) {
    static const char *const tanh[] = {"tanh"}, *const relu[] = {"relu"};
    Their t;
    if (!their(s, "activations", &t)) return true;
    const bool is_relu = t.kind == THEIR_TEXTS && t.n && !strcasecmp(t.texts[0], *relu);
    if (!activations(s, 1, is_relu ? relu : tanh)) return false;
    s->attr[attr].word = is_relu;
    return s->given[attr] = true;
}

/* How much of a head is turned is twice what the cosines are for. */
bool special_rotary(Import *s, int attr) {
    const Type *x = s->nin > 1 ? import_type(s, s->in[1]) : NULL;
    (void)attr;
    if (!x || x->dim.n < 2 || x->dim.n > 3) return import_fail(s, "cosines of another rank");
    int64_t stated = their_int(s, "rotary_embedding_dim", 0);
    return stated <= 0 || poly_scale(s->w, x->dim.v[x->dim.n - 1], 2) == poly_int(s->w, stated) ||
           import_fail(s, "rotary_embedding_dim does not fit");
}

/* ---- Einsum */

enum { LETTERS = 52, ENTRIES = 160 };
typedef struct Equation {
    Import *s;
    int number[128]; /* 1 + number of a letter, in the order in which they appear */
    int nletter, nlist, count[128], dots; /* dots: axes that an ellipsis stands for at most */
    Poly list[ENTRIES];
} Equation;

static void add(Equation *e, int number) {
    if (e->nlist < ENTRIES) e->list[e->nlist++] = poly_int(e->s->w, number);
}
static int letter_number(Equation *e, char c) {
    if (!e->number[(int)c]) e->number[(int)c] = ++e->nletter;
    return e->number[(int)c] - 1;
}
/* One term up to a comma or arrow: letters, perhaps an ellipsis for the axes that are left of
   `rank` (-1: of the result, all that there are). */
static const char *term(Equation *e, const char *at, int rank) {
    int explicit_axes = 0;
    const char *end = at + strcspn(at, ",-");
    for (const char *c = at; c < end; c++) explicit_axes += isalpha((unsigned char)*c) != 0;
    int hidden = rank < 0 ? e->dots : rank - explicit_axes;
    if (hidden < 0) return NULL;
    int place = e->nlist;
    bool dotted = false;
    add(e, 0);
    for (; at < end; at++) {
        if (isalpha((unsigned char)*at)) add(e, letter_number(e, *at)), e->count[(int)*at]++;
        else if (*at == '.' && !dotted) {
            dotted = true;
            if (rank >= 0 && hidden > e->dots) e->dots = hidden;
            for (int k = 0; k < hidden; k++) add(e, LETTERS + RANK_MAX - hidden + k);
        } else if (*at != '.' && *at != ' ') return NULL;
    }
    if (!dotted && rank >= 0 && hidden) return NULL;
    e->list[place] = poly_int(e->s->w, e->nlist - place - 1);
    return end;
}
/* Without an arrow: the ellipsis, then the letters that stand once, in order of the alphabet. */
static void implicit_result(Equation *e) {
    int place = e->nlist;
    add(e, 0);
    for (int k = 0; k < e->dots; k++) add(e, LETTERS + RANK_MAX - e->dots + k);
    for (int c = 'A'; c <= 'z'; c++)
        if (e->count[c] == 1) add(e, e->number[c] - 1);
    e->list[place] = poly_int(e->s->w, e->nlist - place - 1);
}

bool special_letters(Import *s, int attr) {
    Their t;
    if (!their(s, "equation", &t) || t.kind != THEIR_TEXT) return import_fail(s, "no equation");
    Equation *e = ARENA_NEW(s->w->arena, Equation, 1);
    e->s = s;
    const char *at = t.text;
    for (int k = 0; k < s->nin; k++) {
        const Type *x = import_type(s, s->in[k]);
        if (!x) return false;
        if (k && *at++ != ',') return import_fail(s, "an equation of fewer terms than inputs");
        if (!(at = term(e, at, x->dim.n)))
            return import_fail(s, "an equation that does not fit the inputs");
    }
    if (e->nletter > LETTERS) return import_fail(s, "too many letters");
    if (strncmp(at, "->", 2) == 0) at = term(e, at + 2, -1);
    else implicit_result(e);
    if (!at || *at || e->nlist == ENTRIES)
        return import_fail(s, "an equation that is not understood");
    give_ints(s, attr, e->nlist, e->list);
    return true;
}

const char *emit_letters(World *w, PolyList list, int nin) {
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[64] = "";
    int next = 0, operand = 0;
    int64_t n, letter;
    Text t = text_new(w->arena);
    for (int k = 0; k < list.n && poly_constant(w, list.v[k], &n); k += 1 + (int)n, operand++) {
        if (operand) text_add(&t, operand == nin ? "->" : ",");
        for (int j = 1; j <= n && k + j < list.n && poly_constant(w, list.v[k + j], &letter); j++) {
            if (letter < 0 || letter >= 64 || (!name[letter] && next == LETTERS)) return NULL;
            if (!name[letter]) name[letter] = alphabet[next++];
            text_add(&t, "%c", name[letter]);
        }
    }
    return t.data ? t.data : "";
}
