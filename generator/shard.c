/* shard.c -- sorted runs of records. The file of a run has a line of text with the numbers of its
   tasks, followed by its records. It is written under another name, synced and renamed, so a file
   with the proper name is always complete. */
#include "generator/shard.h"
#include "generator/term_classes.h"
#include "ops/base/file.h"
#include "ops/base/interrupt.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 4096, RUNS_OPEN = 200 };
static const uint64_t TASKS_MOST = (uint64_t)1 << 40; /* a greater number is a damaged file */
static const char magic[] = "isomer-run";

static bool file_failed(Error *e, const char *path, const char *what) {
    return error_set(e, E_ENVIRONMENT, path, "%s: %s", what, strerror(errno));
}
static bool no_memory(Error *e) {
    return error_set(e, E_MEMORY, "", "out of memory for sorted runs");
}

bool runs_open(Runs *r, const char *folder, const volatile int *cancel, uint64_t digest, Error *e) {
    *r = (Runs){.folder = folder, .cancel = cancel, .digest = digest};
    pthread_mutex_init(&r->lock, NULL);
    return !folder || folder_make(folder, e);
}

/* The path of a file in the folder of runs, from mem_realloc; NULL: the error is set. */
static char *path_in_folder(const Runs *r, const char *name, Error *e) {
    const char *folder = r->folder ? r->folder : r->own.path;
    const size_t n = strlen(folder) + strlen(name) + 2;
    char *path = mem_realloc(NULL, n);
    if (path) snprintf(path, n, "%s/%s", folder, name);
    else no_memory(e);
    return path;
}
/* The path of a new run. Creates the folder for runs that are not kept when it is first needed. */
static char *new_path(Runs *r, const char *end, Error *e) {
    char name[64];
    pthread_mutex_lock(&r->lock);
    const bool ok = r->folder || *r->own.path || folder_create(&r->own, e);
    snprintf(name, sizeof name, "level-%d.%ld-%d%s", r->level, (long)getpid(), ++r->named, end);
    pthread_mutex_unlock(&r->lock);
    return ok ? path_in_folder(r, name, e) : NULL;
}

/* Frees what a run holds, and removes its file unless it is kept. */
static void release(const Runs *r, SortedRun *x) {
    mem_free(x->v);
    if (x->file) fclose(x->file);
    else if (x->path && !r->folder) unlink(x->path);
    mem_free(x->path);
    *x = (SortedRun){0};
}
/* Takes the run over, also on failure. */
static bool list_run(Runs *r, SortedRun x, Error *e) {
    if (r->n == r->room) {
        const int room = 2 * r->room + 64;
        SortedRun *more = mem_realloc(r->run, (size_t)room * sizeof *more);
        if (!more) return release(r, &x), no_memory(e);
        r->run = more;
        r->room = room;
    }
    r->run[r->n++] = x;
    return true;
}
/* Releases the first n runs and removes them from the list. */
static void forget_runs(Runs *r, int n) {
    for (int k = 0; k < n; k++) release(r, &r->run[k]);
    if (n < r->n) memmove(r->run, r->run + n, (size_t)(r->n - n) * sizeof *r->run);
    r->n -= n;
}

static bool mark_done(Runs *r, uint64_t task, Error *e) {
    if (task >= r->done_room) {
        const uint64_t room = 2 * task + 1024;
        bool *more = mem_realloc(r->done, room);
        if (!more) return no_memory(e);
        memset(more + r->done_room, 0, room - r->done_room);
        r->done = more;
        r->done_room = room;
    }
    r->ndone += !r->done[task];
    r->done[task] = true;
    return true;
}
bool runs_is_done(const Runs *r, uint64_t task) { return task < r->done_room && r->done[task]; }

/* ---- files */

/* Reads the tasks of a run whose path is known, and where its records are. */
static bool read_head(Runs *r, SortedRun *run, Error *e) {
    char word[32];
    unsigned long long digest, ntask, n, task;
    int level;
    FILE *f = fopen(run->path, "rb");
    if (!f) return file_failed(e, run->path, "cannot read");
    bool ok = fscanf(f, "%31s %llx %d %llu %llu", word, &digest, &level, &ntask, &n) == 5 &&
              !strcmp(word, magic);
    if (ok && digest != r->digest) {
        fclose(f);
        return error_set(
            e, E_INVALID, run->path,
            "this file was written for another set, seed or program version; use an empty folder");
    }
    for (unsigned long long k = 0; ok && k < ntask; k++) {
        ok = fscanf(f, "%llu", &task) == 1 && task < TASKS_MOST;
        if (ok && !mark_done(r, task, e)) return fclose(f), false;
    }
    if (ok) ok = fgetc(f) == '\n';
    run->n = ok ? (size_t)n : 0;
    run->at = ftell(f);
    ok = ok && !fseek(f, 0, SEEK_END) && ftell(f) == run->at + (long)(n * sizeof(Record));
    fclose(f);
    return ok || error_set(e, E_INVALID, run->path,
                           "this sorted run is damaged or incomplete; use an empty folder");
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(((const SortedRun *)a)->path, ((const SortedRun *)b)->path);
}
/* Lists the finished runs of the level that are in the folder. */
static bool find_runs(Runs *r, Error *e) {
    char prefix[32];
    bool ok = true;
    DIR *d = opendir(r->folder);
    if (!d) return file_failed(e, r->folder, "cannot read the folder");
    snprintf(prefix, sizeof prefix, "level-%d.", r->level);
    for (struct dirent *x; ok && (x = readdir(d));) {
        if (strncmp(x->d_name, prefix, strlen(prefix)) || strstr(x->d_name, ".part")) continue;
        char *path = path_in_folder(r, x->d_name, e);
        ok = path && list_run(r, (SortedRun){.path = path}, e);
    }
    closedir(d);
    if (ok && r->n) qsort(r->run, (size_t)r->n, sizeof *r->run, compare_paths);
    return ok;
}

bool runs_begin_level(Runs *r, int level, Error *e) {
    forget_runs(r, r->n);
    if (r->done) memset(r->done, 0, r->done_room);
    r->level = level;
    r->ndone = 0;
    bool ok = !r->folder || find_runs(r, e);
    r->named = r->n;
    for (int k = 0; k < r->n && ok; k++) ok = read_head(r, &r->run[k], e);
    return ok;
}

/* Writes the records of a run to its file and frees them. */
static bool write_run(const Runs *r, SortedRun *run, const uint64_t *task, size_t ntask, Error *e) {
    char part[PATH_MAX + 100];
    snprintf(part, sizeof part, "%s.part%ld", run->path, (long)getpid());
    FILE *f = fopen(part, "wb");
    if (!f) return file_failed(e, part, "cannot write");
    fprintf(f, "%s %llx %d %llu %llu", magic, (unsigned long long)r->digest, r->level,
            (unsigned long long)ntask, (unsigned long long)run->n);
    for (size_t k = 0; k < ntask; k++) fprintf(f, " %llu", (unsigned long long)task[k]);
    fputc('\n', f);
    run->at = ftell(f);
    bool ok =
        fwrite(run->v, sizeof *run->v, run->n, f) == run->n && !fflush(f) && !fsync(fileno(f));
    int why = errno;
    ok = !fclose(f) && ok;
    if (ok) ok = !rename(part, run->path);
    else errno = why, unlink(part);
    if (!ok) return file_failed(e, run->path, "cannot write a run");
    mem_free(run->v), run->v = NULL;
    return true;
}

bool runs_add(Runs *r, Record *v, size_t n, const uint64_t *task, size_t ntask, bool to_disk,
              Error *e) {
    SortedRun run = {.v = v, .n = n};
    if (n) qsort(v, n, sizeof *v, record_compare);
    if (to_disk) run.path = new_path(r, "", e);
    bool ok = !to_disk || (run.path && write_run(r, &run, task, ntask, e));
    if (!ok || (!n && !to_disk)) return release(r, &run), ok;
    pthread_mutex_lock(&r->lock);
    ok = list_run(r, run, e);
    pthread_mutex_unlock(&r->lock);
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
    return c->buffer ? refill(c, e) : no_memory(e);
}
static void cursor_close(Cursor *c) {
    if (c->file && c->file != c->run->file) fclose(c->file);
    mem_free(c->buffer);
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

/* Begins to merge the first `many` runs. */
static bool merge_begin(Runs *r, int many, Error *e) {
    bool ok = true;
    if (!many) return true;
    r->cursor = mem_realloc(NULL, (size_t)many * sizeof *r->cursor);
    r->heap = mem_realloc(NULL, (size_t)many * sizeof *r->heap);
    if (!r->cursor || !r->heap) return no_memory(e);
    for (; r->ncursor < many && ok; r->ncursor++)
        ok = cursor_open(&r->cursor[r->ncursor], &r->run[r->ncursor], e);
    return ok;
}
static void merge_end(Runs *r) {
    for (int k = 0; k < r->ncursor; k++) cursor_close(&r->cursor[k]);
    mem_free(r->cursor), r->cursor = NULL;
    mem_free(r->heap), r->heap = NULL;
    r->ncursor = 0;
}

typedef bool (*TakeRecord)(void *user, const Record *, Error *);
/* Passes on the records of the cursors in order; a record that is in two runs comes twice. */
static bool merge_records(Runs *r, TakeRecord take, void *user, Error *e) {
    int n = 0;
    bool ok = true;
    for (int k = 0; k < r->ncursor; k++)
        if (r->cursor[k].n) r->heap[n++] = &r->cursor[k];
    for (int k = n / 2; k >= 0; k--) sift(r->heap, n, k);
    while (n && ok) {
        Cursor *first = r->heap[0];
        ok = !interrupted(r->cancel, e) && take(user, &first->v[first->at], e) &&
             cursor_step(first, e);
        if (first->at == first->n) r->heap[0] = r->heap[--n];
        sift(r->heap, n, 0);
    }
    return ok;
}
/* Merges the first `many` runs and releases them. */
static bool merge_runs(Runs *r, int many, TakeRecord take, void *user, Error *e) {
    const bool ok = merge_begin(r, many, e) && merge_records(r, take, user, e);
    merge_end(r);
    forget_runs(r, many);
    return ok;
}

static bool write_record(void *user, const Record *x, Error *e) {
    SortedRun *run = user;
    run->n++;
    return fwrite(x, sizeof *x, 1, run->file) == 1 ||
           file_failed(e, run->path, "cannot write a run");
}
/* Merges the first RUNS_OPEN runs into one, because there are more runs than files may be open. The
   file of the new run has no name any more, so it vanishes with the process; until then it had the
   name of an unfinished one. */
static bool collapse(Runs *r, Error *e) {
    SortedRun all = {.path = new_path(r, ".part", e)};
    if (!all.path) return false;
    all.file = fopen(all.path, "wb+");
    bool ok = all.file || file_failed(e, all.path, "cannot write");
    if (ok) unlink(all.path);
    ok = ok && merge_runs(r, RUNS_OPEN, write_record, &all, e) &&
         (!fflush(all.file) || file_failed(e, all.path, "cannot write a run"));
    return ok ? list_run(r, all, e) : (release(r, &all), false);
}

typedef struct Group {
    Runs *r; /* r->group has n records */
    size_t n;
    TakeGroup take;
    void *user;
} Group;
static bool group_add(void *user, const Record *x, Error *e) {
    Group *g = user;
    Runs *r = g->r;
    if (g->n && !record_compare(&r->group[g->n - 1], x)) return true; /* a task of two runs */
    if (g->n && r->group[0].key != x->key) {
        if (!g->take(g->user, r->group, g->n)) return false;
        g->n = 0;
    }
    if (g->n == r->group_room) {
        const size_t room = 2 * r->group_room + 64;
        Record *more = mem_realloc(r->group, room * sizeof *more);
        if (!more) return error_set(e, E_MEMORY, "", "out of memory for a class");
        r->group = more;
        r->group_room = room;
    }
    r->group[g->n++] = *x;
    return true;
}

bool runs_merge(Runs *r, TakeGroup take, void *user, Error *e) {
    Group g = {.r = r, .take = take, .user = user};
    bool ok = true;
    while (ok && r->n > RUNS_OPEN) ok = collapse(r, e);
    return ok && merge_runs(r, r->n, group_add, &g, e) && (!g.n || take(user, r->group, g.n));
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
    merge_end(r);
    forget_runs(r, r->n);
    mem_free(r->run);
    mem_free(r->done);
    mem_free(r->group);
    folder_remove(&r->own);
    pthread_mutex_destroy(&r->lock);
}
