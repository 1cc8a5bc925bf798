/* feed.c -- provides the data of inputs. Options are read once, together with their files. The
   numbers of an input on a sample depend only on the seed, the index of the input and the
   sample. */
#include "graphs/feed.h"
#include "graphs/npz.h"
#include "graphs/samples.h"
#include "graphs/sizes.h"
#include "ops/core/element.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char feed_help[] =
    "Data for one or more inputs: NAME=FILE.npy, NAME=LOW..HIGH (uniform, bounds included), "
    "NAME=NUMBER, NAME=random, or FILE.npz with an entry for some or all inputs. Files also "
    "determine sizes. Integers from 2^53 on must be in a file. Default: the initializer of the "
    "same name, else random data; integers are drawn from the range that the graph allows.";

enum { SINGLY = 4 }; /* at most this many inputs are tried one at a time */

/* ---- options */

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

static bool read_range(Arena *a, const char *text, const char *what, FeedOption *x, Error *e) {
    const char *dots = strstr(what, ".."); /* strtod would take the first dot */
    char *end;
    double low = strtod(dots ? arena_string(a, what, (size_t)(dots - what)) : what, &end),
           high = low;
    bool good = !*end && dots != what && *what;
    if (good && dots) high = strtod(dots + 2, &end), good = dots[2] && !*end && high >= low;
    x->kind = FEED_RANGE;
    x->range = (Domain){low, high};
    return good ||
           error_set(e, E_USAGE, "--input",
                     "%s: expected NAME=FILE.npy, NAME=random, NAME=NUMBER, or NAME=LOW..HIGH "
                     "with LOW at most HIGH",
                     text);
}

/* Returns the = between NAME and WHAT, or NULL. Both a name and the name of a file may have others:
   it is the last one that is followed by something other than a file, or by a file that is
   there. */
static const char *name_end(const char *text) {
    const char *last = strrchr(text, '=');
    for (const char *at = last; at && at > text; at--)
        if (*at == '=' && (!ends_with(at + 1, ".npy") || !access(at + 1, F_OK))) return at;
    return last;
}

static bool read_named(Arena *a, const char *text, FeedOption *x, Error *e) {
    const char *equals = name_end(text);
    if (!equals || equals == text)
        return error_set(e, E_USAGE, "--input", "%s: expected NAME=WHAT or FILE.npz", text);
    *x = (FeedOption){.text = text, .name = arena_string(a, text, (size_t)(equals - text))};
    if (!strcmp(equals + 1, "random")) return true;
    if (!ends_with(equals + 1, ".npy")) return read_range(a, text, equals + 1, x, e);
    x->kind = FEED_TENSOR;
    x->text = equals + 1;
    return npy_read(a, equals + 1, &x->tensor, e);
}

static bool read_all(Arena *a, const char *path, FeedOptions *o, int *room, Error *e) {
    NpzEntry *entry;
    int n;
    if (!npz_read(a, path, &n, &entry, e)) return false;
    ARENA_GROW(a, o->v, *room, o->n + n);
    for (int k = 0; k < n; k++)
        o->v[o->n++] = (FeedOption){
            .text = path, .name = entry[k].name, .kind = FEED_TENSOR, .tensor = entry[k].tensor};
    return true;
}

bool feed_options(Arena *a, StringList list, FeedOptions *o, Error *e) {
    int room = 0;
    *o = (FeedOptions){0};
    for (int k = 0; k < list.n; k++) {
        if (ends_with(list.v[k], ".npz")) {
            if (!read_all(a, list.v[k], o, &room, e)) return false;
            continue;
        }
        ARENA_GROW(a, o->v, room, o->n + 1);
        if (!read_named(a, list.v[k], &o->v[o->n++], e)) return false;
    }
    return true;
}

bool feed_fits(const FeedOptions *o, World *w, const Graph *g, const char *const name[], Error *e) {
    for (int k = 0; k < o->n; k++) {
        const FeedOption *x = &o->v[k];
        int j = 0;
        while (j < g->nin && strcmp(name[j], x->name) != 0) j++;
        if (j == g->nin) return input_unknown("--input", x->text, x->name, g->nin, name, e);
        const Type *t = value_type(w, g->in[j]);
        if (x->kind == FEED_TENSOR && x->tensor.rank && t->known && x->tensor.rank != t->dim.n)
            return error_set(e, E_USAGE, "--input",
                             "%s: an array of rank %d, but the input %s has rank %d", x->text,
                             x->tensor.rank, x->name, t->dim.n);
    }
    return true;
}

static const char *shape_text(Arena *a, const FeedOption *x) {
    Text t = text_new(a);
    text_add(&t, "%s:", x->name);
    for (int axis = 0; axis < x->tensor.rank; axis++)
        text_add(&t, axis ? ",%" PRId64 : "%" PRId64, x->tensor.dim[axis]);
    return t.data;
}

StringList feed_shapes(Arena *a, const FeedOptions *o, StringList more) {
    StringList all = {0, ARENA_NEW(a, const char *, o->n + more.n)};
    for (int k = 0; k < o->n; k++)
        if (o->v[k].kind == FEED_TENSOR && o->v[k].tensor.rank)
            all.v[all.n++] = shape_text(a, &o->v[k]);
    for (int k = 0; k < more.n; k++) all.v[all.n++] = more.v[k];
    return all;
}

/* ---- a feed */

int feed_find(const Feed *f, const char *name) {
    for (int k = 0; k < f->n; k++)
        if (!strcmp(f->input[k].name, name)) return k;
    return -1;
}

/* Why numbers of the type cannot be drawn from the range, as the end of a sentence about the type;
   NULL: they can. A range of one number fits every float type, even if the number is infinite or
   NaN. Integers must be below 2^53: from there on a double may not be the number that was given. */
static const char *misfit(Domain d, DType t) {
    bool fits;
    if (dtype_class(t) == 'F') fits = d.high - d.low < INFINITY || d.low == d.high || isnan(d.low);
    else if (fabs(d.low) >= 0x1p53 || fabs(d.high) >= 0x1p53)
        return "; integers must be below 2^53 here, others can be given in a file";
    else fits = element_keeps(t, d.low) && element_keeps(t, d.high);
    return fits ? NULL : ", whose numbers cannot be drawn from this range";
}

/* NumPy has no bfloat16: npy_write writes its bits as uint16. */
static bool holds(const Npy *file, DType t) {
    return file->dtype == t || (file->dtype == DT_UINT16 && t == DT_BFLOAT16);
}

static bool take_option(Feed *f, const FeedOption *x, Error *e) {
    const int k = feed_find(f, x->name);
    assert(k >= 0);
    const DType t = f->input[k].dtype;
    f->input[k].option = x;
    const char *why = x->kind == FEED_RANGE ? misfit(x->range, t) : NULL;
    if (why)
        return error_set(e, E_USAGE, "--input", "%s: the input %s has type %s%s", x->text, x->name,
                         dtype_name(t), why);
    return x->kind != FEED_TENSOR || holds(&x->tensor, t) ||
           error_set(e, E_INVALID, x->text,
                     "the file holds %s elements, but the input %s has type %s",
                     dtype_name(x->tensor.dtype), x->name, dtype_name(t));
}

bool feed_new(const FeedOptions *o, int n, FeedInput *input, Feed *f, Error *e) {
    *f = (Feed){.seed = o->seed, .n = n, .input = input};
    for (int k = 0; k < o->n; k++)
        if (!take_option(f, &o->v[k], e)) return false;
    return true;
}

/* Whether an input holds integers that neither an option nor the model gives. */
static bool is_free(const FeedInput *x) {
    return dtype_is_integer(x->dtype) && !x->has_default &&
           (!x->option || x->option->kind == FEED_DRAWN);
}

static int free_count(const Feed *f) {
    int n = 0;
    for (int k = 0; k < f->n; k++) n += is_free(&f->input[k]);
    return n;
}

/* How many numbers a free input is compared with; 0 if the input is not free. */
static int compared_count(const FeedInput *x) { return is_free(x) ? x->compared.n : 0; }

/* How many attempts replace one input by zeros or ones. */
static int single_count(int nfree) { return nfree > 1 && nfree <= SINGLY ? 2 * nfree : 0; }

/* Whether the current attempt replaces all elements of the input by *number. The attempts are, in
   order: for each free input alone, the numbers with which the graph compares it; if the free
   inputs are few, for each alone, zeros and ones; for all together, zeros and ones. */
static bool replaced_by(const Feed *f, int input, int64_t *number) {
    int at = f->attempt - 1, place = 0;
    if (at < 0 || !is_free(&f->input[input])) return false;
    for (int k = 0; k < f->n; k++) {
        const FeedInput *x = &f->input[k];
        const int n = compared_count(x);
        if (at < n) return *number = x->compared.number[at], k == input;
        at -= n;
        place += k < input && is_free(x);
    }
    const int singly = single_count(free_count(f));
    *number = (at < singly ? at : at - singly) % 2;
    return at >= singly || at / 2 == place;
}

bool feed_next(Feed *f) {
    const int n = free_count(f);
    int all = n ? single_count(n) + 2 : 0;
    for (int k = 0; k < f->n; k++) all += compared_count(&f->input[k]);
    f->attempt = f->attempt < all ? f->attempt + 1 : 0;
    return f->attempt > 0;
}

static bool copy_tensor(const FeedInput *x, int64_t n, void *out, Error *e) {
    const Npy *from = &x->option->tensor;
    if (from->bytes != element_bytes(x->dtype, n))
        return error_set(
            e, E_INVALID, x->option->text,
            "this data has %zu bytes, but the input %s has %zu at the sizes of this run",
            from->bytes, x->name, element_bytes(x->dtype, n));
    memcpy(out, from->data, from->bytes);
    return true;
}

bool feed_data(const Feed *f, int input, int sample, const void *default_bytes, int64_t n,
               void *out, Error *e) {
    const FeedInput *x = &f->input[input];
    const DType t = x->dtype;
    const bool stays = sample == 0 || dtype_class(t) != 'F';
    int64_t instead;
    if (x->option && x->option->kind == FEED_TENSOR && stays) return copy_tensor(x, n, out, e);
    if (x->option && x->option->kind == FEED_RANGE)
        domain_fill(x->option->range, sample_random(f->seed, input, sample), t, n, out);
    else if (!x->option && default_bytes && stays) memcpy(out, default_bytes, element_bytes(t, n));
    else if (replaced_by(f, input, &instead))
        for (int64_t k = 0; k < n; k++) element_set_integer(t, out, k, instead);
    else tensor_draw(f->seed, input, sample, t, x->domain, n, out);
    return true;
}

/* Prints the range from which an input is drawn or, if it is given, would be drawn. */
static void print_domain(const FeedInput *x, Text *t) {
    Domain d;
    domain_drawn(x->domain, x->dtype, &d);
    text_add(t, "%s%.0f..%.0f", is_free(x) ? "" : "given; random numbers would be drawn from ",
             d.low, d.high);
}

static void print_input(const Feed *f, int k, Text *t) {
    int64_t instead;
    text_add(t, "%s%s: ", t->size ? ", " : "", f->input[k].name);
    if (!replaced_by(f, k, &instead)) print_domain(&f->input[k], t);
    else if (instead == 0 || instead == 1) text_add(t, instead ? "ones" : "zeros");
    else text_add(t, "%" PRId64, instead);
}

const char *feed_print(Arena *a, const Feed *f) {
    Text t = text_new(a);
    for (int k = 0; k < f->n; k++)
        if (dtype_is_integer(f->input[k].dtype) && !f->input[k].has_default) print_input(f, k, &t);
    return t.data ? t.data : "";
}

void feed_explain(Arena *a, const Feed *f, Error *e) {
    const Error why = *e;
    const char *inputs = feed_print(a, f);
    if (!*inputs) return;
    *e = (Error){0};
    error_set(e, why.kind, why.place,
              "%.250s (%.150s; %sgive others by --input NAME=LOW..HIGH, NAME=FILE.npy or FILE.npz)",
              why.reason, inputs, free_count(f) ? "it fails with zeros and with ones, too; " : "");
}
