/* picture_svg.c -- runs Graphviz's program `dot` to make pictures. */
#include "search/child.h"
#include "search/show/picture.h"
#include <errno.h>
#include <string.h>

static bool absent(Error *e, const char *why) {
    return error_set(e, E_ENVIRONMENT, "--html",
                     "pictures need Graphviz's program dot (Debian: graphviz): %s", why);
}

static bool dot(Arena *a, char *argument, const Text *in, char **out, Error *e) {
    char name[] = "dot", *argv[] = {name, argument, NULL};
    ChildSaid said;
    const int status = child_run(a, argv, in, &said);
    *out = said.out;
    if (status <= 0) return status == 0 || absent(e, strerror(errno));
    return absent(e, *said.reason ? said.reason : "it failed");
}

bool picture_program(Arena *a, Error *e) {
    char version[] = "-V", *ignored;
    return dot(a, version, NULL, &ignored, e);
}

bool picture_svg(Arena *a, const Text *text, int n, const char *svg[], Error *e) {
    char kind[] = "-Tsvg", *out;
    if (!n) return true;
    if (!dot(a, kind, text, &out, e)) return false;
    for (int k = 0; k < n; k++) {
        char *start = strstr(out, "<svg"), *end = start ? strstr(start, "</svg>") : NULL;
        if (!end) return absent(e, "its output is not SVG");
        out = end + 6;
        svg[k] = arena_string(a, start, (size_t)(out - start));
    }
    return true;
}
