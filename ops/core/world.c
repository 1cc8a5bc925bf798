/* world.c -- the tables of one thread and their columns. Records and the World itself lie in its
   arena; the indices of tables, and the columns, are allocated separately, so that a reset of the
   arena does not affect them. Invariant: rows of a column from `valid` on must not be read. */
#include "ops/core/world.h"
#include <assert.h>
#include <string.h>

static void free_columns(void *world) {
    World *w = world;
    for (int c = 0; c < w->ncolumn; c++) {
        mem_free(w->column[c]->data);
        *w->column[c] = (Column){0};
    }
}

World *world_new(Escape *escape, size_t limit) {
    Arena *arena = arena_new(escape, limit);
    World *w = ARENA_NEW(arena, World, 1);
    w->arena = arena;
    cleanup_add(escape, &w->cleanup, free_columns, w);
    w->scratch = arena_new(escape, limit);
    arena_alloc(w->scratch, 1); /* so that no reset frees the first chunk */
    for (int t = 0; t < TABLE_COUNT; t++) w->table[t] = intern_new(arena);
    return w;
}

void world_free(World *w) {
    if (!w) return;
    cleanup_cancel(&w->cleanup);
    free_columns(w);
    for (int t = 0; t < TABLE_COUNT; t++) intern_free(w->table[t]);
    arena_free(w->scratch);
    arena_free(w->arena);
}

WorldMark world_mark(const World *w) {
    WorldMark m = {.arena = arena_mark(w->arena), .fresh = w->fresh};
    for (int t = 0; t < TABLE_COUNT; t++) m.count[t] = intern_count(w->table[t]);
    return m;
}

void world_reset(World *w, WorldMark m) {
    for (int t = 0; t < TABLE_COUNT; t++) intern_reset(w->table[t], m.count[t]);
    arena_reset(w->arena, m.arena);
    w->fresh = m.fresh;
    w->resets++;
    for (int c = 0; c < w->ncolumn; c++) {
        Column *k = w->column[c];
        if (k->valid > m.count[k->table] + 1) k->valid = m.count[k->table] + 1;
    }
}

void column_init(World *w, Column *c, Table table, size_t size) {
    *c = (Column){.table = table, .size = size};
    if (w->ncolumn == (int)(sizeof w->column / sizeof *w->column))
        escape_raise(arena_escape(w->arena), E_LIMIT, "too many columns");
    w->column[w->ncolumn++] = c;
}

void *column_extend(World *w, Column *c, uint32_t id) {
    if (id >= c->room) {
        uint32_t room = c->room ? c->room : 64;
        while (room <= id) room += room / 2;
        char *data = mem_realloc(c->data, room * c->size);
        if (!data)
            escape_raise(arena_escape(w->arena), E_MEMORY, "out of memory for a column of %u rows",
                         room);
        c->data = data;
        c->room = room;
    }
    if (id >= c->valid) {
        memset(c->data + c->valid * c->size, 0, (id + 1 - c->valid) * c->size);
        c->valid = id + 1;
    }
    return c->data + id * c->size;
}

uint32_t world_word(World *w, const char *text) {
    return intern_put(w->table[TABLE_WORD], text, strlen(text) + 1);
}

const char *world_text(const World *w, uint32_t word) {
    return intern_get(w->table[TABLE_WORD], word, NULL);
}

/* ---- overflow */

Overflow overflow_begin(World *w) {
    Overflow o = {w->overflow.now, ++w->overflow.depth};
    w->overflow.now = false;
    return o;
}

bool overflow_end(World *w, Overflow o) {
    bool noted = w->overflow.now;
    assert(w->overflow.depth == o.depth);
    w->overflow.now = o.before;
    w->overflow.depth = o.depth - 1;
    return noted;
}

bool overflow_noted(const World *w) { return w->overflow.now; }

void overflow_note(World *w) { w->overflow.now = true; }
