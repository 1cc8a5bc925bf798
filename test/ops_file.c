/* ops_file.c -- tests reading and writing whole files. Failures are planted (a file larger than the
   process may write, impossible paths); after each, the target and its folder are as before. The
   tests write to a folder of their own only. */
#include "ops/base/file.h"
#include "ops/base/file_use.h"
#include "ops/base/random.h"
#include "ops/base/intern.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/isomer-test-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char path[512];
    DIR *d = opendir(folder);
    for (struct dirent *f; (f = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        if (f->d_name[0] != '.') unlink(path);
    }
    closedir(d);
    return rmdir(folder);
}

static int files_in_folder(void) {
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *f; (f = readdir(d));) n += f->d_name[0] != '.';
    closedir(d);
    return n;
}

static void assert_file(Arena *a, const char *path, const void *bytes, size_t n) {
    char *data;
    size_t size;
    Error e = {0};
    assert_true(file_read(a, path, &data, &size, &e));
    assert_int_equal(size, n);
    assert_memory_equal(data, bytes, n);
    assert_int_equal(data[n], 0);
}

static void files_are_replaced_whole(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Error e = {0};
    const char *path = arena_format(a, "%s/file", folder),
               *link = arena_format(a, "%s/link", folder);
    char *bytes = arena_alloc(a, 3000000);
    for (size_t i = 0; i < 3000000; i++) bytes[i] = (char)(random_at(8, i));
    assert_true(file_write(path, "", 0, &e));
    assert_file(a, path, "", 0);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("file", link), 0);
    assert_true(file_write(link, bytes, 3000000, &e));
    assert_file(a, path, bytes, 3000000);
    struct stat s;
    assert_int_equal(lstat(link, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 07777, 0640);
    assert_int_equal(files_in_folder(), 2);
    unlink(link);
    arena_free(a);
}

static void symlink_in_folder(const char *to, const char *name) {
    char link[512];
    snprintf(link, sizeof link, "%s/%s", folder, name);
    assert_int_equal(symlink(to, link), 0);
}

/* A symbolic link is kept and the file that it names is made, also where links lead to links or to
   another folder, and where they begin at the root. */
static void a_link_to_a_file_that_is_missing_is_kept(void **state) {
    (void)state;
    char path[512], made[512], whole[1024];
    struct stat s;
    Arena *a = arena_new(NULL, 0);
    Error e = {0};
    const int before = files_in_folder();
    snprintf(made, sizeof made, "%s/missing", folder);
    snprintf(whole, sizeof whole, "%s/second", folder);
    symlink_in_folder("missing", "second");
    symlink_in_folder("second", "first");
    symlink_in_folder(whole, "absolute");
    symlink_in_folder("circle", "circle");
    symlink_in_folder("no/such/file", "astray");
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, k ? "absolute" : "first");
        assert_true(file_writable(path, &e));
        assert_true(file_write(path, "new", 3, &e));
        assert_file(a, made, "new", 3);
        assert_true(!lstat(path, &s) && S_ISLNK(s.st_mode));
        unlink(made);
    }
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, k ? "circle" : "astray");
        assert_false(file_writable(path, &e));
        assert_false(file_write(path, "new", 3, &e));
        assert_true(!lstat(path, &s) && S_ISLNK(s.st_mode));
    }
    assert_int_equal(files_in_folder(), before + 5);
    const char *const links[] = {"second", "first", "absolute", "circle", "astray"};
    for (int k = 0; k < 5; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, links[k]);
        unlink(path);
    }
    arena_free(a);
}

static void pipes_are_read_to_their_end(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    int ends[2];
    char *bytes = arena_alloc(a, 60000);
    memset(bytes, 'p', 60000);
    for (int n = 0; n <= 60000; n += 30000) {
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], bytes, (size_t)n), n);
        close(ends[1]);
        assert_file(a, arena_format(a, "/dev/fd/%d", ends[0]), bytes, (size_t)n);
        close(ends[0]);
    }
    char *big = arena_alloc(a, 200000);
    FILE *f = popen("head -c 200000 /dev/zero", "r");
    assert_file(a, arena_format(a, "/dev/fd/%d", fileno(f)), big, 200000);
    pclose(f);
    arena_free(a);
}

static void failing_writes_leave_the_target(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    const char *path = arena_format(a, "%s/file", folder),
               *fresh = arena_format(a, "%s/fresh", folder);
    char *bytes = arena_alloc(a, 100000), text[600];
    Error e = {0};
    assert_true(file_write(path, "old", 3, &e));
    int files = files_in_folder();
    struct rlimit all, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    little = all;
    little.rlim_cur = 50000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    bool replaced = file_write(path, bytes, 100000, &e),
         created = file_write(fresh, bytes, 100000, NULL);
    setrlimit(RLIMIT_FSIZE, &all);
    signal(SIGXFSZ, SIG_DFL);
    assert_false(replaced || created);
    assert_int_equal(e.kind, E_ENVIRONMENT);
    error_print(&e, text, sizeof text);
    assert_non_null(strstr(text, "/file: cannot write: File too large (environment)"));
    assert_file(a, path, "old", 3);
    assert_int_equal(files_in_folder(), files);
    arena_free(a);
}

static void pipes_are_written_to(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    const char *path = arena_format(a, "%s/pipe", folder);
    int files = files_in_folder();
    Error e = {0};
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_NONBLOCK);
    assert_true(file_write(path, "through", 7, &e));
    char got[8] = "";
    assert_int_equal(read(fd, got, 7), 7);
    assert_string_equal(got, "through");
    close(fd);
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    assert_true(S_ISFIFO(s.st_mode));
    assert_int_equal(files_in_folder(), files + 1);
    unlink(path);
    arena_free(a);
}

static void paths_that_cannot_be_are_errors(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    char *data;
    size_t n;
    const char *none = arena_format(a, "%s/none/file", folder),
               *below = arena_format(a, "%s/file/below", folder);
    const char *wrong[] = {none, below, folder, "", "/dev/full"};
    for (int k = 0; k < (geteuid() ? 5 : 4);
         k++) { /* a faulty file_write run by root may replace the device */
        Error e = {0};
        assert_false(file_write(wrong[k], "new", 3, &e));
        assert_int_equal(e.kind, E_ENVIRONMENT);
        assert_string_equal(e.place, wrong[k]);
    }
    for (int k = 0; k < 3; k++) {
        Error e = {0};
        assert_false(file_read(a, wrong[k], &data, &n, &e));
        assert_int_equal(e.kind, E_ENVIRONMENT);
    }
    assert_int_equal(files_in_folder(), 1);
    arena_free(a);
}

/* Adjacent pieces become one piece; zeros stay separate. Joined, hashed and written, the pieces are
   the same bytes. */
static void pieces_are_what_they_join_to(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Error e = {0};
    const char *text = "one two three", *path = arena_format(a, "%s/pieces", folder);
    char hex[2][33], *data;
    size_t n;
    Pieces p = pieces_new(a), all = pieces_new(a);
    pieces_add(&p, text, 4);
    pieces_add(&p, text + 4, 4);
    pieces_add(&p, text, 0);
    assert_int_equal(p.n, 1);
    for (int k = 0; k < 40; k++) pieces_add(&p, text + k % 5, 3);
    pieces_append(&all, &p);
    assert_int_equal(all.n, 41);
    assert_int_equal(all.size, 8 + 120);
    const char *joined = pieces_join(&all, a);
    assert_memory_equal(joined, "one two onene e t", 17);
    hash_pieces(&all, hex[0]);
    hash_hex(joined, all.size, hex[1]);
    assert_string_equal(hex[0], hex[1]);
    pieces_add(&all, NULL, 5);
    pieces_add(&all, text, 3);
    assert_true(file_write_pieces(path, all.n, all.v, &e));
    assert_true(file_read(a, path, &data, &n, &e));
    assert_int_equal(n, all.size);
    assert_memory_equal(data, pieces_join(&all, a), n);
    assert_memory_equal(data + 128, "\0\0\0\0\0one", 8);
    unlink(path);
    arena_free(a);
}

/* A file in memory holds the pieces one after the other, with zeros written or left as a hole, and
   is read from its start. */
static void memory_holds_pieces(void **state) {
    enum { HOLE = 2 << 20 };
    const Piece piece[] = {{"ab", 2}, {NULL, 3}, {"c", 1}, {NULL, HOLE}};
    char *got = malloc(HOLE + 16);
    (void)state;
    int fd = file_in_memory(4, piece);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, got, HOLE + 16), 6 + HOLE);
    assert_memory_equal(got, "ab\0\0\0c\0", 7);
    assert_int_equal(got[5 + HOLE], 0);
    assert_int_equal(close(fd), 0);
    free(got);
    assert_int_equal(close(file_in_memory(0, NULL)), 0);
}

/* Missing folders of a path are created, but not the file. A file in place of a folder is named. */
static void missing_folders_are_made(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Error e = {0};
    struct stat s;
    const char *outer = arena_format(a, "%s/outer", folder),
               *inner = arena_format(a, "%s/in", outer), *path = arena_format(a, "%s/file", inner);
    for (int twice = 0; twice < 2; twice++) assert_true(folders_make(path, &e));
    assert_int_equal(stat(inner, &s), 0);
    assert_true(S_ISDIR(s.st_mode));
    assert_int_equal(stat(path, &s), -1);
    assert_true(folders_make("here", &e) && folders_make("", &e));
    assert_true(file_write(path, "x", 1, &e));
    assert_false(folders_make(arena_format(a, "%s/below/file", path), &e));
    assert_int_equal(e.kind, E_ENVIRONMENT);
    assert_string_equal(e.place, path);
    e = (Error){0};
    assert_false(folder_make(path, &e));
    assert_string_equal(e.place, path);
    unlink(path), rmdir(inner), rmdir(outer);
    arena_free(a);
}

/* file_writable predicts what file_write then finds. */
static void what_cannot_be_written_shows_before(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    const char *file = arena_format(a, "%s/file", folder),
               *link = arena_format(a, "%s/link", folder),
               *path[] = {file,
                          folder,
                          "/dev/null",
                          link,
                          arena_format(a, "%s/no/file", folder),
                          arena_format(a, "%s/below", file),
                          ""};
    const bool good[] = {true, false, true, true, false, false, false};
    assert_int_equal(symlink("file", link), 0);
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        Error before = {0}, then = {0};
        assert_int_equal(file_writable(path[k], &before), good[k]);
        assert_int_equal(file_write(path[k], "x", 1, &then), good[k]);
        assert_int_equal(before.kind, then.kind);
        assert_string_equal(before.reason, then.reason);
    }
    unlink(file), unlink(link);
    arena_free(a);
}

/* A file to be written must differ from all other files given, by whatever path they are named.
   Devices may be the same. */
static void files_that_would_be_lost_are_refused(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    const char *file = arena_format(a, "%s/file", folder),
               *link = arena_format(a, "%s/link", folder),
               *other = arena_format(a, "%s/../%s/file", folder, strrchr(folder, '/') + 1);
    const struct {
        FileUse v[2];
        bool apart;
    } files[] = {
        {{{"IN", file, FILE_READ}, {"--report", file, FILE_WRITTEN}}, false},
        {{{"--report", file, FILE_WRITTEN}, {"IN", file, FILE_READ}}, false},
        {{{"--json", file, FILE_WRITTEN}, {"--report", file, FILE_WRITTEN}}, false},
        {{{"IN", file, FILE_READ}, {"--report", link, FILE_WRITTEN}}, false},
        {{{"IN", file, FILE_READ}, {"--report", other, FILE_WRITTEN}}, false},
        {{{"--rules-out", file, FILE_ADDED_TO}, {"IN", file, FILE_READ}}, true},
        {{{"--rules-out", file, FILE_ADDED_TO}, {"--dot", file, FILE_WRITTEN}}, false},
        {{{"--cost-db", file, FILE_ADDED_TO}, {"--rules-out", file, FILE_ADDED_TO}}, false},
        {{{"IN", file, FILE_READ}, {"--rules", file, FILE_READ}}, true},
        {{{"FILE", file, FILE_OPERAND}, {"OUT", file, FILE_RESULT}}, true},
        {{{"OUT", file, FILE_RESULT}, {"FILE", file, FILE_OPERAND}}, true},
        {{{"FILE", file, FILE_OPERAND}, {"--json", file, FILE_WRITTEN}}, false},
        {{{"--rules", file, FILE_READ}, {"OUT", file, FILE_RESULT}}, false},
        {{{"--json", file, FILE_WRITTEN}, {"OUT", file, FILE_RESULT}}, false},
        {{{"IN", file, FILE_READ}, {"--report", NULL, FILE_WRITTEN}}, true},
        {{{"--dot", "/dev/null", FILE_WRITTEN}, {"-o", "/dev/null", FILE_WRITTEN}}, true},
        {{{"IN", file, FILE_READ}, {"--dot", "file", FILE_WRITTEN}}, true}};
    Error e = {0};
    assert_int_equal(symlink("file", link), 0);
    for (int there = 0; there < 2; there++) {
        if (there) assert_true(file_write(file, "x", 1, &e));
        for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
            FileUses u = {.arena = a};
            e = (Error){0};
            if (!there && files[k].v[1].path == link) continue; /* a link to nothing */
            for (int j = 0; j < 2; j++)
                file_use_add(&u, files[k].v[j].name, files[k].v[j].path, files[k].v[j].kind);
            assert_int_equal(files_apart(&u, &e), files[k].apart);
            assert_int_equal(e.kind, files[k].apart ? E_NONE : E_USAGE);
        }
    }
    FileUses u = {.arena = a};
    file_use_add(&u, "--report", file, FILE_WRITTEN);
    file_use_add_list(&u, "IN", (StringList){1, (const char *[]){file}}, FILE_READ);
    assert_false(files_usable(&u, &e));
    assert_string_equal(e.place, "--report");
    assert_non_null(strstr(e.reason, "is also given as IN"));
    unlink(file), unlink(link);
    arena_free(a);
}

/* Only what is written from the start must be writable. */
static void files_that_cannot_be_written_are_refused(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    const char *lost = arena_format(a, "%s/no/file", folder);
    const struct {
        FileUseKind kind;
        bool usable;
    } all[] = {{FILE_OPERAND, true},
               {FILE_READ, true},
               {FILE_ADDED_TO, true},
               {FILE_WRITTEN, false},
               {FILE_RESULT, false}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        Error e = {0};
        FileUses u = {.arena = a};
        file_use_add(&u, "--report", NULL, FILE_WRITTEN);
        file_use_add(&u, "-o", lost, all[k].kind);
        assert_int_equal(u.n, 1);
        assert_int_equal(files_usable(&u, &e), all[k].usable);
        assert_int_equal(e.kind, all[k].usable ? E_NONE : E_ENVIRONMENT);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_replaced_whole),
        cmocka_unit_test(a_link_to_a_file_that_is_missing_is_kept),
        cmocka_unit_test(memory_holds_pieces),
        cmocka_unit_test(missing_folders_are_made),
        cmocka_unit_test(what_cannot_be_written_shows_before),
        cmocka_unit_test(files_that_cannot_be_written_are_refused),
        cmocka_unit_test(files_that_would_be_lost_are_refused),
        cmocka_unit_test(pipes_are_read_to_their_end),
        cmocka_unit_test(failing_writes_leave_the_target),
        cmocka_unit_test(pipes_are_written_to),
        cmocka_unit_test(paths_that_cannot_be_are_errors),
        cmocka_unit_test(pieces_are_what_they_join_to),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
