/* infer.c -- guesses conditions from models. Templates over the symbols of a rule (a = b, a >= b,
   a >= 0, a >= 1, a = 0, a = 1, odd, even, a = b mod 2) are represented by the set of models in
   which they hold. A template that holds in no model where the sides differ is a guess; pairs of
   such templates follow, then other pairs. Symbols that agree in all models count as one. Nothing
   is proved here: the caller tries each guess as a condition. */
#include "verifier/infer.h"
#include <string.h>

/* PAIRED_MAX: the most templates that are combined into pairs. SINGLES_MAX: the most single
   guesses. */
enum {
    SYMBOLS_MAX = 24,
    TEMPLATES_MAX = 5 * SYMBOLS_MAX * SYMBOLS_MAX,
    PAIRED_MAX = 60,
    SINGLES_MAX = 8
};
typedef struct Models { /* a set of models */
    uint64_t bit[(INFER_MODELS + 63) / 64];
} Models;
typedef struct Template {
    const char *text;
    Models models;  /* the models in which it holds */
    int bad, cover; /* how many of these there are where the sides differ (bad) and agree (cover) */
} Template;
typedef struct Infer {
    World *w;
    Arena *arena;
    const Instance *i;
    int n; /* models */
    const SizeModel *model;
    Models same; /* the models that a guess should cover; in the others it must not hold */
    int nsymbol, symbol[SYMBOLS_MAX]; /* the symbols that are used, as positions in i->symbol */
    int count;
    Template *v;
} Infer;

static void models_put(Models *m, int k) { m->bit[k / 64] |= (uint64_t)1 << k % 64; }
static Models both(const Models *a, const Models *b) {
    Models r;
    for (size_t k = 0; k < sizeof r.bit / sizeof *r.bit; k++) r.bit[k] = a->bit[k] & b->bit[k];
    return r;
}
static int models_count(const Models *m) {
    int n = 0;
    for (size_t k = 0; k < sizeof m->bit / sizeof *m->bit; k++)
        n += __builtin_popcountll(m->bit[k]);
    return n;
}
/* How many models in the set the guess should cover. */
static int models_covered(const Infer *x, const Models *m) {
    Models good = both(m, &x->same);
    return models_count(&good);
}
static Template template_of(const Infer *x, const char *text, const Models *m) {
    int good = models_covered(x, m);
    return (Template){text, *m, models_count(m) - good, good};
}
static const char *symbol_name(const Infer *x, int k) {
    return world_text(x->w, symbol_def(x->w, x->i->symbol[x->symbol[k]]).word);
}
static int64_t model_value(const Infer *x, int k, int model) {
    return x->model[model].value[x->symbol[k]];
}

/* Chooses the symbols to use: of symbols that agree in all models only one. */
static void choose_symbols(Infer *x) {
    for (int s = 0; s < x->i->nsymbol && x->nsymbol < SYMBOLS_MAX; s++) {
        bool known = false;
        for (int k = 0; k < x->nsymbol && !known; k++) {
            known = true;
            for (int m = 0; m < x->n && known; m++)
                known = x->model[m].value[s] == model_value(x, k, m);
        }
        if (!known) x->symbol[x->nsymbol++] = s;
    }
}

/* ---- templates */

/* The predicates of templates: a = b, a >= b, a = b mod 2. */
typedef bool Holds(int64_t a, int64_t b);
static bool is_equal(int64_t a, int64_t b) { return a == b; }
static bool is_least(int64_t a, int64_t b) { return a >= b; }
static bool is_like(int64_t a, int64_t b) { return (a - b) % 2 == 0; }

/* Adds a template over symbols a and b or, if b < 0, over a and a number; not if it holds in all
   models or in none that it should cover. */
static void add_template(Infer *x, const char *text, Holds *holds, int a, int b, int64_t number) {
    Models models = {{0}};
    for (int m = 0; m < x->n; m++)
        if (holds(model_value(x, a, m), b < 0 ? number : model_value(x, b, m)))
            models_put(&models, m);
    Template t = template_of(x, text, &models);
    if (t.cover && t.bad + t.cover < x->n && x->count < TEMPLATES_MAX) x->v[x->count++] = t;
}
/* Returns whether the symbol may be negative, so that it is not a size. For a size, a condition
   that it is 0 would be of no use. */
static bool may_be_negative(const Infer *x, int a) {
    for (int m = 0; m < x->n; m++)
        if (model_value(x, a, m) < 0) return true;
    return false;
}
static void add_templates(Infer *x) {
    Arena *m = x->arena;
    x->v = ARENA_NEW(m, Template, TEMPLATES_MAX);
    for (int a = 0; a < x->nsymbol; a++) {
        const char *s = symbol_name(x, a);
        add_template(x, arena_format(m, "%s >= 0", s), is_least, a, -1, 0);
        add_template(x, arena_format(m, "%s >= 1", s), is_least, a, -1, 1);
        if (may_be_negative(x, a))
            add_template(x, arena_format(m, "%s == 0", s), is_equal, a, -1, 0);
        add_template(x, arena_format(m, "%s == 1", s), is_equal, a, -1, 1);
        add_template(x, arena_format(m, "%s - 2*floor(%s/2) == 1", s, s), is_like, a, -1, 1);
        add_template(x, arena_format(m, "%s - 2*floor(%s/2) == 0", s, s), is_like, a, -1, 0);
    }
    for (int a = 0; a < x->nsymbol; a++)
        for (int b = 0; b < x->nsymbol; b++) {
            const char *s = symbol_name(x, a), *t = symbol_name(x, b);
            if (a < b) add_template(x, arena_format(m, "%s == %s", s, t), is_equal, a, b, 0);
            if (a != b) add_template(x, arena_format(m, "%s >= %s", s, t), is_least, a, b, 0);
            if (a < b)
                add_template(x, arena_format(m, "%s - %s - 2*floor((%s - %s)/2) == 0", s, t, s, t),
                             is_like, a, b, 0);
        }
}

/* ---- guesses */

/* Inserts a guess into out[0..n-1], which is sorted by how many models a guess covers, most first;
   equal ones stay in the order of arrival. Returns the new n, at most `most`. */
static int insert_guess(int n, int most, ConditionGuess *out, ConditionGuess g) {
    int at = n;
    while (at && out[at - 1].cover < g.cover) at--;
    if (at == most) return n;
    if (n == most) n--;
    memmove(out + at + 1, out + at, sizeof *out * (size_t)(n - at));
    out[at] = g;
    return n + 1;
}
/* Sorts the templates: those that hold in the fewest models where the sides differ come first. */
static void sort_templates(Infer *x) {
    for (int k = 1; k < x->count; k++) {
        Template t = x->v[k];
        int at = k;
        for (; at && (x->v[at - 1].bad > t.bad ||
                      (x->v[at - 1].bad == t.bad && x->v[at - 1].cover < t.cover));
             at--)
            x->v[at] = x->v[at - 1];
        x->v[at] = t;
    }
}
/* Appends pairs of templates that hold in no model where the sides differ. */
static int pairs(Infer *x, int n, int most, ConditionGuess *out) {
    ConditionGuess *v = out + n;
    int count = x->count < PAIRED_MAX ? x->count : PAIRED_MAX, found = 0;
    sort_templates(x);
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++) {
            Models m = both(&x->v[a].models, &x->v[b].models);
            Template t = template_of(x, NULL, &m);
            if (!t.bad && t.cover)
                found = insert_guess(found, most - n, v,
                                     (ConditionGuess){2, {x->v[a].text, x->v[b].text}, t.cover});
        }
    return n + found;
}
/* Decides which models a guess should cover: those in which the sides agree and, if `defined_only`,
   the left side is defined. */
static void label_models(Infer *x, bool defined_only) {
    x->same = (Models){{0}};
    for (int k = 0; k < x->n; k++)
        if (x->model[k].same && !(defined_only && x->model[k].undefined)) models_put(&x->same, k);
}
int infer_guesses(World *w, Arena *arena, const Instance *i, int nmodel, const SizeModel *model,
                  int most, ConditionGuess *out) {
    Infer x = {.w = w, .arena = arena, .i = i, .n = nmodel, .model = model};
    int n = 0;
    label_models(&x, false);
    if (models_count(&x.same) == nmodel) label_models(&x, true);
    int good = models_count(&x.same);
    if (!good || good == nmodel) return 0;
    choose_symbols(&x);
    add_templates(&x);
    for (int k = 0; k < x.count; k++)
        if (!x.v[k].bad)
            n = insert_guess(n, SINGLES_MAX < most ? SINGLES_MAX : most, out,
                             (ConditionGuess){1, {x.v[k].text, NULL}, x.v[k].cover});
    int single = n;
    for (int a = 0; a < single && n < most; a++)
        for (int b = a + 1; b < single && n < most; b++)
            out[n++] = (ConditionGuess){2, {out[a].lit[0], out[b].lit[0]}, 0};
    return pairs(&x, n, most, out);
}
