/* rule_mutants.c -- makes mutants of rules. The text of the right side is split into lines and
   words, one word or line is changed, and the text is parsed again. */
#include "test/shared/rule_mutants.h"
#include "graphs/world.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 64, WORDS = 40 };
/* words: results, "=", operator, inputs, attributes; in the last line: "out", values. */
typedef struct Line {
    int n;
    char *word[WORDS];
} Line;
typedef struct Side {
    Arena *arena;
    Random *random;
    int n;
    Line line[LINES];
    const Rule *rule;
} Side;

const char *mutation_word(Mutation m) {
    static const char *const words[] = {
#define X(id, word) word,
        MUTATIONS(X)
#undef X
    };
    return words[m];
}

/* ---- words: separated by blanks that are not within brackets */

static void line_words(Side *s, Line *l, const char *text, size_t n) {
    l->n = 0;
    for (size_t k = 0; k < n && l->n < WORDS;) {
        size_t start = k;
        int depth = 0;
        for (; k < n && (depth || text[k] != ' '); k++)
            depth += (text[k] == '[') - (text[k] == ']');
        if (k > start) l->word[l->n++] = arena_string(s->arena, text + start, k - start);
        while (k < n && text[k] == ' ') k++;
    }
}

static bool side_words(Side *s, const char *text) {
    for (const char *p = text; *p; p += *p == '\n') {
        size_t n = strcspn(p, "\n");
        if (n && s->n == LINES) return false;
        if (n) line_words(s, &s->line[s->n++], p, n);
        p += n;
    }
    return s->n > 0;
}

static const char *side_text(Side *s) {
    Text t = text_new(s->arena);
    for (int k = 0; k < s->n; k++) {
        for (int j = 0; j < s->line[k].n; j++) text_add(&t, j ? " %s" : "%s", s->line[k].word[j]);
        text_add(&t, "\n");
    }
    return t.data;
}

static int equals_at(const Line *l) {
    int k = 0;
    while (k < l->n && strcmp(l->word[k], "=")) k++;
    return k;
}

static int first_input(const Line *l) { return equals_at(l) + 2; }

static int inputs(const Line *l) {
    int n = 0;
    for (int k = first_input(l); k < l->n && (l->word[k][0] == '%' || l->word[k][0] == '_'); k++)
        n++;
    return n;
}

static Line *draw_line(Side *s) { return &s->line[random_below(s->random, (uint64_t)s->n)]; }

static bool is_node(const Line *l) { return equals_at(l) < l->n; }

static void exchange(char **a, char **b) {
    char *t = *a;
    *a = *b;
    *b = t;
}

/* ---- mutations */

static bool swap(Side *s) {
    Line *l = draw_line(s);
    int n = inputs(l);
    if (!is_node(l) || n < 2) return false;
    int a = (int)random_below(s->random, (uint64_t)n),
        b = (int)random_below(s->random, (uint64_t)n);
    if (a == b || !strcmp(l->word[first_input(l) + a], l->word[first_input(l) + b])) return false;
    exchange(&l->word[first_input(l) + a], &l->word[first_input(l) + b]);
    return true;
}

static char **draw_attr(Side *s, Line *l) {
    int from = first_input(l) + inputs(l);
    return is_node(l) && from < l->n
               ? &l->word[from + (int)random_below(s->random, (uint64_t)(l->n - from))]
               : NULL;
}

/* Changes the k-th integer of the word by `by`; NULL if it has no such integer. */
static char *number_changed(Side *s, const char *word, int k, int by) {
    for (const char *p = strchr(word, '='); p && *p; p++) {
        if (!isdigit((unsigned char)*p) || isalnum((unsigned char)p[-1]) || p[-1] == '_' ||
            p[-1] == '.')
            continue;
        char *end;
        long v = strtol(p, &end, 10);
        if (k-- == 0)
            return arena_format(s->arena, "%.*s%ld%s", (int)(p - word), word, v + by, end);
        p = end - 1;
    }
    return NULL;
}

static bool change_number(Side *s, bool axis) {
    char **a = draw_attr(s, draw_line(s));
    if (!a || (!strncmp(*a, "ax", 2) || !strncmp(*a, "perm", 4)) != axis) return false;
    char *changed =
        number_changed(s, *a, (int)random_below(s->random, 5), random_below(s->random, 2) ? 1 : -1);
    if (!changed) return false;
    *a = changed;
    return true;
}

static bool drop_attr(Side *s) {
    Line *l = draw_line(s);
    char **a = draw_attr(s, l);
    if (!a) return false;
    memmove(a, a + 1, sizeof *a * (size_t)(&l->word[l->n] - a - 1));
    l->n--;
    return true;
}

static bool replace_operator(Side *s) {
    static const char *const kin[][6] = {
        {"add", "sub", "mul", "div", "max", "min"},
        {"relu", "tanh", "sigmoid", "exp", "sqrt", "neg"},
        {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_sum", "reduce_max"},
        {"gelu", "swish", "relu", "erf", "hardswish", "abs"},
        {"identitykernel", "averagekernel", "averagekernel", "averagekernel", "averagekernel",
         "averagekernel"},
    };
    Line *l = draw_line(s);
    if (!is_node(l)) return false;
    char **op = &l->word[equals_at(l) + 1];
    for (size_t f = 0; f < sizeof kin / sizeof *kin; f++)
        for (int k = 0; k < 6; k++) {
            const char *other = kin[f][random_below(s->random, 6)];
            if (strcmp(kin[f][k], *op) || !strcmp(other, *op)) continue;
            *op = arena_string(s->arena, other, strlen(other));
            return true;
        }
    return false;
}

/* Draws a value that exists before this line: an input of the rule, or a result of a line above. */
static char *draw_value(Side *s, const Line *before) {
    char *found = NULL;
    uint64_t seen = 0;
    for (const char *p = s->rule->inputs.text; *p;) {
        size_t n = strcspn(p, " \n");
        if (*p == '%' && random_below(s->random, ++seen) == 0) found = arena_string(s->arena, p, n);
        p += n + (p[n] != 0);
    }
    for (const Line *l = s->line; l < before; l++)
        for (int k = 0; k < equals_at(l); k++)
            if (random_below(s->random, ++seen) == 0) found = l->word[k];
    return found;
}

static bool rewire(Side *s) {
    Line *l = draw_line(s);
    int n = is_node(l) ? inputs(l) : l->n - 1, at = is_node(l) ? first_input(l) : 1;
    char *value = draw_value(s, l);
    if (n < 1 || !value) return false;
    char **in = &l->word[at + (int)random_below(s->random, (uint64_t)n)];
    if (!strcmp(*in, value)) return false;
    *in = value;
    return true;
}

static bool swap_outputs(Side *s) {
    Line *l = &s->line[s->n - 1];
    if (l->n < 3) return false;
    exchange(&l->word[1], &l->word[2 + (int)random_below(s->random, (uint64_t)(l->n - 2))]);
    return true;
}

static void rename_value(Side *s, const char *from, char *to) {
    for (int k = 0; k < s->n; k++)
        for (int j = 0; j < s->line[k].n; j++)
            if (!strcmp(s->line[k].word[j], from)) s->line[k].word[j] = to;
}

static bool drop_operator(Side *s) {
    Line *l = draw_line(s);
    if (!is_node(l) || equals_at(l) != 1 || inputs(l) < 1) return false;
    char *result = l->word[0], *in = l->word[first_input(l)];
    memmove(l, l + 1, sizeof *l * (size_t)(&s->line[s->n] - l - 1));
    s->n--;
    rename_value(s, result, in);
    return true;
}

/* Changes sizes=[p, q]: exchanges the two pieces, or moves one element from one to the other. */
static bool move_split(Side *s) {
    Line *l = draw_line(s);
    char **a = draw_attr(s, l), *comma;
    if (!a || strncmp(*a, "sizes=[", 7) || !(comma = strchr(*a, ',')) || strchr(comma + 1, ','))
        return false;
    int p = (int)(comma - *a - 7), q = (int)strlen(comma + 2) - 1;
    const char *first = *a + 7, *second = comma + 2;
    *a = random_below(s->random, 2)
             ? arena_format(s->arena, "sizes=[%.*s, %.*s]", q, second, p, first)
             : arena_format(s->arena, "sizes=[%.*s + 1, %.*s - 1]", p, first, q, second);
    return true;
}

static bool add_activation(Side *s) {
    static const char *const activation[] = {"relu", "tanh", "neg", "abs"};
    Line *out = &s->line[s->n - 1];
    if (s->n == LINES || out->n < 2) return false;
    char **value = &out->word[1 + (int)random_below(s->random, (uint64_t)(out->n - 1))];
    Line added = {4,
                  {arena_format(s->arena, "%%added"), arena_format(s->arena, "="),
                   arena_format(s->arena, "%s", activation[random_below(s->random, 4)]), *value}};
    *value = added.word[0];
    s->line[s->n++] = *out;
    s->line[s->n - 2] = added;
    return true;
}

static bool mutate(Side *s, Mutation m) {
    switch (m) {
    case MUTATE_SWAP: return swap(s);
    case MUTATE_AXIS: return change_number(s, true);
    case MUTATE_NUMBER: return change_number(s, false);
    case MUTATE_DROP_ATTR: return drop_attr(s);
    case MUTATE_OPERATOR: return replace_operator(s);
    case MUTATE_REWIRE: return rewire(s);
    case MUTATE_OUTPUTS: return swap_outputs(s);
    case MUTATE_DROP: return drop_operator(s);
    case MUTATE_SPLIT: return move_split(s);
    case MUTATE_ACTIVATION: return add_activation(s);
    case MUTATION_COUNT: break;
    }
    return false;
}

/* ---- a rule without axis blocks: its two graphs at one choice of lengths, as text */

static const char *body(Arena *a, World *w, const Graph *g) {
    Text t = text_new(a);
    graph_print(w, "side", g, &t);
    return strstr(t.data, "\nbody\n") + strlen("\nbody\n");
}

static void print_conditions(World *w, const Instance *i, Text *t) {
    for (int k = 0; k < i->nwhere; k++) {
        text_add(t, k ? ", " : "where ");
        poly_print(w, i->where[k].p, t);
        text_add(t, i->where[k].eq ? " == 0" : " >= 0");
    }
    text_add(t, i->nwhere ? "\n" : "");
}

/* Writes the rule with each axis block of length 2, if that length is allowed, else of the nearest
   one. */
static const char *flat_text(Arena *a, World *w, const Rule *rule, const char *name) {
    Instance i;
    int length[RULE_BLOCKS];
    Error e = {0};
    Text t = text_new(a);
    for (int g = 0; g < rule->ngroup; g++)
        length[g] = rule->group[g].most < 2    ? rule->group[g].most
                    : rule->group[g].least > 2 ? rule->group[g].least
                                               : 2;
    if (!rule_instance(w, a, rule, length, &i, &e)) return NULL;
    text_add(&t, "rule %s\n", name);
    for (int k = 0; k < i.ninput; k++) {
        text_add(&t, "  ");
        value_print(input_name(w, i.input[k]), &t);
        text_add(&t, " : ");
        type_print(w, value_type(w, i.input[k]), &t);
        text_add(&t, "\n");
    }
    text_add(&t, "from\n%s", body(a, w, &i.from));
    text_add(&t, "to\n%s", body(a, w, &i.to));
    print_conditions(w, &i, &t);
    return t.data;
}

static bool read_one(Arena *a, const char *text, Rule *out) {
    RuleSet set = {.arena = a};
    Error e = {0};
    if (!text || !rules_parse(a, "mutant", text, strlen(text), &set, &e) || set.n != 1)
        return false;
    *out = set.v[0];
    return true;
}

bool rule_mutant(Arena *a, const Rule *rule, int k, Mutation m, Random *random, Rule *out) {
    World *w = graph_world_new(NULL, 0);
    Rule flat, changed;
    bool ok = read_one(a, flat_text(a, w, rule, arena_format(a, "%s-%d", rule->name, k)), &flat);
    world_free(w);
    if (!ok) return false;
    Side s = {.arena = a, .random = random, .rule = &flat};
    if (!side_words(&s, flat.to.text) || !mutate(&s, m)) return false;
    changed = flat;
    changed.to.text = side_text(&s);
    Text t = text_new(a);
    rule_print(&changed, &t);
    return read_one(a, t.data, out) && strcmp(flat.id, out->id) != 0;
}
