/* chains.c -- writes kernels for steps over rows (S_ROWS): element-wise programs that contain sums
   and maxima over a row, such as a softmax or a normalization.

   The program is divided into stages, each of which ends with reductions; a value is computed in
   the first stage that needs it. If rows are short enough, values that later stages read stay in
   registers; otherwise later stages compute them again from the views. */
#include "ops/cuda/generate.h"

/* KEPT: the most elements of a row that one thread keeps in registers. */
enum { CODE_MOST = 200, KEPT = 16 };
typedef struct Chain {
    const Step *step;
    Team team;
    int rank, row_rank, stages,
        per_thread; /* per_thread: elements per thread; 0: nothing is kept */
    int64_t length;
    bool uniform[CODE_MOST]; /* by instruction: its value is the same along the row */
    bool kept[CODE_MOST];
    int first_stage[CODE_MOST]; /* the first stage that can compute the value */
    int stage[CODE_MOST];       /* the stage that computes it; `stages`: none needs it */
} Chain;

static bool reduces(const Scalar *c) { return c->op == C_ROW_SUM || c->op == C_ROW_MAX; }
static bool same_along_row(const View *v, int row_rank) {
    for (int a = v->rank - row_rank; a < v->rank; a++)
        if (v->dim[a] > 1 && v->stride[a]) return false;
    return true;
}
static int operand(const Scalar *c, int k) { return k == 0 ? c->a : k == 1 ? c->b : c->c; }

/* ---- stages */
static void find_first_stages(Chain *h) {
    for (int i = 0; i < h->step->ncode; i++) {
        const Scalar *c = &h->step->code[i];
        h->first_stage[i] = 0;
        h->uniform[i] = c->op != C_VIEW || same_along_row(&h->step->view[c->a], h->row_rank);
        for (int k = 0; k < scalar_values(c->op); k++) {
            const int from = operand(c, k);
            if (h->first_stage[from] > h->first_stage[i]) h->first_stage[i] = h->first_stage[from];
            h->uniform[i] = h->uniform[i] && h->uniform[from];
        }
        if (reduces(c)) h->first_stage[i]++, h->uniform[i] = true;
        if (h->first_stage[i] >= h->stages) h->stages = h->first_stage[i] + 1;
    }
}
/* Puts each value into the latest stage that its users allow, going backwards from the last
   instruction. Values that are not needed stay in no stage. */
static void find_stages(Chain *h) {
    const int n = h->step->ncode;
    for (int i = 0; i < n; i++) h->stage[i] = h->stages, h->kept[i] = false;
    h->stage[n - 1] = h->uniform[n - 1] ? h->first_stage[n - 1] : h->stages - 1;
    for (int i = n - 1; i >= 0; i--) {
        const Scalar *c = &h->step->code[i];
        if (h->stage[i] == h->stages) continue;
        for (int k = 0; k < scalar_values(c->op); k++) {
            const int from = operand(c, k), use = reduces(c) ? h->first_stage[i] - 1 : h->stage[i];
            if (h->uniform[from]) h->stage[from] = h->first_stage[from];
            else if (use < h->stage[from]) h->stage[from] = use;
        }
    }
    for (int i = 0; i < n; i++) {
        const Scalar *c = &h->step->code[i];
        const int use = reduces(c) ? h->first_stage[i] - 1 : h->stage[i];
        for (int k = 0; k < scalar_values(c->op) && h->stage[i] < h->stages; k++)
            if (!h->uniform[operand(c, k)] && h->stage[operand(c, k)] < use)
                h->kept[operand(c, k)] = true;
    }
    h->kept[n - 1] = h->kept[n - 1] && !h->uniform[n - 1];
}
static Chain chain_of(const Step *s, Team team) {
    Chain h = {
        .step = s, .team = team, .rank = s->view[0].rank, .row_rank = (int)s->param[ROWS_AXES]};
    const int members = team_members(team);
    h.length = dims_product(&s->view[0], h.rank - h.row_rank, h.rank);
    const int64_t own = (h.length + members - 1) / members;
    h.per_thread = own <= KEPT ? (int)own : 0;
    h.stages = 1;
    find_first_stages(&h);
    find_stages(&h);
    return h;
}

/* ---- text */
static void compute(Gen *g, const Chain *h, int i) {
    line(g, "const float t%d = %s;", i, program_value(g, &h->step->code[i], "0"));
}
/* Lines for the values that are the same along the row and belong to stage k. */
static void row_values(Gen *g, const Chain *h, int k) {
    for (int i = 0; i < h->step->ncode; i++) {
        const Scalar *c = &h->step->code[i];
        if (!h->uniform[i] || h->stage[i] != k) continue;
        if (!reduces(c)) compute(g, h, i);
        else line(g, "const float t%d = acc%d;", i, i);
    }
}
/* Opens a loop over the elements of the row that this thread has, with two braces that the caller
   closes. */
static void element_loop(Gen *g, const Chain *h) {
    const View *y = &h->step->view[0];
    const int members = team_members(h->team);
    if (h->per_thread) {
        line(g, "UNROLL");
        line(g, "for (int e = 0; e < %d; e++) {", h->per_thread);
        line(g, "const place_t j = me + e * %d;", members);
        line(g, "if (j < %lld) {", (long long)h->length);
    } else {
        line(g, "for (place_t j = me; j < %lld; j += %d) {", (long long)h->length, members);
        line(g, "{");
    }
    line(g, "place_t r = j;");
    for (int a = h->rank - 1; a > h->rank - h->row_rank; a--)
        line(g, "const place_t i%d = r %% %lld; r /= %lld;", a, (long long)y->dim[a],
             (long long)y->dim[a]);
    line(g, "const place_t i%d = r;", h->rank - h->row_rank);
}
/* Determines which values that vary along the row stage k computes, or reads if an earlier stage
   kept them in registers. */
static void find_needed(const Chain *h, int k, bool needed[]) {
    const int n = h->step->ncode;
    for (int i = 0; i < n; i++) needed[i] = false;
    if (k == h->stages - 1 && !h->uniform[n - 1]) needed[n - 1] = true;
    for (int i = n - 1; i >= 0; i--) {
        const Scalar *c = &h->step->code[i];
        const bool ends = reduces(c) && h->stage[i] < h->stages && h->first_stage[i] - 1 == k;
        const bool read = h->per_thread && h->stage[i] < k; /* it is read from a register */
        const bool wanted =
            ends || (needed[i] && !read) || (h->per_thread && h->kept[i] && h->stage[i] == k);
        if (wanted && !ends) needed[i] = true;
        for (int o = 0; wanted && o < scalar_values(c->op); o++)
            if (!h->uniform[operand(c, o)]) needed[operand(c, o)] = true;
    }
}
static ReduceKind kind_of(const Scalar *c) { return c->op == C_ROW_SUM ? REDUCE_SUM : REDUCE_MAX; }
static void stage(Gen *g, const Chain *h, int k) {
    const int n = h->step->ncode;
    bool needed[CODE_MOST];
    find_needed(h, k, needed);
    for (int i = 0; i < n; i++)
        if (reduces(&h->step->code[i]) && h->stage[i] < h->stages && h->first_stage[i] - 1 == k)
            line(g, "float acc%d = %s;", i, team_start(kind_of(&h->step->code[i]), 'f'));
    element_loop(g, h);
    for (int i = 0; i < n; i++) {
        const Scalar *c = &h->step->code[i];
        if (needed[i] && !h->uniform[i]) {
            if (h->per_thread && h->stage[i] < k) line(g, "const float t%d = k%d[e];", i, i);
            else compute(g, h, i);
            if (h->per_thread && h->kept[i] && h->stage[i] == k) line(g, "k%d[e] = t%d;", i, i);
        }
        if (reduces(c) && h->stage[i] < h->stages && h->first_stage[i] - 1 == k)
            line(g, "acc%d = %s;", i,
                 team_fold(g, kind_of(c), 'f', say(g, "acc%d", i), say(g, "t%d", c->a)));
    }
    if (k == h->stages - 1)
        element_store(g, place_of(g, 0, h->rank, ""), say(g, "t%d", n - 1), 'f');
    line(g, "}");
    line(g, "}");
    for (int i = 0; i < n; i++)
        if (reduces(&h->step->code[i]) && h->stage[i] < h->stages && h->first_stage[i] - 1 == k)
            team_combine(g, h->team, kind_of(&h->step->code[i]), 'f', say(g, "acc%d", i));
}

/* ---- variants */
static Team likely(const Step *s) {
    const View *y = &s->view[0];
    const int64_t n = dims_product(y, y->rank - (int)s->param[ROWS_AXES], y->rank);
    return n <= 8 ? BY_THREAD : n <= WARP * KEPT ? BY_WARP : BY_BLOCK;
}
static bool chain_stores(int dtype) { return dtype == F32 || dtype == F16 || dtype == BF16; }
int chain_variants(const Step *s) {
    if (s->nparam != 1 || s->param[ROWS_AXES] < 1 || s->param[ROWS_AXES] > s->view[0].rank ||
        s->ncode < 1 || s->ncode > CODE_MOST || !chain_stores(s->view[0].dtype))
        return 0;
    for (int k = 1; k < s->nview; k++)
        if (s->view[k].dtype == F64 || s->view[k].rank != s->view[0].rank) return 0;
    for (int i = 0; i < s->ncode; i++)
        if (s->code[i].op == C_ACC) return 0;
    return TEAMS;
}
void chain_write(Gen *g, int variant) {
    const Chain h = chain_of(g->step, (Team)((variant + (int)likely(g->step)) % TEAMS));
    const int last = h.step->ncode - 1, outer = h.rank - h.row_rank;
    team_shared(g, h.team, 'f');
    team_rows(g, h.team, dims_product(&h.step->view[0], 0, outer));
    index_lines(g, "row", outer);
    for (int i = 0; h.per_thread && i <= last; i++)
        if (h.kept[i]) line(g, "float k%d[%d];", i, h.per_thread);
    for (int k = 0; k < h.stages; k++) {
        row_values(g, &h, k);
        stage(g, &h, k);
    }
    line(g, "}");
    line(g, "}");
}
