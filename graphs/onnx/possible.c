/* possible.c -- an If whose condition depends on sizes or data, and whose branches give results of different
   ranks, may still be decided: where one branch makes a node that always runs meet a rank that ONNX does not allow
   it (an LSTM of four axes), no run that ends takes that branch. So a model of recorded speech that squeezes an
   axis "if it is 1" and then needs it squeezed is read as the model that squeezes. Each branch is tried in a World
   of its own: put in the If's place, what that decides inlined too, then nodes are looked at. Soundness: the other
   branch stays in the file, with whatever it demands itself; runs that would have failed may fail elsewhere, all
   others are the same. */
#include "graphs/fold.h"
#include "graphs/onnx/model.h"
#include <string.h>

enum { ROUNDS = 8, SMALL = 1 << 16, FILE_MOST = 1 << 28 };

/* Is there a node that contributes to an output and cannot run? */
static bool stuck(Model *m) {
    bool *needed = ARENA_NEW(m->w->arena, bool, m->room), found = false;
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

/* Reads this file and what its decided Ifs make of it, round after round, until nothing is decided any more. */
static bool runs(Model *like, Arena *a, const Pieces *file) {
    const char *bytes = pieces_join(file, a);
    size_t n = file->size;
    bool again = true, possible = true;
    for (int round = 0; again && possible && round < ROUNDS; round++) {
        Error e = {0};
        World *w = graph_world_new(arena_escape(a), 0);
        Model *m = model_open_values(w, like->path, &(OpenValues){.bytes = bytes, .nbytes = n, .beside = like->folder}, &e);
        Graph folded;
        ValueMap map;
        Pieces next;
        possible = !m || !stuck(m);
        again = m && possible && graph_fold(w, a, model_graph(m), SMALL, &folded, &map, &e) && inline_branch(m, &map, a, -1, false, &next);
        if (again) bytes = pieces_join(&next, a), n = next.size;
        model_close(m);
        world_free(w);
    }
    return possible;
}

static bool open_rank(const Model *m, const OnnxNode *n) {
    for (int k = 0; k < n->x.nout; k++)
        if (n->out[k] && !value_type(m->w, m->name[n->out[k]].value)->known) return true;
    return false;
}

int branch_forced(Model *m, int node) {
    const OnnxNode *n = &m->node[node];
    bool runs_with[2];
    if (strcmp(n->type, "If") || n->x.domain.n || n->x.nin != 1 || m->x.bytes.n > FILE_MOST || !open_rank(m, n)) return -1;
    Arena *a = arena_new(arena_escape(m->w->arena), 0);
    for (int taken = 0; taken < 2; taken++) {
        Pieces file;
        ValueMap none = {0};
        runs_with[taken] = !inline_branch(m, &none, a, node, taken, &file) || runs(m, a, &file);
    }
    arena_free(a);
    return runs_with[0] == runs_with[1] ? -1 : runs_with[1];
}
