/* target_onnx.c -- arbitrary bytes as an ONNX model. A model that opens is written back unchanged,
   byte for byte; if every node is written anew, the result opens again. */
#include "graphs/onnx/export/export.h"
#include "test/fuzz/fuzz.h"
#include "graphs/world.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Opened {
    World *w;
    Model *m;
    Error error;
} Opened;

/* Opens the bytes through a file in memory. Returns false if they are refused. */
static bool open_bytes(Escape *escape, const void *bytes, size_t n, volatile Opened *o) {
    char path[40];
    int fd = memfd_create("model", MFD_CLOEXEC);
    fuzz_need(fd >= 0 && write(fd, bytes, n) == (ssize_t)n, "a file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (setjmp(escape->here)) o->error = escape->error;
    else {
        o->w = graph_world_new(escape, FUZZ_MEMORY);
        o->m = model_open(o->w, path, (Error *)&o->error);
    }
    close(fd);
    fuzz_need((o->m != NULL) == (o->error.kind == E_NONE), "a model or an error");
    if (!o->m) fuzz_refused((const Error *)&o->error);
    return o->m;
}

static void write_back(Opened *o, Arena *a, bool anew, char **bytes, size_t *n) {
    ModelWrite x = {.graph = model_graph(o->m), .map = &(ValueMap){0}, .regenerate = anew};
    if (model_bytes(o->m, &x, a, bytes, n, &o->error)) return;
    fuzz_need(anew, "an unchanged model is written");
    /* A node may have no spelling in the operator set of the file. */
    if (o->error.kind != E_CHECK) fuzz_refused(&o->error);
    *bytes = NULL;
}

/* Writes the model unchanged, then with every node written anew. If that needs more memory than the
   arena may have, *bytes is NULL. */
static void write_both(const Opened *o, Escape *escape, Arena *a, const uint8_t *data, size_t size,
                       char **bytes, size_t *n) {
    Opened again = *o;
    if (setjmp(escape->here)) {
        *bytes = NULL;
        return;
    }
    write_back(&again, a, false, bytes, n);
    fuzz_need(*n == size && memcmp(*bytes, data, size) == 0,
              "an unchanged model is the same bytes");
    write_back(&again, a, true, bytes, n);
}

int fuzz_onnx(const uint8_t *data, size_t size) {
    Escape escape = {.error = {0}}, other = {.error = {0}};
    volatile Opened o = {0}, second = {0};
    char *bytes = NULL;
    size_t n = 0;
    if (size > FUZZ_BYTES) return 0;
    if (open_bytes(&escape, data, size, &o)) {
        Arena *a = arena_new(&escape, FUZZ_MEMORY);
        write_both((const Opened *)&o, &escape, a, data, size, &bytes, &n);
        if (bytes && !open_bytes(&other, bytes, n, &second)) {
            fprintf(stderr, "%s: %s\n", (const char *)second.error.place,
                    (const char *)second.error.reason);
            fuzz_need(second.error.kind != E_INVALID, "what was written opens again");
        }
    }
    escape_free(&other);
    escape_free(&escape);
    return 0;
}
