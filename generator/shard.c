/* shard.c -- sorted runs of records. The file of a run has a line of text with the numbers of its
   tasks, followed by its records. It is written under another name, synced and renamed, so a file
   with the proper name is always complete. */
#include "generator/shard.h"
#include "generator/term_classes.h"
#include "ops/base/file.h"
#include "ops/base/text.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 4096, RUNS_OPEN = 200 };
static const char magic[] = "isomer-run";

static bool file_failed(Error *e, const char *path, const char *what) {
    return error_set(e, E_ENVIRONMENT, path, "%s: %s", what, strerror(errno));
}

bool runs_open(Runs *r, Arena *a, const char *folder, uint64_t digest, Error *e) {
    *r = (Runs){.arena = a, .folder = folder, .digest = digest};
    pthread_mutex_init(&r->lock, NULL);
    return !folder || folder_make(folder, e);
}

static bool temporary_folder(Runs *r, Error *e) {
    const char *base = getenv("TMPDIR");
    char *path = arena_format(r->arena, "%s/isomer-runs-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path)) return file_failed(e, path, "cannot create a folder for sorted runs");
    r->folder = path;
    r->temporary = true;
    return true;
}

static SortedRun *run_new(Runs *r) {
    ARENA_GROW(r->arena, r->run, r->room, r->n + 1);
    return &r->run[r->n++];
}

static void mark_done(Runs *r, uint64_t task) {
    if (task >= r->done_room) {
        uint64_t room = 2 * task + 1024;
        bool *more = ARENA_NEW(r->arena, bool, room);
        if (r->done) memcpy(more, r->done, r->done_room);
        r->done = more;
        r->done_room = room;
    }
    r->ndone += !r->done[task];
    r->done[task] = true;
}
bool runs_is_done(const Runs *r, uint64_t task) { return task < r->done_room && r->done[task]; }

/* ---- files */

static bool read_head(Runs *r, const char *path, Error *e) {
    char word[32];
    unsigned long long digest, ntask, n, task;
    int level;
    FILE *f = fopen(path, "rb");
    if (!f) return file_failed(e, path, "cannot read");
    bool ok = fscanf(f, "%31s %llx %d %llu %llu", word, &digest, &level, &ntask, &n) == 5 &&
              !strcmp(word, magic);
    if (ok && digest != r->digest) {
        fclose(f);
        return error_set(
            e, E_INVALID, path,
            "this file was written for another set, seed or program version; use an empty folder");
    }
    for (unsigned long long k = 0; ok && k < ntask; k++) {
        ok = fscanf(f, "%llu", &task) == 1;
        if (ok) mark_done(r, task);
    }
    if (ok) ok = fgetc(f) == '\n';
    SortedRun *run = run_new(r);
    *run = (SortedRun){
        .n = (size_t)n, .path = arena_string(r->arena, path, strlen(path)), .at = ftell(f)};
    ok = ok && !fseek(f, 0, SEEK_END) && ftell(f) == run->at + (long)(n * sizeof(Record));
    fclose(f);
    return ok || error_set(e, E_INVALID, path,
                           "this sorted run is damaged or incomplete; use an empty folder");
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool runs_begin_level(Runs *r, int level, Error *e) {
    char prefix[32];
    const char **name = NULL;
    int n = 0, room = 0;
    r->level = level;
    r->n = 0;
    r->ndone = r->done_room = 0;
    r->done = NULL;
    if (!r->folder || r->temporary) return true;
    DIR *d = opendir(r->folder);
    if (!d) return file_failed(e, r->folder, "cannot read the folder");
    snprintf(prefix, sizeof prefix, "level-%d.", level);
    for (struct dirent *x; (x = readdir(d));)
        if (!strncmp(x->d_name, prefix, strlen(prefix)) && !strstr(x->d_name, ".part")) {
            ARENA_GROW(r->arena, name, room, n + 1);
            name[n++] = arena_format(r->arena, "%s/%s", r->folder, x->d_name);
        }
    closedir(d);
    if (n) qsort(name, (size_t)n, sizeof *name, compare_names);
    for (int k = 0; k < n; k++)
        if (!read_head(r, name[k], e)) return false;
    return true;
}

static bool write_run(const Runs *r, const char *path, const Record *v, size_t n,
                      const uint64_t *task, size_t ntask, Error *e) {
    char part[4200];
    snprintf(part, sizeof part, "%s.part%ld", path, (long)getpid());
    FILE *f = fopen(part, "wb");
    if (!f) return file_failed(e, part, "cannot write");
    fprintf(f, "%s %llx %d %llu %llu", magic, (unsigned long long)r->digest, r->level,
            (unsigned long long)ntask, (unsigned long long)n);
    for (size_t k = 0; k < ntask; k++) fprintf(f, " %llu", (unsigned long long)task[k]);
    fputc('\n', f);
    bool ok = fwrite(v, sizeof *v, n, f) == n && !fflush(f) && !fsync(fileno(f));
    int why = errno;
    ok = !fclose(f) && ok;
    if (ok) ok = !rename(part, path);
    else errno = why, unlink(part);
    return ok || file_failed(e, path, "cannot write a run");
}

bool runs_add(Runs *r, Record *v, size_t n, const uint64_t *task, size_t ntask, bool to_disk,
              Error *e) {
    bool ok = true;
    if (n) qsort(v, n, sizeof *v, record_compare);
    pthread_mutex_lock(&r->lock);
    if (to_disk && !r->folder) ok = temporary_folder(r, e);
    if (!ok || (!n && !to_disk)) {
        pthread_mutex_unlock(&r->lock);
        mem_realloc(v, 0);
        return ok;
    }
    SortedRun *run = run_new(r);
    *run = (SortedRun){.v = v, .n = n};
    if (to_disk)
        run->path =
            arena_format(r->arena, "%s/level-%d.%ld-%d", r->folder, r->level, (long)getpid(), r->n);
    const char *path = run->path;
    int at = r->n - 1;
    pthread_mutex_unlock(&r->lock);
    if (!to_disk) return true;
    ok = write_run(r, path, v, n, task, ntask, e);
    struct stat s = {0};
    if (ok) ok = !stat(path, &s) || file_failed(e, path, "cannot read");
    pthread_mutex_lock(&r->lock);
    r->run[at].v = NULL;
    r->run[at].at = (long)s.st_size - (long)(n * sizeof *v);
    pthread_mutex_unlock(&r->lock);
    mem_realloc(v, 0);
    return ok;
}

/* ---- merge */

typedef struct Cursor {
    const SortedRun *run;
    FILE *file;
    /* v[at] of n is the next record; `next` records of the run were read so far. */
    size_t at, next, n;
    const Record *v;
    Record *buffer;
} Cursor;

static bool refill(Cursor *c, Error *e) {
    c->at = 0;
    c->n = c->run->n - c->next < BUFFER ? c->run->n - c->next : BUFFER;
    c->next += c->n;
    return fread(c->buffer, sizeof *c->buffer, c->n, c->file) == c->n ||
           file_failed(e, c->run->path, "cannot read a run");
}
static bool cursor_open(Cursor *c, const SortedRun *run, Error *e) {
    *c = (Cursor){.run = run, .v = run->v, .n = run->n};
    if (run->v || !run->n) return true;
    c->file = run->file ? run->file : fopen(run->path, "rb");
    if (!c->file || fseek(c->file, run->at, SEEK_SET))
        return file_failed(e, run->path, "cannot read a run");
    c->v = c->buffer = mem_realloc(NULL, BUFFER * sizeof *c->buffer);
    return c->buffer ? refill(c, e) : error_set(e, E_MEMORY, run->path, "out of memory for a run");
}
static void cursor_close(Cursor *c) {
    if (c->file) fclose(c->file);
    mem_realloc(c->buffer, 0);
}
static bool cursor_step(Cursor *c, Error *e) {
    return ++c->at < c->n || !c->file || c->next == c->run->n || refill(c, e);
}

static bool cursor_before(const Cursor *a, const Cursor *b) {
    return record_compare(&a->v[a->at], &b->v[b->at]) < 0;
}
static void sift(Cursor **heap, int n, int k) {
    for (int child; (child = 2 * k + 1) < n; k = child) {
        if (child + 1 < n && cursor_before(heap[child + 1], heap[child])) child++;
        if (!cursor_before(heap[child], heap[k])) return;
        Cursor *x = heap[k];
        heap[k] = heap[child];
        heap[child] = x;
    }
}

typedef bool (*TakeRecord)(void *user, const Record *, Error *);
/* Passes on the records of these runs in order; a record that is in two runs comes twice. The
   memory and files of the runs are released. */
static bool merge_runs(Runs *r, SortedRun *run, int many, TakeRecord take, void *user, Error *e) {
    Cursor *cursor = ARENA_NEW(r->arena, Cursor, many),
           **heap = ARENA_NEW(r->arena, Cursor *, many);
    int n = 0;
    bool ok = true;
    for (int k = 0; k < many && ok; k++) {
        ok = cursor_open(&cursor[k], &run[k], e);
        if (ok && cursor[k].n) heap[n++] = &cursor[k];
    }
    for (int k = n / 2; k >= 0; k--) sift(heap, n, k);
    while (n && ok) {
        ok = take(user, &heap[0]->v[heap[0]->at], e) && cursor_step(heap[0], e);
        if (heap[0]->at == heap[0]->n) heap[0] = heap[--n];
        sift(heap, n, 0);
    }
    for (int k = 0; k < many; k++) {
        cursor_close(&cursor[k]);
        if (run[k].v) mem_realloc(run[k].v, 0);
        else if (r->temporary && run[k].path && !run[k].file) unlink(run[k].path);
    }
    return ok;
}

static bool write_record(void *user, const Record *x, Error *e) {
    SortedRun *run = user;
    run->n++;
    return fwrite(x, sizeof *x, 1, run->file) == 1 ||
           file_failed(e, run->path, "cannot write a run");
}
/* Merges the first RUNS_OPEN runs into one, because there are more runs than files may be open. The
   file of the new run has no name any more, so it vanishes with the process. */
static bool collapse(Runs *r, Error *e) {
    SortedRun all = {0};
    if (!r->folder && !temporary_folder(r, e)) return false;
    all.path =
        arena_format(r->arena, "%s/level-%d.%ld.part-merge", r->folder, r->level, (long)getpid());
    all.file = fopen(all.path, "wb+");
    if (!all.file) return file_failed(e, all.path, "cannot write");
    unlink(all.path);
    bool ok = merge_runs(r, r->run, RUNS_OPEN, write_record, &all, e);
    ok = ok && (!fflush(all.file) || file_failed(e, all.path, "cannot write a run"));
    memmove(r->run, r->run + RUNS_OPEN, (size_t)(r->n - RUNS_OPEN) * sizeof *r->run);
    r->n -= RUNS_OPEN;
    *run_new(r) = all;
    return ok;
}

typedef struct Group {
    Record *v;
    size_t n, room;
    void (*take)(void *, const Record *, size_t);
    void *user;
} Group;
static bool group_add(void *user, const Record *r, Error *e) {
    Group *g = user;
    if (g->n && !record_compare(&g->v[g->n - 1], r)) return true; /* a task that two runs cover */
    if (g->n && g->v[0].key != r->key) {
        g->take(g->user, g->v, g->n);
        g->n = 0;
    }
    if (g->n == g->room) {
        Record *more = mem_realloc(g->v, (g->room = g->room ? 2 * g->room : 64) * sizeof *more);
        if (!more) return error_set(e, E_MEMORY, "", "out of memory for a class");
        g->v = more;
    }
    g->v[g->n++] = *r;
    return true;
}

bool runs_merge(Runs *r, void (*group)(void *, const Record *, size_t), void *user, Error *e) {
    Group g = {.take = group, .user = user};
    bool ok = true;
    while (ok && r->n > RUNS_OPEN) ok = collapse(r, e);
    ok = ok && merge_runs(r, r->run, r->n, group_add, &g, e);
    if (ok && g.n) group(user, g.v, g.n);
    mem_realloc(g.v, 0);
    r->n = 0;
    return ok;
}

/* ---- other processes */

bool runs_read(const Runs *r, int k, Record **v, Error *e) {
    const SortedRun *run = &r->run[k];
    *v = mem_realloc(NULL, (run->n + 1) * sizeof **v);
    if (!*v) return error_set(e, E_MEMORY, "", "out of memory for a run");
    if (run->v || !run->n) {
        if (run->n) memcpy(*v, run->v, run->n * sizeof **v);
        return true;
    }
    FILE *f = fopen(run->path, "rb");
    bool ok = f && !fseek(f, run->at, SEEK_SET) && fread(*v, sizeof **v, run->n, f) == run->n;
    if (!ok) file_failed(e, run->path, "cannot read a run");
    if (f) fclose(f);
    return ok;
}

void runs_close(Runs *r) {
    if (r->temporary) rmdir(r->folder);
    pthread_mutex_destroy(&r->lock);
}
