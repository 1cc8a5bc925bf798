/* graphs_external.c -- tests weights outside the model's bytes. They may lie in external files,
   each of which is visited once however many tensors name it, or in the World, to which a part of a
   model refers instead of containing the weights. */
#include "ops/base/file.h"
#include "test/shared/onnx_build.h"
#include "graphs/onnx/model.h"
#include "graphs/world.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum { NUMBERS = 1024, BYTES = 4 * NUMBERS };
static char folder[64];

static const char *within(const char *name) { return arena_format(arena, "%s/%s", folder, name); }

static void write_data(const char *at, char with) {
    char bytes[2 * BYTES];
    Error e = {0};
    memset(bytes, with, sizeof bytes);
    assert_true(file_write(at, bytes, sizeof bytes, &e));
}

static void add_external(Text *graph, const char *name, const char *file, size_t offset) {
    Text t = text_new(arena);
    wire_put_int(&t, 1, NUMBERS);
    wire_put_int(&t, 2, 1);
    text_field(&t, 8, name);
    tensor_put_external(arena, &t, file, offset, BYTES);
    message(graph, 5, &t);
}

/* The model y = relu((x + a) + (b + c)), with a and b in one file and c in another. */
static Text model_of_three(void) {
    Text g = text_new(arena);
    add_node(&g, "Add", "x", "a", "s");
    add_node(&g, "Add", "b", "c", "t");
    add_node(&g, "Add", "s", "t", "u");
    add_node(&g, "Relu", "u", NULL, "y");
    add_external(&g, "a", "one", 0);
    add_external(&g, "b", "one", BYTES);
    add_external(&g, "c", "two", 0);
    add_info(&g, 11, "x", 2, NUMBERS);
    add_info(&g, 12, "y", 2, NUMBERS);
    return whole(&g);
}

static Model *opened(World *w, const Text *file) {
    Error e = {0};
    assert_true(file_write(within("m.onnx"), file->data, file->size, &e));
    write_data(within("one"), 1);
    write_data(within("two"), 2);
    Model *m = model_open(w, within("m.onnx"), &e);
    if (!m) fail_msg("%s: %s", e.place, e.reason);
    return m;
}

static bool count_visits(void *user, const char *location) {
    Text *seen = user;
    text_add(seen, "%s ", location);
    return true;
}
static void files_are_visited_once(void **state) {
    (void)state;
    const Text file = model_of_three();
    Text seen = text_new(arena);
    Error e = {0};
    const Slice bytes = {(const unsigned char *)file.data, file.size};
    assert_true(external_each(arena, bytes, "test", count_visits, &seen, &e));
    assert_string_equal(seen.data, "one two ");
}

/* A copy that was made or compared before is not read again unless its modification time
   changed. */
static void copies_are_compared_once(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    const Text file = model_of_three();
    const Slice bytes = {(const unsigned char *)file.data, file.size};
    Model *m = opened(w, &file);
    Error e = {0};
    struct stat before;
    const char *out = within("out/m.onnx"), *copy = within("out/one");
    mkdir(within("out"), 0777);
    assert_true(external_copy(m, bytes, out, NULL, arena, &e));
    assert_true(external_copy(m, bytes, out, NULL, arena, &e));
    assert_int_equal(stat(copy, &before), 0);
    write_data(copy, 3);
    assert_false(external_copy(m, bytes, out, NULL, arena, &e));
    assert_int_equal(e.kind, E_ENVIRONMENT);
    write_data(copy, 1);
    assert_true(external_copy(m, bytes, out, NULL, arena, &e));
    /* With the modification time of the compared copy a change goes unnoticed, which shows that the
       file was not read. */
    assert_int_equal(stat(copy, &before), 0);
    int fd = open(copy, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 0), 1);
    futimens(fd, (struct timespec[]){before.st_atim, before.st_mtim});
    close(fd);
    assert_true(external_copy(m, bytes, out, NULL, arena, &e));
    model_close(m);
    world_free(w);
}

/* Cuts the same part twice, once with its weights and once with references to them: both give the
   same nodes in the same World. */
static void parts_refer_to_weights(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    const Text file = model_of_three();
    Model *m = opened(w, &file), *part[2];
    const bool core[] = {true, false, false, true};
    const Sizes sizes = {0};
    ModelPart cut[2];
    for (int k = 0; k < 2; k++) {
        const char *why = "";
        Error e = {0};
        if (!model_part(m, arena, sizes, core, (PartBorder){0}, k == 1, &cut[k], &why))
            fail_msg("%s", why);
        const OpenOptions open = {.bytes = pieces_join(&cut[k].file, arena),
                                  .nbytes = cut[k].file.size,
                                  .base_path = within("m.onnx"),
                                  .nblob = cut[k].nblob,
                                  .blob = cut[k].blob};
        part[k] = model_open_with(w, "part", &open, &e);
        if (!part[k]) fail_msg("%s: %s", e.place, e.reason);
    }
    assert_int_equal(cut[0].nblob, 0);
    assert_int_equal(cut[1].nblob, 3);
    assert_true(cut[0].file.size > 3 * BYTES && cut[1].file.size < BYTES);
    assert_int_equal(model_graph(part[0])->nout, 1);
    assert_int_equal(model_graph(part[0])->out[0], model_graph(part[1])->out[0]);
    for (int k = 0; k < 2; k++) model_close(part[k]);
    model_close(m);
    world_free(w);
}

/* A reference to a blob that does not exist or has another size is an error. Where the caller gave
   no blobs, the same text is the name of a file. */
static void references_are_checked(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    const char numbers[BYTES] = {0};
    const Blob good = blob_put(w, numbers, BYTES), small = blob_put(w, numbers, BYTES - 4);
    const struct {
        int nblob;
        Blob blob;
        ErrorKind kind;
    } tries[] = {{1, good, E_NONE}, {1, small, E_INVALID}, {0, good, E_ENVIRONMENT}};
    for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
        Text g = text_new(arena);
        Error e = {0};
        add_node(&g, "Add", "x", "a", "y");
        add_external(&g, "a", EXTERNAL_BLOB, 0);
        add_info(&g, 11, "x", 2, NUMBERS);
        add_info(&g, 12, "y", 2, NUMBERS);
        const Text file = whole(&g);
        const OpenOptions open = {.bytes = file.data,
                                  .nbytes = file.size,
                                  .base_path = within("m.onnx"),
                                  .nblob = tries[k].nblob,
                                  .blob = &tries[k].blob};
        Model *m = model_open_with(w, "part", &open, &e);
        assert_int_equal(e.kind, tries[k].kind);
        assert_int_equal(m != NULL, tries[k].kind == E_NONE);
        if (m) model_close(m);
    }
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_visited_once),
        cmocka_unit_test(copies_are_compared_once),
        cmocka_unit_test(parts_refer_to_weights),
        cmocka_unit_test(references_are_checked),
    };
    strcpy(folder, "/tmp/isomer-external-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    const int failed = run_with_file(tests, sizeof tests / sizeof *tests);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) || failed;
}
