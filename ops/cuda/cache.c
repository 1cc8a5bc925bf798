/* cache.c -- stores compiled kernels in one file each, named after the digest of the kernel's text.
   A file holds the lengths of text and image, the text, and the image. */
#include "ops/cuda/cache.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 1024 };

Digest digest_of(const void *bytes, size_t n) {
    __extension__ typedef unsigned __int128 Wide;
    const Wide prime = (Wide)1 << 88 | 0x13b;
    Wide h = (Wide)0x6c62272e07bb0142ULL << 64 | 0x62b821756295c58dULL;
    const unsigned char *b = bytes;
    for (size_t k = 0; k < n; k++) h = (h ^ b[k]) * prime;
    return (Digest){(unsigned long long)(h >> 64), (unsigned long long)h};
}
bool digest_same(Digest a, Digest b) { return a.high == b.high && a.low == b.low; }

static bool make_folders(char *path) {
    for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        const bool failed = mkdir(path, 0777) && errno != EEXIST;
        if (failed) return *slash = '/', false;
    }
    return !mkdir(path, 0777) || errno == EEXIST;
}
bool cache_folder(const char *folder, char *path, size_t n) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int used = -1;
    if (!strcmp(folder, "none")) return false;
    if (*folder) used = snprintf(path, n, "%s", folder);
    else if (cache && *cache) used = snprintf(path, n, "%s/isomer/cuda", cache);
    else if (home && *home) used = snprintf(path, n, "%s/.cache/isomer/cuda", home);
    return used > 0 && (size_t)used < n && make_folders(path);
}

static bool file_name(char *name, const char *path, const char *text, const char *more) {
    const Digest d = digest_of(text, strlen(text));
    const int n = snprintf(name, PATH_ROOM, "%s/%016llx%016llx%s", path, d.high, d.low, more);
    return n > 0 && n < PATH_ROOM;
}

/* Reads the image from a file, whose text must be equal to `text`. */
static bool read_image(FILE *f, const char *text, Image *image) {
    const size_t n = strlen(text);
    uint64_t head[2];
    if (fread(head, sizeof head, 1, f) != 1 || head[0] != n || head[1] > SIZE_MAX / 2) return false;
    char *bytes = malloc(n > head[1] ? n : (size_t)head[1] + 1);
    bool good = bytes && fread(bytes, 1, n, f) == n && !memcmp(bytes, text, n);
    good = good && fread(bytes, 1, (size_t)head[1], f) == head[1];
    if (!good) return free(bytes), false;
    *image = (Image){.bytes = bytes, .size = (size_t)head[1]};
    return true;
}
bool cache_get(const char *path, const char *text, Image *image) {
    char name[PATH_ROOM];
    FILE *f = file_name(name, path, text, "") ? fopen(name, "rb") : NULL;
    if (!f) return false;
    const bool good = read_image(f, text, image);
    fclose(f);
    return good;
}

void cache_put(const char *path, const char *text, const Image *image) {
    char name[PATH_ROOM], aside[PATH_ROOM], more[32];
    const uint64_t head[2] = {strlen(text), image->size};
    static unsigned turn; /* for threads with one device each, which may store the same kernel */
    snprintf(more, sizeof more, ".%ld.%u", (long)getpid(),
             __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED));
    if (!file_name(name, path, text, "") || !file_name(aside, path, text, more)) return;
    FILE *f = fopen(aside, "wb");
    if (!f) return;
    bool good = fwrite(head, sizeof head, 1, f) == 1 &&
                fwrite(text, 1, (size_t)head[0], f) == head[0] &&
                fwrite(image->bytes, 1, image->size, f) == image->size;
    good = !fclose(f) && good;
    if (!good || rename(aside, name)) remove(aside);
}
