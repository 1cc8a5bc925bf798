/* rule_numbers.c -- finds the numbers of a rule and the types that hold them in a model. An
   attribute is held as a float32, a number that fills a tensor in the tensor's element type; the
   constants in an operator's definition are rounded to its element type. A rational that its type
   does not represent is rounded there once, and in the same way wherever the same number is
   written. */
#include "verifier/rule_numbers.h"
#include "ops/core/element.h"

typedef struct RuleNumber { /* a number, or a real variable of the rule */
    Ex value;
    bool written; /* the rule states it in a graph; otherwise only a definition contains it */
    DType type;   /* the type that holds it */
} RuleNumber;
typedef struct NumberSide { /* what occurs in the definitions of one side */
    World *w;
    Arena *arena;
    int nstated, room_stated, n, room;
    Ex *stated; /* the numbers in attributes that the rule states */
    RuleNumber *number;
    int naccurate; /* the number of operators with OP_ACCURATE */
    /* `divides`: recip or exp occurs. `computes`: an attribute is computed from real variables.
       `jumps`: a function that is not continuous occurs. `chooses`: data choose what is read. */
    bool divides, computes, jumps, chooses;
} NumberSide;

static bool has_number(const NumberSide *s, RuleNumber x) {
    for (int k = 0; k < s->n; k++)
        if (s->number[k].value == x.value && s->number[k].written == x.written &&
            s->number[k].type == x.type)
            return true;
    return false;
}
static void add_number(NumberSide *s, RuleNumber x) {
    if (has_number(s, x)) return;
    ARENA_GROW(s->arena, s->number, s->room, s->n + 1);
    s->number[s->n++] = x;
}
static bool is_written(const NumberSide *s, Ex number) {
    for (int k = 0; k < s->nstated; k++)
        if (s->stated[k] == number) return true;
    return false;
}
static void note_stated(NumberSide *s, const Graph *stated) {
    NodeList live = graph_live(s->w, s->arena, stated);
    for (int k = 0; k < live.n; k++) {
        const Op *op = node_get(s->w, live.v[k]).op;
        Attr attr[ATTRS_MAX];
        sig_attr(s->w, node_get(s->w, live.v[k]).sig, attr);
        for (int j = 0; j < attrs_count(op->attrs); j++) {
            if (op->attrs[j].kind != A_REAL) continue;
            ARENA_GROW(s->arena, s->stated, s->room_stated, s->nstated + 1);
            s->stated[s->nstated++] = attr[j].real;
        }
    }
}
/* The type that holds a number. Attributes are float32, but a result of a narrower float type
   rounds them to that type; the value of a tensor has the tensor's type. */
static DType held_in(DType result, bool attribute) {
    return attribute && result == DT_DOUBLE ? DT_FLOAT : result;
}
/* Whether a number in the definition of a node counts as an attribute: the rule states it, and it
   is not an element of the node. */
static bool is_attribute(const NumberSide *s, const Node *n, Ex number) {
    Attr attr[ATTRS_MAX];
    if (!n->nin || !is_written(s, number)) return false;
    sig_attr(s->w, n->sig, attr);
    for (int j = 0; j < attrs_count(n->op->attrs); j++)
        if (n->op->attrs[j].element && attr[j].real == number) return false;
    return true;
}
static bool jumps(Function f) {
    return f == FN_FLOOR || f == FN_CEIL || f == FN_ROUND || f == FN_SIGN || f == FN_DELTA;
}
static void find_numbers(NumberSide *s, DType type, const Node *n, Ex e) {
    ExNode x;
    if (!e) return;
    ex_get(s->w, e, &x);
    if (x.kind == EX_NUM || x.kind == EX_REAL || x.kind == EX_PARAM) {
        const DType held = held_in(type, is_attribute(s, n, e));
        add_number(s, (RuleNumber){e, is_written(s, e), held});
        return;
    }
    if (x.kind == EX_FN && (x.word == FN_RECIP || x.word == FN_EXP)) s->divides = true;
    if (x.kind == EX_FN && jumps((Function)x.word)) s->jumps = true;
    if (x.kind == EX_WHERE) s->chooses = true;
    for (int k = 0; k < ex_children(x.kind); k++) find_numbers(s, type, n, x.child[k]);
}
static NumberSide look_graph(World *w, Arena *arena, const Graph *g, const Graph *stated) {
    NumberSide s = {.w = w, .arena = arena};
    note_stated(&s, stated);
    NodeList live = graph_live(w, arena, g);
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(w, live.v[k]);
        Attr attr[ATTRS_MAX];
        sig_attr(w, n.sig, attr);
        s.naccurate += (n.op->flags & OP_ACCURATE) != 0;
        for (int j = 0; j < n.nout; j++)
            find_numbers(&s, value_type(w, n.out + (Value)j)->dtype, &n, sig_define(w, n.sig, j));
        for (int j = 0; j < attrs_count(n.op->attrs); j++) {
            ExNode x;
            if (n.op->attrs[j].kind != A_REAL || !attr[j].real) continue;
            ex_get(w, attr[j].real, &x);
            s.computes |= x.kind != EX_NUM && x.kind != EX_REAL && x.kind != EX_PARAM;
        }
    }
    return s;
}
bool type_holds(DType t, int64_t p, int64_t q) {
    const double v = (double)p / (double)q;
    const int64_t exact = (int64_t)1 << 53;
    if ((q & (q - 1)) != 0 || p >= exact || p <= -exact || !element_readable(t)) return false;
    if (dtype_class(t) != 'F') return q == 1;
    return element_nearest(t, v) == v;
}
/* Returns whether the number's type represents it exactly. A variable has a number that the left
   side's type represents. */
static bool number_fits(World *w, const RuleNumber *l) {
    ExNode x;
    ex_get(w, l->value, &x);
    if (x.kind == EX_PARAM || dtype_class(l->type) != 'F') return x.kind != EX_REAL;
    return x.kind == EX_NUM && type_holds(l->type, x.p, x.q);
}
static void compare_numbers(World *w, const NumberSide *a, const NumberSide *b, RuleNumbers *out) {
    for (int k = 0; k < a->n; k++) {
        if (number_fits(w, &a->number[k])) continue;
        out->any_rounded = true;
        out->rounded_unlike |= !has_number(b, a->number[k]);
    }
}
/* Returns whether every number of float type a is one of float type b. */
static bool type_within(DType a, DType b) {
    return a == b || b == DT_DOUBLE || (b == DT_FLOAT && a != DT_DOUBLE);
}
/* Returns whether one number, which the types that hold it round differently, occurs in both x and
   y, as 1/10 as an attribute and as an element of float64 does. */
static bool held_unlike(World *w, const RuleNumber *x, const RuleNumber *y) {
    const bool floats = dtype_class(x->type) == 'F' && dtype_class(y->type) == 'F';
    return floats && x->value == y->value && x->type != y->type &&
           !(number_fits(w, x) && number_fits(w, y));
}
/* Returns whether `to` has a variable in a type that may round what it is in `from`, where it is a
   number of each type that holds it. */
static bool rounds_variable(World *w, const NumberSide *from, const RuleNumber *to) {
    ExNode x;
    bool within = dtype_class(to->type) != 'F';
    ex_get(w, to->value, &x);
    if (x.kind != EX_PARAM) return false;
    for (int k = 0; k < from->n; k++)
        within |= from->number[k].value == to->value && dtype_class(from->number[k].type) == 'F' &&
                  type_within(from->number[k].type, to->type);
    return !within;
}
/* Returns whether a number that occurs in both a and b is rounded in two ways. */
static bool any_held_unlike(World *w, const NumberSide *a, const NumberSide *b) {
    for (int k = 0; k < a->n; k++)
        for (int j = 0; j < b->n; j++)
            if (held_unlike(w, &a->number[k], &b->number[j])) return true;
    return false;
}
static bool rounds_unlike(World *w, const NumberSide *from, const NumberSide *to) {
    bool found = to->computes || any_held_unlike(w, from, from) || any_held_unlike(w, from, to) ||
                 any_held_unlike(w, to, to);
    for (int k = 0; k < to->n && !found; k++) found = rounds_variable(w, from, &to->number[k]);
    return found;
}
/* Returns whether a number that the graph states is 0, infinite or not an integer in the type of
   its elements, but another number in the proof. */
static bool loses_number(World *w, Arena *arena, const Graph *stated) {
    const NodeList live = graph_live(w, arena, stated);
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(w, live.v[k]);
        Attr attr[ATTRS_MAX];
        sig_attr(w, n.sig, attr);
        if (attrs_lost(w, n.op->attrs, attr, value_type(w, n.out)->dtype) >= 0) return true;
    }
    return false;
}
RuleNumbers rule_numbers(World *w, Arena *arena, const Instance *i) {
    NumberSide from = look_graph(w, arena, &i->from, &i->from_stated),
               to = look_graph(w, arena, &i->to, &i->to_stated);
    RuleNumbers out = {.rounded_unlike = rounds_unlike(w, &from, &to),
                       .divide = from.divides || to.divides,
                       .jump = from.jumps || to.jumps,
                       .choice = from.chooses || to.chooses,
                       .has_accurate_op = from.naccurate || to.naccurate,
                       .may_write_out = from.naccurate > to.naccurate,
                       .lost = loses_number(w, arena, &i->from_stated) ||
                               loses_number(w, arena, &i->to_stated)};
    compare_numbers(w, &from, &to, &out);
    compare_numbers(w, &to, &from, &out);
    return out;
}
