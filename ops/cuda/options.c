/* options.c -- parses the text of --backend-options, words that are separated by commas. */
#include "ops/cuda/device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses a whole number from 0 to `most`. */
static bool number(const char *text, long long most, long long *out) {
    char *end;
    *out = strtoll(text, &end, 10);
    return *text && !*end && *out >= 0 && *out <= most;
}

static bool take_word(CudaOptions *o, const char *key, const char *value) {
    long long x;
    if (!strcmp(key, "threads"))
        return number(value, BACKEND_THREADS, &x); /* unused: threads of the host */
    if (!strcmp(key, "device")) return number(value, 1000, &x) && (o->device = (int)x, true);
    if (!strcmp(key, "workspace"))
        return number(value, 1 << 20, &x) && (o->workspace = (size_t)x << 20, true);
    const bool tf32 = !strcmp(key, "tf32");
    if (tf32 || !strcmp(key, "fp16"))
        return !*value && (o->arithmetic = tf32 ? ARITHMETIC_TF32 : ARITHMETIC_FP16, true);
    if (!strcmp(key, "blocks")) return number(value, 32, &x) && (o->blocks = (int)x, true);
    if (!strcmp(key, "libraries")) return !strcmp(value, "require") && (o->require_cudnn = true);
    if (!strcmp(key, "choices")) return !strcmp(value, "all") && (o->compile_all_choices = true);
    if (!strcmp(key, "spills")) return !strcmp(value, "refuse") && (o->refuse_spills = true);
    char *to = !strcmp(key, "lib")        ? o->lib
               : !strcmp(key, "cache")    ? o->cache
               : !strcmp(key, "describe") ? o->describe
                                          : NULL;
    return to && *value && snprintf(to, OPTION_ROOM, "%s", value) < OPTION_ROOM;
}

bool options_parse(const char *text, CudaOptions *o, char *why, size_t n) {
    char word[2 * OPTION_ROOM];
    *o = (CudaOptions){.workspace = (size_t)256 << 20};
    for (const char *at = text ? text : ""; *at; at += *at == ',') {
        const size_t size = strcspn(at, ",");
        if (size >= sizeof word) return snprintf(why, n, "an option is too long"), false;
        memcpy(word, at, size);
        word[size] = 0, at += size;
        char *equals = strchr(word, '=');
        if (!size) continue;
        if (equals) *equals = 0;
        if (!take_word(o, word, equals ? equals + 1 : ""))
            return snprintf(why, n,
                            "unknown option or invalid value: %s%s%s; the options are device=N, "
                            "lib=DIR, cache=DIR|none, workspace=MB, tf32, fp16",
                            word, equals ? "=" : "", equals ? equals + 1 : ""),
                   false;
    }
    return true;
}
