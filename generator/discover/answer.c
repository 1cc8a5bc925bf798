/* answer.c -- searches for answers to one question. A bank of terms begins with the question's own
   nodes and grows, depth by depth, by all operators that fit. At each depth its terms are compared
   with the goals, joined with each other, and completed by unknown constants. */
#include "generator/discover/answer.h"
#include "generator/discover/answer_inner.h"
#include "graphs/world.h"
#include <string.h>

enum { CONSTANTS_USED = 40, TERMS_MOST = 30000 };

/* Applies operators with one input to the term. first: those of the question and views; otherwise
   the others. */
static void grow_one(Search *s, BankTerm t, bool first) {
    TypeId type = value_type_id(s->w, t.v);
    const FittingOps *m = fitting_ops(s, 1, &type);
    bool fresh;
    for (int k = first ? 0 : m->npreferred;
         k < (first ? m->npreferred : m->n) && s->evaluations_left > 0; k++) {
        if (!s->moves_data && sig_source(s, m->v[k])) continue;
        Value v = sig_node(s, m->v[k], &t.v);
        if (v) term_put(s, v, t.depth + 1, 0, &fresh);
    }
}

/* Applies the question's nodes with three or more inputs to the term in place of each of their
   inputs on data. */
static void grow_like(Search *s, BankTerm t) {
    for (int k = 0; k < s->live.n && s->evaluations_left > 0; k++) {
        Node n = node_get(s->w, s->live.v[k]);
        if (n.nin < 3) continue;
        for (int j = 0; j < n.nin; j++) {
            if (!n.in[j] || value_is_constant(s, n.in[j])) continue;
            Value *in = ARENA_NEW(s->a, Value, n.nin);
            Attr attr[ATTRS_MAX];
            const char *why;
            bool fresh;
            memcpy(in, n.in, (size_t)n.nin * sizeof *in);
            in[j] = t.v;
            sig_attr(s->w, n.sig, attr);
            Value v = node_make(s->w, n.op, attr, n.nin, in, n.nout, &why);
            if (v && sig_fits(s, node_get(s->w, value_node(s->w, v)).sig))
                term_put(s, v, t.depth + 1, 0, &fresh);
        }
    }
}

static void grow_two(Search *s, BankTerm a, BankTerm b, bool first) {
    for (int swap = 0; swap < 2; swap++) {
        const Value in[2] = {swap ? b.v : a.v, swap ? a.v : b.v};
        const TypeId type[2] = {value_type_id(s->w, in[0]), value_type_id(s->w, in[1])};
        const FittingOps *m = fitting_ops(s, 2, type);
        int depth = 1 + a.depth + (a.v == b.v ? 0 : b.depth);
        bool fresh;
        for (int k = first ? 0 : m->npreferred;
             k < (first ? m->npreferred : m->n) && s->evaluations_left > 0; k++) {
            Value v = sig_node(s, m->v[k], in);
            if (v) term_put(s, v, depth, 0, &fresh);
        }
        if (a.v == b.v) break;
    }
}

/* Grows the bank by the terms of one depth. Operators of the question and views come before the
   others. */
static void grow(Search *s, int depth) {
    for (int first = 1; first >= 0; first--)
        for (int k = 0; k < s->bank.nterm && s->bank.nterm < TERMS_MOST && s->evaluations_left > 0;
             k++) {
            if (s->bank.term[k].depth >= depth) continue;
            grow_one(s, s->bank.term[k], first);
            if (first) grow_like(s, s->bank.term[k]);
            for (int j = 0; j <= k && s->evaluations_left > 0; j++)
                if (s->bank.term[j].depth + (j == k ? 0 : s->bank.term[k].depth) < depth)
                    grow_two(s, s->bank.term[k], s->bank.term[j], first);
            for (int j = 0; j < s->bank.nconstant && j < CONSTANTS_USED && s->evaluations_left > 0;
                 j++)
                if (s->bank.constant[j].size <= 1)
                    grow_two(s, s->bank.term[k], s->bank.constant[j], first);
        }
}

static void search_run(Search *s) {
    goals_open(s);
    goals_in_blocks(s);
    terms_written_out(s);
    if (!s->goals.n) return;
    constants_grow(s);
    s->evaluations_left = s->o->steps;
    terms_exchanged(s);
    for (int depth = 0; depth <= s->o->depth; depth++) {
        s->evaluations_left = s->o->steps;
        grow(s, depth);
        goals_look(s, depth);
        s->evaluations_left = s->o->steps;
        holes_look(s, depth);
    }
}

/* Searches once. *blocks: the result has an axis that can be divided into blocks. */
static bool answer_once(Arena *keep, const Question *q, const AnswerOptions *o, Answers *answers,
                        AnswerStats *stats, bool *blocks, Error *e) {
    World *w = graph_world_new(arena_escape(keep), o->memory / 2);
    Arena *a = arena_new(arena_escape(keep), o->memory / 2);
    Search *s = ARENA_NEW(a, Search, 1);
    *s = (Search){.w = w,
                  .a = a,
                  .q = q,
                  .o = o,
                  .stats = stats,
                  .keep = keep,
                  .answers = answers,
                  .evaluations_left = o->steps,
                  .bank.constants_most = SEARCH_CONSTANTS};
    s->values.run = program_runner(true);
    s->bank.keys[0] = intern_new(a);
    s->bank.keys[1] = intern_new(a);
    s->bank.marks = intern_new(a);
    s->fitting.keys = intern_new(a);
    s->bank.constant = ARENA_NEW(a, BankTerm, SEARCH_CONSTANTS);
    s->l = lift_over(w, o->seed);
    s->l->one_way = true;
    if (search_open(s, e)) search_run(s);
    *blocks = s->blocks != 0;
    lift_free(s->l);
    Intern *const all[] = {s->bank.keys[0], s->bank.keys[1], s->bank.marks, s->fitting.keys};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) intern_free(all[k]);
    arena_free(a);
    world_free(w);
    return e->kind == E_NONE;
}

bool question_answer(Arena *keep, const Question *q, const AnswerOptions *o, Answers *answers,
                     AnswerStats *stats, Error *e) {
    AnswerOptions other = *o;
    const uint64_t untrue = stats->untrue;
    bool blocks;
    if (!answer_once(keep, q, o, answers, stats, &blocks, e)) return false;
    if (answers->n || !blocks || stats->untrue == untrue) return true;
    /* Equations that are untrue at other sizes show that the small sizes tell too little about a
       window, so they are drawn again. */
    other.seed++;
    return answer_once(keep, q, &other, answers, stats, &blocks, e);
}
