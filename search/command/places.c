/* places.c -- applies sets of rules to the whole model, and unites applications into places if they
   share nodes of the file, directly or through what an application made. */
#include "search/command/places.h"
#include "graphs/constants.h"
#include "ops/base/groups.h"
#include "search/command/command_limits.h"
#include "search/effect.h"
#include <math.h>
#include <string.h>

/* Only the values of the graph are considered, since the World has the values of all graphs. */
Origins origins_find(const RunSource *s, World *w, Arena *a) {
    Origins o = {.n = s->model_nodes + 1};
    const Constants c = constants_find(w, a, &s->start, NULL, NULL);
    const NodeList live = graph_live(w, a, &s->original);
    o.node = ARENA_NEW(a, int, o.n);
    o.neutral = ARENA_NEW(a, bool, o.n);
    memset(o.neutral, true, sizeof *o.neutral * o.n);
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(w, live.v[k]);
        const int at = model_node_index(s->model, live.v[k]);
        for (Value v = n.out; v < n.out + (Value)n.nout && at >= 0; v++) {
            const Value now = map_value(&s->prefold, v);
            o.node[v] = at + 1;
            o.neutral[v] = constants_hold(&c, v);
            if (now >= o.n || o.node[now]) continue;
            o.node[now] = at + 1;
            o.neutral[now] = constants_hold(&c, now);
        }
    }
    return o;
}

RuleScope origins_scope(const Origins *o, Arena *a, const uint8_t *const at[]) {
    const uint8_t **by_value = ARENA_NEW(a, const uint8_t *, o->n);
    for (Value v = 1; v < o->n; v++)
        if (o->node[v]) by_value[v] = at[o->node[v] - 1];
    return (RuleScope){.n = o->n, .at = by_value, .neutral = o->neutral};
}

void roles_mark(const Library *l, const uint8_t role[], bool on[]) {
    for (int k = 0; role && k < l->n; k++) on[k] |= role[k] != ROLE_NONE;
}

/* ---- the places of one set */

typedef struct Union {
    int n;
    /* By node of the file: an equal or smaller node of its group; -1: it is in none. */
    int *group;
} Union;

static void unite(Union *u, int a, int b) {
    if (u->group[a] < 0) u->group[a] = a;
    if (u->group[b] < 0) u->group[b] = b;
    groups_unite(u->group, a, b);
}

static int unite_step(Union *u, const Origins *o, const Derivation *d, NodeList inner) {
    int first = -1;
    for (int k = 0; k < inner.n; k++) {
        const Value v = derivation_origin(d, inner.v[k]);
        if (!v || v >= o->n || o->neutral[v]) continue;
        const int at = o->node[v] - 1;
        if (first < 0) first = at;
        unite(u, first, at);
    }
    return first;
}

/* Unites applications that share a value that one of them made: each alone may lose what they gain
   together. */
static void unite_shared(Union *u, const Derivation *d, const int first[]) {
    for (int k = 0; k < d->nshared; k++) {
        const int a = d->shared[k].step, b = derivation_step(d, d->shared[k].v);
        if (b >= 0 && first[a] >= 0 && first[b] >= 0) unite(u, first[a], first[b]);
    }
}

/* ---- element types of operators */

typedef struct TypeWalk {
    const Derivation *d;
    const Origins *o;
    Union *u;
    const bool *claimed; /* by node of the file: whether an application matched it */
    int from;            /* a node of the application where the walk started */
} TypeWalk;

/* Unites the application where the walk started with the applications, up to a few operators above
   v, whose results v is computed from, and with the operators between them. Returns false if there
   are none. */
static bool unite_above(const TypeWalk *x, Value v, int operators) {
    if (!v || v >= x->o->n || !x->o->node[v] || x->o->neutral[v]) return false;
    const int at = x->o->node[v] - 1;
    bool any = x->claimed[at];
    const Node n = node_get(x->d->w, value_node(x->d->w, v));
    for (int k = 0; k < n.nin && operators && !x->claimed[at]; k++)
        any |= unite_above(x, n.in[k], operators - 1);
    if (any) unite(x->u, x->from, at);
    return any;
}

/* Unites applications that change element types around the same operators. A target has kernels for
   some combinations of element types only; where rules change the type between operators, each
   place alone leaves the operators next to it with two types, for which there may be no kernel. */
static void unite_types(Union *u, Arena *a, const Origins *o, const Derivation *d,
                        const int first[]) {
    enum { OPERATORS = 4 };
    bool any = false;
    for (int k = 0; k < d->library->n; k++) any |= d->fired[k] && d->library->rule[k].retypes;
    if (!any) return;
    bool *claimed = ARENA_NEW(a, bool, u->n);
    for (int k = 0; k < u->n; k++) claimed[k] = u->group[k] >= 0;
    for (int s = 0; s < d->nstep; s++) {
        const Match *m = &d->step[s].match;
        const int rule = library_index(d->library, m->instance->rule);
        if (first[s] < 0 || !d->library->rule[rule].retypes) continue;
        const TypeWalk x = {d, o, u, claimed, first[s]};
        for (int k = 0; k < m->instance->ninput; k++)
            unite_above(&x, derivation_origin(d, m->input[k]), OPERATORS);
    }
}

/* Lists the names of the rules that were applied in a group and not undone. first[s] is a node of
   step s. */
static void list_rules(const Derivation *d, Arena *a, Union *u, const int first[],
                       const bool shown[], int group, Place *p) {
    int room = 0;
    for (int s = 0; s < d->nstep; s++) {
        const char *name = d->step[s].match.instance->rule->name;
        bool new = shown[s] && first[s] >= 0 && group_least(u->group, first[s]) == group;
        for (int k = 0; k < p->nrule && new; k++) new = strcmp(p->rule[k], name) != 0;
        if (!new) continue;
        ARENA_GROW(a, p->rule, room, p->nrule + 1);
        p->rule[p->nrule++] = name;
    }
}

static Place *add_place(Places *p, Arena *a, Union *u, int group, int set) {
    int n = 0;
    for (int k = group; k < u->n; k++) n += u->group[k] >= 0 && group_least(u->group, k) == group;
    int *node = ARENA_NEW(a, int, n), m = 0;
    for (int k = group; m < n; k++)
        if (u->group[k] >= 0 && group_least(u->group, k) == group) node[m++] = k;
    ARENA_GROW(a, p->place, p->room, p->n + 1);
    p->place[p->n] = (Place){.set = set, .n = n, .node = node};
    return &p->place[p->n++];
}

/* Adds the places of the last set. inner[s] holds the nodes of the match of application s. */
static void places_append(Places *p, Arena *a, const Origins *o, const Derivation *d,
                          const NodeList inner[], int nnode) {
    const int set = p->nset - 1;
    Union u = {nnode, ARENA_NEW(a, int, nnode)};
    for (int k = 0; k < nnode; k++) u.group[k] = -1;
    int *first = ARENA_NEW(d->arena, int, d->nstep);
    for (int s = 0; s < d->nstep; s++) first[s] = unite_step(&u, o, d, inner[s]);
    unite_shared(&u, d, first);
    unite_types(&u, d->arena, o, d, first);
    const bool *shown = derivation_shown(d, d->arena);
    for (int k = 0; k < nnode; k++) {
        if (u.group[k] != k) continue;
        Place *place = add_place(p, a, &u, k, set);
        list_rules(d, a, &u, first, shown, k, place);
        p->n -= !place->nrule; /* drop the place if nothing is left of what was applied there */
    }
}

/* ---- the sets */

/* Sets the digest of the log. Equal digests mean the same applications in the same order. */
static void digest_log(const Derivation *d, char out[33]) {
    Text t = text_new(d->arena);
    prooflog_print(&d->log, &t);
    hash_hex(t.data, t.size, out);
}

/* Returns the set with these roles or this digest; -1: there is none. */
static int find_set(const Places *p, const RoleSet *set, int nrule) {
    for (int k = 0; k < p->nset; k++)
        if (!memcmp(p->set[k].role, set->role, (size_t)nrule) ||
            (*set->digest && !strcmp(p->set[k].digest, set->digest)))
            return k;
    return -1;
}

static const uint8_t *roles_applied(const Derivation *d, Arena *a, const uint8_t role[]) {
    uint8_t *applied = ARENA_NEW(a, uint8_t, d->library->n);
    for (int k = 0; k < d->library->n; k++) applied[k] = d->fired[k] ? role[k] : ROLE_NONE;
    return applied;
}

/* Adds a set that the derivation d has applied, and its places. */
static void keep_set(Places *p, Arena *a, const Run *r, const Origins *o, Derivation *d,
                     RoleSet set) {
    NodeList *inner = ARENA_NEW(d->arena, NodeList, d->nstep);
    for (int s = 0; s < d->nstep; s++) inner[s] = match_inner(d->w, d->arena, &d->step[s].match);
    set.applied = roles_applied(d, a, set.role);
    ARENA_GROW(a, p->set, p->set_room, p->nset + 1);
    p->set[p->nset++] = set;
    places_append(p, a, o, d, inner, model_stats(r->source.model).nodes);
}

/* Whether the run is cancelled. With --keep-best an interrupt only ends the search, and what is
   written is derived in full. */
static bool is_cancelled(void *run) {
    Run *r = run;
    return !r->o->keep_best && run_signalled(r);
}

FixpointLimits places_limits(Run *r) {
    return (FixpointLimits){.applications = APPLICATIONS, .over = is_cancelled, .user = r};
}

static bool search_over(void *places) {
    Places *p = places;
    return stop_here(&p->rounds_end, p->rounds++);
}

void places_say_limited(const Run *r, const Derivation *d) {
    if (d->limited && d->applied)
        run_say(r,
                "rules were not applied wherever they match: after %d applications a limit was "
                "reached (on their number, on the size of the graph or on time)",
                d->applied);
}

/* Applies the set to the whole model. The derivation lives in the arena. */
static bool apply_set(Run *r, Arena *a, Places *p, const RoleSet *set, Derivation *d) {
    const Library *l = &r->library;
    const RuleScope everywhere = {.everywhere = set->role};
    FixpointLimits limits = places_limits(r);
    limits.over = search_over, limits.user = p;
    bool *on = ARENA_NEW(a, bool, l->n);
    roles_mark(l, set->role, on);
    *d = run_derivation(&r->source, l, r->w, a);
    return derive_fixpoint(d, on, &everywhere, limits, r->error) && !run_cancelled(r);
}

bool places_add(Run *r, const Origins *o, Arena *a, Places *p, const RoleSet *given, int *at) {
    const Library *l = &r->library;
    RoleSet set = *given;
    *set.digest = 0;
    if (run_cancelled(r)) return false;
    *at = find_set(p, &set, l->n);
    if (*at >= 0) return true;
    const WorldMark mark = world_mark(r->w);
    Arena *own = arena_new(r->escape, 0);
    Derivation d;
    const bool good = apply_set(r, own, p, &set, &d);
    places_say_limited(r, &d);
    p->any_applies |= d.applied || d.undone;
    if (good && d.applied) {
        digest_log(&d, set.digest);
        *at = find_set(p, &set, l->n);
        if (*at < 0) *at = p->nset, keep_set(p, a, r, o, &d, set);
    }
    arena_free(own);
    world_reset(r->w, mark);
    r->stats.candidates++;
    return good;
}

static bool usable(const Library *l, int rule) { return l->rule[rule].on && l->rule[rule].count; }

/* Whether rule k may follow the seeds of a set. Rules that merge nodes and rules that split them
   would undo each other. */
static bool may_follow(const Library *l, const RoleSet *set, int k) {
    const bool splits = set->seed >= 0 && l->rule[set->seed].splits;
    return usable(l, k) && !(splits ? l->rule[k].merges : l->rule[k].splits);
}

RoleSet set_with_followers(const Library *l, Arena *a, const RoleSet *set, int rule) {
    uint8_t *role = arena_copy(a, set->role, sizeof *role * (size_t)l->n);
    for (int k = 0; k < l->n; k++)
        if (!role[k] && may_follow(l, set, k) && (rule < 0 || rule == k)) role[k] = ROLE_FOLLOWER;
    return (RoleSet){.role = role, .seed = set->seed};
}

/* ---- what a set enables */

static double nodes_flops(World *w, NodeList inner, Sizes sizes) {
    double sum = 0;
    for (int k = 0; k < inner.n; k++)
        sum += fmax(sig_work(w, node_get(w, inner.v[k]).sig, sizes), 0);
    return sum;
}

typedef struct Enabled {
    World *w;
    Sizes sizes;
    double *flops; /* by rule: operations of the nodes that it could rewrite next; < 0: none */
} Enabled;

static void count_enabled(void *enabled, int rule, NodeList inner) {
    Enabled *x = enabled;
    x->flops[rule] = fmax(x->flops[rule], 0) + nodes_flops(x->w, inner, x->sizes);
}

/* Applies the set once more. What it made when its places were found is gone, because the World was
   reset, and only the few sets that are extended need it. */
double *places_enabled(Run *r, Arena *a, Places *p, const RoleSet *set) {
    const Library *l = &r->library;
    Enabled x = {r->w, r->source.sizes, ARENA_NEW(a, double, l->n)};
    const WorldMark mark = world_mark(r->w);
    Arena *own = arena_new(r->escape, 0);
    Derivation d;
    const bool good = apply_set(r, own, p, set, &d);
    const RoleSet all = set_with_followers(l, own, set, -1);
    const RuleScope everywhere = {.everywhere = all.role};
    bool *on = ARENA_NEW(own, bool, l->n);
    for (int k = 0; k < l->n; k++) {
        on[k] = all.role[k] && !set->role[k];
        x.flops[k] = -1;
    }
    if (good) fixpoint_next(&d, on, &everywhere, count_enabled, &x);
    arena_free(own);
    world_reset(r->w, mark);
    return good ? x.flops : NULL;
}

/* ---- the first sets */

/* Returns the roles of rules that tidy. They are part of every set, so that moves that a rule
   leaves behind are removed. */
static uint8_t *tidying_roles(const Library *l, Arena *a) {
    uint8_t *role = ARENA_NEW(a, uint8_t, l->n);
    for (int k = 0; k < l->n; k++)
        if (usable(l, k) && l->rule[k].tidies) role[k] = ROLE_FOLLOWER;
    return role;
}

bool places_keep(const Places *p) { return stop_keep(&p->rounds_end) && stop_keep(&p->alone_end); }

/* For --headroom, which searches nothing, all places are needed. */
bool places_find(Run *r, const Origins *o, Arena *a, const char *device, Places *p) {
    const Library *l = &r->library;
    const double all = r->o->headroom ? HUGE_VAL : run_command_seconds(r->o), now = run_seconds(r),
                 alone = now + TIME_FINDING * fmax(all - now, 0);
    int at;
    *p = (Places){.rounds_end = stop_open(r, device, "rounds", all),
                  .alone_end = stop_open(r, device, "rules alone", alone)};
    for (int merging = 1; merging >= 0; merging--) {
        uint8_t *role = ARENA_NEW(a, uint8_t, l->n);
        for (int k = 0; k < l->n; k++)
            if (usable(l, k) && !(merging ? l->rule[k].splits : l->rule[k].merges))
                role[k] = ROLE_SEED;
        if (merging) p->all = role;
        if (!places_add(r, o, a, p, &(RoleSet){.role = role, .seed = -1, .whole = true}, &at))
            return false;
    }
    /* Rules that apply may have undone each other in both sets; each alone does not. */
    if (!p->any_applies) return true;
    const uint8_t *tidying = tidying_roles(l, a);
    for (int k = 0; k < l->n && !stop_here(&p->alone_end, k); k++) {
        uint8_t *role = arena_copy(a, tidying, (size_t)l->n);
        role[k] = ROLE_SEED;
        if (usable(l, k) && !places_add(r, o, a, p, &(RoleSet){.role = role, .seed = k}, &at))
            return false;
    }
    return true;
}
