/* linear.c -- solves for the unknown constants of a sum that is linear in them.

   The coefficients are found by evaluating the sum with unit constants, LANES of them at a time, at
   each point of the data. Gaussian elimination modulo p then solves for the unknowns. There are
   more equations than unknowns, so they agree only if the sum can equal the goal for all data. */
#include "generator/discover/linear.h"
#include <string.h>

enum { SPARE = 6 /* least number of equations beyond the number of unknowns */ };

typedef struct System {
    Search *s;
    Arena *a;
    const Sum *x;
    int n, rows; /* numbers of unknowns and equations */
    int first[HOLES + 1];
    uint32_t *m;    /* rows of n coefficients and the goal */
    int *component; /* union-find: unknowns that occur in a common equation have one root */
    uint32_t *solution;
} System;

static uint32_t *row_of(const System *y, int row) {
    return y->m + (size_t)row * (size_t)(y->n + 1);
}

/* Evaluates v with the given values for leaf[]. */
static const Lanes *run_over(System *y, Value v, int n, const Value leaf[],
                             const Lanes *const value[]) {
    Search *s = y->s;
    for (int k = 0; k < n; k++)
        if (leaf[k] == v) return value[k];
    Node node = node_get(s->w, value_node(s->w, v));
    const Lanes *in[PROGRAM_INPUTS] = {0};
    Program *p = program_of_sig(s, node.sig, value_port(s->w, v));
    int count = count_of(s, value_type_id(s->w, v));
    if (!p || node.nin > PROGRAM_INPUTS || count < 0) return NULL;
    for (int k = 0; k < node.nin; k++)
        if (node.in[k] && !(in[k] = run_over(y, node.in[k], n, leaf, value))) return NULL;
    Lanes *out = arena_alloc_raw(y->a, (size_t)count * sizeof *out),
          *temp = arena_alloc_raw(y->a, (size_t)p->ntemp * sizeof *out);
    s->values.run.run(p, in, temp, out);
    return out;
}

static int component_of(System *y, int k) {
    while (y->component[k] != k) k = y->component[k] = y->component[y->component[k]];
    return k;
}

/* Sets the coefficients of LANES unknowns from `at` on, for point `lane` of the data. */
static bool put_columns(System *y, const Goal *g, const Lanes *const data[], int at, int lane) {
    const Sum *x = y->x;
    Value leaf[HOLES + 2];
    const Lanes *value[HOLES + 2];
    ArenaMark mark = arena_mark(y->a);
    int n = 0;
    for (int k = 0; k < x->nleaf; k++) leaf[n] = x->leaf[k], value[n++] = data[k];
    for (int k = 0; k < x->nhole; k++) {
        int count = y->first[k + 1] - y->first[k];
        Lanes *unit = arena_alloc(y->a, (size_t)count * sizeof *unit);
        for (int l = 0; l < LANES && at + l < y->n; l++)
            if (at + l >= y->first[k] && at + l < y->first[k + 1])
                unit[at + l - y->first[k]].p[l] = 1;
        leaf[n] = x->hole[k];
        value[n++] = unit;
    }
    const Lanes *out = run_over(y, x->v, n, leaf, value);
    for (int e = 0; out && e < g->n; e++)
        for (int l = 0; l < LANES && at + l < y->n; l++)
            row_of(y, lane * g->n + e)[at + l] = out[e].p[l];
    arena_reset(y->a, mark);
    return out != NULL;
}

/* Sets the equations for point `lane` of the data. Returns false if a value is not known there. */
static bool put_rows(System *y, const Goal *g, int lane) {
    const Lanes *data[2] = {0};
    for (int k = 0; k < y->x->nleaf; k++) {
        const Lanes *v = value_at(y->s, y->x->leaf[k]);
        int n = count_of(y->s, value_type_id(y->s->w, y->x->leaf[k]));
        Lanes *flat = arena_alloc(y->a, (size_t)n * sizeof *flat);
        for (int e = 0; e < n; e++)
            for (int l = 0; l < LANES; l++) {
                if (v[e].p[lane] == RESIDUE_NONE) return false;
                flat[e].p[l] = v[e].p[lane];
            }
        data[k] = flat;
    }
    for (int at = 0; at < y->n; at += LANES)
        if (!put_columns(y, g, data, at, lane)) return false;
    for (int e = 0; e < g->n; e++) {
        if (g->x[e].p[lane] == RESIDUE_NONE) return false;
        row_of(y, lane * g->n + e)[y->n] = g->x[e].p[lane];
    }
    return true;
}

static void reduce_row(uint32_t *row, const uint32_t *by, int pivot, int n) {
    const uint64_t p = RESIDUE_P;
    uint64_t f = row[pivot] ? p - row[pivot] : 0;
    for (int k = pivot; k <= n && f; k++) row[k] = (uint32_t)((row[k] + f * by[k]) % p);
}

/* Reduces the row by the rows of the basis until its first unknown is the pivot of none of them,
   and returns that unknown. Returns -1 if none is left, or if the row belongs to another
   component. */
static int reduced_pivot(System *y, int component, uint32_t *row, uint32_t *const basis[]) {
    for (int k = 0; k < y->n; k++) {
        if (!row[k]) continue;
        if (component_of(y, k) != component) return -1;
        if (!basis[k]) return k;
        reduce_row(row, basis[k], k, y->n);
    }
    return -1;
}

/* Gaussian elimination of the rows of one component. Returns false if an unknown is not
   determined. */
static bool eliminate(System *y, int component) {
    uint32_t **basis = ARENA_NEW(y->a, uint32_t *, y->n);
    for (int r = 0; r < y->rows; r++) {
        uint32_t *row = row_of(y, r);
        const int pivot = reduced_pivot(y, component, row, basis);
        if (pivot < 0) continue;
        const uint64_t f = residue_inverse(row[pivot]);
        for (int k = pivot; k <= y->n; k++) row[k] = (uint32_t)(row[k] * f % RESIDUE_P);
        basis[pivot] = row;
    }
    for (int k = y->n - 1; k >= 0; k--) {
        if (component_of(y, k) != component) continue;
        if (!basis[k]) return false;
        uint64_t v = basis[k][y->n];
        for (int j = k + 1; j < y->n; j++)
            if (basis[k][j])
                v = (v + (RESIDUE_P - (uint64_t)basis[k][j]) * y->solution[j]) % RESIDUE_P;
        y->solution[k] = (uint32_t)v;
    }
    return true;
}

/* Whether every row without unknowns says 0 = 0. */
static bool consistent(const System *y) {
    for (int r = 0; r < y->rows; r++) {
        const uint32_t *row = row_of(y, r);
        int k = 0;
        while (k < y->n && !row[k]) k++;
        if (k == y->n && row[k]) return false;
    }
    return true;
}

static void find_components(System *y) {
    for (int k = 0; k < y->n; k++) y->component[k] = k;
    for (int r = 0; r < y->rows; r++) {
        const uint32_t *row = row_of(y, r);
        int first = -1;
        for (int k = 0; k < y->n; k++) {
            if (!row[k]) continue;
            if (first < 0) first = component_of(y, k);
            else y->component[component_of(y, k)] = first;
        }
    }
}

const uint32_t *sum_solve(Search *s, Arena *a, const Sum *x, const Goal *g, int first[]) {
    System y = {.s = s, .a = a, .x = x};
    for (int k = 0; k < x->nhole; k++) {
        int n = count_of(s, value_type_id(s->w, x->hole[k]));
        if (n < 0) return NULL;
        y.first[k + 1] = y.first[k] + n;
    }
    y.n = y.first[x->nhole];
    if (y.n > SEARCH_UNKNOWNS) return NULL;
    int lanes = (y.n + SPARE + g->n - 1) / g->n + 1;
    if (lanes > LANES) lanes = LANES;
    y.rows = lanes * g->n;
    if (y.rows < y.n + SPARE) return NULL;
    s->stats->solved++;
    s->evaluations_left -= y.n / LANES + 1;
    y.m = arena_alloc(a, (size_t)y.rows * (size_t)(y.n + 1) * sizeof *y.m);
    y.component = ARENA_NEW(a, int, y.n);
    y.solution = ARENA_NEW(a, uint32_t, y.n);
    for (int l = 0; l < lanes; l++)
        if (!put_rows(&y, g, l)) return NULL;
    find_components(&y);
    if (!consistent(&y)) return NULL;
    for (int k = 0; k < y.n; k++)
        if (component_of(&y, k) == k && !eliminate(&y, k)) return NULL;
    if (!consistent(&y)) return NULL;
    memcpy(first, y.first, sizeof y.first);
    return y.solution;
}
