/* order.c -- implements topological sorting by Kahn's algorithm, with a heap of the nodes that are
   ready. */
#include "graphs/onnx/order.h"
#include "ops/base/heap.h"

static bool node_before(const void *nodes, int a, int b) {
    const FileNode *node = nodes;
    return node[a].place != node[b].place ? node[a].place < node[b].place : a > b;
}

/* Returns, by name, 1 + the index of the node that computes it; 0 if none does. */
static int *find_makers(Arena *a, int n, const FileNode node[]) {
    NameId last = 0;
    for (int k = 0; k < n; k++) {
        for (int j = 0; j < node[k].nin; j++) last = node[k].in[j] > last ? node[k].in[j] : last;
        for (int j = 0; j < node[k].nout; j++) last = node[k].out[j] > last ? node[k].out[j] : last;
    }
    int *maker = ARENA_NEW(a, int, (size_t)last + 1);
    for (int k = 0; k < n; k++)
        for (int j = 0; j < node[k].nout; j++)
            if (node[k].out[j]) maker[node[k].out[j]] = k + 1;
    return maker;
}

/* For each node, a linked list of the nodes that read its results. first[node] and next[entry] are
   indices of entries (-1 ends a list); user[entry] is a node; waits[node] is the number of its
   inputs that are not computed yet. */
typedef struct Users {
    int *first, *next, *user, *waits;
} Users;

static Users find_users(Arena *a, int n, const FileNode node[]) {
    const int *maker = find_makers(a, n, node);
    int edges = 0, e = 0;
    for (int k = 0; k < n; k++) edges += node[k].nin;
    Users u = {ARENA_NEW(a, int, n), ARENA_NEW(a, int, edges), ARENA_NEW(a, int, edges),
               ARENA_NEW(a, int, n)};
    for (int k = 0; k < n; k++) u.first[k] = -1;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < node[k].nin; j++) {
            int from = node[k].in[j] ? maker[node[k].in[j]] - 1 : -1;
            if (from < 0) continue;
            u.user[e] = k, u.next[e] = u.first[from], u.first[from] = e++, u.waits[k]++;
        }
    return u;
}

int file_order(Arena *a, int n, const FileNode node[], int *out, bool *done) {
    Users u = find_users(a, n, node);
    Heap ready = {.arena = a, .before = node_before, .user = node};
    int count = 0;
    for (int k = 0; k < n; k++)
        if (!u.waits[k]) heap_push(&ready, k);
    while (ready.n) {
        int k = heap_pop(&ready);
        out[count++] = k, done[k] = true;
        for (int j = u.first[k]; j >= 0; j = u.next[j])
            if (!--u.waits[u.user[j]]) heap_push(&ready, u.user[j]);
    }
    return count;
}

bool nodes_order(Arena *a, int n, const OnnxNode node[], int *out) {
    FileNode *file = ARENA_NEW(a, FileNode, n);
    bool *done = ARENA_NEW(a, bool, n);
    for (int i = 0; i < n; i++) {
        const OnnxNode *x = &node[i];
        const int nin = node_input_count(x);
        NameId *in = ARENA_NEW(a, NameId, nin);
        for (int k = 0; k < nin; k++) in[k] = node_input(x, k);
        file[i] = (FileNode){.nin = nin, .nout = x->x.nout, .place = i, .in = in, .out = x->out};
    }
    return file_order(a, n, file, out, done) == n;
}
