/* onnx_build.h -- writes small ONNX models field by field, for tests. The numbers are the field
   numbers of onnx.proto. */
#ifndef ISOMER_TEST_ONNX_BUILD_H
#define ISOMER_TEST_ONNX_BUILD_H
#include "graphs/onnx/onnx.h"
#include "graphs/onnx/file/wire.h"
#include "ops/base/file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static Arena *arena;
static char path[64];

static inline void text_field(Text *t, uint32_t number, const char *s) {
    wire_put_bytes(t, number, s, strlen(s));
}
static inline void message(Text *t, uint32_t number, const Text *inner) {
    wire_put_bytes(t, number, inner->data ? inner->data : "", inner->size);
}

static inline void add_info(Text *graph, uint32_t number, const char *name, int64_t rows,
                            int64_t columns) {
    Text dims = text_new(arena), tensor = text_new(arena), type = text_new(arena),
         info = text_new(arena);
    for (int k = 0; k < 2; k++) {
        Text dim = text_new(arena);
        wire_put_int(&dim, 1, (uint64_t)(k ? columns : rows));
        message(&dims, 1, &dim);
    }
    wire_put_int(&tensor, 1, 1);
    message(&tensor, 2, &dims);
    message(&type, 1, &tensor);
    text_field(&info, 1, name);
    message(&info, 2, &type);
    message(graph, number, &info);
}

/* Adds an initializer with n elements of this type, in `bytes` bytes of zeros (0: without a field
   for the elements). */
static inline void add_tensor_of(Text *graph, const char *name, uint64_t dtype, int64_t n,
                                 size_t bytes) {
    Text t = text_new(arena);
    char *zero = arena_alloc(arena, bytes);
    wire_put_int(&t, 1, (uint64_t)n);
    wire_put_int(&t, 2, dtype);
    text_field(&t, 8, name);
    if (bytes) wire_put_bytes(&t, 9, zero, bytes);
    message(graph, 5, &t);
}
static inline void add_tensor(Text *graph, const char *name, int64_t n, size_t bytes) {
    add_tensor_of(graph, name, 1, n, bytes);
}

/* Adds a node with inputs a and b (b may be NULL). */
static inline void add_node(Text *graph, const char *type, const char *a, const char *b,
                            const char *out) {
    Text t = text_new(arena);
    text_field(&t, 1, a);
    if (b) text_field(&t, 1, b);
    text_field(&t, 2, out);
    text_field(&t, 3, arena_format(arena, "node_%s", out));
    text_field(&t, 4, type);
    message(graph, 1, &t);
}

/* The bytes of a ModelProto with this graph. */
static inline Text whole_of(const Text *graph, uint64_t ir, uint64_t opset_version) {
    Text model = text_new(arena), opset = text_new(arena);
    wire_put_int(&model, 1, ir);
    wire_put_int(&opset, 2, opset_version);
    message(&model, 8, &opset);
    message(&model, 7, graph);
    text_field(&model, 2, "a producer");
    return model;
}
static inline Text whole(const Text *graph) { return whole_of(graph, 7, 13); }

static inline Model *open_bytes(World *w, const char *bytes, size_t n, Error *e) {
    assert_true(file_write(path, bytes, n, e));
    return model_open(w, path, e);
}

/* Runs a group of tests with `arena` and `path`, the name of a temporary file. */
static inline int run_with_file(const struct CMUnitTest *tests, size_t n) {
    arena = arena_new(NULL, 0);
    strcpy(path, "/tmp/isomer-onnx-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    int failed = _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
    unlink(path);
    arena_free(arena);
    return failed;
}
#endif
