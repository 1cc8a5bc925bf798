/* given.c -- the user's own data for the check: a .npz file with an entry for each input, or some.
   Its sizes count as if they were given by --input-shape; the first sample is this data, all else
   is drawn. */
#include "ops/core/element.h"
#include "search/run.h"
#include <inttypes.h>
#include <string.h>

static const char *shape_text(Arena *a, const NpzEntry *x) {
    Text t = text_new(a);
    text_add(&t, "%s:", x->name);
    for (int axis = 0; axis < x->tensor.rank; axis++)
        text_add(&t, axis ? ",%" PRId64 : "%" PRId64, x->tensor.dim[axis]);
    return t.data;
}

bool run_given(Run *r) {
    const IsomerTexts before = r->o->input_shape;
    if (!r->o->input) return true;
    if (!npz_read(r->arena, r->o->input, &r->ngiven, &r->given, r->error)) return false;
    const char **all = ARENA_NEW(r->arena, const char *, r->ngiven + before.n);
    int n = 0;
    for (int k = 0; k < r->ngiven; k++)
        if (r->given[k].tensor.rank) all[n++] = shape_text(r->arena, &r->given[k]);
    for (int k = 0; k < before.n; k++) all[n++] = before.v[k];
    r->with = *r->o;
    r->with.input_shape = (IsomerTexts){n, all};
    r->o = &r->with;
    return true;
}

bool run_given_fits(Run *r) {
    for (int k = 0; k < r->ngiven; k++) {
        int at = 0;
        while (at < r->original.nin && strcmp(model_input_name(r->model, at), r->given[k].name))
            at++;
        if (at == r->original.nin)
            return error_set(r->error, E_USAGE, r->o->input, "no input of the model is named %s",
                             r->given[k].name);
        DType want = value_type(r->w, r->original.in[at])->dtype, have = r->given[k].tensor.dtype;
        if (want != have)
            return error_set(r->error, E_INVALID, r->o->input, "holds %s, the input %s is %s",
                             dtype_name(have), r->given[k].name, dtype_name(want));
    }
    return true;
}

static const void *usual_data(const Run *r, const char *input, DType t, int64_t n) {
    for (int k = 0; k < r->original.nin; k++)
        if (!strcmp(model_input_name(r->model, k), input))
            return model_input_default(r->model, k, t, n);
    return NULL;
}

const void *run_given_data(const void *run, const char *input, int sample, DType t, int64_t n) {
    const Run *r = run;
    if (sample) return NULL;
    for (int k = 0; k < r->ngiven; k++) {
        const NpzEntry *x = &r->given[k];
        if (!strcmp(x->name, input) && x->tensor.dtype == t &&
            x->tensor.bytes == element_bytes(t, n))
            return x->tensor.data;
    }
    return usual_data(r, input, t, n);
}
