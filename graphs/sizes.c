/* sizes.c -- options to sizes. A size that is one symbol takes the number given for its axis; any
   other is only compared with it once all symbols have values. */
#include "graphs/sizes.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Bind {
    World *w;
    const Graph *g;
    const char *const *name;
    uint32_t n;
    int64_t *value;
    Error *error;
} Bind;

static bool set(Bind *b, Symbol s, int64_t value, const char *place) {
    if (value < 0)
        return error_set(b->error, E_USAGE, place, "sizes are not negative: %" PRId64, value);
    if (b->value[s] != SIZE_UNKNOWN && b->value[s] != value) {
        SymbolDef d = symbol_def(b->w, s);
        return error_set(b->error, E_USAGE, place, "the size %s would be %" PRId64 " and %" PRId64,
                         d.kind == SYM_NAMED ? world_text(b->w, d.word) : "of an axis", b->value[s],
                         value);
    }
    b->value[s] = value;
    return true;
}

static bool set_axis(Bind *b, int input, int axis, int64_t value) {
    Poly p = value_type(b->w, b->g->in[input])->dim.v[axis];
    Symbol s = poly_is_symbol(b->w, p);
    int64_t fixed;
    if (s && symbol_def(b->w, s).kind != SYM_NAMED && symbol_def(b->w, s).kind != SYM_DATA) s = 0;
    if (s) return set(b, s, value, b->name[input]);
    if (!poly_constant(b->w, p, &fixed) || fixed == value) return true;
    return error_set(b->error, E_USAGE, b->name[input],
                     "axis %d has the size %" PRId64 " in the model, not %" PRId64, axis, fixed,
                     value);
}

/* The input that "NAME:.." names, and what follows. */
static int named_input(Bind *b, const char *option, const char **rest) {
    const char *colon = strrchr(option, ':');
    *rest = colon ? colon + 1 : option;
    if (!colon) return b->g->nin == 1 ? 0 : -1;
    for (int k = 0; k < b->g->nin; k++)
        if (strlen(b->name[k]) == (size_t)(colon - option) &&
            !memcmp(b->name[k], option, (size_t)(colon - option)))
            return k;
    return -1;
}

static bool no_input(Bind *b, const char *option) {
    char names[200] = "";
    for (int k = 0; k < b->g->nin; k++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", k ? ", " : "", b->name[k]);
    }
    return error_set(b->error, E_USAGE, option,
                     "no input of the model has this name; its inputs: %s", names);
}

static bool set_shape(Bind *b, const char *option) {
    const char *at;
    int input = named_input(b, option, &at), axis = 0;
    if (input < 0) return no_input(b, option);
    const Type *t = value_type(b->w, b->g->in[input]);
    if (!t->known)
        return error_set(b->error, E_USAGE, option, "the rank of this input is not known");
    for (char *end; *at; axis++) {
        int64_t value = strtoll(at, &end, 10);
        if (end == at || (*end && *end != ','))
            return error_set(b->error, E_USAGE, option, "numbers separated by commas are expected");
        if (axis < t->dim.n && !set_axis(b, input, axis, value)) return false;
        at = *end ? end + 1 : end;
    }
    return axis == t->dim.n || error_set(b->error, E_USAGE, option,
                                         "the input has %d axes, %d are given", t->dim.n, axis);
}

static bool set_dim(Bind *b, Arena *a, const char *option) {
    const char *equals = strrchr(option, '=');
    char *end = NULL;
    int64_t value = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || end == equals + 1 || *end)
        return error_set(b->error, E_USAGE, option, "NAME=NUMBER is expected");
    Symbol s = symbol_named(b->w, arena_string(a, option, (size_t)(equals - option)));
    return s >= b->n ? error_set(b->error, E_USAGE, option, "no size of the model has this name")
                     : set(b, s, value, option);
}

static bool complete(Bind *b, Text *notes) {
    for (int k = 0; k < b->g->nin; k++) {
        const Type *t = value_type(b->w, b->g->in[k]);
        for (int axis = 0; axis < t->dim.n; axis++) {
            int64_t value;
            if (poly_eval(b->w, t->dim.v[axis], (Sizes){b->n, b->value}, &value)) continue;
            if (axis)
                return error_set(b->error, E_USAGE, b->name[k],
                                 "the size of axis %d is needed: --input-shape or --dim", axis);
            if (!set_axis(b, k, axis, 1)) return false;
            if (notes) text_add(notes, "%s: axis 0 is taken to be 1\n", b->name[k]);
        }
    }
    return true;
}

bool sizes_bind(World *w, Arena *a, const Graph *g, const char *const name[], StringList shapes,
                StringList dims, Sizes *out, Text *notes, Error *e) {
    Bind b = {
        .w = w, .g = g, .name = name, .n = intern_count(w->table[TABLE_SYMBOL]) + 1, .error = e};
    b.value = ARENA_NEW(a, int64_t, b.n);
    *out = (Sizes){0};
    for (uint32_t s = 0; s < b.n; s++) b.value[s] = SIZE_UNKNOWN;
    for (int k = 0; k < shapes.n; k++)
        if (!set_shape(&b, shapes.v[k])) return false;
    for (int k = 0; k < dims.n; k++)
        if (!set_dim(&b, a, dims.v[k])) return false;
    *out = (Sizes){b.n, b.value};
    return complete(&b, notes);
}

/* ---- before a model is open */

/* Number `axis` of "NAME:1,3,224,224"; negative: not of this input, or not there. */
static int64_t axis_of_shape(const char *option, const char *input, int axis) {
    const char *colon = strrchr(option, ':'), *at = colon ? colon + 1 : option;
    if (colon && (strlen(input) != (size_t)(colon - option) ||
                  memcmp(input, option, (size_t)(colon - option)) != 0))
        return -1;
    for (; axis > 0; axis--) {
        at = strchr(at, ',');
        if (!at++) return -1;
    }
    char *end;
    int64_t value = strtoll(at, &end, 10);
    return end > at ? value : -1;
}

int64_t size_given(const void *user, const char *input, int axis, const char *param) {
    const SizeOptions *o = user;
    size_t n = strlen(param);
    for (int k = o->shapes.n; k-- > 0;) {
        int64_t value = axis_of_shape(o->shapes.v[k], input, axis);
        if (value >= 0) return value;
    }
    for (int k = o->dims.n; n && k-- > 0;)
        if (!strncmp(o->dims.v[k], param, n) && o->dims.v[k][n] == '=')
            return strtoll(o->dims.v[k] + n + 1, NULL, 10);
    return axis == 0 ? 1 : -1;
}
