/* run_model_outputs.c -- prints a line for each output of run-model, and writes NumPy files if they
   are wanted. */
#include "graphs/run_model.h"
#include "graphs/npy.h"
#include "ops/base/file.h"
#include "ops/base/file_use.h"
#include "ops/base/text.h"
#include "ops/core/element.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void print_output(ModelRun *r, int k, const int64_t dim[], int64_t n) {
    const Type *t = value_type(r->w, r->graph->out[k]);
    char hash[33];
    double least = INFINITY, most = -INFINITY, sum = 0;
    hash_hex(r->out[k], element_bytes(t->dtype, n), hash);
    for (int64_t i = 0; i < n; i++) {
        double x = element_real(t->dtype, r->out[k], i);
        least = fmin(least, x);
        most = fmax(most, x);
        sum += x;
    }
    printf("%s: %s [", model_output_name(r->model, k), dtype_name(t->dtype));
    for (int axis = 0; axis < t->dim.n; axis++) printf(axis ? ", %" PRId64 : "%" PRId64, dim[axis]);
    printf("] %s", hash);
    if (least > most) least = most = NAN; /* no element is a number */
    if (n) printf(" min %.6g max %.6g mean %.6g", least, most, isnan(sum) ? NAN : sum / (double)n);
    printf("\n");
}

static const char *output_file(ModelRun *r, int k) {
    char *name = arena_format(r->arena, "%s", model_output_name(r->model, k));
    for (char *p = name; *p; p++)
        if (*p == '/' || *p == ':') *p = '_';
    return arena_format(r->arena, "%s/%s.npy", r->o.output_dir, name);
}

/* Whether an earlier output is the same one: a model may list an output twice. */
static bool is_listed(const ModelRun *r, int k) {
    for (int j = 0; j < k; j++)
        if (!strcmp(model_output_name(r->model, j), model_output_name(r->model, k))) return true;
    return false;
}

/* Outputs whose names differ only in replaced characters would overwrite each other's file. */
static bool files_differ(ModelRun *r) {
    const char **file = ARENA_NEW(r->arena, const char *, r->graph->nout);
    for (int k = 0; k < r->graph->nout; k++) {
        file[k] = output_file(r, k);
        for (int j = 0; j < k && !is_listed(r, k); j++)
            if (!strcmp(file[j], file[k]))
                return error_set(r->error, E_INVALID, "--output-dir",
                                 "the outputs %s and %s would be the same file, %s",
                                 model_output_name(r->model, j), model_output_name(r->model, k),
                                 file[k]);
    }
    return true;
}

bool run_outputs_apart(ModelRun *r) {
    FileUses u = {.arena = r->arena};
    if (!r->o.output_dir) return true;
    if (!files_differ(r)) return false;
    file_use_add(&u, "MODEL.onnx", r->o.files.v[0], FILE_READ);
    file_use_add(&u, "--cost-db", r->o.cost_db, FILE_ADDED_TO);
    for (int k = 0; k < r->given.n; k++)
        if (r->given.v[k].kind == FEED_TENSOR)
            file_use_add(&u, "--input", r->given.v[k].text, FILE_READ);
    for (int k = 0; k < r->graph->nout; k++)
        if (!is_listed(r, k)) file_use_add(&u, "--output-dir", output_file(r, k), FILE_WRITTEN);
    const StringList weights = model_external_files(r->model, r->arena);
    bool good = files_apart(&u, r->error);
    for (int k = 0; k < weights.n && good; k++)
        good = file_spared(&u, path_beside(r->arena, r->o.files.v[0], weights.v[k]),
                           "has weights of MODEL.onnx", r->error);
    return good;
}

static bool write_output(ModelRun *r, int k, const int64_t dim[], int64_t n) {
    const Type *t = value_type(r->w, r->graph->out[k]);
    Npy f = {.dtype = t->dtype,
             .rank = t->dim.n,
             .data = r->out[k],
             .bytes = element_bytes(t->dtype, n)};
    memcpy(f.dim, dim, sizeof f.dim);
    return npy_write(r->arena, output_file(r, k), &f, r->error);
}

bool run_outputs(ModelRun *r) {
    if (r->o.output_dir && !folder_make(r->o.output_dir, r->error)) return false;
    for (int k = 0; k < r->graph->nout; k++) {
        int64_t dim[RANK_MAX] = {0}, n;
        if (!run_tensor_size(r, r->graph->out[k], model_output_name(r->model, k), dim, &n))
            return false;
        print_output(r, k, dim, n);
        if (r->o.output_dir && !write_output(r, k, dim, n)) return false;
    }
    return true;
}
