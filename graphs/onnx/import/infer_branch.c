/* infer_branch.c -- finds the branch of an If that every successful run takes, although the
   condition depends on sizes or data. This is possible where the branches give results of different
   ranks, and with one of these a later node that always runs would have an input of a rank that
   ONNX does not allow (for example, an LSTM with an input of four axes). So a speech model that
   squeezes an axis "if it is 1", and needs it squeezed later, is read as a model that always
   squeezes it.

   Each branch is tried in a World of its own: it replaces the If, other Ifs that this decides are
   inlined, and the nodes are examined.

   Soundness: the branch that remains requires for itself whatever it needs, such as a size of 1.
   Runs that would have failed may fail at another node; all other runs are the same. */
#include "graphs/fold.h"
#include "graphs/onnx/model.h"
#include "graphs/world.h"
#include "ops/base/file.h"
#include <string.h>

/* At most this many rounds of inlining, folded constants of this many elements, and files of this
   many bytes. */
enum { ROUNDS = 8, SMALL = 1 << 16, FILE_MOST = 1 << 28 };

/* Whether some node that contributes to an output cannot run. */
static bool stuck(Model *m) {
    bool *needed = ARENA_NEW(m->w->arena, bool, m->name_room), found = false;
    for (int k = 0; k < m->graph.nout; k++) needed[m->output[k]] = true;
    for (int i = m->nnode - 1; i >= 0; i--) {
        const OnnxNode *n = &m->node[i];
        bool live = false;
        for (int k = 0; k < n->x.nout; k++) live |= n->out[k] && needed[n->out[k]];
        for (int k = 0; live && k < n->x.nin; k++) needed[n->in[k]] = true;
        for (int k = 0; live && k < n->ncapture; k++) needed[n->capture[k]] = true;
        found |= live && n->impossible;
    }
    return found;
}

typedef struct Attempt { /* what has to be freed if memory runs out during the attempt */
    Escape escape;
    Arena *arena;
    World *w;
    Model *model;
} Attempt;

static void attempt_end(Attempt *t) {
    model_close(t->model);
    world_free(t->w);
    t->model = NULL, t->w = NULL;
}

/* Whether the file can run as far as is known: reads it and inlines the Ifs that are decided, in
   rounds, until none is decided any more. */
static bool runs(Attempt *t, const Model *like, const Pieces *file) {
    const char *bytes = pieces_join(file, t->arena);
    size_t n = file->size;
    bool again = true, possible = true;
    for (int round = 0; again && possible && round < ROUNDS; round++) {
        Error e = {0};
        Graph folded;
        ValueMap map;
        Pieces next;
        t->w = graph_world_new(&t->escape, 0);
        t->model = model_open_with(
            t->w, like->path,
            &(OpenOptions){.bytes = bytes, .nbytes = n, .base_path = like->folder}, &e);
        possible = !t->model || !stuck(t->model);
        again = t->model && possible &&
                graph_fold(t->w, t->arena, model_graph(t->model), SMALL, NULL, &folded, &map, &e) &&
                inline_branch(t->model, &map, t->arena, -1, false, &next);
        if (again) bytes = pieces_join(&next, t->arena), n = next.size;
        attempt_end(t);
    }
    return possible;
}

/* Tries both files. Returns false if memory ran out; t->escape has the reason. */
static bool try_both(Attempt *t, const Model *like, const Pieces file[2], bool possible[2]) {
    if (setjmp(t->escape.here)) return false;
    t->arena = arena_new(&t->escape, 0);
    for (int taken = 0; taken < 2; taken++)
        possible[taken] = !file[taken].size || runs(t, like, &file[taken]);
    return true;
}

/* Whether a result has an unknown rank. */
static bool open_rank(const Model *m, const OnnxNode *n) {
    for (int k = 0; k < n->x.nout; k++)
        if (n->out[k] && !value_type(m->w, m->name[n->out[k]].value)->known) return true;
    return false;
}

/* The branch (1: then, 0: else) that every successful run takes, because the other one makes a
   later node impossible; -1 if none is known. */
static int branch_forced(Model *m, int node) {
    const OnnxNode *n = &m->node[node];
    Escape *escape = arena_escape(m->w->arena);
    bool possible[2] = {true, true};
    Pieces file[2];
    ValueMap none = {0};
    if (strcmp(n->type, "If") || n->x.domain.n || n->x.nin != 1 || m->x.bytes.n > FILE_MOST ||
        !open_rank(m, n))
        return -1;
    for (int taken = 0; taken < 2; taken++)
        if (!inline_branch(m, &none, m->w->arena, node, taken, &file[taken]))
            file[taken] = (Pieces){0};
    Attempt *t = mem_realloc(NULL, sizeof *t);
    if (!t) escape_raise(escape, E_MEMORY, "out of memory while trying a branch of an If");
    *t = (Attempt){.arena = NULL};
    bool done = try_both(t, m, file, possible);
    Error error = t->escape.error;
    escape_free(&t->escape);
    mem_free(t);
    if (!done) escape_raise(escape, error.kind, "%s", error.reason);
    return possible[0] == possible[1] ? -1 : possible[1];
}

bool model_inline(Model *m, const ValueMap *folded, Arena *a, Pieces *file) {
    if (inline_functions(&m->x, m->path, false, a, file)) return true;
    if (inline_branch(m, folded, a, -1, false, file)) return true;
    for (int i = 0; i < m->nnode; i++) {
        int taken = branch_forced(m, i);
        if (taken >= 0 && inline_branch(m, folded, a, i, taken, file)) return true;
    }
    return false;
}
