/* page_draw.c -- draws the pictures of a page, by one run of `dot`. Places that look alike, as in
   twelve equal layers, are drawn once: two places look alike if their nodes, in order, have the
   same types, rules and edges. */
#include "search/show/page_draw.h"
#include "search/show/picture.h"

/* PLACES: different places that are drawn, at most. DRAWN: nodes in one picture, at most. */
enum { PLACES = 60, DRAWN = 150 };

/* Adds a text that is the same for places that look alike. */
static void describe_place(const Changes *c, int side, int place, int *local, Text *t) {
    const FileSide *s = &c->side[side];
    int n = 0;
    for (int k = 0; k < s->n; k++) {
        const FileNode *f = &s->v[k];
        if (f->place != place) continue;
        const Rule *rule = change_rule(c, f);
        text_add(t, "%s %d %s", f->type, f->change, rule ? rule->name : "");
        for (int j = 0; j < f->nin; j++) {
            const int from = changes_maker(s, f->in[j]);
            text_add(t, " %d", from >= 0 && s->v[from].place == place ? local[from] : -1);
        }
        text_add(t, "\n");
        local[k] = n++;
    }
}

static int count_nodes(const Changes *c, int side, int place) {
    int n = 0;
    for (int k = 0; k < c->side[side].n; k++) n += c->side[side].v[k].place == place;
    return n;
}

/* Returns the drawn place that has this key, a new one if there is none. */
static int look_alike(Pictures *p, const char *key, int place) {
    int k = 0;
    while (k < p->n && strcmp(p->drawn[k].key, key)) k++;
    if (k == p->n) {
        p->drawn[p->n++] = (Drawn){.place = place};
        memcpy(p->drawn[k].key, key, sizeof p->drawn[k].key);
    }
    return k;
}

static void group_places(const Changes *c, Pictures *p) {
    int *local[2] = {ARENA_NEW(c->arena, int, c->side[0].n),
                     ARENA_NEW(c->arena, int, c->side[1].n)};
    p->like = ARENA_NEW(c->arena, int, c->nplace);
    p->drawn = ARENA_NEW(c->arena, Drawn, c->nplace);
    for (int place = 0; place < c->nplace; place++) {
        char key[33];
        Text t = text_new(c->arena);
        for (int side = 0; side < 2; side++)
            describe_place(c, side, place, local[side], &t), text_add(&t, "|");
        hash_hex(t.data, t.size, key);
        p->like[place] = look_alike(p, key, place);
        p->drawn[p->like[place]].count++;
    }
}

/* Whether the place has few enough nodes for a picture; otherwise only their names are shown. */
static bool fits_picture(const Changes *c, int place) {
    return count_nodes(c, 0, place) <= DRAWN && count_nodes(c, 1, place) <= DRAWN;
}

static int by_dot(const Changes *c, Pictures *p, Text *t) {
    int n = 0;
    for (int k = 0; k < p->n && n < 2 * PLACES; k++) {
        if (!fits_picture(c, p->drawn[k].place)) continue;
        p->drawn[k].first = ++n;
        n++;
        for (int side = 0; side < 2; side++) {
            bool *shown = ARENA_NEW(c->arena, bool, c->side[side].n);
            picture_near(c, side, p->drawn[k].place, 1, shown);
            picture_side(c, side, p->drawn[k].place, shown, t);
        }
    }
    if (c->side[0].n > PICTURE_WHOLE || c->side[1].n > PICTURE_WHOLE) return n;
    p->whole = n + 1;
    for (int side = 0; side < 2; side++) picture_side(c, side, -1, NULL, t);
    return n + 2;
}

Pictures *page_draw(const Changes *c, Error *e) {
    Pictures *p = ARENA_NEW(c->arena, Pictures, 1);
    Text t = text_new(c->arena);
    group_places(c, p);
    int n = by_dot(c, p, &t);
    const char **svg = ARENA_NEW(c->arena, const char *, n);
    if (!picture_svg(c->arena, &t, n, svg, e)) return NULL;
    p->svg = svg;
    return p;
}
