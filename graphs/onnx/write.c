/* write.c -- writes a model by replaying its file: what stands for the same values is copied as it is, byte for byte. */
#include "graphs/onnx/model.h"
#include <string.h>

static bool unchanged(const Model *m, const ModelWrite *x) {
    if (x->graph->nout != m->graph.nout) return false;
    return memcmp(x->graph->out, m->graph.out, sizeof(Value) * (size_t)m->graph.nout) == 0;
}

bool model_bytes(Model *m, const ModelWrite *x, Arena *a, char **bytes, size_t *n, Error *e) {
    (void)a;
    if (!unchanged(m, x)) return error_set(e, E_INVALID, m->path, "writing a changed graph");
    *bytes = (char *)(uintptr_t)m->x.bytes.at, *n = m->x.bytes.n;
    return true;
}

bool model_write(Model *m, const ModelWrite *x, const char *path, Error *e) {
    char *bytes = NULL;
    size_t n = 0;
    return model_bytes(m, x, m->w->arena, &bytes, &n, e) && file_write(path, bytes, n, e);
}
