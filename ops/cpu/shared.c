/* shared.c -- stores contents that never change once per device: constants and packed weights. They
   are worth sharing because the plans of an original and its candidates use mostly the same
   weights.

   A block is found by a digest of what it was made from. Its users are counted, and it is freed
   with the last one. Invariant: a block in the list is filled, or its only user is filling it. */
#include "ops/base/intern.h"
#include "ops/cpu/cpu.h"
#include <string.h>

struct Shared {
    Shared *next;
    char key[33];
    size_t users;
} __attribute__((aligned(64))); /* so that the contents, which follow, are aligned, too */

static Shared **bucket(Device *d, const char key[33]) {
    return &d->shared[(unsigned char)(key[0] * 7 + key[1] * 31 + key[2]) % SHARED_LISTS];
}

/* The head that precedes these bytes. */
static Shared *head_of(void *bytes) {
    return (Shared *)(uintptr_t)((char *)bytes - sizeof(Shared));
}

void *shared_find(Device *d, const char key[33]) {
    for (Shared *s = *bucket(d, key); s; s = s->next)
        if (!strcmp(s->key, key)) return s->users++, s + 1;
    return NULL;
}

void *shared_new(Device *d, const char key[33], size_t bytes) {
    Shared **list = bucket(d, key);
    Shared *s = bytes < SIZE_MAX / 2 ? pages_new(d, bytes + sizeof *s) : NULL;
    if (!s) return NULL;
    *s = (Shared){.next = *list, .users = 1};
    memcpy(s->key, key, sizeof s->key);
    *list = s;
    return s + 1;
}

int64_t shared_digest(const View *v, const float *known, char key[33]) {
    int64_t low, high;
    view_extent(v, &low, &high);
    hash_hex(known - v->offset + low, (size_t)(high - low) * sizeof *known, key);
    return v->offset - low;
}

void shared_drop(Device *d, void *bytes) {
    Shared *s = bytes ? head_of(bytes) : NULL;
    if (!s || --s->users) return;
    Shared **at = bucket(d, s->key);
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    pages_drop(d, s);
}

void *cpu_hold(Device *d, const void *bytes, size_t n) {
    char key[33];
    hash_hex(bytes, n, key);
    void *held = shared_find(d, key);
    if (!held && (held = shared_new(d, key, n)) && n) memcpy(held, bytes, n);
    return held;
}

Share *build_share(Build *b) {
    Share *s = ARENA_NEW(b->arena, Share, 1);
    s->next = b->kernel->shares;
    return b->kernel->shares = s;
}

void kernel_drop(Kernel *k) {
    for (Share *s = k->shares; s; s = s->next) shared_drop(k->device, s->bytes);
    k->shares = NULL;
}

void kernel_forget(Kernel *k) {
    if (k->forget) k->forget(k);
    k->forget = NULL;
    kernel_drop(k);
}
