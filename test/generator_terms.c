/* generator_terms.c -- tests the codes of terms, the unrolled programs against the tree-walking
   evaluator of definitions, the keys of values under renaming, and derivations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "generator/basis.h"
#include "ops/base/random.h"
#include "ops/core/eval.h"
#include "graphs/world.h"
#include <stdlib.h>
#include <string.h>

static const char set[] =
    "sizes m n c h w\nat 3 1 2 3 4\nat 4 2 3 2 5\n"
    "input matrix : F [m, m]\ninput image : F [n, c, h, w]\ninput kernel : F [c, c, 3, 3]\n"
    "op add : A A\nop sub : A A\nop matmul : matrix matrix\nop conv pads=[1, 1, 1, 1] : image "
    "kernel\n"
    "op averagepool kernel=[3, 3] pads=[1, 1, 1, 1] : image\nop maxpool kernel=[3, 3] pads=[1, 1, "
    "1, 1] : image\n"
    "op softmax axis=1 : A\nop relu : A\nop tanh : A\nop sqrt : A\nop concat axis=0 : A A\n"
    "op split axis=0 sizes=[p, q] : A -> A A where p = m | n\nop transpose perm=[1, 0] : matrix\n"
    "op band n=m : -> matrix\n";

typedef struct Fixture {
    World *w;
    Space *s;
    Error error;
} Fixture;

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    f->w = graph_world_new(NULL, 0);
    f->s = space_parse(f->w, "test.set", set, strlen(set), &f->error);
    if (f->error.kind) print_message("%s\n", f->error.reason);
    *state = f;
    return f->s ? 0 : -1;
}
static int teardown(void **state) {
    Fixture *f = *state;
    world_free(f->w);
    free(f);
    return 0;
}

/* Draws a term. Returns whether it has types and its root depends on all its instructions. */
static bool random_term(Space *s, Random *r, Term *t) {
    ShapeId shape[REF_OUT + 2 * TERM_OPS];
    *t = (Term){.n = (uint8_t)(1 + random_below(r, 4))};
    for (int v = 0; v < 4; v++) t->kind[t->nvar++] = (uint8_t)random_below(r, (uint64_t)s->nkind);
    for (int i = 0; i < t->n; i++) {
        t->in[i].op = (uint8_t)random_below(r, (uint64_t)s->nop);
        for (int k = 0; k < s->form[t->in[i].op].narg; k++) {
            uint64_t pick = random_below(r, (uint64_t)(4 + i));
            t->in[i].arg[k] = pick < 4 ? (Ref)pick : ref_out((int)pick - 4, 0);
        }
    }
    t->root = ref_out(t->n - 1, 0);
    return term_cone(s->form, t, t->n - 1) == (1u << t->n) - 1 && space_type_term(s, t, shape);
}

/* Returns another spelling of the term: the variables are renumbered and the arguments of
   commutative operators may be swapped. */
static Term respelled(const Space *s, Random *r, const Term *t) {
    Term y = *t;
    uint8_t to[4] = {0, 1, 2, 3};
    for (int v = 3; v > 0; v--) {
        uint64_t u = random_below(r, (uint64_t)v + 1);
        uint8_t x = to[v];
        to[v] = to[u];
        to[u] = x;
    }
    for (int v = 0; v < 4; v++) y.kind[to[v]] = t->kind[v];
    for (int i = 0; i < t->n; i++) {
        for (int k = 0; k < TERM_ARGS; k++)
            if (!ref_is_out(t->in[i].arg[k])) y.in[i].arg[k] = to[t->in[i].arg[k]];
        if (!s->form[t->in[i].op].commutes || random_below(r, 2)) continue;
        Ref x = y.in[i].arg[0];
        y.in[i].arg[0] = y.in[i].arg[1];
        y.in[i].arg[1] = x;
    }
    return y;
}

static void codes_do_not_depend_on_spelling(void **state) {
    Fixture *f = *state;
    Random r = {.seed = 1};
    int n = 0;
    for (int k = 0; k < 20000; k++) {
        Term t, y;
        Code a, b, c;
        if (!random_term(f->s, &r, &t)) continue;
        y = respelled(f->s, &r, &t);
        assert_true(term_canonical(f->s->form, &t, false, &a, NULL));
        assert_true(term_canonical(f->s->form, &y, false, &b, NULL));
        assert_memory_equal(&a, &b, sizeof a);
        Term back = term_decode(f->s->form, &a);
        assert_true(term_is_canonical(f->s->form, &back, &c));
        assert_memory_equal(&a, &c, sizeof a);
        assert_int_equal(back.n, t.n);
        n++;
    }
    assert_true(n > 200);
}

static void codes_tell_terms_apart(void **state) {
    Fixture *f = *state;
    Term t = {.n = 1, .nvar = 2, .in = {{.op = 1, .arg = {0, 1}}}, .root = REF_OUT}, y = t;
    Code a, b;
    y.in[0].arg[1] = 0; /* now x - x instead of x - y */
    assert_true(term_canonical(f->s->form, &t, false, &a, NULL) &&
                term_canonical(f->s->form, &y, false, &b, NULL));
    assert_true(code_compare(&a, &b) != 0);
    y = t;
    y.in[0].op = 0;
    assert_true(term_canonical(f->s->form, &y, false, &b, NULL));
    assert_true(code_compare(&a, &b) != 0);
}

static void a_long_term_has_no_code(void **state) {
    (void)state;
    OpForm form[1] = {{3, 1, false}};
    Code c;
    Term t = {.n = 4, .nvar = 3};
    for (int i = 0; i < 4; i++) t.in[i] = (Instr){.arg = {0, 1, (Ref)(i ? ref_out(i - 1, 0) : 2)}};
    t.root = ref_out(2, 0);
    assert_true(term_canonical(form, &t, false, &c, NULL));
    t.root = ref_out(3, 0);
    assert_false(term_canonical(form, &t, false, &c, NULL));
}

/* Runs the program of each result on drawn inputs at these sizes: each lane must equal the result
   of walking the definition. */
static void check_program(World *w, Sig sig, Sizes sizes, ProgramRunner run) {
    const SigInfo *i = sig_info(w, sig);
    for (int port = 0; port < i->nout; port++) {
        Program *p = program_new(w, w->arena, sig, port, sizes);
        assert_non_null(p);
        Tensor in[3] = {{0}}, out = {0};
        Lanes *lanes[PROGRAM_INPUTS] = {0},
              *y = arena_alloc_raw(w->arena, (size_t)p->nout * sizeof *y);
        Lanes *temp = arena_alloc_raw(w->arena, (size_t)p->ntemp * sizeof *temp);
        for (int k = 0; k <= i->nin; k++) {
            const Type *x = type_get(w, k < i->nin ? i->in[k] : i->out[port]);
            Tensor *to = k < i->nin ? &in[k] : &out;
            to->rank = x->dim.n;
            for (int d = 0; d < x->dim.n; d++)
                assert_true(poly_eval(w, x->dim.v[d], sizes, &to->dim[d]));
            to->v = ARENA_NEW(w->arena, Number, tensor_count(to));
            if (k == i->nin) break;
            lanes[k] = arena_alloc_raw(w->arena, (size_t)tensor_count(to) * sizeof **lanes);
            lanes_draw_type(lanes[k], (int)tensor_count(to), (uint64_t)k + 7, x->dtype, false,
                            LANES_REACH);
        }
        run.run(p, (const Lanes *const *)lanes, temp, y);
        for (int l = 0; l < LANES; l++) {
            for (int k = 0; k < i->nin; k++)
                for (int64_t j = 0; j < tensor_count(&in[k]); j++)
                    in[k].v[j].residue =
                        (Residue){lanes[k][j].p[l], lanes[k][j].q[l], lanes[k][j].order[l]};
            Eval e = {.w = w, .num = &numbers_residue, .sizes = sizes, .nin = i->nin, .in = in};
            Error error = {0};
            assert_true(eval_tensor(&e, sig_define(w, sig, port), &out, &error));
            assert_int_equal(tensor_count(&out), p->nout);
            for (int j = 0; j < p->nout; j++) assert_int_equal(out.v[j].residue.p, y[j].p[l]);
        }
    }
}

static void programs_agree_with_the_definitions(void **state) {
    Fixture *f = *state;
    int n = 0;
    for (int generic = 0; generic < 2; generic++) {
        if (generic) setenv("ISOMER_CPU", "generic", 1);
        ProgramRunner run = program_runner(true);
        unsetenv("ISOMER_CPU");
        for (int op = 0; op < f->s->nop; op++)
            for (int a = 0; a < f->s->nkind; a++)
                for (int b = 0; b < f->s->nkind; b++) {
                    ShapeId arg[TERM_ARGS] = {f->s->kind[a].shape, f->s->kind[b].shape};
                    Typing *t = space_type(f->s, op, arg);
                    if (!t || (f->s->form[op].narg < 2 && b)) continue;
                    ArenaMark mark = arena_mark(f->w->scratch);
                    for (int stage = 0; stage < 2; stage++)
                        check_program(f->w, t->sig, space_sizes(f->s, stage), run);
                    arena_reset(f->w->scratch, mark);
                    n++;
                }
    }
    assert_true(n > 40);
}

/* Tests programs of selection by truth values, comparisons and quantization, whose inputs have
   different types. */
static void programs_choose_and_compare(void **state) {
    static const struct {
        const char *op;
        int nin;
        DType in[3];
        int rank[3];
    } rows[] = {
        {"where", 3, {DT_BOOL, DT_FLOAT, DT_FLOAT}, {2, 2, 0}},
        {"where", 3, {DT_BOOL, DT_UINT8, DT_UINT8}, {2, 2, 2}},
        {"less", 2, {DT_FLOAT, DT_FLOAT}, {2, 2}},
        {"greaterequal", 2, {DT_INT8, DT_INT8}, {2, 0}},
        {"equal", 2, {DT_BOOL, DT_BOOL}, {2, 2}},
        {"xor", 2, {DT_BOOL, DT_BOOL}, {2, 2}},
        {"quantize", 3, {DT_FLOAT, DT_FLOAT, DT_UINT8}, {2, 0, 0}},
        {"dequantize", 3, {DT_INT8, DT_FLOAT, DT_INT8}, {2, 0, 0}},
    };
    Fixture *f = *state;
    World *w = f->w;
    ProgramRunner run = program_runner(true);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const Op *op = op_find(rows[k].op);
        Attr attr[ATTRS_MAX] = {0};
        TypeId in[3];
        for (int a = 0; a < attrs_count(op->attrs); a++)
            assert_true(attr_default(w, &op->attrs[a], 2, &attr[a]));
        for (int j = 0; j < rows[k].nin; j++) {
            const Type t = {.dtype = rows[k].in[j],
                            .known = true,
                            .dim = {rows[k].rank[j], {poly_int(w, 2), poly_int(w, 3)}}};
            in[j] = type_intern(w, &t);
        }
        check_program(w, sig_intern(w, op, attr, rows[k].nin, in, 1), (Sizes){0}, run);
    }
}

/* Drawn elements are numbers that their type can hold, and reach the ends of its range. */
static void numbers_are_drawn_by_type(void **state) {
    enum { N = 2000 };
    static const struct {
        DType type;
        double low, high;
    } rows[] = {{DT_BOOL, 0, 1}, {DT_UINT8, 0, 255}, {DT_INT8, -128, 127}, {DT_INT64, -300, 299}};
    static Lanes x[N];
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double low = 1e9, high = -1e9;
        lanes_draw_type(x, N, k, rows[k].type, false, LANES_REACH);
        for (int j = 0; j < N; j++)
            for (int l = 0; l < LANES; l++) {
                const double v = x[j].order[l];
                assert_true(v == (double)(int64_t)v);
                assert_int_equal(x[j].p[l], ((int64_t)v + RESIDUE_P) % RESIDUE_P);
                low = v < low ? v : low, high = v > high ? v : high;
            }
        assert_true(low == rows[k].low && high == rows[k].high);
    }
}

static void keys_do_not_depend_on_names(void **state) {
    Fixture *f = *state;
    f->s->exponents = true;
    Values *v = values_new(f->s, 0, 3);
    Random r = {.seed = 2};
    int n = 0;
    for (int k = 0; k < 20000 && n < 200; k++) {
        Term t, y;
        Key a, b;
        if (!random_term(f->s, &r, &t)) continue;
        y = respelled(f->s, &r, &t);
        if (!values_load(v, &t) || !values_key(v, t.root, &a)) continue;
        assert_true(values_load(v, &y) && values_key(v, y.root, &b));
        assert_int_equal(a.hash, b.hash);
        n++;
    }
    assert_int_equal(n, 200);
    values_free(v);
}

/* split(concat(x, y)).0 = x, whatever y is. */
static void variables_without_effect_do_not_count(void **state) {
    Fixture *f = *state;
    Values *v = values_new(f->s, 0, 3);
    int concat = 0, split = 0;
    while (strcmp(f->s->op[concat].op->name, "concat")) concat++;
    while (strcmp(f->s->op[split].op->name, "split")) split++;
    Term x = {.nvar = 1}, t = {.n = 2, .nvar = 2, .root = ref_out(1, 0)};
    t.in[0] = (Instr){.op = (uint8_t)concat, .arg = {0, 1}};
    t.in[1] = (Instr){.op = (uint8_t)split, .arg = {REF_OUT}};
    Key a, b, c;
    assert_true(values_load(v, &x) && values_key(v, x.root, &a));
    assert_true(values_load(v, &t) && values_key(v, t.root, &b) &&
                values_key(v, ref_out(1, 1), &c));
    assert_int_equal(a.hash, b.hash);
    assert_int_equal(a.hash, c.hash);
    assert_int_equal(b.name[0].of[1], POOL - 1);
    values_free(v);
}

static Term term_of(const Space *s, const char *op, Ref a, Ref b, int nvar) {
    int k = 0;
    while (strcmp(s->op[k].op->name, op)) k++;
    return (Term){
        .n = 1, .nvar = (uint8_t)nvar, .root = REF_OUT, .in = {{.op = (uint8_t)k, .arg = {a, b}}}};
}

/* relu(relu x) = relu x implies relu(relu(relu x)) = relu x, but not tanh(relu x) = relu x. */
static void derivations_use_equations_inside(void **state) {
    Fixture *f = *state;
    Basis *b = basis_new(f->s, f->w->arena);
    Term one = term_of(f->s, "relu", 0, 0, 1), two = one, three, other;
    two.in[two.n++] = (Instr){.op = one.in[0].op, .arg = {REF_OUT}};
    two.root = ref_out(1, 0);
    three = two;
    three.in[three.n++] = (Instr){.op = one.in[0].op, .arg = {ref_out(1, 0)}};
    three.root = ref_out(2, 0);
    other = two;
    other.in[1].op = term_of(f->s, "tanh", 0, 0, 1).in[0].op;
    assert_int_equal(basis_derive(b, f->s, &three, &one, (BasisSearch){100, 5, 0}, NULL), -1);
    basis_add(b, &two, &one, 0);
    assert_int_equal(basis_derive(b, f->s, &three, &one, (BasisSearch){100, 5, 0}, NULL), 2);
    assert_int_equal(basis_derive(b, f->s, &one, &three, (BasisSearch){100, 3, 0}, NULL), 2);
    assert_int_equal(basis_derive(b, f->s, &other, &one, (BasisSearch){100, 5, 0}, NULL), -1);
}

/* An equation implies its instances with equal variables: what holds for x and y holds with x for
   y. The converse is not derived. */
static void derivations_identify_variables(void **state) {
    Fixture *f = *state;
    Basis *b = basis_new(f->s, f->w->arena);
    Term xy = term_of(f->s, "matmul", 0, 1, 2), sum = term_of(f->s, "sub", 0, 1, 2), xx = xy,
         xs = sum;
    xx.in[0].arg[1] = xs.in[0].arg[1] = 0;
    basis_add(b, &xy, &sum, 0);
    assert_int_equal(basis_derive(b, f->s, &xx, &xs, (BasisSearch){10, 5, 0}, NULL), 1);
    Basis *c = basis_new(f->s, f->w->arena);
    basis_add(c, &xx, &xs, 0);
    assert_int_equal(basis_derive(c, f->s, &xy, &sum, (BasisSearch){10, 5, 0}, NULL), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(codes_do_not_depend_on_spelling, setup, teardown),
        cmocka_unit_test_setup_teardown(codes_tell_terms_apart, setup, teardown),
        cmocka_unit_test(a_long_term_has_no_code),
        cmocka_unit_test_setup_teardown(programs_agree_with_the_definitions, setup, teardown),
        cmocka_unit_test_setup_teardown(programs_choose_and_compare, setup, teardown),
        cmocka_unit_test(numbers_are_drawn_by_type),
        cmocka_unit_test_setup_teardown(keys_do_not_depend_on_names, setup, teardown),
        cmocka_unit_test_setup_teardown(variables_without_effect_do_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(derivations_use_equations_inside, setup, teardown),
        cmocka_unit_test_setup_teardown(derivations_identify_variables, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
