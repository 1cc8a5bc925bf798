/* rule.c -- reads files of rules (rule_text.c prints them). A rule is split into its parts line by
   line; the lines of a part are parsed only when block lengths are known (instance.c). Parts keep
   their text, so a rule prints as its author wrote it. */
#include "rules/rule.h"
#include "ops/base/file.h"
#include <string.h>

typedef struct RuleLine {
    const char *start, *at, *end; /* at to end: the line without newline and outer blanks */
    int number;
} RuleLine;
typedef struct RuleReader {
    Arena *arena;
    Scan scan;
    RuleLine line;
    int number;
    Text section, comment;
} RuleReader;

static bool next_line(RuleReader *r) {
    Scan *s = &r->scan;
    if (s->at >= s->end) return false;
    const char *end = memchr(s->at, '\n', (size_t)(s->end - s->at));
    if (!end) end = s->end;
    const char *start = s->at, *a = start, *b = end;
    while (a < b && (*a == ' ' || *a == '\t' || *a == '\r')) a++;
    while (b > a && (b[-1] == ' ' || b[-1] == '\t' || b[-1] == '\r')) b--;
    s->at = end < s->end ? end + 1 : s->end;
    r->line = (RuleLine){start, a, b, ++r->number};
    return true;
}

static bool line_is(const RuleLine *l, const char *word) {
    size_t n = strlen(word), size = (size_t)(l->end - l->at);
    return size >= n && !memcmp(l->at, word, n) &&
           (size == n || l->at[n] == ' ' || l->at[n] == '\t');
}

static bool rule_fail(RuleReader *r, const char *reason) {
    return scan_fail(&r->scan, r->line.at, "%s", reason);
}

static Scan line_scan(RuleReader *r, size_t skip) {
    Scan s = r->scan;
    s.at = r->line.at + skip;
    s.end = r->line.end;
    return s;
}

/* ---- header: `rule NAME`, `axes h k = 1..3, b = 0..2` */

static int find_block(const Rule *rule, const char *name) {
    for (int k = 0; k < rule->nblock; k++)
        if (!strcmp(rule->block[k].name, name)) return k;
    return -1;
}

/* Parses a length of "1..3" or "2". The digits are read one by one, since scan_real would take "1."
   for a number. */
static bool length_parse(Scan *s, int *out) {
    scan_blank(s);
    int n = 0, digits = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9' && digits < 2; s->at++, digits++)
        n = 10 * n + (*s->at - '0');
    *out = n;
    return digits && n <= RANK_MAX;
}

static bool axes_parse(RuleReader *r, Rule *rule) {
    Scan s = line_scan(r, strlen("axes"));
    do {
        char name[64];
        int names = 0;
        RuleGroup g;
        if (rule->ngroup == RULE_BLOCKS) return rule_fail(r, "too many axis blocks");
        for (; scan_name(&s, name, sizeof name); names++) {
            if (find_block(rule, name) >= 0)
                return scan_fail(&s, s.at, "axis block %s is given twice", name);
            if (rule->nblock == RULE_BLOCKS) return rule_fail(r, "too many axis blocks");
            rule->block[rule->nblock++] =
                (RuleBlock){arena_string(r->arena, name, strlen(name)), rule->ngroup};
        }
        if (!names || !scan_char(&s, '=') || !length_parse(&s, &g.least))
            return scan_fail(&s, s.at, "expected axes NAMES = LEAST..MOST, lengths at most %d",
                             RANK_MAX);
        g.most = g.least;
        if (s.at + 1 < s.end && s.at[0] == '.' && s.at[1] == '.') {
            s.at += 2;
            if (!length_parse(&s, &g.most) || g.most < g.least)
                return scan_fail(&s, s.at, "expected a maximum length from %d to %d", g.least,
                                 RANK_MAX);
        }
        rule->group[rule->ngroup++] = g;
    } while (scan_char(&s, ','));
    scan_blank(&s);
    return s.at >= s.end || scan_fail(&s, s.at, "unexpected text at the end of the line");
}

/* ---- verdict: `proved class=exact where=[..] defs=.. digest=..` */

static const struct {
    const char *word;
    Verdict verdict;
} verdicts[] = {
    {"proved", VERDICT_PROVED}, {"refuted", VERDICT_REFUTED}, {"unknown", VERDICT_UNKNOWN}};

static bool is_verdict(const RuleLine *l) {
    for (size_t k = 0; k < sizeof verdicts / sizeof *verdicts; k++)
        if (line_is(l, verdicts[k].word)) return true;
    return false;
}

static const char *verdict_field(RuleReader *r, const char *key, char close) {
    size_t n = strlen(key);
    for (const char *p = r->line.at; p + n < r->line.end; p++) {
        if (p[-1] != ' ' || memcmp(p, key, n)) continue;
        const char *start = p + n, *end = start;
        while (end < r->line.end && *end != close) end++;
        return arena_string(r->arena, start, (size_t)(end - start));
    }
    return "";
}

static bool verdict_parse(RuleReader *r, Rule *rule) {
    for (size_t k = 0; k < sizeof verdicts / sizeof *verdicts; k++)
        if (line_is(&r->line, verdicts[k].word)) rule->verdict = verdicts[k].verdict;
    if (rule->verdict != VERDICT_PROVED) return true;
    if (!classes_parse(verdict_field(r, "class=", ' '), &rule->classes))
        return rule_fail(r, "expected class= with one or more of " CLASS_WORDS ", joined by +");
    rule->condition = verdict_field(r, "where=[", ']');
    rule->all_ranks = verdict_field(r, "all=[", ']');
    const char *defs = verdict_field(r, "defs=", ' '), *digest = verdict_field(r, "digest=", ' ');
    if (strlen(defs) != 32 || strlen(digest) != 32)
        return rule_fail(r, "expected defs= and digest= with 32 digits each");
    memcpy(rule->defs, defs, 33);
    memcpy(rule->digest, digest, 33);
    return true;
}

/* ---- parts */

/* A part while it grows, line by line. */
typedef struct PartText {
    Text text;
    int n, room, *indent; /* lines so far */
} PartText;

static void part_line(RuleReader *r, PartText *t, const char *at, size_t size, size_t indent) {
    text_bytes(&t->text, at, size);
    text_bytes(&t->text, "\n", 1);
    ARENA_GROW(r->arena, t->indent, t->room, t->n + 1);
    t->indent[t->n++] = (int)indent;
}
/* Appends a line to a part, and empty lines for lines of the file in between, so that line numbers
   stay right. */
static void part_add(RuleReader *r, PartText *t, RulePart *part) {
    const RuleLine *l = &r->line;
    if (!t->text.arena) {
        t->text = text_new(r->arena);
        part->line = l->number;
    }
    while (part->line + t->n < l->number) part_line(r, t, "", 0, 0);
    part_line(r, t, l->at, (size_t)(l->end - l->at), (size_t)(l->at - l->start));
    part->text = t->text.data;
    part->indent = t->indent;
}

static bool body_parse(RuleReader *r, Rule *rule) {
    enum { INPUTS, FROM, TO, WHERE } part = INPUTS;
    RulePart *parts[] = {&rule->inputs, &rule->from, &rule->to, &rule->where};
    PartText text[4] = {{.n = 0}};
    const char *back = r->scan.at;
    for (int number = r->number; next_line(r); back = r->scan.at, number = r->number) {
        RuleLine *l = &r->line;
        if (l->at == l->end || *l->at == '#') {
            if (part < TO) continue;
            r->scan.at = back; /* a comment or blank line after `to` ends the rule */
            r->number = number;
            break;
        }
        if (line_is(l, "rule")) {
            r->scan.at = back;
            r->number = number;
            break;
        }
        if (line_is(l, "axes")) {
            if (part != INPUTS) return rule_fail(r, "axes must come before the left side");
            if (!axes_parse(r, rule)) return false;
        } else if (line_is(l, "from") && part == INPUTS) part = FROM;
        else if (line_is(l, "to") && part == FROM) part = TO;
        else if (line_is(l, "where") && part == TO) {
            part = WHERE;
            for (l->at += strlen("where"); l->at < l->end && (*l->at == ' ' || *l->at == '\t');
                 l->at++) {}
            part_add(r, &text[WHERE], parts[WHERE]);
        } else if (is_verdict(l)) {
            if (part < TO) return rule_fail(r, "a verdict must come after the right side");
            if (!verdict_parse(r, rule)) return false;
            break;
        } else if (part == WHERE)
            return rule_fail(r, "expected a verdict or an empty line after the conditions");
        else part_add(r, &text[part], parts[part]);
    }
    if (!rule->from.text || !rule->to.text)
        return rule_fail(r, "a rule needs both `from` and `to`, each with node lines");
    if (!rule->inputs.text) rule->inputs = (RulePart){"", rule->line, NULL};
    return true;
}

void rules_add(RuleSet *set, Arena *a, const Rule *rule) { ARENA_APPEND(a, set->v, set->n, *rule); }

static bool rule_parse(RuleReader *r, RuleSet *set) {
    char name[128];
    Scan s = line_scan(r, strlen("rule"));
    Rule rule = {.file = r->scan.name, .line = r->line.number, .condition = "", .all_ranks = ""};
    if (!scan_name(&s, name, sizeof name)) return rule_fail(r, "expected rule NAME");
    if (!scan_end(&s)) return scan_fail(&s, s.at, "unexpected text at the end of the line");
    if (rules_find(set, name)) return rule_fail(r, "a rule of this name is already defined");
    rule.name = arena_string(r->arena, name, strlen(name));
    rule.section = r->section.size ? arena_string(r->arena, r->section.data, r->section.size) : "";
    rule.comment = r->comment.size ? arena_string(r->arena, r->comment.data, r->comment.size) : "";
    if (!body_parse(r, &rule)) return false;
    rule_identify(r->arena, &rule);
    rules_add(set, r->arena, &rule);
    return true;
}

/* A comment that an empty line or the end of the file follows belongs to no rule alone. */
static void comment_ends(RuleReader *r) {
    if (r->comment.size)
        text_add(&r->section, "%s%.*s", r->section.size ? "\n" : "", (int)r->comment.size,
                 r->comment.data);
    r->comment.size = 0;
}
bool rules_parse(Arena *a, const char *file, const char *text, size_t n, RuleSet *set, Error *e) {
    RuleReader r = {.arena = a,
                    .scan = scan_new(file, text, n, e),
                    .section = text_new(a),
                    .comment = text_new(a)};
    const char *zero = n ? memchr(text, 0, n) : NULL;
    set->arena = a;
    if (zero) return scan_fail(&r.scan, zero, "a zero byte: this is not a text file");
    text_add(&r.section, "%s", set->end ? set->end : "");
    while (next_line(&r)) {
        RuleLine *l = &r.line;
        if (l->at == l->end) comment_ends(&r);
        else if (*l->at == '#') {
            const char *start = l->at + 1 + (l->at + 1 < l->end && l->at[1] == ' ');
            text_bytes(&r.comment, start, (size_t)(l->end - start));
            text_bytes(&r.comment, "\n", 1);
        } else if (line_is(l, "rule")) {
            if (!rule_parse(&r, set)) return false;
            r.section.size = r.comment.size = 0;
        } else return rule_fail(&r, "expected rule NAME, a comment or an empty line");
    }
    comment_ends(&r);
    set->end = arena_string(a, r.section.size ? r.section.data : "", r.section.size);
    return true;
}

bool rules_read(Arena *a, const char *path, RuleSet *set, Error *e) {
    char *data;
    size_t n;
    return file_read(a, path, &data, &n, e) &&
           rules_parse(a, arena_string(a, path, strlen(path)), data, n, set, e);
}

const Rule *rules_find(const RuleSet *set, const char *name) {
    for (int k = 0; k < set->n; k++)
        if (!strcmp(set->v[k].name, name) || !strcmp(set->v[k].id, name)) return &set->v[k];
    return NULL;
}
