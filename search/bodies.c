/* bodies.c -- optimizes the bodies of control flow, for a target that times files. Rules do not
   look into control flow, whose nodes are copied as they are. So each body becomes a model of its
   own, at the sizes that its inputs have in this run; it goes through the whole of optimize-model,
   with its proofs, prices and checks, and the result replaces the body.

   A body that gains nothing is replaced, too, if the model passes weights to it as states of a
   Loop, since they are constants in the new body. The target has the last word, on the whole model:
   on the data of this run an If takes one branch, and a faster branch that is not taken gains
   nothing. */
#include "search/bodies.h"
#include "ops/base/file.h"
#include "ops/base/folder.h"
#include "search/optimize.h"
#include "search/option_table.h"
#include "search/command/search_command.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* If there are more bodies of at least NODES_LEAST nodes, none is optimized. */
enum { BODIES_MOST = 16, NODES_LEAST = 3 };

typedef struct BodySearch {
    Run *r;
    RunFolder *folder;
    const char *rules; /* path of the rules for the bodies; NULL: see write_rules */
    const char *own;   /* path of the user's own rules beside them; NULL: the default, or none */
    double seconds;    /* seconds that each body may take */
    int n;
    ModelBody *body;
    Piece *result; /* by body: its new bytes; empty: it stays as it is */
} BodySearch;

/* Writes all rules of the run to a file if the run names its rules and also discovers new ones, and
   returns its path. NULL: the bodies' runs find the same rules by the options alone, or the run's
   error is set. */
static const char *write_rules(const BodySearch *s) {
    Run *r = s->r;
    if (r->o->discover <= 0 || !r->o->rules) return NULL;
    const char *path = arena_format(r->arena, "%s/bodies.rules", s->folder->path);
    Text t = text_new(r->arena);
    for (int k = 0; k < r->library.set.n; k++)
        text_add(&t, "%s", k ? "\n" : ""), rule_print(&r->library.set.v[k], &t);
    return file_write(path, t.data ? t.data : "", t.size, r->error) ? path : NULL;
}

/* Sets the rules of the bodies' runs. If --discover proved none for --rules-out, there is no such
   file, so that an empty one takes its place. Returns false with the run's error set. */
static bool set_rules(BodySearch *s) {
    Run *r = s->r;
    s->rules = write_rules(s);
    if (r->error->kind != E_NONE) return false;
    s->own = s->rules ? NULL : r->o->rules_out;
    if (!s->own || !access(s->own, F_OK)) return true;
    s->own = arena_format(r->arena, "%s/own.rules", s->folder->path);
    return file_write(s->own, "", 0, r->error);
}

/* Returns the run's options for a body, without those that concern the whole model, and without
   those that would then have no effect, since such options are refused. */
static IsomerOptions body_options(const BodySearch *s, const ModelBody *b) {
    const Run *r = s->r;
    IsomerOptions o = *r->o;
    const char **shape = ARENA_NEW(r->arena, const char *, b->ninput);
    int n = 0;
    for (int k = 0; k < b->ninput; k++)
        if ((shape[n] = body_input_shape(r->w, r->arena, &b->input[k], r->source.sizes))) n++;
    o.input_shape = (IsomerTexts){n, shape};
    o.dim = o.inputs = o.explain = (IsomerTexts){0};
    o.input = o.check_with = o.report = o.html = o.dot = o.proof_log = o.replay = NULL;
    o.fix_dims = o.diff = o.external = o.dry_run = 0;
    /* Rules for the bodies were discovered with the whole model's. */
    o.discover = o.also_threads = 0;
    if (s->rules) o.rules = s->rules;
    o.rules_out = s->own;
    o.external_threshold = optimize_defaults().external_threshold;
    if (o.check <= 0) o.rtol = o.atol = -1;
    o.time_limit = s->seconds;
    return o;
}

static bool write_body(const BodySearch *s, ModelBody *b, const char *path, const char **why) {
    Pieces file;
    Error e = {0};
    Arena *a = s->r->arena;
    if (!model_body(s->r->source.model, b, a, &file, why)) return false;
    if (file_write_pieces(path, file.n, file.v, &e)) return true;
    return *why = arena_format(a, "%s", e.reason), false;
}

/* Optimizes one body. A body that fails stays as it is, unless its check failed or the run is
   cancelled: then the run fails. */
static bool optimize_body(BodySearch *s, int k) {
    Run *r = s->r;
    ModelBody *b = &s->body[k];
    IsomerResult result;
    const char *why, *in = arena_format(r->arena, "%s/body%d.onnx", s->folder->path, k),
                     *out = arena_format(r->arena, "%s/result%d.onnx", s->folder->path, k);
    if (!write_body(s, b, in, &why)) {
        run_say(r, "%s stays as it is: %s", b->name, why);
        return true;
    }
    run_say(r, "%s is optimized as a model of its own", b->name);
    const IsomerOptions o = body_options(s, b);
    const int code =
        optimize_within(r->o->dry_run ? NULL : r->disagreement_beside, in, out, &o, &result);
    char *bytes = NULL;
    size_t n = 0;
    bool good = !run_cancelled(r);
    if (good && code == 1)
        good = error_set(r->error, E_CHECK, r->in, "%s: %s", b->name, result.message);
    else if (good && code) run_say(r, "%s stays as it is: %s", b->name, result.message);
    else if (good && (result.changed || b->known)) {
        good = file_read(r->arena, result.changed ? out : in, &bytes, &n, r->error);
        s->result[k] = (Piece){bytes, n};
        const RunBody kept = {b->name, arena_string(r->arena, result.table, strlen(result.table)),
                              arena_string(r->arena, result.report, strlen(result.report))};
        ARENA_APPEND(r->arena, r->stats.body, r->stats.nbody, kept);
    }
    isomer_result_free(&result);
    return good;
}

/* Whether a body of `a` bytes should be left out rather than one of `b` bytes: the smallest body
   that is large enough, or else the largest. */
static bool rather_left_out(int64_t a, int64_t b, int64_t enough) {
    if ((a >= enough) != (b >= enough)) return a >= enough;
    return a >= enough ? a < b : a > b;
}
static void leave_out(BodySearch *s, int64_t bytes) {
    Run *r = s->r;
    int worst = -1, kept = 0;
    for (int k = 0; k < s->n; k++)
        if (s->result[k].n && (worst < 0 || rather_left_out((int64_t)s->result[k].n,
                                                            (int64_t)s->result[worst].n, bytes)))
            worst = k;
    run_say(r, "%s stays as it is: the file would grow by more than --max-growth allows",
            s->body[worst].name);
    s->result[worst] = (Piece){0};
    for (int k = 0; k < r->stats.nbody; k++)
        if (r->stats.body[k].name != s->body[worst].name) r->stats.body[kept++] = r->stats.body[k];
    r->stats.nbody = kept;
}

static bool put_back(BodySearch *s, Pieces *file) {
    Run *r = s->r;
    const char *why;
    while (r->stats.nbody) {
        if (!model_with_bodies(r->source.model, s->n, s->body, s->result, r->arena, file, &why)) {
            r->stats.bodies_note = arena_format(r->arena, "they cannot be put back: %s", why);
            break;
        }
        const int64_t beyond = (int64_t)file->size - r->stats.bytes_before - r->growth_limit;
        if (beyond <= 0) return search_command_keep(r, file, &r->stats.bodies_note);
        leave_out(s, beyond);
    }
    return *file = (Pieces){0}, true;
}

static bool optimize_all(BodySearch *s, Pieces *file) {
    for (int k = 0; k < s->n; k++)
        if (s->body[k].nodes >= NODES_LEAST && !optimize_body(s, k)) return false;
    return !s->r->stats.nbody || put_back(s, file);
}

bool run_optimize_bodies(Run *r, Pieces *file) {
    BodySearch s = {.r = r};
    int n = 0;
    *file = (Pieces){0};
    if (!run_bodies_wanted(r)) return true;
    s.n = model_bodies(r->source.model, r->arena, &s.body);
    for (int k = 0; k < s.n; k++) n += s.body[k].nodes >= NODES_LEAST;
    if (!n || n > BODIES_MOST) return true;
    s.result = ARENA_NEW(r->arena, Piece, s.n);
    s.seconds = fmax(1, (run_command_seconds(r->o) - run_seconds(r)) / (n + 1));
    s.folder = run_folder(r->arena, r->error);
    const bool good = s.folder && set_rules(&s) && optimize_all(&s, file);
    if (s.folder) cleanup_run(&s.folder->cleanup);
    return good;
}
