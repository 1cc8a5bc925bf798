/* prooflog.c -- prints and reads derivations. Reading checks only the form. That every step is an
   instance of a proved rule at its place is checked by the code that replays the log. */
#include "rules/prooflog.h"
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 4096 };

/* ---- numbers of values */

typedef struct Frame {
    NodeId node;
    int next;
} Frame;
typedef struct LogWalk {
    World *w;
    Numbering *numbering;
    bool *seen;
    Frame *stack;
    int depth;
} LogWalk;

static void log_value(LogWalk *x, Value v) {
    NodeId id = v ? value_node(x->w, v) : 0;
    if (!id || x->seen[id - x->numbering->least]) return;
    x->seen[id - x->numbering->least] = true;
    x->stack[x->depth++] = (Frame){id, 0};
}

static void number_node(LogWalk *x, const Node *n) {
    Numbering *m = x->numbering;
    for (int port = 0; port < n->nout; port++) {
        m->value[++m->count] = n->out + (Value)port;
        m->number[n->out + (Value)port - m->least] = m->count;
    }
}

Numbering numbering_new(World *w, Arena *a, const Graph *g) {
    NodeList live = graph_live(w, a, g);
    Numbering m = {.least = live.n ? live.v[0] : 1};
    m.n =
        live.n ? live.v[live.n - 1] + (uint32_t)node_get(w, live.v[live.n - 1]).nout - m.least : 0;
    m.number = ARENA_NEW(a, uint32_t, m.n);
    uint32_t total = 0;
    for (int k = 0; k < live.n; k++) total += (uint32_t)node_get(w, live.v[k]).nout;
    m.value = ARENA_NEW(a, Value, total + 1);
    LogWalk x = {w, &m, ARENA_NEW(a, bool, m.n), ARENA_NEW(a, Frame, live.n + 1), 0};
    for (int k = 0; k < g->nout; k++) {
        log_value(&x, g->out[k]);
        while (x.depth) {
            Frame *f = &x.stack[x.depth - 1];
            Node n = node_get(w, f->node);
            if (f->next < n.nin) {
                log_value(&x, n.in[f->next++]);
                continue;
            }
            number_node(&x, &n);
            x.depth--;
        }
    }
    return m;
}

uint32_t numbering_of(const Numbering *m, Value v) {
    return v >= m->least && v - m->least < m->n ? m->number[v - m->least] : 0;
}
Value numbering_value(const Numbering *m, uint32_t k) { return k <= m->count ? m->value[k] : 0; }

/* ---- building */

LogRound *prooflog_round(Arena *a, ProofLog *l) {
    ARENA_GROW(a, l->v, l->room, l->n + 1);
    l->v[l->n] = (LogRound){0};
    return &l->v[l->n++];
}

LogStep *prooflog_step(Arena *a, LogRound *r) {
    ARENA_GROW(a, r->v, r->room, r->n + 1);
    r->v[r->n] = (LogStep){0};
    return &r->v[r->n++];
}

/* ---- text */

static void numbers_print(const char *word, int n, const uint32_t *v, Text *t) {
    text_add(t, " %s", word);
    for (int k = 0; k < n; k++) text_add(t, " %u", v[k]);
}

static void step_print_line(const LogStep *s, Text *t) {
    text_add(t, "apply %s %s lengths", s->name, s->id);
    for (int k = 0; k < s->nlength; k++) text_add(t, " %d", s->length[k]);
    numbers_print("roots", s->nroot, s->root, t);
    numbers_print("inputs", s->ninput, s->input, t);
    text_add(t, "\n");
}

static void text_print(const char *word, const char *text, Text *t) {
    text_add(t, "%s ", word);
    text_string(t, text);
    text_add(t, "\n");
}

static void texts_print(const char *word, StringList list, Text *t) {
    for (int k = 0; k < list.n; k++) text_print(word, list.v[k], t);
}

static void options_print(const ProofLog *l, Text *t) {
    text_add(t, "growth %lld\nseed %lld\n", (long long)l->growth, (long long)l->seed);
    if (l->fold_limit >= 0) text_add(t, "fold-limit %lld\n", (long long)l->fold_limit);
    if (l->allow) text_print("allow", l->allow, t);
    texts_print("domain", l->domain, t);
    texts_print("dim", l->dim, t);
    texts_print("input-shape", l->input_shape, t);
    if (l->input_returned) text_add(t, "input-returned\n");
}

void prooflog_print(const ProofLog *l, Text *t) {
    text_add(t, "isomer-proof 2\nmodel %s\nrules %s\n", l->model, l->rules);
    options_print(l, t);
    for (int r = 0; r < l->n; r++) {
        text_add(t, "round\n");
        for (int k = 0; k < l->v[r].n; k++) step_print_line(&l->v[r].v[k], t);
    }
    text_add(t, "end\n");
}

static bool read_digest(Scan *s, const char *word, char out[33]) {
    static const char digits[] = "0123456789abcdef";
    scan_blank(s);
    if (!scan_word(s, word)) return scan_fail(s, s->at, "expected %s DIGEST", word);
    scan_blank(s);
    size_t n = 0;
    while (s->at + n < s->end && n < 33 && strchr(digits, s->at[n]) && s->at[n]) n++;
    if (n != 32) return scan_fail(s, s->at, "expected a digest of 32 hexadecimal digits");
    memcpy(out, s->at, n);
    out[n] = 0;
    s->at += n;
    return true;
}

static bool read_numbers(Arena *a, Scan *s, const char *word, int *n, const uint32_t **out) {
    static const char wrong[] = "expected the number of a value, 1 or more";
    uint32_t list[NUMBERS_MAX];
    int64_t x;
    *n = 0;
    if (!scan_word(s, word)) return scan_fail(s, s->at, "expected %s NUMBER ..", word);
    while (*n < NUMBERS_MAX && scan_int(s, &x)) {
        if (x < 1 || x > UINT32_MAX) return scan_fail(s, s->at, wrong);
        list[(*n)++] = (uint32_t)x;
    }
    if (*n == NUMBERS_MAX) return scan_fail(s, s->at, "too many values");
    *out = arena_copy(a, list, sizeof *list * (size_t)*n);
    return true;
}

static bool read_step(Arena *a, Scan *s, LogRound *round) {
    char name[128], id[RULE_ID];
    int64_t x;
    LogStep *step = prooflog_step(a, round);
    if (!scan_name(s, name, sizeof name)) return scan_fail(s, s->at, "expected the name of a rule");
    scan_blank(s);
    size_t n = 0;
    while (s->at + n < s->end && n < RULE_ID && s->at[n] != ' ' && s->at[n] != '\n') n++;
    if (n != RULE_ID - 1) return scan_fail(s, s->at, "expected the identifier of a rule");
    memcpy(id, s->at, n);
    s->at += n;
    step->name = arena_string(a, name, strlen(name));
    step->id = arena_string(a, id, n);
    if (!scan_word(s, "lengths")) return scan_fail(s, s->at, "expected lengths NUMBER ..");
    while (step->nlength < RULE_BLOCKS && scan_int(s, &x)) {
        if (x < 0 || x > RANK_MAX)
            return scan_fail(s, s->at, "expected the length of an axis block");
        step->length[step->nlength++] = (int)x;
    }
    return read_numbers(a, s, "roots", &step->nroot, &step->root) &&
           read_numbers(a, s, "inputs", &step->ninput, &step->input);
}

static bool read_version(Scan *s) {
    int64_t version;
    if (!scan_word(s, "isomer-proof") || !scan_int(s, &version) || version < 1)
        return scan_fail(s, s->at, "not a proof log: expected isomer-proof 2");
    if (version > 2)
        return scan_fail(s, s->at, "a proof log of a later version: expected isomer-proof 2");
    return version == 2 ||
           scan_fail(s, s->at,
                     "a proof log of an earlier version, which lacks options that a replay needs: "
                     "make it again with --proof-log");
}

/* Reads one text if the word is next. *text receives it, otherwise NULL. */
static bool read_text(Arena *a, Scan *s, const char *word, const char **text) {
    Text t = text_new(a);
    *text = NULL;
    if (!scan_word(s, word)) return true;
    if (!scan_string(s, &t)) return scan_fail(s, s->at, "expected %s \"TEXT\"", word);
    *text = t.data ? t.data : "";
    return true;
}

/* Reads as many texts as follow, with the word before each. */
static bool read_texts(Arena *a, Scan *s, const char *word, StringList *list) {
    for (const char *text;;) {
        if (!read_text(a, s, word, &text)) return false;
        if (!text) return true;
        ARENA_APPEND(a, list->v, list->n, text);
    }
}

static bool read_options(Arena *a, Scan *s, ProofLog *l) {
    if (!scan_word(s, "growth") || !scan_int(s, &l->growth) || l->growth < 0)
        return scan_fail(s, s->at, "expected growth BYTES, 0 or more");
    if (!scan_word(s, "seed") || !scan_int(s, &l->seed) || l->seed < 0)
        return scan_fail(s, s->at, "expected seed NUMBER, 0 or more");
    l->fold_limit = -1;
    if (scan_word(s, "fold-limit") && (!scan_int(s, &l->fold_limit) || l->fold_limit < 0))
        return scan_fail(s, s->at, "expected fold-limit BYTES, 0 or more");
    if (!read_text(a, s, "allow", &l->allow) || !read_texts(a, s, "domain", &l->domain) ||
        !read_texts(a, s, "dim", &l->dim) || !read_texts(a, s, "input-shape", &l->input_shape))
        return false;
    l->input_returned = scan_word(s, "input-returned");
    return true;
}

bool prooflog_parse(Arena *a, const char *file, const char *text, size_t n, ProofLog *l, Error *e) {
    Scan s = scan_new(file, text, n, e);
    LogRound *round = NULL;
    *l = (ProofLog){0};
    if (!read_version(&s)) return false;
    if (!read_digest(&s, "model", l->model) || !read_digest(&s, "rules", l->rules)) return false;
    if (!read_options(a, &s, l)) return false;
    while (!scan_word(&s, "end")) {
        if (scan_word(&s, "round")) round = prooflog_round(a, l);
        else if (round && scan_word(&s, "apply")) {
            if (!read_step(a, &s, round)) return false;
        } else return scan_fail(&s, s.at, "expected round, apply or end");
    }
    return e->kind == E_NONE && (scan_end(&s) || scan_fail(&s, s.at, "unexpected text after end"));
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool prooflog_rules(Arena *a, const ProofLog *l, const RuleSet *set, char out[33], Error *e) {
    int n = 0, total = 0;
    for (int r = 0; r < l->n; r++) total += l->v[r].n;
    const char **line = ARENA_NEW(a, const char *, total);
    for (int r = 0; r < l->n; r++)
        for (int k = 0; k < l->v[r].n; k++) {
            const LogStep *s = &l->v[r].v[k];
            const Rule *rule = rules_find(set, s->name);
            if (!rule || strcmp(rule->id, s->id))
                return error_set(e, E_CHECK, "",
                                 "the proof log uses the rule %s (%s), which these options do not "
                                 "load: give the --measure-with, --rules and --rules-out of the "
                                 "run that wrote it",
                                 s->name, s->id);
            line[n++] = arena_format(a, "%s %s %s\n", rule->name, rule->id, rule->digest);
        }
    if (n) qsort(line, (size_t)n, sizeof *line, by_text);
    Text t = text_new(a);
    for (int k = 0; k < n; k++)
        if (!k || strcmp(line[k], line[k - 1])) text_add(&t, "%s", line[k]);
    hash_hex(t.data ? t.data : "", t.size, out);
    return true;
}
