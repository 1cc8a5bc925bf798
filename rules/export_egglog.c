/* export_egglog.c -- exports rules as an egglog program (Zhang et al., PLDI 2023), one egglog rule
   for each choice of lengths.

   The left side is the query and the right side the actions. Results are united pairwise, so rules
   with several results need no special form. Integers are i64; lists are Cons and Nil. An entry
   that is a polynomial becomes a variable with an equation. The functions rank, dim and element are
   declared, but it is the user's program that fills them. */
#include "ops/base/file.h"
#include "ops/core/facts.h"
#include "rules/export.h"
#include <ctype.h>
#include <string.h>

typedef struct EgglogWriter {
    Export *x;
    World *w;
    Arena *arena; /* for one rule */
    bool *used;   /* for each operator */
    bool *bound;  /* by symbol: it stands by itself somewhere in the query */
    const char *why;
    Text facts; /* equations for the fresh variables of the query */
    int fresh;
    bool query;
} EgglogWriter;

static void egglog_refuse(EgglogWriter *o, const char *why) {
    if (!o->why) o->why = why;
}

/* ---- numbers */

static void egglog_put_poly(EgglogWriter *o, Poly p, Text *t);

static void egglog_put_symbol(EgglogWriter *o, Symbol s, Text *t) {
    SymbolDef d = symbol_def(o->w, s);
    if (d.kind == SYM_NAMED) {
        const char *name = world_text(o->w, d.word);
        text_add(t, "?%s", name);
        return;
    }
    if (d.kind != SYM_FLOOR && d.kind != SYM_MIN)
        egglog_refuse(o, "a size that is not a polynomial");
    text_add(t, d.kind == SYM_MIN ? "(min " : "(/ ");
    for (uint32_t k = 0; k < d.narg; k++) {
        text_add(t, k ? " " : "");
        egglog_put_poly(o, d.arg[k], t);
    }
    text_add(t, ")");
    if (d.kind != SYM_FLOOR) return;
    /* egglog divides towards 0, so the dividend must not be negative, and the divisor positive. */
    Text conditions = text_new(o->arena);
    text_add(&conditions, " (>= ");
    egglog_put_poly(o, d.arg[0], &conditions);
    text_add(&conditions, " 0)");
    int64_t divisor;
    if (!poly_constant(o->w, d.arg[1], &divisor)) {
        text_add(&conditions, " (>= ");
        egglog_put_poly(o, d.arg[1], &conditions);
        text_add(&conditions, " 1)");
    }
    if (!o->facts.size || !strstr(o->facts.data, conditions.data))
        text_add(&o->facts, "%s", conditions.data);
}

static void egglog_put_poly(EgglogWriter *o, Poly p, Text *t) {
    Monomial m;
    int n = 0;
    Text sum = text_new(o->arena);
    for (PolyScan s = poly_scan(o->w, p); poly_next(&s, &m); n++) {
        Text term = text_new(o->arena);
        text_add(&term, "%lld", (long long)m.coefficient);
        for (uint32_t k = 0; k < m.degree; k++) {
            Text more = text_new(o->arena);
            bool one = !k && m.coefficient == 1;
            if (!one) text_add(&more, "(* %s ", term.data);
            egglog_put_symbol(o, m.symbol[k], &more);
            text_add(&more, one ? "" : ")");
            term = more;
        }
        if (!n) sum = term;
        else {
            Text more = text_new(o->arena);
            text_add(&more, "(+ %s %s)", sum.data, term.data);
            sum = more;
        }
    }
    text_add(t, "%s", n ? sum.data : "0");
}

/* Writes an entry. In a query, an entry other than a number or a variable becomes a fresh variable
   with an equation for its value. */
static void egglog_put_entry(EgglogWriter *o, Poly p, Text *t) {
    int64_t n;
    Symbol s = poly_is_symbol(o->w, p);
    bool simple = poly_constant(o->w, p, &n) || (s && symbol_def(o->w, s).kind == SYM_NAMED);
    if (!o->query || simple) {
        egglog_put_poly(o, p, t);
        if (o->query && s) o->bound[s] = true;
        return;
    }
    text_add(t, "e%d", ++o->fresh);
    int own = o->fresh;
    Text value = text_new(o->arena);
    egglog_put_poly(o, p, &value);
    text_add(&o->facts, " (= e%d %s)", own, value.data);
}

static void egglog_put_real(EgglogWriter *o, Ex x, Text *t) {
    ExNode n;
    double v;
    ex_get(o->w, x, &n);
    if (ex_number(o->w, x, &v)) {
        Text own = text_new(o->arena);
        text_add(&own, "%.17g", (double)(float)v);
        text_add(t, strpbrk(own.data, ".en") ? "%s" : "%s.0", own.data);
        if (strpbrk(own.data, "in") || strchr(own.data, 'e'))
            egglog_refuse(o, "a number with an exponent");
    } else if (n.kind == EX_PARAM) {
        text_add(t, "?real-%s", world_text(o->w, n.word));
    } else egglog_refuse(o, "a number computed from other numbers");
}

/* ---- nodes */

static void egglog_put_attr(EgglogWriter *o, const AttrDef *def, const Attr *a, Text *t) {
    text_add(t, " ");
    if (def->kind == A_INT) egglog_put_entry(o, a->ints.v[0], t);
    else if (def->kind == A_REAL) egglog_put_real(o, a->real, t);
    else if (def->kind == A_INTS) {
        for (int k = 0; k < a->ints.n; k++) {
            text_add(t, "(Cons ");
            egglog_put_entry(o, a->ints.v[k], t);
            text_add(t, " ");
        }
        text_add(t, "(Nil)");
        for (int k = 0; k < a->ints.n; k++) text_add(t, ")");
    } else {
        text_add(t, "\"");
        attr_print(o->w, def, a, t);
        text_add(t, "\"");
    }
}

static bool many_inputs(const Op *op) { return strstr(op->in, "..") != NULL; }
static bool many_results(const Op *op) { return strchr(op->out, ' ') || strstr(op->out, ".."); }

static int count_words(const char *text) {
    int n = 0;
    for (const char *p = text; *p; p += strcspn(p, " "), p += strspn(p, " ")) n++;
    return n;
}

/* The variable of an input. Names that are not symbols of egglog are replaced by a number. */
static void egglog_put_name(EgglogWriter *o, Value v, Text *t) {
    const char *p = input_name(o->w, v), *name = p;
    while (isalnum((unsigned char)*p) || (*p && strchr("_-.", *p))) p++;
    if (*p) text_add(t, "x.%u", v);
    else text_add(t, "x-%s", name);
}

static void egglog_put_input(EgglogWriter *o, char side, Value v, Text *t) {
    const char *name = v ? input_name(o->w, v) : NULL;
    if (!v) text_add(t, "(absent)");
    else if (name) egglog_put_name(o, v, t);
    else text_add(t, "%c%u", side, v);
}

static void egglog_put_node(EgglogWriter *o, char side, const Node *n, int port, Text *t) {
    Attr attr[ATTRS_MAX];
    sig_attr(o->w, n->sig, attr);
    o->used[n->op_index] = true;
    text_add(t, "(op-%s", n->op->name);
    if (many_results(n->op)) text_add(t, " %d", port);
    int places = many_inputs(n->op) ? n->nin : count_words(n->op->in);
    for (int k = 0; k < places; k++) {
        text_add(t, many_inputs(n->op) ? " (More " : " ");
        egglog_put_input(o, side, k < n->nin ? n->in[k] : 0, t);
    }
    if (many_inputs(n->op)) text_add(t, " (None)");
    for (int k = 0; k < places && many_inputs(n->op); k++) text_add(t, ")");
    for (int k = 0; k < attrs_count(n->op->attrs); k++)
        egglog_put_attr(o, &n->op->attrs[k], &attr[k], t);
    text_add(t, ")");
}

static bool is_used(EgglogWriter *o, const Graph *g, NodeList live, Value v) {
    for (int k = 0; k < g->nout; k++)
        if (g->out[k] == v) return true;
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(o->w, live.v[k]);
        for (int j = 0; j < n.nin; j++)
            if (n.in[j] == v) return true;
    }
    return false;
}

static void egglog_put_side(EgglogWriter *o, const Graph *g, const char *form, char side, Text *t) {
    NodeList live = graph_live(o->w, o->arena, g);
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(o->w, live.v[k]);
        if (input_name(o->w, n.out)) continue;
        for (int port = 0; port < n.nout; port++) {
            Value v = n.out + (Value)port;
            if (n.nout > 1 && !is_used(o, g, live, v)) continue;
            text_add(t, "\n   (%s %c%u ", form, side, v);
            egglog_put_node(o, side, &n, port, t);
            text_add(t, ")");
        }
    }
}

/* ---- a rule */

static void egglog_put_inputs(EgglogWriter *o, const Instance *i, Text *t) {
    for (int k = 0; k < i->ninput; k++) {
        const Type *type = value_type(o->w, i->input[k]);
        Text of = text_new(o->arena);
        egglog_put_name(o, i->input[k], &of);
        const char *name = of.data;
        text_add(t, "\n   (= \"%s\" (element %s)) (= %d (rank %s))", dtype_name(type->dtype), name,
                 type->dim.n, name);
        for (int d = 0; d < type->dim.n; d++) {
            text_add(t, " (= ");
            egglog_put_entry(o, type->dim.v[d], t);
            text_add(t, " (dim %s %d))", name, d);
        }
    }
}

static void egglog_put_condition(EgglogWriter *o, Lit l, Text *t) {
    text_add(t, l.eq ? "\n   (= 0 " : "\n   (<= 0 ");
    egglog_put_poly(o, l.p, t);
    text_add(t, ")");
}

/* Writes the conditions, and those needs of the left side that do not follow from them. That a term
   matches says less than the needs: a broadcast of [n] to [m] need not have n = m. */
static void egglog_put_conditions(EgglogWriter *o, const Instance *i, Text *t) {
    Facts *known = rule_instance_facts(o->w, o->arena, i);
    for (int k = 0; k < i->nwhere; k++) {
        egglog_put_condition(o, i->where[k], t);
        facts_assume(known, i->where[k]);
    }
    for (int k = 0; k < i->nneed_from; k++) {
        if (facts_entail(known, i->need_from[k])) continue;
        egglog_put_condition(o, i->need_from[k], t);
        facts_assume(known, i->need_from[k]);
    }
}

/* Refuses the rule unless each variable stands by itself somewhere on the left side, not only
   inside a sum. */
static void check_bound(EgglogWriter *o, const Instance *i) {
    for (int k = 0; k < i->nsymbol; k++)
        if (!o->bound[i->symbol[k]])
            egglog_refuse(
                o, "a size or attribute that occurs on the left side only inside a polynomial");
}

static bool egglog_put_rule(EgglogWriter *o, const Instance *i, Text *t) {
    Text query = text_new(o->arena), where = text_new(o->arena), act = text_new(o->arena);
    o->why = NULL;
    o->fresh = 0;
    o->bound = ARENA_NEW(o->arena, bool, intern_count(o->w->table[TABLE_SYMBOL]) + 1);
    o->facts = text_new(o->arena);
    o->query = true;
    text_add(&query, " ");
    egglog_put_side(o, &i->from, "=", 'l', &query);
    egglog_put_inputs(o, i, &query);
    egglog_put_conditions(o, i, &where);
    o->query = false;
    egglog_put_side(o, &i->to, "let", 'r', &act);
    for (int k = 0; k < i->from.nout; k++) {
        text_add(&act, "\n   (union ");
        egglog_put_input(o, 'l', i->from.out[k], &act);
        text_add(&act, " ");
        egglog_put_input(o, 'r', i->to.out[k], &act);
        text_add(&act, ")");
    }
    check_bound(o, i);
    if (o->why) return false;
    text_add(t, "\n; %s class=%s id=%s\n(rule (%s%s%s%s)\n  (%s)\n  :ruleset proved :name \"%s",
             i->rule->name, classes_text(o->arena, i->rule->classes), i->rule->id, query.data,
             where.size ? where.data : "", o->facts.size ? "\n  " : "",
             o->facts.size ? o->facts.data : "", act.data, i->rule->name);
    export_lengths(i, t);
    text_add(t, "\")\n");
    return true;
}

static bool egglog_put_rules(EgglogWriter *o, Text *t, Error *e) {
    for (int k = 0; k < o->x->n; k++) {
        const int before = o->x->written;
        int length[RULE_BLOCKS];
        rule_lengths_first(o->x->rule[k], length);
        do {
            Instance i;
            WorldMark mark = world_mark(o->w);
            ArenaMark own = arena_mark(o->arena);
            if (!rule_instance(o->w, o->arena, o->x->rule[k], length, &i, e)) return false;
            if (egglog_put_rule(o, &i, t)) o->x->written++;
            else export_leave(o->x, &o->x->lost, o->x->rule[k], o->why);
            arena_reset(o->arena, own);
            world_reset(o->w, mark);
        } while (rule_lengths_next(o->x->rule[k], length));
        o->x->expressed += o->x->written > before;
    }
    return true;
}

static void egglog_put_declaration(const Op *op, Text *t) {
    static const char *const sorts[] = {" i64", " Ints", " String", " f64", " String", " String"};
    text_add(t, "(constructor op-%s (%s%s", op->name, many_results(op) ? "i64 " : "",
             many_inputs(op) ? "Tensors" : "");
    for (int k = 0; k < count_words(op->in) && !many_inputs(op); k++)
        text_add(t, k ? " Tensor" : "Tensor");
    for (const AttrDef *d = op->attrs; d && d->name; d++) text_add(t, "%s", sorts[d->kind]);
    text_add(t, ") Tensor) ; %s%s;", many_results(op) ? "result; " : "", op->in);
    for (const AttrDef *d = op->attrs; d && d->name; d++) text_add(t, " %s", d->name);
    text_add(t, "\n");
}

static bool egglog_write_file(Export *x, const char *path, Error *e) {
    EgglogWriter o = {.x = x, .w = x->w, .arena = arena_new(arena_escape(x->arena), 0)};
    Text rules = text_new(x->arena), all = text_new(x->arena);
    o.used = ARENA_NEW(x->arena, bool, op_count());
    bool good = egglog_put_rules(&o, &rules, e);
    arena_free(o.arena);
    if (!good) return false;
    text_add(&all,
             "; Proved rules of isomer %s (rules/EXPORT.md).\n"
             "(sort Tensor)\n(sort Tensors)\n(sort Ints)\n"
             "(constructor absent () Tensor)\n(constructor Nil () Ints)\n"
             "(constructor Cons (i64 Ints) Ints)\n(constructor None () Tensors)\n"
             "(constructor More (Tensor Tensors) Tensors)\n"
             "(function rank (Tensor) i64 :no-merge)\n"
             "(function dim (Tensor i64) i64 :no-merge)\n"
             "(function element (Tensor) String :no-merge)\n",
             ISOMER_VERSION);
    for (int k = 0; k < op_count(); k++)
        if (o.used[k]) egglog_put_declaration(op_at(k), &all);
    text_add(&all, "(ruleset proved)\n");
    if (rules.size) text_bytes(&all, rules.data, rules.size);
    return file_write(path, all.data, all.size, e);
}

const ExportFormat export_egglog = {"egglog", "a program for egglog", egglog_write_file, false};
