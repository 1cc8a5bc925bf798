/* ops_plugin.c -- tests back ends in shared libraries of their own: they are opened and used, or
   refused with a reason. */
#include "ops/backend/backend.h"
#include "ops/core/type.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const Backend *open_plugin(const char *name, Error *e) {
    char path[300];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof path, "%s/test/plugin/%s.so", build ? build : "build", name);
    return backend_open(path, e);
}
static void a_plugin_is_opened_and_used(void **state) {
    (void)state;
    Error e = {0};
    char text[100];
    const Backend *b = open_plugin("null_backend", &e);
    if (!b) fail_msg("%s", e.reason);
    assert_null(b->open("speed=9", text, sizeof text));
    assert_string_equal(text, "the null back end has no options");
    Device *d = b->open("", text, sizeof text);
    assert_non_null(d);
    assert_int_equal(b->identity(d, text, sizeof text), 0);
    assert_string_equal(text, "null");
    char *p = b->alloc(d, 5), from[5] = "abcd";
    assert_int_equal(b->copy(d, p, from, 5, COPY_TO_DEVICE), 0);
    assert_string_equal(p, "abcd");
    b->release(d, p);
    const View y = {.dtype = DT_FLOAT};
    const Scalar one = {.op = C_CONST, .k = 1};
    Step s = {.kind = S_FILL, .nview = 1, .view = &y, .code = &one, .ncode = 1};
    size_t room;
    assert_int_equal(b->choices(d, &s), 1);
    Kernel *k = b->compile(d, &s, 0, NULL, &room, NULL, text, sizeof text);
    assert_int_equal(b->run(k, NULL, NULL), 0);
    b->forget(k);
    s.kind = S_COPY;
    assert_int_equal(b->choices(d, &s), 0);
    b->close(d);
}
static void wrong_plugins_are_refused(void **state) {
    (void)state;
    static const char *const name[] = {"old_backend", "refusing_backend", "no_backend",
                                       "there_is_none"};
    static const char *const reason[] = {"has interface version",
                                         "does not support interface version",
                                         "does not export isomer_backend", "cannot be opened"};
    for (int i = 0; i < 4; i++) {
        Error e = {0};
        assert_null(open_plugin(name[i], &e));
        assert_int_equal(e.kind, E_ENVIRONMENT);
        assert_non_null(strstr(e.reason, reason[i]));
        assert_non_null(strstr(e.place, name[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_is_opened_and_used),
        cmocka_unit_test(wrong_plugins_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
