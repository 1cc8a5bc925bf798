/* witness.c -- searches for points that satisfy conditions. A few assignments of sizes that satisfy
   the facts are drawn once. A question is then tried at each of these: its variables are given
   values one after the other, each at an end or in the middle of the range that the conditions
   without other unknowns leave for it, with a bounded amount of backtracking. A point that is found
   is checked; finding none says nothing. */
#include "verifier/witness.h"
#include "ops/base/random.h"
#include <string.h>

/* POINTS assignments of sizes are drawn, in at most DRAWS tries. A search takes at most STEPS steps
   in all; the other limits are on what occurs in a question. */
enum {
    POINTS = 8,
    DRAWS = 1200,
    SYMBOLS = 96,
    VARIABLES = 40,
    STEPS = 400,
    LITS = 200,
    MEMBERS = 8
};
void lits_print(World *w, Lits l, Text *t) {
    text_add(t, l.n ? "" : "anything");
    for (int k = 0; k < l.n; k++) {
        text_add(t, k ? ", " : "");
        lit_print(w, l.v[k], t);
    }
}
struct Witness {
    World *w;
    Arena *arena;
    int nfact, roomfact, nsymbol, npoint;
    Lit *fact;
    Symbol symbol[SYMBOLS];         /* the symbols of the facts: sizes */
    int64_t point[POINTS][SYMBOLS]; /* values of the symbols at which all facts hold */
    bool drawn, too_many;
    uint32_t room;
    int64_t *value; /* by symbol: its value, or SIZE_UNKNOWN */
    /* The current search. */
    int nlit, nvar, steps, nmember;
    Lit lit[LITS];
    /* If nmember > 0, a point is searched at which the members' counts do not add up to 0. */
    const WitnessMember *member;
    Symbol var[VARIABLES];
};

Witness *witness_new(World *w, Arena *arena) {
    Witness *s = ARENA_NEW(arena, Witness, 1);
    s->w = w;
    s->arena = arena;
    return s;
}
static void ensure(Witness *s, Symbol x) {
    if (x < s->room) return;
    uint32_t room = 2 * x + 256;
    int64_t *v = arena_alloc_raw(s->arena, sizeof *v * room);
    if (s->room) memcpy(v, s->value, sizeof *v * s->room);
    for (uint32_t k = s->room; k < room; k++) v[k] = SIZE_UNKNOWN;
    s->value = v;
    s->room = room;
}
static Sizes witness_sizes(const Witness *s) { return (Sizes){s->room, s->value}; }
static bool symbol_among(Symbol x, int n, const Symbol *v) {
    while (n--)
        if (v[n] == x) return true;
    return false;
}
/* Adds the symbols on which p depends to v. *n counts those beyond the room, too. */
static void collect_unknowns(Witness *s, Poly p, int *n, Symbol *v, int room) {
    PolyScan scan = poly_scan(s->w, p);
    for (Monomial m; poly_next(&scan, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            SymbolDef d = symbol_def(s->w, m.symbol[k]);
            if (d.kind == SYM_FLOOR || d.kind == SYM_MIN || d.kind == SYM_DIGIT ||
                d.kind == SYM_PLACE) {
                for (uint32_t j = 0; j < d.narg; j++) collect_unknowns(s, d.arg[j], n, v, room);
                continue;
            }
            ensure(s, m.symbol[k]);
            if (symbol_among(m.symbol[k], *n < room ? *n : room, v)) continue;
            if (*n < room) v[*n] = m.symbol[k];
            ++*n;
        }
}
void witness_fact(Witness *s, Lit l) {
    ARENA_GROW(s->arena, s->fact, s->roomfact, s->nfact + 1);
    s->fact[s->nfact++] = l;
    collect_unknowns(s, l.p, &s->nsymbol, s->symbol, SYMBOLS);
    s->too_many = s->nsymbol > SYMBOLS;
    s->drawn = false;
}
static int literal_holds(const Witness *s, Lit l) { /* see lit_at */
    return lit_at(s->w, l, witness_sizes(s));
}

/* ---- sizes */

static bool facts_hold(const Witness *s) {
    for (int k = 0; k < s->nfact; k++)
        if (literal_holds(s, s->fact[k]) != 1) return false;
    return true;
}
static void draw_values(Witness *s) {
    Random r = {4711, 0};
    s->drawn = true;
    s->npoint = 0;
    if (s->too_many) return;
    for (int try = 0; try < DRAWS && s->npoint < POINTS; try++) {
        int64_t low = try % 4 == 0   ? 2
                      : try % 4 == 1 ? 1
                                     : 0,
                spread = try % 3 == 0   ? 3
                         : try % 3 == 1 ? 8
                                        : 5;
        for (int k = 0; k < s->nsymbol; k++)
            s->point[s->npoint][k] = s->value[s->symbol[k]] =
                try == 0   ? 2
                : try == 1 ? 1
                           : low + (int64_t)random_below(&r, (uint64_t)spread);
        s->npoint += facts_hold(s);
    }
    for (int k = 0; k < s->nsymbol; k++) s->value[s->symbol[k]] = SIZE_UNKNOWN;
}

/* ---- variables */

/* Numbers of a condition beyond this say nothing about a range: so sums and differences of limits
   do not overflow. */
#define LIMIT_MOST (INT64_MAX / 4)
static bool is_small(int64_t k) { return k >= -LIMIT_MOST && k <= LIMIT_MOST; }
/* Sets low..high to the range that the conditions with x as their only unknown leave for x. False
   if it is empty. */
static bool interval(Witness *s, Symbol x, int64_t *low, int64_t *high) {
    *low = INT64_MIN;
    *high = INT64_MAX;
    for (int k = 0; k < s->nlit; k++) {
        int64_t a, b;
        if (!poly_mentions(s->w, s->lit[k].p, x)) continue;
        s->value[x] = 0;
        bool known = poly_eval(s->w, s->lit[k].p, witness_sizes(s), &b);
        s->value[x] = 1;
        known = known && poly_eval(s->w, s->lit[k].p, witness_sizes(s), &a);
        s->value[x] = SIZE_UNKNOWN;
        if (!known || a == b || !is_small(a) || !is_small(b)) continue;
        a -= b; /* a*x + b if linear; otherwise the final check fails */
        int64_t q = -b / a, r = -b % a;
        int64_t floor = q - (r && (r < 0) != (a < 0)), ceil = q + (r && (r < 0) == (a < 0));
        if (s->lit[k].eq && r) return false;
        if ((s->lit[k].eq || a > 0) && ceil > *low) *low = ceil;
        if ((s->lit[k].eq || a < 0) && floor < *high) *high = floor;
    }
    return *low <= *high;
}
static bool consistent(const Witness *s) {
    for (int k = 0; k < s->nlit; k++)
        if (literal_holds(s, s->lit[k]) == 0) return false;
    return true;
}
static bool unbalanced(const Witness *s) {
    int64_t sum = 0;
    for (int k = 0; k < s->nmember; k++) {
        int all = 1;
        for (int j = 0; j < s->member[k].dom.n && all == 1; j++)
            all = literal_holds(s, s->member[k].dom.v[j]);
        if (all < 0 || (all && __builtin_add_overflow(sum, s->member[k].count, &sum))) return false;
    }
    return sum != 0;
}
/* Gives values to the variables in the set `open`, the one with the smallest range first. True if
   all conditions hold then. */
static bool search_values(Witness *s, uint64_t open) {
    if (s->steps-- <= 0 || !consistent(s)) return false;
    if (!open) {
        for (int k = 0; k < s->nlit; k++)
            if (literal_holds(s, s->lit[k]) != 1) return false;
        return !s->nmember || unbalanced(s);
    }
    int best = -1;
    int64_t low = 0, high = 0, width = INT64_MAX;
    for (int k = 0; k < s->nvar; k++) {
        int64_t l, h;
        if (!(open >> k & 1)) continue;
        if (!interval(s, s->var[k], &l, &h)) return false;
        int64_t here = l == INT64_MIN || h == INT64_MAX
                           ? INT64_MAX - (l != INT64_MIN || h != INT64_MAX)
                           : h - l;
        if (best >= 0 && here >= width) continue;
        best = k;
        width = here;
        low = l;
        high = h;
    }
    if (low == INT64_MIN) low = high == INT64_MAX ? 0 : high - 4;
    if (high == INT64_MAX) high = low + 4;
    int64_t try[4] = {low, high, low + (high - low) / 2, low + 1};
    for (int k = 0; k < 4; k++) {
        if (try[k] > high || (k && try[k] == low) || (k > 1 && try[k] == high)) continue;
        s->value[s->var[best]] = try[k];
        if (search_values(s, open & ~((uint64_t)1 << best))) return true;
        s->value[s->var[best]] = SIZE_UNKNOWN;
    }
    return false;
}
static bool find_at(Witness *s, int point) {
    for (int k = 0; k < s->nsymbol; k++) s->value[s->symbol[k]] = s->point[point][k];
    uint64_t open = 0;
    for (int k = 0; k < s->nvar; k++)
        if (!symbol_among(s->var[k], s->nsymbol, s->symbol)) open |= (uint64_t)1 << k;
    s->steps = STEPS / POINTS;
    bool found = search_values(s, open);
    for (int k = 0; k < s->nsymbol; k++) s->value[s->symbol[k]] = SIZE_UNKNOWN;
    for (int k = 0; k < s->nvar; k++) s->value[s->var[k]] = SIZE_UNKNOWN;
    return found;
}
static bool start_search(Witness *s, int n, const Lit *l, int more) {
    if (!s->drawn) draw_values(s);
    if (s->too_many || n + more > LITS || !s->npoint) return false;
    s->nlit = n;
    s->nvar = s->nmember = 0;
    if (n) memcpy(s->lit, l, sizeof *l * (size_t)n);
    return true;
}
static bool at_points(Witness *s) {
    for (int k = 0; k < s->nlit; k++) collect_unknowns(s, s->lit[k].p, &s->nvar, s->var, VARIABLES);
    if (s->nvar > VARIABLES) return false;
    for (int k = 0; k < s->npoint; k++)
        if (find_at(s, k)) return true;
    return false;
}
bool witness_find(Witness *s, int n, const Lit *l, const Lit *also) {
    if (!start_search(s, n, l, 1)) return false;
    if (also) s->lit[s->nlit++] = *also;
    return at_points(s);
}
bool witness_unbalanced(Witness *s, int n, const Lit *l, int nmember, const WitnessMember *member) {
    for (int k = 0; k < nmember && k < MEMBERS; k++) {
        const Lits *in = &member[k].dom;
        if (!start_search(s, n, l, in->n)) return false;
        if (in->n) memcpy(s->lit + n, in->v, sizeof *in->v * (size_t)in->n);
        s->nlit += in->n;
        for (int j = 0; j < nmember; j++)
            for (int i = 0; i < member[j].dom.n; i++)
                collect_unknowns(s, member[j].dom.v[i].p, &s->nvar, s->var, VARIABLES);
        s->nmember = nmember;
        s->member = member;
        if (at_points(s)) return true;
    }
    return false;
}
