/* search_fixture.h -- for tests of the search: makes a World with a test's own rules, which are
   used without proof. */
#ifndef ISOMER_TEST_SEARCH_FIXTURE_H
#define ISOMER_TEST_SEARCH_FIXTURE_H
#include "search/library.h"
#include "test/shared/fixture.h"
#include "graphs/world.h"
#include <string.h>

typedef struct Fixture {
    Arena *arena;
    World *w;
    Library library;
    Error error;
    double neg; /* the price of a neg node, in tests that set one */
} Fixture;

static void open_fixture(Fixture *f, const char *rules) {
    memset(f, 0, sizeof *f);
    f->arena = arena_new(NULL, 0);
    f->w = graph_world_new(NULL, 0);
    f->library.set.arena = f->arena;
    assert_true(rules_parse(f->arena, "test", rules, strlen(rules), &f->library.set, &f->error));
    Library *l = &f->library;
    l->n = l->set.n;
    l->rule = ARENA_NEW(f->arena, LibraryRule, l->n);
    l->instance = ARENA_NEW(f->arena, Instance, 100);
    l->needs = ARENA_NEW(f->arena, OpList, 100);
    for (int k = 0; k < l->n; k++) {
        int length[RULE_BLOCKS];
        l->rule[k] = (LibraryRule){.rule = &l->set.v[k], .on = true, .first = l->ninstance};
        rule_lengths_first(&l->set.v[k], length);
        do {
            Instance *i = &l->instance[l->ninstance];
            assert_true(rule_instance_apart(f->w, f->arena, &l->set.v[k], length, i, &f->error));
            l->needs[l->ninstance++] = instance_needs(f->w, f->arena, i);
        } while (rule_lengths_next(&l->set.v[k], length));
        l->rule[k].count = l->ninstance - l->rule[k].first;
    }
}

static void close_fixture(Fixture *f) {
    world_free(f->w);
    arena_free(f->arena);
}
#endif
