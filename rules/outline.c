/* outline.c -- splits a rule's text (outline.h). An entry of a list ends at a comma outside
   parentheses. The value of an attribute ends at the end of its line or before the next NAME=,
   since a polynomial may contain blanks. */
#include "rules/outline.h"
#include "graphs/graph_text.h"
#include <ctype.h>
#include <string.h>

static void add_text(Arena *a, OutlineList *list, const char *text) {
    ARENA_GROW(a, list->v, list->room, list->n + 1);
    list->v[list->n++] = text;
}

static const char *trimmed(Arena *a, const char *p, const char *end) {
    while (p < end && isspace((unsigned char)*p)) p++;
    while (end > p && isspace((unsigned char)end[-1])) end--;
    return arena_string(a, p, (size_t)(end - p));
}

/* Splits entries up to `]` or the end, and returns where it stopped. */
static const char *entries(Arena *a, const char *p, const char *end, OutlineList *out) {
    const char *start = p;
    for (int depth = 0; p < end && (depth || *p != ']'); p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth || *p != ',') continue;
        add_text(a, out, trimmed(a, start, p));
        start = p + 1;
    }
    const char *last = trimmed(a, start, p);
    if (*last || out->n) add_text(a, out, last);
    return p;
}

static bool list_read(Scan *s, Arena *a, OutlineList *out) {
    s->at = entries(a, s->at, s->end, out);
    return scan_char(s, ']') || scan_fail(s, s->at, "expected ]");
}

/* ---- inputs: %x : F [n, c, h..] */

static bool inputs_read(Scan *s, Arena *a, Outline *o) {
    const char *name;
    char element[16];
    while (value_parse(s, a, &name)) {
        OutlineInput in = {.name = name};
        if (!scan_char(s, ':') || !scan_name(s, element, sizeof element) || !scan_char(s, '['))
            return scan_fail(s, s->at, "expected %%NAME : TYPE [SIZES]");
        in.element = arena_string(a, element, strlen(element));
        if (!list_read(s, a, &in.size)) return false;
        ARENA_GROW(a, o->input, o->room, o->ninput + 1);
        o->input[o->ninput++] = in;
    }
    return scan_end(s) || scan_fail(s, s->at, "expected %%NAME : TYPE [SIZES]");
}

/* ---- nodes: %a %b = split %y axis=1 sizes=[p, q] */

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether NAME= follows, but not NAME==. */
static bool attr_follows(const char *p, const char *end) {
    const char *q = p;
    while (q < end && is_letter(*q)) q++;
    return q > p && q + 1 < end && q[0] == '=' && q[1] != '=';
}

static const char *value_end(const char *p, const char *end) {
    for (; p < end && *p != '\n' && *p != '#'; p++)
        if (*p == ' ' && attr_follows(p + 1, end)) break;
    return p;
}

static bool attr_read(Scan *s, Arena *a, OutlineNode *n) {
    char name[128];
    OutlineAttr x = {0};
    if (!scan_name(s, name, sizeof name) || !scan_char(s, '='))
        return scan_fail(s, s->at, "expected NAME=VALUE");
    x.name = arena_string(a, name, strlen(name));
    if (scan_char(s, '[')) {
        x.is_list = true;
        if (!list_read(s, a, &x.value)) return false;
    } else {
        const char *end = value_end(s->at, s->end);
        add_text(a, &x.value, trimmed(a, s->at, end));
        s->at = end;
    }
    ARENA_GROW(a, n->attr, n->room, n->nattr + 1);
    n->attr[n->nattr++] = x;
    return true;
}

static bool operands_read(Scan *s, Arena *a, OutlineList *out) {
    const char *name;
    for (;;) {
        if (value_parse(s, a, &name)) add_text(a, out, name);
        else if (scan_word(s, "_")) add_text(a, out, "_");
        else return !s->error || s->error->kind == E_NONE;
        scan_blank_line(s);
        if (s->at < s->end && *s->at == '\n') return true;
    }
}

static bool node_read(Scan *s, Arena *a, OutlineNode *n) {
    char op[128];
    if (!operands_read(s, a, &n->out)) return false;
    if (!n->out.n || !scan_char(s, '=') || !scan_name(s, op, sizeof op))
        return scan_fail(s, s->at, "expected %%y = OPERATOR .. or out %%y ..");
    if (op_find(op) == &op_constant)
        return scan_fail(s, s->at, "a rule cannot have a constant with contents");
    n->op = arena_string(a, op, strlen(op));
    scan_blank_line(s);
    if (s->at < s->end && (*s->at == '%' || *s->at == '_') && !operands_read(s, a, &n->in))
        return false;
    for (scan_blank_line(s); s->at < s->end && attr_follows(s->at, s->end); scan_blank_line(s))
        if (!attr_read(s, a, n)) return false;
    return true;
}

static bool side_read(Scan *s, Arena *a, OutlineSide *side) {
    while (!scan_word(s, "out")) {
        OutlineNode n = {0};
        if (scan_end(s)) return scan_fail(s, s->at, "expected an `out` line");
        if (!node_read(s, a, &n)) return false;
        ARENA_GROW(a, side->v, side->room, side->n + 1);
        side->v[side->n++] = n;
    }
    return operands_read(s, a, &side->out) &&
           (scan_end(s) || scan_fail(s, s->at, "unexpected line in a rule"));
}

/* ---- */

static Scan part_scan(const Rule *rule, const RulePart *part, Error *e) {
    return scan_new(rule->file, part->text, strlen(part->text), e);
}

static bool place_error(const RulePart *part, Error *e) {
    rule_part_place(part, e);
    return false;
}

static void all_read(Arena *a, const char *text, OutlineList *out) {
    OutlineList blocks = {0};
    entries(a, text, text + strlen(text), &blocks);
    for (int k = 0; k < blocks.n; k++)
        add_text(a, out, arena_string(a, blocks.v[k], strcspn(blocks.v[k], ".")));
}

bool outline_read(Arena *a, const Rule *rule, Outline *out, Error *e) {
    Error own = {0};
    *out = (Outline){0};
    if (!e) e = &own;
    Scan in = part_scan(rule, &rule->inputs, e), from = part_scan(rule, &rule->from, e),
         to = part_scan(rule, &rule->to, e);
    if (!inputs_read(&in, a, out)) return place_error(&rule->inputs, e);
    if (!side_read(&from, a, &out->from)) return place_error(&rule->from, e);
    if (!side_read(&to, a, &out->to)) return place_error(&rule->to, e);
    const char *where = rule->where.text ? rule->where.text : "";
    entries(a, where, where + strcspn(where, "#"), &out->where);
    entries(a, rule->condition, rule->condition + strlen(rule->condition), &out->condition);
    all_read(a, rule->all_ranks, &out->all);
    return true;
}
