/* npz.c -- reads NumPy's .npz files, which are archives of .npy files, with libzip. */
#include "graphs/npz.h"
#include <string.h>
#include <zip.h>

static bool wrong(Error *e, const char *path, const char *what) {
    return error_set(e, E_INVALID, path, "not a readable .npz file: %s", what);
}

static bool read_entry(Arena *a, zip_t *z, zip_uint64_t k, const char *path, NpzEntry *out,
                       Error *e) {
    enum { LARGEST = 1 << 30 };
    zip_stat_t s;
    if (zip_stat_index(z, k, 0, &s) || !(s.valid & ZIP_STAT_SIZE) || !(s.valid & ZIP_STAT_NAME))
        return wrong(e, path, "the header of an entry");
    if (s.size > LARGEST) return error_set(e, E_LIMIT, path, "%s is larger than 1 GiB", s.name);
    size_t n = strlen(s.name);
    char *bytes = arena_alloc_raw(a, s.size + 1);
    zip_file_t *f = zip_fopen_index(z, k, 0);
    zip_int64_t got = f ? zip_fread(f, bytes, s.size) : -1;
    if (f) zip_fclose(f);
    if (got < 0 || (zip_uint64_t)got != s.size) return wrong(e, path, "the contents of an entry");
    out->name = arena_string(a, s.name, n > 4 && !strcmp(s.name + n - 4, ".npy") ? n - 4 : n);
    return npy_parse(a, arena_format(a, "%s: %s", path, s.name), bytes, s.size, &out->tensor, e);
}

static void discard(void *z) { zip_discard(z); }

bool npz_read(Arena *a, const char *path, int *n, NpzEntry **out, Error *e) {
    int why = 0;
    Cleanup *file = ARENA_NEW(a, Cleanup, 1);
    zip_t *z = zip_open(path, ZIP_RDONLY, &why);
    if (!z)
        return error_set(e, why == ZIP_ER_NOENT || why == ZIP_ER_OPEN ? E_ENVIRONMENT : E_INVALID,
                         path,
                         why == ZIP_ER_NOENT ? "cannot read: No such file or directory"
                                             : "not a readable .npz file");
    cleanup_add(arena_escape(a), file, discard, z);
    zip_int64_t count = zip_get_num_entries(z, 0);
    bool good = count >= 0 && count <= NPZ_MOST;
    if (!good) wrong(e, path, "the number of its entries");
    *n = 0;
    *out = good ? ARENA_NEW(a, NpzEntry, count) : NULL;
    for (zip_int64_t k = 0; good && k < count; k++, ++*n)
        good = read_entry(a, z, (zip_uint64_t)k, path, &(*out)[k], e);
    cleanup_run(file);
    return good;
}

const char *npz_version(void) { return zip_libzip_version(); }
