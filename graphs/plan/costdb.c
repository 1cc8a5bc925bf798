/* costdb.c -- stores times in one table (kind, device, key) -> seconds. The file is in WAL mode, so
   that readers do not block. Every write is one transaction, so that a killed process leaves the
   entries that it had written. A foreign or damaged file is refused before anything is written to
   it. */
#include "graphs/plan/costdb.h"
#include "ops/base/file.h"
#include "ops/base/intern.h"
#include "ops/base/text.h"
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { APPLICATION_ID = 0x49534f4d, VERSION = 1, BUSY_MS = 10000 }; /* "ISOM" */
struct CostDb {
    sqlite3 *db;
    sqlite3_stmt *get, *put, *forget;
    Cleanup cleanup;
    char path[];
};

static const char schema[] = "CREATE TABLE IF NOT EXISTS cost (kind TEXT NOT NULL, device TEXT NOT "
                             "NULL, key TEXT NOT NULL, seconds REAL "
                             "NOT NULL CHECK (seconds >= 0), "
                             "PRIMARY KEY (kind, device, key)) WITHOUT ROWID";

static int64_t pragma(sqlite3 *db, const char *sql) {
    sqlite3_stmt *s;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

static bool costdb_failed(CostDb *d, Error *e) {
    int code = sqlite3_errcode(d->db);
    bool damaged = code == SQLITE_NOTADB || code == SQLITE_CORRUPT;
    return error_set(e, damaged ? E_INVALID : E_ENVIRONMENT, d->path,
                     damaged ? "not a cost file, or damaged (%s); move it away to start a new one"
                             : "%s",
                     sqlite3_errmsg(d->db));
}

static bool execute(CostDb *d, const char *sql, Error *e) {
    return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK || costdb_failed(d, e);
}

/* Whether the file holds nothing but what SQLite itself writes first. */
static bool is_new(CostDb *d) {
    return pragma(d->db, "PRAGMA application_id") == 0 &&
           pragma(d->db, "SELECT count(*) FROM sqlite_master") == 0;
}

/* Writes the schema to a new file. Another process may be doing so, too; therefore the test is
   repeated within the transaction, which also ensures that a killed process leaves all of the
   schema or nothing. */
static bool start_file(CostDb *d, Error *e) {
    char sql[400];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; %s",
             (int)APPLICATION_ID, (int)VERSION, schema);
    if (!execute(d, "BEGIN IMMEDIATE", e)) return false;
    if ((!is_new(d) || execute(d, sql, e)) && execute(d, "COMMIT", e)) return true;
    sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

static bool check_version(CostDb *d, Error *e) {
    const int64_t application = pragma(d->db, "PRAGMA application_id"),
                  version = pragma(d->db, "PRAGMA user_version");
    if (application < 0) return costdb_failed(d, e);
    if (application != APPLICATION_ID)
        return error_set(e, E_INVALID, d->path,
                         "this SQLite file belongs to another program; name another file");
    return version == VERSION || error_set(e, E_INVALID, d->path,
                                           "cost file has version %d, but this program needs "
                                           "version %d; move it away to start a new one",
                                           (int)version, (int)VERSION);
}

/* Switches to WAL mode. This needs exclusive access to the file, and SQLite gives up at once if
   another process asks for the same, whatever busy timeout is set. */
static bool use_wal(CostDb *d, Error *e) {
    enum { PAUSE_MS = 5 };
    for (int waited = 0; waited < BUSY_MS; waited += PAUSE_MS) {
        const int code = sqlite3_exec(d->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (code != SQLITE_BUSY) return code == SQLITE_OK || costdb_failed(d, e);
        sqlite3_sleep(PAUSE_MS);
    }
    return costdb_failed(d, e);
}

static bool prepare_statements(CostDb *d, Error *e) {
    static const char get[] =
        "SELECT seconds FROM cost WHERE kind = ?1 AND device = ?2 AND key = ?3";
    static const char put[] = "INSERT INTO cost VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET "
                              "seconds = min(seconds, excluded.seconds)";
    static const char forget[] = "DELETE FROM cost WHERE kind = ?1 AND device = ?2 AND key = ?3";
    return (sqlite3_prepare_v2(d->db, get, -1, &d->get, NULL) == SQLITE_OK &&
            sqlite3_prepare_v2(d->db, put, -1, &d->put, NULL) == SQLITE_OK &&
            sqlite3_prepare_v2(d->db, forget, -1, &d->forget, NULL) == SQLITE_OK) ||
           costdb_failed(d, e);
}

static void close_file(void *costs) { costdb_close(costs); }

static bool open_file(CostDb *d, bool named, Error *e) {
    if (sqlite3_open_v2(d->path, &d->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        if (named && !file_writable(d->path, e)) return false;
        return error_set(e, E_ENVIRONMENT, named ? d->path : "costs", "%s",
                         d->db ? sqlite3_errmsg(d->db) : "out of memory");
    }
    sqlite3_busy_timeout(d->db, BUSY_MS);
    return (!is_new(d) || start_file(d, e)) && check_version(d, e) && use_wal(d, e) &&
           execute(d, "PRAGMA synchronous = NORMAL", e) && prepare_statements(d, e);
}

CostDb *costdb_open(Escape *escape, const char *path, Error *e) {
    const char *name = path ? path : ":memory:";
    CostDb *d = mem_realloc(NULL, sizeof *d + strlen(name) + 1);
    if (!d) {
        error_set(e, E_MEMORY, "costs", "out of memory");
        return NULL;
    }
    *d = (CostDb){.db = NULL};
    strcpy(d->path, name);
    cleanup_add(escape, &d->cleanup, close_file, d);
    if (open_file(d, path, e)) return d;
    costdb_close(d);
    return NULL;
}

void costdb_close(CostDb *d) {
    if (!d) return;
    cleanup_cancel(&d->cleanup);
    sqlite3_finalize(d->get);
    sqlite3_finalize(d->put);
    sqlite3_finalize(d->forget);
    sqlite3_close(d->db);
    mem_free(d);
}

static void bind_key(sqlite3_stmt *s, const char *kind, const char *device, const char key[33]) {
    sqlite3_bind_text(s, 1, kind, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 2, device, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 3, key, -1, SQLITE_TRANSIENT);
}

bool costdb_get(CostDb *d, const char *kind, const char *device, const char *key, double *seconds) {
    char hash[33];
    hash_hex(key, strlen(key), hash);
    bind_key(d->get, kind, device, hash);
    bool found = sqlite3_step(d->get) == SQLITE_ROW;
    if (found) *seconds = sqlite3_column_double(d->get, 0);
    sqlite3_reset(d->get);
    return found;
}

bool costdb_put(CostDb *d, const char *kind, const char *device, const char *key, double seconds,
                Error *e) {
    char hash[33];
    hash_hex(key, strlen(key), hash);
    bind_key(d->put, kind, device, hash);
    sqlite3_bind_double(d->put, 4, seconds);
    bool done = sqlite3_step(d->put) == SQLITE_DONE || costdb_failed(d, e);
    sqlite3_reset(d->put);
    return done;
}

bool costdb_forget(CostDb *d, const char *kind, const char *device, const char *key, Error *e) {
    char hash[33];
    hash_hex(key, strlen(key), hash);
    bind_key(d->forget, kind, device, hash);
    bool done = sqlite3_step(d->forget) == SQLITE_DONE || costdb_failed(d, e);
    sqlite3_reset(d->forget);
    return done;
}

bool costdb_default_path(Arena *a, char **path, Error *e) {
    Error why = {0};
    *path = user_file(a, "XDG_CACHE_HOME", ".cache", "costs.sqlite");
    if (!*path)
        return error_set(e, E_ENVIRONMENT, "costs",
                         "neither HOME nor XDG_CACHE_HOME is set; give --cost-db FILE");
    return folders_make(*path, &why) ||
           error_set(e, why.kind, why.place, "%s; give --cost-db FILE", why.reason);
}

const char *costdb_version(void) { return sqlite3_libversion(); }
