/* term_classes.c -- the tables of representatives, members and symmetries. The records of a level
   come sorted by key and code. The least member of a class therefore comes first and becomes its
   representative, whichever worker found it. */
#include "generator/term_classes.h"
#include "ops/base/random.h"
#include <string.h>

enum { SAME_KEY = 16 };

int record_compare(const void *a, const void *b) {
    const Record *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return code_compare(&x->code, &y->code);
}

/* ---- indices */

static void index_grow(Index *x, uint64_t (*hash)(const TermClasses *, uint32_t),
                       const TermClasses *c) {
    uint32_t *old = x->slot, n = x->room;
    if (2 * x->n < x->room) return;
    const uint32_t room = n ? 2 * n : 1024;
    uint32_t *slot = mem_realloc(NULL, room * sizeof *slot);
    if (!slot)
        escape_raise(arena_escape(c->s->arena), E_MEMORY, "out of memory for the table of classes");
    x->slot = memset(slot, 0, room * sizeof *slot);
    x->room = room;
    for (uint32_t k = 0; k < n; k++) {
        if (!old[k]) continue;
        uint32_t at = (uint32_t)hash(c, old[k] - 1) & (x->room - 1);
        while (x->slot[at]) at = (at + 1) & (x->room - 1);
        x->slot[at] = old[k];
    }
    mem_free(old);
}
static void index_add(Index *x, uint64_t (*hash)(const TermClasses *, uint32_t),
                      const TermClasses *c, uint32_t entry) {
    index_grow(x, hash, c);
    uint32_t at = (uint32_t)hash(c, entry) & (x->room - 1);
    while (x->slot[at]) at = (at + 1) & (x->room - 1);
    x->slot[at] = entry + 1;
    x->n++;
}
static uint64_t spread(uint64_t key) { return random_at(key, 1); }
static uint64_t hash_key(const TermClasses *c, uint32_t r) { return spread(c->rep[r].key); }
static uint64_t hash_code(const TermClasses *c, uint32_t r) { return code_hash(&c->rep[r].code); }
static uint64_t hash_member(const TermClasses *c, uint32_t m) {
    return code_hash(&c->member[m].code);
}

bool classes_is_rep(const TermClasses *c, const Code *code) {
    const Index *x = &c->by_code;
    if (!x->room) return false;
    for (uint32_t at = (uint32_t)code_hash(code) & (x->room - 1); x->slot[at];
         at = (at + 1) & (x->room - 1))
        if (code_same(&c->rep[x->slot[at] - 1].code, code)) return true;
    return false;
}
const Member *term_classes_member(const TermClasses *c, const Code *code) {
    const Index *x = &c->member_by_code;
    if (!x->room) return NULL;
    for (uint32_t at = (uint32_t)code_hash(code) & (x->room - 1); x->slot[at];
         at = (at + 1) & (x->room - 1))
        if (code_same(&c->member[x->slot[at] - 1].code, code)) return &c->member[x->slot[at] - 1];
    return NULL;
}
static uint64_t hash_symmetry(const TermClasses *c, uint32_t m) {
    return code_hash(&c->symmetry[m].code);
}
const Symmetry *term_classes_symmetries(const TermClasses *c, const Code *code, int *n) {
    const Index *x = &c->symmetry_by_code;
    *n = 0;
    if (!x->room) return NULL;
    for (uint32_t at = (uint32_t)code_hash(code) & (x->room - 1); x->slot[at];
         at = (at + 1) & (x->room - 1)) {
        const Symmetry *y = &c->symmetry[x->slot[at] - 1];
        if (!code_same(&y->code, code)) continue;
        while (y + *n < c->symmetry + c->nsymmetry && code_same(&y[*n].code, code)) ++*n;
        return y;
    }
    return NULL;
}
/* The representatives with this key, in the order in which they were added; at most SAME_KEY of
   them. */
static int reps_of_key(const TermClasses *c, uint64_t key, uint32_t out[]) {
    const Index *x = &c->by_key;
    int n = 0;
    if (!x->room) return 0;
    for (uint32_t at = (uint32_t)spread(key) & (x->room - 1); x->slot[at];
         at = (at + 1) & (x->room - 1))
        if (c->rep[x->slot[at] - 1].key == key && n < SAME_KEY) out[n++] = x->slot[at] - 1;
    return n;
}

static void *room_for(const TermClasses *c, void *v, uint32_t n, uint32_t *room, size_t size) {
    if (n < *room) return v;
    *room = *room ? *room + *room / 2 : 1024;
    v = mem_realloc(v, *room * size);
    if (!v)
        escape_raise(arena_escape(c->s->arena), E_MEMORY, "out of memory for the table of classes");
    return v;
}

TermClasses *term_classes_new(Space *s) {
    TermClasses *c = ARENA_NEW(s->arena, TermClasses, 1);
    c->s = s;
    return c;
}
TermClasses term_classes_view(const TermClasses *c, Space *s, Values *first, Values *second) {
    TermClasses view = *c;
    view.s = s;
    view.first = first;
    view.second = second;
    return view;
}
void term_classes_free(TermClasses *c) {
    if (!c) return;
    mem_free(c->rep);
    mem_free(c->member);
    mem_free(c->symmetry);
    mem_free(c->symmetry_by_code.slot);
    mem_free(c->by_key.slot);
    mem_free(c->by_code.slot);
    mem_free(c->member_by_code.slot);
}

/* ---- equality of two terms */

/* Renames variables of b to those of a that have the same kind and, under the two namings, the same
   tensor. Returns false if there is none for some variable. */
static bool pair_up(const Term *a, const Naming *na, const Term *b, const Naming *nb,
                    uint8_t to[]) {
    for (int v = 0; v < b->nvar; v++) {
        to[v] = TERM_VARS;
        if (nb->of[v] == POOL - 1) continue;
        for (int u = 0; u < a->nvar; u++)
            if (a->kind[u] == b->kind[v] && na->of[u] == nb->of[v]) to[v] = (uint8_t)u;
        if (to[v] == TERM_VARS) return false;
    }
    return true;
}

static bool equal_at(Values *x, uint64_t hash_a, const Naming *plain, const Term *b,
                     const uint8_t to[]) {
    uint64_t h;
    Naming n;
    memset(&n, POOL - 1, sizeof n);
    for (int v = 0; v < b->nvar; v++)
        if (to[v] < TERM_VARS) n.of[v] = plain->of[to[v]];
    return values_hash(x, b->root, &n, &h) && h == hash_a;
}

/* In a view: finds a renaming of b's variables to those of a, of the same kinds, under which b
   equals a at both stages. to[v] is TERM_VARS if b does not depend on v. */
static bool equal_renamed(TermClasses *c, const Term *a, const Code *code_b, uint8_t to[]) {
    Term b = term_decode(c->s->form, code_b);
    Key ka, kb;
    Naming plain;
    uint64_t second;
    if (!values_load(c->first, a) || !values_key(c->first, a->root, &ka)) return false;
    if (!values_load(c->first, &b) || !values_key(c->first, b.root, &kb) || ka.hash != kb.hash)
        return false;
    if (!values_load(c->second, a)) return false;
    values_plain_naming(c->second, &plain);
    if (!values_hash(c->second, a->root, &plain, &second) || !values_load(c->second, &b))
        return false;
    for (int k = 0; k < kb.n; k++)
        if (pair_up(a, &ka.name[0], &b, &kb.name[k], to) &&
            equal_at(c->second, second, &plain, &b, to))
            return true;
    return false;
}

bool term_classes_least(TermClasses *c, const Term *t, uint32_t *rep, uint8_t to[]) {
    Key key;
    uint32_t reps[SAME_KEY];
    if (!values_load(c->first, t) || !values_key(c->first, t->root, &key)) return false;
    int n = reps_of_key(c, key.hash, reps);
    for (int k = 0; k < n; k++) {
        *rep = reps[k];
        if (equal_renamed(c, t, &c->rep[*rep].code, to)) return true;
    }
    return false;
}

/* Finds the renamings under which a term equals itself, except those that only swap commutative
   arguments. */
static void symmetries(TermClasses *c, const Code *code, Arena *a, Judgement *out) {
    Term t = term_decode(c->s->form, code);
    Code seen[NAMINGS_MAX];
    Symmetry *list = NULL;
    Key key;
    Naming plain;
    uint64_t second;
    int nseen = 0;
    if (!values_load(c->first, &t) || !values_key(c->first, t.root, &key) ||
        !values_load(c->second, &t))
        return;
    values_plain_naming(c->second, &plain);
    if (!values_hash(c->second, t.root, &plain, &second)) return;
    for (int k = 0; k < key.n; k++) {
        Symmetry y = {.code = *code};
        Code named;
        Term other = t;
        if (!pair_up(&t, &key.name[0], &t, &key.name[k], y.to) ||
            !equal_at(c->second, second, &plain, &t, y.to))
            continue;
        for (int v = 0; v < t.nvar; v++)
            if (y.to[v] == TERM_VARS) y.to[v] = (uint8_t)v;
        for (int i = 0; i < t.n; i++)
            for (int j = 0; j < c->s->form[t.in[i].op].narg; j++)
                if (!ref_is_out(t.in[i].arg[j])) other.in[i].arg[j] = y.to[t.in[i].arg[j]];
        if (!term_canonical(c->s->form, &other, true, &named, NULL)) continue;
        int at = 0;
        while (at < nseen && !code_same(&seen[at], &named)) at++;
        if (at < nseen) continue;
        seen[nseen++] = named;
        if (nseen == 1) continue; /* the term itself */
        if (!list) list = ARENA_NEW(a, Symmetry, key.n);
        list[out->nsymmetry++] = y;
    }
    out->symmetry = list;
}

/* ---- levels */

static void add_rep(TermClasses *c, const Record *r) {
    c->rep = room_for(c, c->rep, c->nrep, &c->rep_room, sizeof *c->rep);
    c->rep[c->nrep] = (Rep){r->key, r->code};
    index_add(&c->by_key, hash_key, c, c->nrep);
    index_add(&c->by_code, hash_code, c, c->nrep++);
}
static void add_member(TermClasses *c, const Record *r, uint32_t rep, const uint8_t to[]) {
    c->member = room_for(c, c->member, c->nmember, &c->member_room, sizeof *c->member);
    Member *m = &c->member[c->nmember];
    *m = (Member){.code = r->code, .rep = rep};
    memcpy(m->to, to, sizeof m->to);
    index_add(&c->member_by_code, hash_member, c, c->nmember++);
}

static void add_symmetries(TermClasses *c, const Judgement *f) {
    uint32_t first = c->nsymmetry;
    for (int k = 0; k < f->nsymmetry; k++) {
        c->symmetry =
            room_for(c, c->symmetry, c->nsymmetry, &c->symmetry_room, sizeof *c->symmetry);
        c->symmetry[c->nsymmetry++] = f->symmetry[k];
    }
    if (c->nsymmetry > first) index_add(&c->symmetry_by_code, hash_symmetry, c, first);
}

/* The representatives of one key: those in the table, and those that start classes in the group
   itself. */
typedef struct Known {
    int n;
    int64_t rep[SAME_KEY];
    const Code *code[SAME_KEY];
} Known;
static void know(Known *x, int64_t rep, const Code *code) {
    if (x->n == SAME_KEY) return;
    x->rep[x->n] = rep;
    x->code[x->n++] = code;
}

/* Compares each record with the representatives of its key. A record that the second stage tells
   apart from all of them becomes a representative for the records after it. */
void term_classes_judge(TermClasses *view, const Record *r, size_t n, Arena *a, Judgement *out) {
    uint32_t there[SAME_KEY];
    Known known = {0};
    int old = reps_of_key(view, r->key, there);
    for (int k = 0; k < old; k++) know(&known, there[k], &view->rep[there[k]].code);
    for (size_t k = 0; k < n; k++) {
        int at = 0;
        Term t = term_decode(view->s->form, &r[k].code);
        out[k] = (Judgement){.rep = -1 - (int64_t)k, .key_known = known.n > 0};
        while (at < known.n && !equal_renamed(view, &t, known.code[at], out[k].to)) at++;
        if (at < known.n) {
            out[k].rep = known.rep[at];
            continue;
        }
        if (r[k].key & 1) symmetries(view, &r[k].code, a, &out[k]);
        know(&known, out[k].rep, &r[k].code);
    }
}

void classes_add_group(TermClasses *c, const Record *r, size_t n, Judgement *judgement, bool last,
                       LevelStats *stats) {
    stats->terms += n;
    for (size_t k = 0; k < n; k++) {
        int64_t rep = judgement[k].rep, own = -1 - (int64_t)k;
        if (rep != own) {
            stats->pairs++;
            add_member(c, &r[k], (uint32_t)(rep >= 0 ? rep : judgement[-1 - rep].rep),
                       judgement[k].to);
            continue;
        }
        stats->classes++;
        c->coincidences += judgement[k].key_known;
        add_symmetries(c, &judgement[k]);
        judgement[k].rep = c->nrep;
        if (n > 1 || !last) add_rep(c, &r[k]);
    }
}

void term_classes_conditional(TermClasses *c, char type, uint32_t entry, bool last) {
    if (type == 'S') c->symmetry[entry].conditional = true;
    if (type != 'R') return;
    c->member[entry].conditional = true;
    if (!last) add_rep(c, &(Record){c->rep[c->member[entry].rep].key, c->member[entry].code});
}
