/* intern.c -- interning by open addressing with linear probing. The index holds pairs of hash and
   number; the records lie in the arena and do not move.

   Invariant: the index looks as if the records had been entered in the order of their numbers, even
   after it has grown. So no other record's probe sequence passes over the slot of the greatest
   number, and removing that record only means to empty its slot: a reset needs no tombstones. An
   operation that fails (escapes) leaves the table unchanged. */
#include "ops/base/intern.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct InternRecord {
    const void *bytes;
    size_t n;
    uint64_t hash;
} InternRecord;

typedef struct Slot {
    uint32_t tag, id; /* tag: the upper half of the hash; id 0: the slot is empty */
} Slot;

struct Intern {
    Arena *arena;
    Cleanup cleanup;
    InternRecord *records; /* records[id - 1] */
    Slot *slots;
    size_t room, mask; /* room: of records; mask + 1 slots, a power of two (none while slots is
                          NULL) */
    uint32_t count;
};

static void intern_cleanup(void *table) { intern_free(table); }

Intern *intern_new(Arena *arena) {
    Intern *t = mem_realloc(NULL, sizeof *t);
    if (!t) escape_raise(arena_escape(arena), E_MEMORY, "out of memory for a table");
    *t = (Intern){.arena = arena};
    cleanup_add(arena_escape(arena), &t->cleanup, intern_cleanup, t);
    return t;
}

void intern_free(Intern *t) {
    if (!t) return;
    cleanup_cancel(&t->cleanup);
    mem_free(t->slots);
    mem_free(t->records);
    mem_free(t);
}

static uint32_t tag_of(uint64_t hash) { return (uint32_t)(hash >> 32); }

/* The slot of the record, or the empty slot where the search for it ends. */
static Slot *probe(const Intern *t, uint64_t hash, const void *bytes, size_t n) {
    for (size_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        Slot *s = &t->slots[i];
        if (!s->id) return s;
        const InternRecord *r = &t->records[s->id - 1];
        if (s->tag == tag_of(hash) && r->n == n && (n == 0 || memcmp(r->bytes, bytes, n) == 0))
            return s;
    }
}

/* The slot of a number that is in the index or, for id 0, the first empty slot at or after its
   hash. */
static Slot *slot_of(Slot *slots, size_t mask, uint64_t hash, uint32_t id) {
    size_t i = hash & mask;
    while (slots[i].id != id) i = (i + 1) & mask;
    return &slots[i];
}

static void grow_slots(Intern *t) {
    if (t->slots && (size_t)t->count + 1 <= (t->mask + 1) / 4 * 3) return;
    size_t size = t->slots ? 2 * (t->mask + 1) : 64;
    Slot *slots = mem_realloc(NULL, size * sizeof *slots);
    if (!slots)
        escape_raise(arena_escape(t->arena), E_MEMORY, "out of memory for a table of %zu slots",
                     size);
    memset(slots, 0, size * sizeof *slots);
    for (uint32_t id = 1; id <= t->count; id++) {
        uint64_t hash = t->records[id - 1].hash;
        *slot_of(slots, size - 1, hash, 0) = (Slot){tag_of(hash), id};
    }
    mem_free(t->slots);
    t->slots = slots;
    t->mask = size - 1;
}

static void grow_records(Intern *t) {
    if (t->count < t->room) return;
    size_t room = t->room ? 2 * t->room : 32;
    InternRecord *records = mem_realloc(t->records, room * sizeof *records);
    if (!records)
        escape_raise(arena_escape(t->arena), E_MEMORY, "out of memory for a table of %zu records",
                     room);
    t->records = records;
    t->room = room;
}

uint32_t intern_put(Intern *t, const void *bytes, size_t n) {
    uint64_t hash = hash_bytes(bytes, n);
    if (t->slots) {
        const Slot *s = probe(t, hash, bytes, n);
        if (s->id) return s->id;
    }
    if (t->count == UINT32_MAX)
        escape_raise(arena_escape(t->arena), E_LIMIT, "more than %lu records in a table",
                     (unsigned long)UINT32_MAX);
    grow_slots(t);
    grow_records(t);
    const void *copy = arena_copy(t->arena, bytes, n);
    t->records[t->count++] = (InternRecord){copy, n, hash};
    *slot_of(t->slots, t->mask, hash, 0) = (Slot){tag_of(hash), t->count};
    return t->count;
}

uint32_t intern_find(const Intern *t, const void *bytes, size_t n) {
    return t->slots ? probe(t, hash_bytes(bytes, n), bytes, n)->id : 0;
}

const void *intern_get(const Intern *t, uint32_t id, size_t *n) {
    const InternRecord *r = &t->records[id - 1];
    if (n) *n = r->n;
    return r->bytes;
}

uint32_t intern_count(const Intern *t) { return t->count; }

void intern_reset(Intern *t, uint32_t count) {
    for (; t->count > count; t->count--)
        *slot_of(t->slots, t->mask, t->records[t->count - 1].hash, t->count) = (Slot){0, 0};
}

uint64_t hash_bytes(const void *bytes, size_t n) { return XXH3_64bits(n ? bytes : "", n); }

static void put_hex(XXH128_hash_t hash, char out[33]) {
    XXH128_canonical_t big_endian;
    XXH128_canonicalFromHash(&big_endian, hash);
    for (size_t i = 0; i < 16; i++) {
        out[2 * i] = "0123456789abcdef"[big_endian.digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[big_endian.digest[i] & 15];
    }
    out[32] = 0;
}

void hash_hex(const void *bytes, size_t n, char out[33]) {
    put_hex(XXH3_128bits(n ? bytes : "", n), out);
}

void hash_pieces(const Pieces *p, char out[33]) {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (int k = 0; k < p->n; k++) XXH3_128bits_update(&state, p->v[k].at, p->v[k].n);
    put_hex(XXH3_128bits_digest(&state), out);
}

void hash_version(char text[24]) {
    unsigned v = XXH_versionNumber();
    snprintf(text, 24, "%u.%u.%u", v / 10000 % 100, v / 100 % 100, v % 100);
}
