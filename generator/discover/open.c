/* open.c -- prepares a question for the search: reads its graph, chooses small sizes that tell much
   about it, draws inputs, and enters its own nodes as the first terms. */
#include "generator/discover/answer_inner.h"
#include "generator/values.h"
#include "graphs/graph_text.h"
#include "graphs/needs.h"
#include "ops/base/random.h"
#include <stdio.h>
#include <string.h>

enum {
    TRIES = 3000,        /* most draws of small sizes */
    ELEMENTS_LEAST = 12, /* least elements of all values together: fewer tell too little */
    ELEMENTS_MOST = 1600 /* most elements of all values together: more take too long */
};

static bool needs_hold(Search *s, LitList needs, Sizes sizes) {
    return lits_hold(s->w, needs.n, needs.v, sizes);
}

/* Whether every value has elements, there are not too many altogether, and no node takes too much
   work. */
static bool sizes_fit(Search *s, int64_t *total) {
    *total = 0;
    for (int k = 0; k < s->live.n; k++) {
        Node n = node_get(s->w, s->live.v[k]);
        if (n.op->define && sig_flops(s->w, n.sig, s->small) > SEARCH_WORK) return false;
        for (Value v = n.out; v < n.out + (Value)n.nout; v++) {
            int count = count_of(s, value_type_id(s->w, v));
            if (count < 0 || count > SEARCH_ELEMENTS_OF_TERM) return false;
            *total += count;
        }
    }
    return *total <= ELEMENTS_MOST;
}

/* The following penalties of a draw are in the units of draw_score. */

/* Constants with many elements: they would mean as many unknowns to solve for. */
static int64_t constants_penalty(Search *s) {
    enum { EASY = 40 };
    int64_t n = 0;
    for (int k = 0; k < s->g.nin; k++)
        if (value_is_constant(s, s->g.in[k])) n += count_of(s, value_type_id(s->w, s->g.in[k]));
    return n > EASY ? (n - EASY) / 4 : 0;
}

/* Nodes of the question that take much work: answers that do more would exceed the limit. */
static int64_t work_penalty(Search *s) {
    const double easy = SEARCH_WORK / 8, each = SEARCH_WORK / 40;
    double work = 0;
    for (int k = 0; k < s->live.n; k++) {
        const Node n = node_get(s->w, s->live.v[k]);
        const double own = n.op->define ? sig_flops(s->w, n.sig, s->small) : 0;
        work += own > 0 ? own : 0;
    }
    return work > easy ? (int64_t)((work - easy) / each) : 0;
}

/* Axes of data that have size 1 in this draw but not where the question was asked. */
static int64_t degenerate_penalty(Search *s) {
    enum { EACH = 6 };
    int64_t n = 0, now, then;
    for (int k = 0; k < s->g.nin; k++) {
        const Type *t = value_type(s->w, s->g.in[k]);
        for (int d = 0; d < t->dim.n && !value_is_constant(s, s->g.in[k]); d++)
            n += poly_eval(s->w, t->dim.v[d], s->small, &now) && now == 1 &&
                 poly_eval(s->w, t->dim.v[d], s->real, &then) && then > 1;
    }
    return EACH * n;
}

/* Axes of data whose sizes are composed of several symbols and come out short: mostly padding would
   be read. */
static int64_t short_penalty(Search *s) {
    enum { LONG = 6 };
    int64_t n = 0, now;
    for (int k = 0; k < s->g.nin; k++) {
        const Type *t = value_type(s->w, s->g.in[k]);
        for (int d = 0; d < t->dim.n && !value_is_constant(s, s->g.in[k]); d++)
            if (!poly_is_symbol(s->w, t->dim.v[d]) && poly_eval(s->w, t->dim.v[d], s->small, &now))
                n += now < LONG ? LONG - now : 0;
    }
    return n;
}

/* Draws a size for a symbol. The greatest size differs between draws, so that some draws fit even
   where many symbols are multiplied. A real size of 1 stays 1 in every other draw. */
static int64_t draw_size(const Search *s, int try, int k, int64_t real) {
    static const int greatest[] = {5, 5, 3, 7};
    enum { STREAM = 77 }; /* keeps these random numbers apart from those of the inputs */
    const uint64_t r = random_at(s->o->seed + STREAM, (uint64_t)try * LIFT_SYMBOLS + (uint64_t)k);
    if (real <= 0 || (real == 1 && try % 2)) return real;
    return 1 + (int64_t)(r >> 8) % greatest[try % 4];
}

/* Rates a draw. Sizes above 1 that differ from each other, in the same order as where the question
   was asked, show most of what an operator does. */
static int64_t draw_score(Search *s, int n, const Symbol symbol[], const int64_t real[],
                          int64_t total) {
    const int64_t *v = s->small.value;
    int64_t score = 0;
    for (int k = 0; k < n; k++) {
        score += v[symbol[k]] > 1 ? 3 : 0;
        for (int j = 0; j < k; j++) {
            score += v[symbol[k]] != v[symbol[j]];
            score += (v[symbol[k]] < v[symbol[j]]) == (real[k] < real[j]);
        }
    }
    if (total < ELEMENTS_LEAST) score = 0;
    return score - constants_penalty(s) - degenerate_penalty(s) - short_penalty(s) -
           work_penalty(s);
}

/* Sets the small sizes to the best of many draws; once a draw fits, a sixth of the tries is enough.
   Returns false if none fits. */
static bool draw_sizes(Search *s, int n, const Symbol symbol[], const int64_t real[],
                       LitList needs) {
    int64_t *v = (int64_t *)(uintptr_t)s->small.value, best[LIFT_SYMBOLS], best_score = INT64_MIN;
    for (int try = 0; try < TRIES && !(best_score > INT64_MIN && try > TRIES / 6); try++) {
        int64_t total;
        for (int k = 0; k < n; k++) v[symbol[k]] = draw_size(s, try, k, real[k]);
        if (!needs_hold(s, needs, s->small) || !sizes_fit(s, &total)) continue;
        const int64_t score = draw_score(s, n, symbol, real, total);
        if (score <= best_score) continue;
        best_score = score;
        for (int k = 0; k < n; k++) best[k] = v[symbol[k]];
    }
    for (int k = 0; k < n && best_score > INT64_MIN; k++) v[symbol[k]] = best[k];
    return best_score > INT64_MIN;
}

/* Parses text such as "a=1 b=64" into symbols and sizes and returns their number. */
static int parse_at(Search *s, Symbol symbol[], int64_t real[]) {
    int n = 0, used = 0;
    char name[64];
    long long v;
    for (const char *at = s->q->at;
         n < LIFT_SYMBOLS && sscanf(at, " %63[^= ]=%lld%n", name, &v, &used) == 2; at += used) {
        symbol[n] = symbol_named(s->w, name);
        real[n++] = v;
    }
    return n;
}

static Sizes no_sizes(Search *s) {
    enum { ROOM = 1 << 16 };
    int64_t *v = ARENA_NEW(s->a, int64_t, ROOM);
    for (int k = 0; k < ROOM; k++) v[k] = SIZE_UNKNOWN;
    return (Sizes){ROOM, v};
}

void type_put(Search *s, TypeId t) {
    for (int k = 0; k < s->types.n; k++)
        if (s->types.v[k] == t) return;
    if (s->types.n < SEARCH_TYPES) s->types.v[s->types.n++] = t;
}

/* Adds the types of constants with one axis longer than 1: that axis alone, and followed by axes of
   1 as a broadcast needs them. */
static void put_padded_types(Search *s) {
    int most = 0;
    for (int k = 0; k < s->types.n; k++) {
        int rank = type_get(s->w, s->types.v[k])->dim.n;
        most = rank > most ? rank : most;
    }
    for (int k = 0; k < s->g.nin; k++) {
        Type x = *value_type(s->w, s->g.in[k]), t = x;
        t.dim.n = 0;
        for (int d = 0; d < x.dim.n; d++)
            if (!poly_is(s->w, x.dim.v[d], 1)) t.dim.v[t.dim.n++] = x.dim.v[d];
        if (!value_is_constant(s, s->g.in[k]) || t.dim.n != 1) continue;
        type_put(s, type_intern(s->w, &t));
        while (t.dim.n < most) {
            t.dim.v[t.dim.n++] = poly_int(s->w, 1);
            type_put(s, type_intern(s->w, &t));
        }
    }
}

/* The number of elements of the results that are known at all points; -1 if some result has no
   value. */
static int known_elements(Search *s) {
    int n = 0;
    for (int k = 0; k < s->g.nout; k++) {
        const Lanes *x = value_at(s, s->g.out[k]);
        if (!x) return -1;
        for (int e = 0; e < count_of(s, value_type_id(s->w, s->g.out[k])); e++) {
            bool known = true;
            for (int l = 0; l < LANES; l++) known &= x[e].p[l] != RESIDUE_NONE;
            n += known;
        }
    }
    return n;
}

/* Draws the inputs anew, with positive constants or constants of any sign. */
static int drawn_again(Search *s, bool positive) {
    s->positive = positive;
    s->values.value_room = 0;
    return known_elements(s);
}

/* Reads the question's graph, and sets the sizes at which it was asked and those of the search. */
static bool open_graph(Search *s, Error *e) {
    Symbol symbol[LIFT_SYMBOLS];
    int64_t real[LIFT_SYMBOLS];
    Names names = {.arena = s->a};
    Scan scan = scan_new(s->q->id, s->q->graph, strlen(s->q->graph), e);
    const char *name;
    if (!graph_parse(s->w, s->a, &scan, &name, &s->g, &names, e)) return false;
    s->live = graph_live(s->w, s->a, &s->g);
    s->real = no_sizes(s);
    s->small = no_sizes(s);
    int n = parse_at(s, symbol, real);
    for (int k = 0; k < n; k++) ((int64_t *)(uintptr_t)s->real.value)[symbol[k]] = real[k];
    memcpy(s->size, symbol, (size_t)(s->nsize = n) * sizeof *symbol);
    LitList needs = graph_needs(s->w, s->a, &s->g);
    s->facts = graph_facts(s->w, s->a, &s->g);
    if (!needs_hold(s, needs, s->real))
        return error_set(e, E_INVALID, s->q->id,
                         "its sizes ('at') are incomplete, or are not sizes of its graph");
    return draw_sizes(s, n, symbol, real, needs);
}

static bool is_result(const Search *s, Value v) {
    bool result = false;
    for (int k = 0; k < s->g.nout; k++) result |= s->g.out[k] == v;
    return result;
}

/* Enters the values of the question's nodes, except the results, as the first terms. */
static void put_own_terms(Search *s) {
    for (int k = 0; k < s->live.n; k++) {
        const Node node = node_get(s->w, s->live.v[k]);
        for (Value v = node.out; v < node.out + (Value)node.nout; v++) {
            bool fresh;
            type_put(s, value_type_id(s->w, v));
            if (!is_result(s, v)) term_put(s, v, 0, 0, &fresh);
        }
    }
}

bool search_open(Search *s, Error *e) {
    if (!open_graph(s, e)) return false;
    s->price = graph_cost(s, s->g.nout, s->g.out);
    s->best = s->price * s->o->cost_ratio_most;
    int any = drawn_again(s, false), positive = drawn_again(s, true);
    if (positive <= any && drawn_again(s, false) < 0) return false;
    put_own_terms(s);
    put_padded_types(s);
    for (int k = 0; k < s->live.n; k++) {
        int rank = value_type(s->w, s->live.v[k])->dim.n;
        if (value_is_constant(s, s->live.v[k]) && rank > s->rank) s->rank = rank;
    }
    return true;
}
