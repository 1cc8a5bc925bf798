/* spelling_form.c -- import functions of items.def that distinguish the forms of an operator:
   hidden sizes, element types of results, required ranks, activations, training mode. */
#include "graphs/onnx/items.h"
#include <inttypes.h>
#include <string.h>
#include <strings.h>

static bool give_word_of(Import *s, int attr, DType t) {
    s->attr[attr].enum_value = (int)t;
    return s->given[attr] = true;
}
static DType type_of(const Import *s, int k) {
    return k < s->nin && s->in[k] ? value_type(s->w, s->in[k])->dtype : DT_NONE;
}

static DType stated_dtype(Import *s) {
    int64_t t = onnx_attr_int(s, "output_dtype", 0);
    return t > 0 && t < DT_COUNT ? (DType)t : DT_NONE;
}

bool import_to_quantized(Import *s, int attr) {
    DType zero = type_of(s, 2), stated = stated_dtype(s);
    return give_word_of(s, attr, zero ? zero : stated ? stated : DT_UINT8);
}
bool import_to_scale(Import *s, int attr) {
    DType stated = stated_dtype(s);
    return give_word_of(s, attr, stated ? stated : type_of(s, 1));
}

/* Checks a rank that ONNX demands. With another rank no runtime can run the node, which
   infer_branch.c uses. */
static bool demanded(Import *s, int have, int wanted) {
    if (have == wanted) return true;
    s->n->impossible = true;
    return import_fail(s, "an input with %d axes where ONNX requires %d", have, wanted);
}
bool import_rank_3(Import *s, int attr) {
    const Type *x = s->nin ? import_type(s, s->in[0]) : NULL;
    return (void)attr, x && demanded(s, x->dim.n, 3);
}
bool import_rank_kernel(Import *s, int attr) {
    int kernel = op_input_named(s->op, "w");
    const Type *x = kernel >= 0 && kernel < s->nin ? import_type(s, s->in[0]) : NULL,
               *w = x ? import_type(s, s->in[kernel]) : NULL;
    return (void)attr, w && demanded(s, x->dim.n, w->dim.n);
}

/* Check whether a node trains: by the attribute training_mode, which must be 1; by input 2, which
   must be true; or that it does not train, so that input 2 is false or left out. */
bool import_trains_by_attribute(Import *s, int attr) {
    (void)attr;
    return onnx_attr_int(s, "training_mode", 0) == 1 ||
           import_fail(s, "attribute training_mode is not 1");
}
bool import_training(Import *s, bool wanted) {
    int64_t trains = 0;
    for (int k = 1; k < s->nin; k++) import_take(s, k);
    if (s->nin > 2 && s->in[2] && !import_number(s, s->in[2], &trains))
        return import_fail(s, "a training mode that is computed from data");
    return (trains != 0) == wanted || import_fail(s, "training mode is not supported");
}
bool import_trains_by_input(Import *s, int attr) { return (void)attr, import_training(s, true); }
bool import_trains_not(Import *s, int attr) { return (void)attr, import_training(s, false); }

bool import_shape_like(Import *s, int attr) {
    const Type *x = s->nin ? import_type(s, s->in[0]) : NULL;
    import_take(s, 0);
    if (x) give_ints(s, attr, x->dim.n, x->dim.v);
    return x != NULL;
}
bool import_dtype_like(Import *s, int attr) {
    int64_t stated = onnx_attr_int(s, "dtype", 0);
    return give_word_of(s, attr, stated > 0 && stated < DT_COUNT ? (DType)stated : type_of(s, 0));
}

bool import_axis_dft(Import *s, int attr) {
    Poly last_but_one = poly_int(s->w, -2);
    give_ints(s, attr, 1, &last_but_one);
    return give_input(s, attr, 2);
}

bool import_length_dft(Import *s, int attr) { return give_input(s, attr, 1); }

bool import_length_stft(Import *s, int attr) {
    if (s->nin < 3 || !s->in[2]) return give_input(s, attr, 3);
    if (s->nin > 3) import_take(s, 3);
    return true;
}

bool import_hidden(Import *s, int attr) {
    const Type *r = s->nin > 2 ? import_type(s, s->in[2]) : NULL;
    if (!r || r->dim.n != 3) return import_fail(s, "input 2 does not have three axes");
    const int64_t given = onnx_attr_int(s, "hidden_size", INT64_MIN);
    int64_t size;
    if (given != INT64_MIN && poly_constant(s->w, r->dim.v[2], &size) && size != given)
        return import_fail(s, "hidden_size is %" PRId64 ", but input 2 is for %" PRId64, given,
                           size);
    give_ints(s, attr, 1, &r->dim.v[2]);
    return true;
}

/* Checks the names of activations, if they are given: for each direction the n names in `usual`.
   Case does not matter. */
static bool activations(Import *s, int n, const char *const usual[]) {
    OnnxAttr t;
    if (!onnx_attr(s, "activations", &t)) return true;
    if (t.kind != ONNX_ATTR_TEXTS || (t.n != n && t.n != 2 * n))
        return import_fail(s, "activations is not a list of %d names for each direction", n);
    for (int k = 0; k < t.n; k++)
        if (strcasecmp(t.texts[k], usual[k % n]) != 0)
            return import_fail(s, "activation %s is not supported here, only %s", t.texts[k],
                               usual[k % n]);
    return true;
}
bool import_activations_gru(Import *s, int attr) {
    static const char *const usual[] = {"sigmoid", "tanh"};
    (void)attr;
    return activations(s, 2, usual);
}
bool import_activations_lstm(Import *s, int attr) {
    static const char *const usual[] = {"sigmoid", "tanh", "tanh"};
    (void)attr;
    return activations(s, 3, usual);
}

/* The activation of a simple recurrent network: tanh or relu, the same in both directions. */
bool import_activation(Import *s, int attr) {
    static const char *const tanh[] = {"tanh"}, *const relu[] = {"relu"};
    OnnxAttr t;
    if (!onnx_attr(s, "activations", &t)) return true;
    const bool is_relu = t.kind == ONNX_ATTR_TEXTS && t.n && !strcasecmp(t.texts[0], *relu);
    if (!activations(s, 1, is_relu ? relu : tanh)) return false;
    s->attr[attr].enum_value = is_relu;
    return s->given[attr] = true;
}
