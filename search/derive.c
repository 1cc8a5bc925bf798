/* derive.c -- applies rules in rounds. A round is one pass over the live nodes in ascending, and
   thus topological, order. At the root of a match, the node is replaced by the rule's right side
   over the replaced inputs; any other node is rebuilt if one of its inputs changed.

   This requires that every input of a match precedes its first root. A match for which that does
   not hold, such as that of a merging rule whose second operand is computed later, gets a round of
   its own, in which the right side is built over the old values. */
#include "search/derive.h"
#include "graphs/infinities.h"
#include "rules/match_apply.h"
#include <limits.h>
#include <string.h>

Derivation derivation_new(World *w, Arena *a, Facts *facts, const Library *library,
                          const Graph *g) {
    uint32_t n = value_last(w) + 1;
    return (Derivation){.w = w,
                        .arena = a,
                        .facts = facts,
                        .library = library,
                        .graph = *g,
                        .map = {n, ARENA_NEW(a, Value, n)},
                        .fired = ARENA_NEW(a, int, library ? library->n : 0)};
}

Derivation derivation_bare(World *w, Arena *a, Facts *facts, const Library *library,
                           const Graph *g) {
    return (Derivation){
        .w = w, .arena = a, .facts = facts, .library = library, .graph = *g, .bare = true};
}

static void grow_made(Derivation *d, Value v) {
    uint32_t room = d->nmade;
    ARENA_GROW(d->arena, d->made, room, v + 1);
    ARENA_GROW(d->arena, d->replaced, d->nmade, v + 1);
}

static void made_set(Derivation *d, Value v, uint32_t made) {
    if (d->bare || !made) return;
    if (v >= d->nmade) grow_made(d, v);
    if (!d->made[v]) d->made[v] = made;
}

static uint32_t made_get(const Derivation *d, Value v) { return v < d->nmade ? d->made[v] : 0; }

/* Records that `now` replaces `before` and inherits the rule that made it. */
static void inherit_tag(Derivation *d, Value before, Value now) {
    made_set(d, now, made_get(d, before));
    if (d->bare || now <= before) return;
    if (now >= d->nmade) grow_made(d, now);
    if (!d->replaced[now]) d->replaced[now] = before;
}

int derivation_step(const Derivation *d, Value v) { return (int)made_get(d, v) - 1; }

Value derivation_before(const Derivation *d, Value v) { return v < d->nmade ? d->replaced[v] : 0; }

Value derivation_origin(const Derivation *d, Value v) {
    for (int bound = INT_MAX;;) {
        const int step = derivation_step(d, v);
        const Value before = derivation_before(d, v);
        if (step >= 0 && step < bound) bound = step, v = d->step[step].match.root[0];
        else if (before) v = before;
        else return v <= d->model_nodes ? v : 0;
    }
}

const char *derivation_tag(void *derivation, Value v) {
    const Derivation *d = derivation;
    int step = derivation_step(d, v);
    return step < 0 ? NULL : d->step[step].match.instance->rule->name;
}

/* ---- one round */

typedef struct Round {
    Derivation *d;
    int n;
    const Match *match;
    const Match **at; /* by node - least: the match whose first root this node is */
    NodeId least;
    ValueMap map; /* from the values of the graph before the round to the new ones */
    LogRound *log;
    Numbering numbering;
    bool strict;
    int applied;
    Error *error;
} Round;

static NodeId first_root(World *w, const Match *m) {
    NodeId first = value_node(w, m->root[0]);
    for (int k = 1; k < m->instance->from.nout; k++)
        if (value_node(w, m->root[k]) < first) first = value_node(w, m->root[k]);
    return first;
}

bool match_ordered(World *w, const Match *m) {
    NodeId root = first_root(w, m);
    for (int k = 0; k < m->instance->ninput; k++)
        if (m->input[k] >= root) return false;
    return true;
}

static bool is_empty(World *w, Value v) {
    const Dims *d = &value_type(w, v)->dim;
    int64_t n;
    for (int k = 0; k < d->n; k++)
        if (poly_constant(w, d->v[k], &n) && !n) return true;
    return false;
}

bool match_empty(World *w, const Match *m) {
    bool empty = false;
    for (int k = 0; k < m->instance->ninput; k++) empty |= is_empty(w, m->input[k]);
    for (int k = 0; k < m->instance->from.nout; k++) empty |= is_empty(w, m->root[k]);
    return empty;
}

static const uint32_t *log_numbers(Round *r, int n, const Value v[]) {
    uint32_t *list = ARENA_NEW(r->d->arena, uint32_t, n);
    for (int k = 0; k < n; k++) list[k] = numbering_of(&r->numbering, v[k]);
    return list;
}

static void log_match(Round *r, const Match *m) {
    const Rule *rule = m->instance->rule;
    LogStep *s = prooflog_step(r->d->arena, r->log);
    *s = (LogStep){.name = rule->name,
                   .id = rule->id,
                   .nlength = rule->ngroup,
                   .nroot = m->instance->from.nout,
                   .ninput = m->instance->ninput};
    memcpy(s->length, m->instance->length, sizeof *s->length * (size_t)rule->ngroup);
    s->root = log_numbers(r, s->nroot, m->root);
    s->input = log_numbers(r, s->ninput, m->input);
}

bool value_among(Value v, int n, const Value list[]) {
    for (int k = 0; k < n; k++)
        if (list[k] == v) return true;
    return false;
}

/* Whether the value depends on constants alone. At most *left nodes are visited; if that is not
   enough to decide, the answer is false. */
static bool is_computed(const World *w, Value v, int *left) {
    if (--*left < 0) return false;
    if (constant_get(w, v, NULL, NULL)) return true;
    const Node n = node_get(w, v);
    bool good = !input_name(w, v) && op_algebraic(n.op) && !(n.op->flags & OP_RANDOM);
    for (int k = 0; k < n.nin && good; k++) good = !n.in[k] || is_computed(w, n.in[k], left);
    return good;
}

enum { LOOKED_AT = 200 }; /* nodes visited to decide whether a value is_computed */

static void note_shared(Derivation *d, Value v) {
    int left = LOOKED_AT;
    if (is_computed(d->w, v, &left)) return;
    ARENA_GROW(d->arena, d->shared, d->shared_room, d->nshared + 1);
    d->shared[d->nshared++] = (Shared){d->nstep, v};
}

/* Tags a new value, and the nodes between it and the match's inputs, as made by the application
   that is being recorded, unless they belong to the model or an earlier application made them. */
static void tag_new(Derivation *d, Value v, const Match *m) {
    if (d->bare || !v || v <= d->model_nodes || value_among(v, m->instance->ninput, m->input))
        return;
    const Node n = node_get(d->w, v);
    const uint32_t made = made_get(d, v), now = (uint32_t)d->nstep + 1;
    if (made == now) return;
    if (made && n.op != &op_reshape) {
        note_shared(d, v);
        return;
    }
    made_set(d, v, now);
    for (int k = 0; k < n.nin; k++) tag_new(d, n.in[k], m);
}

static void keep_step(Derivation *d, const Match *m, const Value in[], const Value to[]) {
    const Instance *i = m->instance;
    ARENA_GROW(d->arena, d->step, d->room, d->nstep + 1);
    d->step[d->nstep++] =
        (Application){.match = match_keep(d->arena, m),
                      .in = arena_copy(d->arena, in, sizeof *in * (size_t)i->ninput),
                      .to = arena_copy(d->arena, to, sizeof *to * (size_t)i->to.nout)};
}

/* Records what reports, tags and the proof log need to know about an application. */
static void keep_record(Round *r, const Match *m, const Value in[], const Value to[]) {
    int rule = library_index(r->d->library, m->instance->rule);
    log_match(r, m);
    keep_step(r->d, m, in, to);
    if (rule >= 0) r->d->fired[rule]++;
    r->d->applied++;
    r->d->classes |= m->instance->classes | (m->rounds ? CLASS_ROUNDS : 0);
}

/* Whether an attribute of the node depends on open sizes, and so is not a number. */
static bool has_open_attribute(const World *w, const Node *n) {
    Attr attr[ATTRS_MAX];
    int64_t number;
    bool open = false;
    sig_attr(w, n->sig, attr);
    for (int k = 0; k < attrs_count(n->op->attrs) && !open; k++)
        for (int j = 0; j < attr[k].ints.n && !open; j++)
            open = !poly_constant(w, attr[k].ints.v[j], &number);
    return open;
}

typedef struct Written { /* what an application made, as it is looked through */
    const Derivation *d;
    const Match *match;
    const char *why;
    int nseen, room;
    Value *seen; /* results of nodes that were looked at */
} Written;
/* Whether a file can hold what an application made: an operator that occurs only in rules
   (OP_ON_CONSTANTS) must be computed in advance, and where ONNX requires a number, an open size
   will not do. */
static bool can_be_written(Written *x, Value v) {
    World *w = x->d->w;
    int left = LOOKED_AT;
    if (!v || value_among(v, x->match->instance->ninput, x->match->input)) return true;
    const Node n = node_get(w, v);
    if (value_among(n.out, x->nseen, x->seen)) return true;
    ARENA_GROW(w->scratch, x->seen, x->room, x->nseen + 1);
    x->seen[x->nseen++] = n.out;
    if (n.op->flags & OP_ON_CONSTANTS) {
        x->why = "a value that must be computed in advance does not depend on constants alone";
        return is_computed(w, v, &left);
    }
    if (x->d->library->written && has_open_attribute(w, &n) &&
        !model_node_writable(x->d->library->written, n.out, &x->why))
        return false;
    bool good = true;
    for (int k = 0; k < n.nin && good; k++) good = can_be_written(x, n.in[k]);
    return good;
}

/* Whether the application is safe with respect to infinities. What the right side reads in addition
   to the left side is multiplied by 0, so it must not be infinite. */
static bool spreads_no_infinity(World *w, const Match *m, const Value in[], Error *why) {
    const Instance *i = m->instance;
    for (int k = 0; i->rule->classes & CLASS_SPREADS && k < i->ninput; k++)
        if (in[k] && infinity_reaches(w, in[k]))
            return error_set(why, E_CHECK, i->rule->name,
                             "would spread an infinity that a constant brings in");
    return true;
}

/* Applies one match: builds the right side over the replaced inputs. Returns false, with the error
   set, only in a strict round if the match cannot be applied. */
static bool apply_match(Round *r, const Match *m) {
    Derivation *d = r->d;
    World *w = d->w;
    const Instance *i = m->instance;
    Error why = {0};
    Value *in = ARENA_NEW(w->scratch, Value, i->ninput),
          *to = ARENA_NEW(w->scratch, Value, i->to.nout);
    Match here = *m;
    here.input = in;
    for (int k = 0; k < i->ninput; k++) in[k] = map_value(&r->map, m->input[k]);
    bool good = spreads_no_infinity(w, m, in, &why) &&
                match_apply(w, w->scratch, d->facts, &here, to, &why),
         change = false;
    Written written = {.d = d, .match = &here};
    for (int k = 0; good && k < i->to.nout; k++)
        if (!(good = can_be_written(&written, to[k])))
            error_set(&why, E_CHECK, i->rule->name, "%s", written.why);
    if (!good && r->strict)
        return error_set(r->error, E_CHECK, i->rule->name,
                         "does not hold where the proof log applies it: %s", why.reason);
    for (int k = 0; good && k < i->to.nout; k++) change |= to[k] != m->root[k];
    if (!change)
        return !r->strict || error_set(r->error, E_CHECK, i->rule->name,
                                       "changes nothing where the proof log applies it");
    for (int k = 0; k < i->to.nout; k++) tag_new(d, to[k], &here);
    for (int k = 0; k < i->to.nout; k++)
        if (m->root[k] < r->map.n) r->map.to[m->root[k]] = to[k];
    r->applied++;
    if (!d->bare) keep_record(r, m, in, to);
    return true;
}

static bool rebuild_node(Round *r, NodeId id) {
    World *w = r->d->w;
    const Node n = node_get(w, id);
    Value y = node_mapped(w, w->scratch, id, &r->map, r->error);
    if (!y || y == id) return y != 0;
    for (int port = 0; port < n.nout; port++) {
        Value v = id + (Value)port;
        if (!r->map.to[v]) r->map.to[v] = y + (Value)port;
        inherit_tag(r->d, v, y + (Value)port);
    }
    return true;
}

/* Applies the match at this node, if there is one, then rebuilds the node. Scratch memory is
   released after each node. */
static bool derive_node(Round *r, NodeId id) {
    const Match *m = r->at[id - r->least];
    ArenaMark mark = arena_mark(r->d->w->scratch);
    bool good = (!m || apply_match(r, m)) && rebuild_node(r, id);
    arena_reset(r->d->w->scratch, mark);
    return good;
}

static bool derive_nodes(Round *r, NodeList live) {
    for (int k = 0; k < live.n; k++)
        if (!derive_node(r, live.v[k])) return false;
    return true;
}

void derive_mapped(Derivation *d, const Graph *g, const ValueMap *map) {
    for (uint32_t v = 1; v < d->map.n; v++) {
        Value now = map_value(&d->map, v), next = map_value(map, now);
        if (next != now) inherit_tag(d, now, next);
        if (next != v) d->map.to[v] = next;
    }
    for (uint32_t v = d->map.n; v < map->n; v++)
        if (map->to[v] && map->to[v] != v) inherit_tag(d, v, map->to[v]);
    d->graph = *g;
}

/* What a round knows about each node. A match whose root is not live would change nothing. */
enum { NOT_LIVE, FREE, TAKEN };

static uint8_t *live_marks(const Round *r, NodeList live, uint32_t n) {
    uint8_t *mark = ARENA_NEW(r->d->w->scratch, uint8_t, n);
    for (int k = 0; k < live.n; k++) mark[live.v[k] - r->least] = FREE;
    return mark;
}

/* Whether all roots of the match are live and belong to no earlier match. */
static bool roots_free(Round *r, const Match *m, const uint8_t mark[], uint32_t n) {
    for (int j = 0; j < m->instance->from.nout; j++) {
        const NodeId id = value_node(r->d->w, m->root[j]);
        if (id < r->least || id - r->least >= n || mark[id - r->least] != FREE) return false;
    }
    return true;
}

/* Whether the match may take the place of another match with one result whose conditions do not
   hold. With the operands of a sum swapped, the same rule may match with conditions that do. */
static bool may_replace(Round *r, const Match *m, uint32_t n) {
    World *w = r->d->w;
    const NodeId id = first_root(w, m);
    if (r->strict || m->instance->from.nout != 1 || id < r->least || id - r->least >= n)
        return false;
    const Match *taken = r->at[id - r->least];
    return taken && taken->instance->from.nout == 1 &&
           !match_holds(w, w->scratch, r->d->facts, taken);
}

/* Sorts the matches by their first roots. A match is left out if it shares a root with another
   match whose conditions hold, if one of its roots is not live, or if it is not ordered and not
   alone. */
static bool assign_matches(Round *r, NodeList live) {
    World *w = r->d->w;
    r->least = live.n ? live.v[0] : 1;
    const uint32_t n = live.n ? live.v[live.n - 1] - r->least + 1 : 0;
    r->at = ARENA_NEW(w->scratch, const Match *, n);
    uint8_t *mark = live_marks(r, live, n);
    for (int k = 0; k < r->n; k++) {
        const Match *m = &r->match[k];
        const bool fits = (r->n == 1 || match_ordered(w, m)) &&
                          (roots_free(r, m, mark, n) || may_replace(r, m, n));
        if (!fits && r->strict)
            return error_set(r->error, E_CHECK, m->instance->rule->name,
                             "the proof log has conflicting steps in one round");
        if (!fits) continue;
        for (int j = 0; j < m->instance->from.nout; j++)
            mark[value_node(w, m->root[j]) - r->least] = TAKEN;
        r->at[first_root(w, m) - r->least] = m;
    }
    return true;
}

static bool run_round(Round *r) {
    Derivation *d = r->d;
    NodeList live = graph_live(d->w, d->w->scratch, &d->graph);
    uint32_t n = value_last(d->w) + 1;
    r->map = (ValueMap){n, ARENA_NEW(d->w->scratch, Value, n)};
    if (!d->bare) r->numbering = numbering_new(d->w, d->w->scratch, &d->graph);
    if (!d->bare) r->log = prooflog_round(d->arena, &d->log);
    if (!assign_matches(r, live) || !derive_nodes(r, live)) return false;
    if (!r->applied) {
        d->log.n -= !d->bare;
        return true;
    }
    Value *out = ARENA_NEW(d->arena, Value, d->graph.nout);
    for (int k = 0; k < d->graph.nout; k++) out[k] = map_value(&r->map, d->graph.out[k]);
    const Graph next = {d->graph.nin, d->graph.nout, d->graph.in, out};
    if (d->bare) d->graph = next;
    else derive_mapped(d, &next, &r->map);
    return true;
}

bool derive_round(Derivation *d, int n, const Match match[], bool strict, int *applied, Error *e) {
    ArenaMark mark = arena_mark(d->w->scratch);
    Round r = {.d = d, .n = n, .match = match, .strict = strict, .error = e};
    bool good = run_round(&r);
    arena_reset(d->w->scratch, mark);
    if (applied) *applied = r.applied;
    return good;
}

static void add_inner(Arena *a, NodeList *list, int *room, NodeId id) {
    if (value_among(id, list->n, list->v)) return;
    ARENA_GROW(a, list->v, *room, list->n + 1);
    list->v[list->n++] = id;
}

NodeList match_inner(World *w, Arena *a, const Match *m) {
    const Instance *i = m->instance;
    NodeList list = {0};
    int room = 0;
    for (int k = 0; k < i->from.nout; k++) add_inner(a, &list, &room, value_node(w, m->root[k]));
    for (int done = 0; done < list.n; done++) {
        const Node node = node_get(w, list.v[done]);
        for (int k = 0; k < node.nin; k++)
            if (node.in[k] && !value_among(node.in[k], i->ninput, m->input))
                add_inner(a, &list, &room, value_node(w, node.in[k]));
    }
    return list;
}
