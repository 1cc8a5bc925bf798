/* blocks.c -- expands the axis blocks in the text of a rule.

   An entry of a list, or a condition, that contains `h..` is repeated for each axis of h, with h_1,
   h_2, .. in its place, in step with the other blocks in the entry. The expanded text is the text
   form of graphs. So that a rule says the same thing at each length, every `NAME..` must be a
   block, blocks of different groups cannot stand in one entry, and the sizes of a block cannot be
   written out. Comments are not part of an entry. */
#include "rules/instance_inner.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct Expansion {
    const Rule *rule;
    const int *length;
    Text out;
    size_t find;       /* offset in the result of a byte whose origin is wanted */
    const char *found; /* the place in the text that it comes from; NULL: not written yet */
    const char *wrong; /* the first place in the text that is not allowed; NULL: none */
    const char *why;   /* what is wrong there */
} Expansion;

static bool is_name_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Appends n bytes that are a copy of those at `source`, or were made from the text there. */
static void expansion_add(Expansion *x, const char *bytes, size_t n, const char *source) {
    if (!x->found && x->find < x->out.size + n)
        x->found = bytes == source ? source + (x->find - x->out.size) : source;
    text_bytes(&x->out, bytes, n);
}

/* The end of what begins at p: a comment, a text in quotes, the name of a value, another name, or a
   single character. */
static const char *token_end(const char *p) {
    if (*p == '#') return p + strcspn(p, "\n");
    if (*p == '"') {
        for (p++; *p && *p != '"' && *p != '\n'; p++) p += p[0] == '\\' && p[1];
        return p + (*p == '"');
    }
    const bool value = *p == '%';
    if (!value && !is_name_byte(*p)) return p + 1;
    for (p += value; is_name_byte(*p) || (value && (*p == '.' || *p == '-'));) p++;
    return p;
}

/* The next `NAME..` in an entry; n: length of NAME. */
static const char *block_use(const char *p, const char *end, size_t *n) {
    for (const char *q; p < end; p = q) {
        q = token_end(p);
        *n = (size_t)(q - p);
        if (is_name_byte(*p) && q + 1 < end && q[0] == '.' && q[1] == '.') return p;
    }
    return NULL;
}

static const RuleBlock *block_named(const Rule *rule, const char *name, size_t n) {
    for (int k = 0; k < rule->nblock; k++)
        if (strlen(rule->block[k].name) == n && !memcmp(rule->block[k].name, name, n))
            return &rule->block[k];
    return NULL;
}

static void expansion_wrong(Expansion *x, const char *at, const char *why) {
    if (!x->wrong) x->wrong = at, x->why = why;
}

/* How often an entry is repeated; -1: it is written once, since it contains no block. */
static int entry_length(Expansion *x, const char *p, const char *end) {
    const RuleBlock *first = NULL;
    size_t n;
    for (const char *q = p; (q = block_use(q, end, &n)); q += n + 2) {
        const RuleBlock *block = block_named(x->rule, q, n);
        if (!block)
            expansion_wrong(x, q, "this is not an axis block: the line `axes` declares them");
        else if (!first) first = block;
        else if (block->group != first->group)
            expansion_wrong(x, q,
                            arena_format(x->out.arena,
                                         "%s and %s are axis blocks of different groups, so their "
                                         "lengths may differ",
                                         first->name, block->name));
    }
    return first ? x->length[first->group] : -1;
}

static const char *blank_end(const char *p, const char *end) {
    while (p < end && (isspace((unsigned char)*p) || *p == '#')) p = token_end(p);
    return p;
}
/* The value in an entry `h..=VALUE`; NULL: the entry has another form. */
static const char *entry_value(Expansion *x, const char *p, const char *end) {
    size_t n;
    const char *use = block_use(p, end, &n);
    if (!use || use + n + 2 >= end || use[n + 2] != '=' || (use + n + 3 < end && use[n + 3] == '='))
        return NULL;
    if (use != blank_end(p, end)) expansion_wrong(x, use, "NAME..=VALUE must be a whole entry");
    return use + n + 3;
}

/* Copies an entry for one axis of its blocks. `h..=1` gives 1 for each axis of h. */
static void entry_copy(Expansion *x, const char *p, const char *end, int axis) {
    size_t n;
    const char *value = entry_value(x, p, end);
    if (value) p = value;
    for (const char *q; (q = block_use(p, end, &n)); p = q + n + 2) {
        char number[16];
        const int digits = snprintf(number, sizeof number, "_%d", axis);
        expansion_add(x, p, (size_t)(q + n - p), p);
        expansion_add(x, number, (size_t)digits, q);
    }
    expansion_add(x, p, (size_t)(end - p), p);
}

static const char *entry_end(const char *p, const char *end) {
    for (int depth = 0; p < end; p = token_end(p)) {
        if (*p == '(') depth++;
        if (*p == ')') depth--;
        if (depth == 0 && (*p == ',' || *p == ']')) break;
    }
    return p;
}

/* Expands entries separated by commas, up to `end` or ]. */
static const char *entries_expand(Expansion *x, const char *p, const char *end) {
    for (bool first = true;; p++) {
        while (p < end && *p == ' ') p++;
        const char *stop = entry_end(p, end);
        int length = entry_length(x, p, stop);
        for (int axis = 1; axis <= (length < 0 ? 1 : length); axis++, first = false) {
            if (!first) expansion_add(x, ", ", 2, p);
            entry_copy(x, p, stop, axis);
        }
        p = stop;
        if (p >= end || *p == ']') return p;
    }
}

static Expansion expand_text(Arena *a, const Rule *rule, const int *length, const char *text,
                             bool conditions, size_t find) {
    Expansion x = {.rule = rule, .length = length, .out = text_new(a), .find = find};
    const char *end = text + strlen(text);
    if (conditions) entries_expand(&x, text, text + strcspn(text, "#"));
    for (const char *p = text, *q; p < end && !conditions; p = q) {
        q = token_end(p);
        expansion_add(&x, p, (size_t)(q - p), p);
        if (*p == '[') q = entries_expand(&x, q, end);
    }
    return x;
}
static const char *expand_blocks(Arena *a, const Rule *rule, const int *length, const char *text,
                                 bool conditions) {
    const Expansion x = expand_text(a, rule, length, text, conditions, SIZE_MAX);
    return x.out.data ? x.out.data : "";
}

/* Whether p to q is a name like h_2, for a block h. */
static bool is_axis_name(const Rule *rule, const char *p, const char *q) {
    const char *digits = q;
    while (digits > p && isdigit((unsigned char)digits[-1])) digits--;
    return digits < q && *digits != '0' && digits > p + 1 && digits[-1] == '_' &&
           block_named(rule, p, (size_t)(digits - 1 - p));
}
/* Finds a size that has one of the names that blocks give to their axes, or a list of an attribute
   that has the name of a block. It would be the block's own sizes at some lengths and others by
   itself at others. */
static void find_axis_name(Expansion *x, const char *text) {
    for (const char *p = text, *q; *p; p = q) {
        q = token_end(p);
        const bool is_block = q[0] == '.' && q[1] == '.';
        if (p > text && p[-1] == '=' && !is_block && block_named(x->rule, p, (size_t)(q - p)))
            expansion_wrong(x, p, "this is the name of an axis block; choose another name");
        if (is_name_byte(*p) && !is_block && is_axis_name(x->rule, p, q))
            expansion_wrong(x, p,
                            arena_format(x->out.arena,
                                         "%.*s is the name of a size of an axis block; "
                                         "choose another name",
                                         (int)(q - p), p));
    }
}

/* Sets the place of an error to that of a byte of the part. */
static void place_set(const RulePart *part, const char *at, Error *e) {
    const char *p = part->text;
    e->line = 1;
    for (const char *q; (q = memchr(p, '\n', (size_t)(at - p))); p = q + 1) e->line++;
    e->column = (int)(at - p) + 1;
    rule_part_place(part, e);
}
bool blocks_expand(Arena *a, const Instance *i, const RulePart *part, bool conditions,
                   const char **text, Error *e) {
    Expansion x = expand_text(a, i->rule, i->length, part->text, conditions, SIZE_MAX);
    find_axis_name(&x, part->text);
    *text = x.out.data ? x.out.data : "";
    if (!x.wrong) return true;
    error_at(e, E_INVALID, i->rule->file, 1, 1, "rule %s: %s", i->rule->name, x.why);
    if (e) place_set(part, x.wrong, e);
    return false;
}

bool blocks_place_error(Arena *a, const Instance *i, const RulePart *part, bool conditions,
                        Error *e) {
    if (!e) return false;
    if (!e->place[0]) strncpy(e->place, i->rule->name, sizeof e->place - 1);
    if (!e->line) return false;
    const char *const start = expand_blocks(a, i->rule, i->length, part->text, conditions);
    const char *line = start;
    for (int k = 1; k < e->line && strchr(line, '\n'); k++) line = strchr(line, '\n') + 1;
    const size_t find = (size_t)(line - start) + (size_t)e->column - 1;
    const Expansion x = expand_text(a, i->rule, i->length, part->text, conditions, find);
    if (x.found) place_set(part, x.found, e);
    else rule_part_place(part, e);
    return false;
}
