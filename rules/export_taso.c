/* export_taso.c -- exports rules as a TASO file.

   TASO's format has no sizes, conditions or block lengths, so a rule in it means what a reader
   makes of it. Each piece is therefore read back (taso.h) and kept only if it follows from the
   rule: the rule is matched against the left side that was read and must produce the right side
   that was read, at every rank, given only what that left side itself says about sizes. */
#include "graphs/needs.h"
#include "ops/base/file.h"
#include "ops/base/intern.h"
#include "rules/export.h"
#include "rules/match_apply.h"
#include "rules/taso.h"
#include "rules/taso_write.h"
#include <string.h>

typedef struct TasoFile {
    Export *x;
    World *w;
    Arena *arena; /* for one rule */
    Text file;
    Intern *seen;
} TasoFile;

/* ---- whether what is read back is an application of the rule */

typedef struct Question {
    World *w;
    Arena *arena;
    Facts *facts;
    const Instance *read;
    bool yes;
} Question;

static bool stop_at_match(void *user, const Match *m) {
    Question *q = user;
    const Graph *from = &q->read->from, *to = &q->read->to;
    Value *made = ARENA_NEW(q->arena, Value, from->nout);
    Error ignored = {0};
    for (int k = 0; k < from->nout; k++)
        if (m->root[k] != from->out[k]) return true;
    if (!match_apply(q->w, q->arena, q->facts, m, made, &ignored)) return true;
    for (int k = 0; k < to->nout; k++)
        if (made[k] != to->out[k]) return true;
    q->yes = true;
    return false;
}

/* Whether what was read follows from the rule, for one choice of its lengths. */
static bool follows_here(TasoFile *o, const Rule *rule, const Instance *read) {
    Question q = {.w = o->w, .arena = o->arena, .read = read};
    int length[RULE_BLOCKS];
    q.facts = graph_facts(o->w, o->arena, &read->from);
    for (int k = 0; k < read->nwhere; k++) facts_assume(q.facts, read->where[k]);
    Matcher *m = matcher_new(o->w, o->arena, &read->from, q.facts);
    rule_lengths_first(rule, length);
    do {
        Instance i;
        Error e = {0};
        if (rule_instance_apart(o->w, o->arena, rule, length, &i, &e) &&
            i.from.nout == read->from.nout)
            matcher_run(m, &i, stop_at_match, &q);
    } while (!q.yes && rule_covered_next(rule, length));
    return q.yes;
}

static bool follows(TasoFile *o, const Rule *rule, const Rule *read) {
    int length[RULE_BLOCKS];
    rule_lengths_first(read, length);
    do {
        Instance i;
        Error e = {0};
        WorldMark mark = world_mark(o->w);
        bool good =
            rule_instance(o->w, o->arena, read, length, &i, &e) && follows_here(o, rule, &i);
        world_reset(o->w, mark);
        if (!good) return false;
    } while (rule_lengths_next(read, length));
    return true;
}

/* The piece as TASO's reader understands it. Returns NULL with the reason if it means something
   else or nothing. */
static const Rule *read_back(TasoFile *o, const Rule *rule, const Text *piece, const char **why) {
    RuleSet set = {.arena = o->arena};
    TasoRefusals refused = {0};
    Error e = {0};
    if (!taso_parse(o->arena, rule->name, piece->data, piece->size, &set, &refused, &e))
        *why = arena_format(o->arena, "read back: %s", e.reason);
    else if (set.n != 1)
        *why = arena_format(o->arena, "read back: %s", refused.n ? refused.v[0].reason : "nothing");
    else if (!follows(o, rule, &set.v[0]))
        *why = "sizes, groups, ranks or conditions that TASO's format cannot express";
    else return &set.v[0];
    return NULL;
}

/* ---- */

/* Adds a piece to the file unless an equal one is there. Returns NULL if it is in the file,
   otherwise the reason. */
static const char *taso_put_piece(TasoFile *o, const Rule *rule, const Instance *i, bool same) {
    const char *why = NULL;
    TasoRule *made = ARENA_NEW(o->arena, TasoRule, 1);
    Text piece = text_new(o->arena);
    if (!taso_make(o->w, o->arena, i, same, made, &why)) return why;
    taso_put(&piece, made);
    const Rule *back = read_back(o, rule, &piece, &why);
    if (!back) return why;
    if (intern_find(o->seen, back->id, RULE_ID)) return NULL;
    intern_put(o->seen, back->id, RULE_ID);
    text_bytes(&o->file, piece.data, piece.size);
    o->x->written++;
    return NULL;
}

static bool taso_put_rule(TasoFile *o, const Rule *rule, Error *e) {
    int length[RULE_BLOCKS], pieces = 0;
    const char *why = NULL;
    rule_lengths_first(rule, length);
    do
        for (int same = 0; same < 2; same++) {
            Instance i;
            WorldMark mark = world_mark(o->w);
            if (!rule_instance(o->w, o->arena, rule, length, &i, e)) return false;
            const char *lost = taso_put_piece(o, rule, &i, same);
            pieces += !lost;
            if (!why) why = lost;
            world_reset(o->w, mark);
        }
    while (rule_lengths_next(rule, length));
    if (pieces) o->x->expressed++;
    else export_leave(o->x, &o->x->lost, rule, why);
    return true;
}

static bool taso_write_file(Export *x, const char *path, Error *e) {
    TasoFile o = {.x = x, .w = x->w, .arena = arena_new(arena_escape(x->arena), 0)};
    bool good = true;
    o.file = text_new(x->arena);
    o.seen = intern_new(x->arena);
    for (int k = 0; k < x->n && good; k++) {
        ArenaMark mark = arena_mark(o.arena);
        good = taso_put_rule(&o, x->rule[k], e);
        arena_reset(o.arena, mark);
    }
    intern_free(o.seen);
    arena_free(o.arena);
    return good && file_write(path, o.file.data ? o.file.data : "", o.file.size, e);
}

const ExportFormat export_taso = {"taso", "a file of TASO substitutions", taso_write_file, false};
