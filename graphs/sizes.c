/* sizes.c -- turns options into sizes, and guesses sizes. A size that is a single symbol takes the
   number given for its axis. Any other size follows from its symbols, and must equal the number
   once they are known. Guesses start from usual numbers; then one
   size after the other takes the number at which the fewest needs of the graph fail. */
#include "graphs/needs.h"
#include "graphs/sizes.h"
#include "ops/core/element.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Bind {
    World *w;
    const Graph *g;
    const char *const *name;
    uint32_t n; /* number of symbols, and the value of each */
    int64_t *value;
    const char *option; /* the option whose sizes are being set */
    Error *error;
} Bind;

/* what: the option's text, or the input that it is about. */
static bool set_size(Bind *b, Symbol s, int64_t value, const char *what) {
    if (value < 0)
        return error_set(b->error, E_USAGE, b->option, "%s: a size cannot be negative: %" PRId64,
                         what, value);
    if (b->value[s] != SIZE_UNKNOWN && b->value[s] != value) {
        SymbolDef d = symbol_def(b->w, s);
        return error_set(b->error, E_USAGE, b->option,
                         "%s: the size %s would have to be both %" PRId64 " and %" PRId64, what,
                         d.kind == SYM_NAMED ? world_text(b->w, d.word) : "of an axis", b->value[s],
                         value);
    }
    b->value[s] = value;
    return true;
}

/* The symbol that the size of an axis is and that can be given a value; 0: there is none. */
static Symbol axis_symbol(const Bind *b, int input, int axis) {
    Symbol s = poly_is_symbol(b->w, value_type(b->w, b->g->in[input])->dim.v[axis]);
    SymbolKind kind = s ? symbol_def(b->w, s).kind : SYM_NAMED;
    return kind == SYM_NAMED || kind == SYM_DATA ? s : 0;
}

static bool set_axis(Bind *b, int input, int axis, int64_t value) {
    Poly p = value_type(b->w, b->g->in[input])->dim.v[axis];
    Symbol s = axis_symbol(b, input, axis);
    int64_t known;
    if (s) return set_size(b, s, value, b->name[input]);
    if (!poly_eval(b->w, p, (Sizes){b->n, b->value}, &known) || known == value) return true;
    return error_set(b->error, E_USAGE, b->option,
                     "%s: axis %d has the size %" PRId64 " in the model, not %" PRId64,
                     b->name[input], axis, known, value);
}

/* The index of the input that "NAME:.." names, or -1; *rest is the text after the colon. */
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

void name_list_add(char *list, size_t room, const char *name) {
    const size_t n = strlen(list);
    const char *comma = n ? ", " : "";
    if (n + strlen(comma) + strlen(name) + sizeof ", .." <= room)
        snprintf(list + n, room - n, "%s%s", comma, name);
    else if (n < 2 || strcmp(list + n - 2, "..") != 0) snprintf(list + n, room - n, "%s..", comma);
}

bool size_unknown(const char *option, const char *names, Error *e) {
    const char *equals = strchr(option, '='), *comma = equals ? strchr(equals, ',') : NULL;
    return error_set(e, E_USAGE, "--dim", "%s: the model has no size with this name; %s%s%s",
                     option, *names ? "its open sizes are " : "all of its sizes are numbers", names,
                     comma && strchr(comma, '=') ? "; give --dim once for each name" : "");
}

bool input_unknown(const char *option, const char *text, const char *name, int n,
                   const char *const names[], Error *e) {
    char list[200] = "";
    for (int k = 0; k < n; k++) name_list_add(list, sizeof list, names[k]);
    if (!name)
        return error_set(e, E_USAGE, option, "%s: it must name one of the model's inputs: %s", text,
                         list);
    return error_set(e, E_USAGE, option, "%s: the model has no input named %s; its inputs are %s",
                     text, name, list);
}

static bool shape_of_unknown(Bind *b, Arena *a, const char *option) {
    const char *colon = strrchr(option, ':'),
               *name = colon ? arena_string(a, option, (size_t)(colon - option)) : NULL;
    return input_unknown("--input-shape", option, name, b->g->nin, b->name, b->error);
}

/* Whether a tensor can have the size that an option gives. */
static bool size_possible(const char *name, const char *option, int64_t size, Error *e) {
    if (size < 0) return error_set(e, E_USAGE, name, "%s: a size cannot be negative", option);
    return size <= ELEMENT_COUNT_MAX ||
           error_set(e, E_USAGE, name, "%s: a size cannot be greater than %lld", option,
                     (long long)ELEMENT_COUNT_MAX);
}

static bool set_shape(Bind *b, Arena *a, const char *option) {
    const char *at;
    int input = named_input(b, option, &at), axis = 0;
    if (input < 0) return shape_of_unknown(b, a, option);
    const Type *t = value_type(b->w, b->g->in[input]);
    if (!t->known)
        return error_set(b->error, E_USAGE, b->option, "%s: the rank of this input is not known",
                         option);
    for (char *end; *at; axis++) {
        int64_t value = strtoll(at, &end, 10);
        if (end == at || (*end && *end != ','))
            return error_set(b->error, E_USAGE, "--input-shape",
                             "%s: expected NAME:N,N,.., one size for each axis", option);
        if (!size_possible("--input-shape", option, value, b->error)) return false;
        if (axis < t->dim.n && !set_axis(b, input, axis, value)) return false;
        at = *end ? end + 1 : end;
    }
    return axis == t->dim.n ||
           error_set(b->error, E_USAGE, "--input-shape",
                     "%s: expected one size for each axis of the input: %d, not %d", option,
                     t->dim.n, axis);
}

static bool type_mentions(const World *w, const Type *t, Symbol s) {
    bool found = false;
    for (int k = 0; t->known && k < t->dim.n; k++) found |= poly_mentions(w, t->dim.v[k], s);
    return found;
}
/* Whether a type of the graph mentions s. Some named sizes belong to no value of the graph but to
   the expansions of composites. */
static bool graph_has_size(const Bind *b, Arena *a, Symbol s) {
    const NodeList live = graph_live(b->w, a, b->g);
    bool found = false;
    for (int k = 0; k < b->g->nin; k++)
        found |= type_mentions(b->w, value_type(b->w, b->g->in[k]), s);
    for (int k = 0; k < live.n && !found; k++) {
        const Node n = node_get(b->w, live.v[k]);
        for (int port = 0; port < n.nout; port++)
            found |= type_mentions(b->w, value_type(b->w, n.out + (Value)port), s);
    }
    return found;
}

static bool no_size(const Bind *b, const char *option) {
    char names[200] = "";
    for (Symbol s = 1; s < b->n; s++) {
        const SymbolDef d = symbol_def(b->w, s);
        bool open = false;
        for (int k = 0; k < b->g->nin; k++)
            open |= type_mentions(b->w, value_type(b->w, b->g->in[k]), s);
        if (open && d.kind == SYM_NAMED)
            name_list_add(names, sizeof names, world_text(b->w, d.word));
    }
    return size_unknown(option, names, b->error);
}

static bool set_dim(Bind *b, Arena *a, const char *option) {
    const char *name = dim_option_name(a, option, b->error);
    if (!name) return false;
    const int64_t value = strtoll(strrchr(option, '=') + 1, NULL, 10);
    Symbol s = symbol_named(b->w, name);
    return s >= b->n || !graph_has_size(b, a, s) ? no_size(b, option)
                                                 : set_size(b, s, value, option);
}

static bool complete_sizes(Bind *b) {
    for (int k = 0; k < b->g->nin; k++) {
        const Type *t = value_type(b->w, b->g->in[k]);
        for (int axis = 0; axis < t->dim.n; axis++) {
            int64_t value;
            if (poly_eval(b->w, t->dim.v[axis], (Sizes){b->n, b->value}, &value)) continue;
            if (axis || !axis_symbol(b, k, axis))
                return error_set(
                    b->error, E_USAGE, b->name[k],
                    "the size of axis %d is not known; give it with --input-shape or --dim", axis);
            if (!set_axis(b, k, axis, 1)) return false;
        }
    }
    return true;
}

static bool set_shapes(Bind *b, Arena *a, const SizeOptions *given) {
    for (int k = 0; k < given->shapes.n; k++) {
        b->option = k < given->nfile ? "--input" : "--input-shape";
        if (!set_shape(b, a, given->shapes.v[k])) return false;
    }
    return true;
}

/* Gives numbers to the sizes that the options determine, and to no others. */
static bool set_given(Bind *b, Arena *a, const SizeOptions *given, Sizes *out) {
    b->n = intern_count(b->w->table[TABLE_SYMBOL]) + 1;
    b->value = ARENA_NEW(a, int64_t, b->n);
    *out = (Sizes){0};
    for (uint32_t s = 0; s < b->n; s++) b->value[s] = SIZE_UNKNOWN;
    if (!set_shapes(b, a, given)) return false;
    b->option = "--dim";
    for (int k = 0; k < given->dims.n; k++)
        if (!set_dim(b, a, given->dims.v[k])) return false;
    /* Once more: now the sizes that follow from symbols are known. */
    if (!set_shapes(b, a, given)) return false;
    *out = (Sizes){b->n, b->value};
    return true;
}

bool sizes_given(World *w, Arena *a, const Graph *g, const char *const name[],
                 const SizeOptions *given, Sizes *out, Error *e) {
    return set_given(&(Bind){.w = w, .g = g, .name = name, .error = e}, a, given, out);
}

bool sizes_bind(World *w, Arena *a, const Graph *g, const char *const name[],
                const SizeOptions *given, Sizes *out, Error *e) {
    Bind b = {.w = w, .g = g, .name = name, .error = e};
    return set_given(&b, a, given, out) && complete_sizes(&b);
}

bool sizes_allowed(World *w, Arena *a, const Graph *g, Sizes sizes, const char *option, Error *e) {
    const LitList needs = graph_needs(w, a, g);
    for (int k = 0; k < needs.n; k++) {
        if (lit_at(w, needs.v[k], sizes)) continue;
        Text t = text_new(a);
        lit_print(w, needs.v[k], &t);
        return error_set(e, E_USAGE, option, "the model does not allow these sizes: it requires %s",
                         t.data);
    }
    return true;
}

/* ---- guesses */

enum { GUESS_NAMED = 64, GUESS_DATA = 16, GUESS_ROUNDS = 4, GUESS_WORK = 100000000 };
typedef struct Guess {
    World *w;
    LitList needs;
    uint32_t n;
    int64_t *value, lowest; /* `lowest` bounds guesses from below */
    int64_t work;           /* number of needs evaluated so far */
} Guess;

static bool open_size(const World *w, Symbol s) {
    SymbolKind kind = symbol_def(w, s).kind;
    return kind == SYM_NAMED || kind == SYM_DATA;
}

static bool fails(const Guess *g, Lit need) {
    return lit_at(g->w, need, (Sizes){g->n, g->value}) != 1;
}

static int failures(Guess *g) {
    int n = 0;
    for (int k = 0; k < g->needs.n; k++) n += fails(g, g->needs.v[k]);
    g->work += g->needs.n;
    return n;
}

static void try_value(Guess *g, Symbol s, int64_t value, int *least) {
    const int64_t before = g->value[s];
    if (!*least || value < g->lowest || value > INT32_MAX || g->work > GUESS_WORK) return;
    g->value[s] = value;
    int n = failures(g);
    if (n < *least) *least = n;
    else g->value[s] = before;
}

/* Tries the solution of a failing equation that is linear in s. */
static void try_solution(Guess *g, Symbol s, Lit need, int *least) {
    const Sizes sizes = {g->n, g->value};
    const int64_t before = g->value[s];
    int64_t at[2];
    bool known = poly_eval(g->w, need.p, sizes, &at[0]);
    g->value[s] = before + 1;
    known = known && poly_eval(g->w, need.p, sizes, &at[1]);
    g->value[s] = before;
    int64_t slope = known ? at[1] - at[0] : 0;
    if (slope && at[0] % slope == 0) try_value(g, s, before - at[0] / slope, least);
}

/* The needs that mention s. */
static LitList mentioning(const Guess *g, Arena *a, Symbol s) {
    LitList some = {.v = ARENA_NEW(a, Lit, g->needs.n)};
    for (int k = 0; k < g->needs.n; k++)
        if (poly_mentions(g->w, g->needs.v[k].p, s)) some.v[some.n++] = g->needs.v[k];
    return some;
}

/* Gives s the first of the usual numbers at which the fewest needs fail. Only needs that mention s
   are evaluated. */
static void improve_guess(Guess *g, Symbol s, int *least) {
    const LitList all = g->needs;
    const ArenaMark mark = arena_mark(g->w->scratch);
    g->needs = mentioning(g, g->w->scratch, s);
    g->work += all.n;
    const int before = failures(g);
    int here = before;
    for (int k = 0; k < g->needs.n && here; k++)
        if (g->needs.v[k].eq && fails(g, g->needs.v[k])) try_solution(g, s, g->needs.v[k], &here);
    for (int64_t v = 1; v < 64; v++) try_value(g, s, v, &here);
    for (int64_t v = 64; v <= 1024; v += 32) try_value(g, s, v, &here);
    for (int64_t v = 2048; v <= 1 << 16; v *= 2) try_value(g, s, v, &here);
    g->needs = all;
    *least += here - before;
    arena_reset(g->w->scratch, mark);
}

static void first_guesses(Guess *g, const Graph *graph, bool *open) {
    for (int k = 0; k < graph->nin; k++) {
        const Type *t = value_type(g->w, graph->in[k]);
        Symbol s = t->known && t->dim.n ? poly_is_symbol(g->w, t->dim.v[0]) : 0;
        if (s && open[s]) g->value[s] = 1;
    }
    for (Symbol s = 1; s < g->n; s++)
        if (open[s] && g->value[s] == SIZE_UNKNOWN)
            g->value[s] = symbol_def(g->w, s).kind == SYM_DATA ? GUESS_DATA : GUESS_NAMED;
}

bool sizes_guess(World *w, Arena *a, const Graph *graph, Sizes *sizes) {
    Guess g = {
        .w = w, .needs = graph_needs(w, a, graph), .n = intern_count(w->table[TABLE_SYMBOL]) + 1};
    bool *open = ARENA_NEW(a, bool, g.n);
    g.value = ARENA_NEW(a, int64_t, g.n);
    for (Symbol s = 0; s < g.n; s++) {
        g.value[s] = s < sizes->n ? sizes->value[s] : SIZE_UNKNOWN;
        open[s] = s && g.value[s] == SIZE_UNKNOWN && open_size(w, s);
    }
    first_guesses(&g, graph, open);
    *sizes = (Sizes){g.n, g.value};
    int least = failures(&g);
    for (g.lowest = 1; least && g.lowest >= 0; g.lowest--)
        for (int round = 0; least && round < GUESS_ROUNDS; round++)
            for (Symbol s = 1; least && s < g.n && g.work <= GUESS_WORK; s++)
                if (open[s]) improve_guess(&g, s, &least);
    return !least;
}

/* ---- before a model is open */

const char *dim_option_name(Arena *a, const char *option, Error *e) {
    const char *equals = strrchr(option, '='); /* the last =, since a name may contain one */
    char *end = NULL;
    const long long value = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || end == equals + 1 || *end)
        return error_set(e, E_USAGE, "--dim", "%s: expected NAME=NUMBER", option), NULL;
    return size_possible("--dim", option, value, e)
               ? arena_string(a, option, (size_t)(equals - option))
               : NULL;
}

int shape_option_axes(const char *option, const char *input, bool only_input, Error *e) {
    const char *colon = strrchr(option, ':'), *at = colon ? colon + 1 : option;
    int n = 0;
    for (char *end; *at; n++, at = *end ? end + 1 : end) {
        const long long value = strtoll(at, &end, 10);
        if (end > at && !size_possible("--input-shape", option, value, e)) return -2;
        if (end == at || (*end && *end != ',')) {
            error_set(e, E_USAGE, "--input-shape",
                      "%s: expected NAME:N,N,.., one size for each axis", option);
            return -2;
        }
    }
    const bool named = colon && strlen(input) == (size_t)(colon - option) &&
                       !memcmp(input, option, (size_t)(colon - option));
    return named || (!colon && only_input) ? n : -1;
}

bool size_options_valid(Arena *a, const SizeOptions *o, Error *e) {
    for (int k = 0; k < o->dims.n; k++)
        if (!dim_option_name(a, o->dims.v[k], e)) return false;
    for (int k = 0; k < o->shapes.n; k++)
        if (shape_option_axes(o->shapes.v[k], "", true, e) == -2) return false;
    return true;
}

/* The size number `axis` in "NAME:1,3,224,224"; negative if the option is for another input or has
   fewer sizes. */
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
    for (int k = o->dims.n; n && k-- > 0;) {
        const char *equals = strrchr(o->dims.v[k], '=');
        if (equals && (size_t)(equals - o->dims.v[k]) == n && !memcmp(o->dims.v[k], param, n))
            return strtoll(equals + 1, NULL, 10);
    }
    return -1;
}
