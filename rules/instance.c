/* instance.c -- makes instances: rules with the lengths of their axis blocks fixed. The text of
   each part is expanded (blocks.c) and read by the parser of graphs, over the shared
   placeholders. */
#include "graphs/rewrite.h"
#include "rules/instance_inner.h"
#include <string.h>

/* A scanner of a text of the rule. */
static Scan instance_scan(const Instance *i, const char *text, Error *e) {
    Scan s = scan_new(i->rule->file, text, strlen(text), e);
    s.mark = i->mark;
    return s;
}

/* ---- conditions: "a >= b, c == d" */

static bool lit_parse(World *w, Scan *s, Lit *out) {
    Poly a, b;
    scan_blank(s);
    const char *at = s->at;
    if (!poly_parse(w, s, &a)) return false;
    scan_blank(s);
    static const char *const signs[] = {"==", ">=", "<=", ">", "<"};
    size_t k = 0;
    while (k < 5 && ((size_t)(s->end - s->at) < strlen(signs[k]) ||
                     memcmp(s->at, signs[k], strlen(signs[k]))))
        k++;
    if (k == 5)
        return scan_fail(s, at, "expected a condition: A == B, A >= B, A <= B, A > B or A < B");
    s->at += strlen(signs[k]);
    if (!poly_parse(w, s, &b)) return false;
    Poly d = k == 2 || k == 4 ? poly_sub(w, b, a) : poly_sub(w, a, b);
    *out = (Lit){k >= 3 ? poly_sub(w, d, poly_int(w, 1)) : d, k == 0};
    return true;
}

static bool lits_parse(World *w, Arena *a, Instance *i, Scan *s, Lit **list) {
    while (!scan_end(s)) {
        Lit *more = ARENA_NEW(a, Lit, i->nwhere + 1);
        if (i->nwhere) memcpy(more, *list, (size_t)i->nwhere * sizeof *more);
        *list = more;
        if (!lit_parse(w, s, &more[i->nwhere])) return scan_fail(s, s->at, "expected a condition");
        i->nwhere++;
        if (!scan_char(s, ',') && !scan_end(s))
            return scan_fail(s, s->at, "expected , between conditions");
    }
    return true;
}

static bool where_parse(World *w, Arena *a, Instance *i, RulePart part, Lit **list, Error *e) {
    if (!part.text || !*part.text) return true;
    const char *text;
    if (!blocks_expand(a, i, &part, true, &text, e)) return false;
    Scan s = instance_scan(i, text, e);
    return lits_parse(w, a, i, &s, list) || blocks_place_error(a, i, &part, true, e);
}

/* ---- graphs */

/* Walks over a rule's nodes recurse, so a side is not longer than this. */
enum { SIDE_LINES = 10000 };
static bool is_short(const Instance *i, const RulePart *part, Error *e) {
    int lines = 1;
    for (const char *p = part->text; (p = strchr(p, '\n')); p++) lines++;
    return lines <= SIDE_LINES ||
           error_set(e, E_INVALID, i->rule->file, "rule %s has more than %d lines on one side",
                     i->rule->name, SIDE_LINES);
}
static bool side_parse(World *w, Arena *a, Instance *i, const Names *inputs, const RulePart *part,
                       Graph *out, Error *e) {
    const char *text;
    if (!is_short(i, part, e) || !blocks_expand(a, i, part, false, &text, e)) return false;
    Scan s = instance_scan(i, text, e);
    Names names = {.arena = a};
    Value *v;
    int n;
    for (int k = 0; k < inputs->n; k++) names_set(&names, inputs->v[k].name, inputs->v[k].value);
    if (!graph_parse_nodes(w, a, &s, &names, &v, &n, e))
        return blocks_place_error(a, i, part, false, e);
    *out = (Graph){i->ninput, n, i->input, v};
    return true;
}

static bool graphs_parse(World *w, Arena *a, Instance *i, Error *e) {
    const Rule *rule = i->rule;
    const char *text;
    if (!blocks_expand(a, i, &rule->inputs, false, &text, e)) return false;
    Scan s = instance_scan(i, text, e);
    Names names = {.arena = a};
    Value *in;
    if (!graph_parse_inputs(w, a, &s, &names, &in, &i->ninput) ||
        !(scan_end(&s) || scan_fail(&s, s.at, "expected %%NAME : TYPE")))
        return blocks_place_error(a, i, &rule->inputs, false, e);
    i->input = in;
    if (!side_parse(w, a, i, &names, &rule->from, &i->from, e) ||
        !side_parse(w, a, i, &names, &rule->to, &i->to, e))
        return false;
    if (i->from.nout != i->to.nout)
        return error_at(e, E_INVALID, rule->file, rule->to.line, 1,
                        "rule %s: %d result%s on the left, %d on the right", rule->name,
                        i->from.nout, i->from.nout == 1 ? "" : "s", i->to.nout);
    for (int k = 0; k < i->from.nout; k++)
        if (value_type(w, i->from.out[k])->dtype != value_type(w, i->to.out[k])->dtype ||
            value_type(w, i->from.out[k])->dim.n != value_type(w, i->to.out[k])->dim.n)
            return error_at(e, E_INVALID, rule->file, rule->to.line, 1,
                            "rule %s: result %d has another element type or rank on the right",
                            rule->name, k);
    return true;
}

/* ---- instances */

static bool expand_side(World *w, Arena *a, Graph *side, Graph *whole, Error *e) {
    const int nout = side->nout;
    if (!graph_expand_whole(w, a, side, whole, e)) return false;
    *side = *whole;
    side->nout = nout;
    return true;
}

bool rule_instance_expand(World *w, Arena *a, Instance *i, Error *e) {
    return expand_side(w, a, &i->from, &i->from_whole, e) &&
           expand_side(w, a, &i->to, &i->to_whole, e);
}

static bool instance_make(World *w, Arena *a, const Rule *rule, const int length[], char mark,
                          Instance *i, Error *e) {
    Lit *where = NULL;
    *i = (Instance){.rule = rule, .floats = DT_FLOAT, .classes = rule->classes, .mark = mark};
    if (rule->ngroup) memcpy(i->length, length, sizeof *length * (size_t)rule->ngroup);
    if (!graphs_parse(w, a, i, e)) return false;
    /* The line number of the verdict, which has the second condition, is not kept. */
    const RulePart verdict = {rule->condition, rule->line, NULL};
    if (!where_parse(w, a, i, rule->where, &where, e) || !where_parse(w, a, i, verdict, &where, e))
        return false;
    i->where = where;
    return instance_collect(w, a, i, e);
}
bool rule_instance(World *w, Arena *a, const Rule *rule, const int length[], Instance *i,
                   Error *e) {
    return instance_make(w, a, rule, length, 0, i, e);
}
/* No text can have names with this mark, so a model's "n" never is a rule's "n". */
bool rule_instance_apart(World *w, Arena *a, const Rule *rule, const int length[], Instance *i,
                         Error *e) {
    return instance_make(w, a, rule, length, '\'', i, e);
}

Facts *rule_instance_facts(World *w, Arena *a, const Instance *i) {
    Facts *facts = facts_new(w, a);
    for (int k = 0; k < i->nsymbol; k++)
        if (!i->is_size[k]) facts_at_least(facts, i->symbol[k], INT64_MIN);
    return facts;
}
