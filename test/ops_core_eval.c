/* ops_core_eval.c -- compares definitions written in the operators' language with plain loops. The
   tree walk and the loop program evaluate them in doubles, rationals and residues, at random sizes
   including 0 and 1. Loop programs that are damaged or cannot be compiled are refused. */
#include "test/shared/definition_case.h"

static void matmul(Case *c) {
    int64_t B = draw(c, 0, 3), M = draw(c, 0, 6), K = draw(c, 0, 4) ? draw(c, 0, 9) : 150,
            N = draw(c, 0, 3) ? draw(c, 0, 6) : 40;
    Poly k = named(c, "k", K), b = named(c, "b", B), m = named(c, "m", M), n = named(c, "n", N);
    (void)b, (void)m, (void)n;
    input(c, 0, DIMS(B, M, K)), input(c, 1, DIMS(K, N)), output(c, DIMS(B, M, N));
    Call *l = &c->call;
    Dims i = index_of(c, 3), s = bound(l, D(k));
    c->e = sum(l, s, (Cond){0},
               mul(l, at(l, 0, dims_with(i, -1, s.v[0])), at(l, 1, D(s.v[0], i.v[2]))));
    for (int64_t x = 0, o = 0; x < B * M; x++)
        for (int64_t y = 0; y < N; y++, o++) {
            c->want[o] = integer(c, 0);
            for (int64_t z = 0; z < K; z++)
                c->want[o] =
                    plus(c, c->want[o], times(c, c->data[0][x * K + z], c->data[1][z * N + y]));
        }
}

/* A convolution with groups, strides, dilation and padding along one spatial axis. The group is a
   digit of the output channel. */
static void conv(Case *c) {
    int64_t G = draw(c, 1, 3), C = draw(c, 0, 3), O = draw(c, 1, 3), W = draw(c, 3, 40),
            K = draw(c, 1, 3), S = draw(c, 1, 3), P = draw(c, 0, 3), L = draw(c, 1, 2);
    int64_t Y = (W + 2 * P - L * (K - 1) - 1) / S + 1, N = draw(c, 0, 2);
    if (W + 2 * P - L * (K - 1) - 1 < 0) Y = 0;
    Poly g = named(c, "g", G), ch = named(c, "c", C), q = named(c, "q", O), x = named(c, "x", W),
         kk = named(c, "k", K);
    input(c, 0, DIMS(N, G * C, W)), input(c, 1, DIMS(G * O, C, K)), output(c, DIMS(N, G * O, Y));
    Call *l = &c->call;
    Dims i = index_of(c, 3), group = digits(l, i.v[1], D(g, q)), k = bound(l, D(ch, kk));
    Poly at_x = poly(l, "s*i + d*k - p", poly_int(c->w, S), i.v[2], poly_int(c->w, L), k.v[1],
                     poly_int(c->w, P));
    c->e = sum(l, k, inside(l, D(at_x), D(x), 0),
               mul(l, at(l, 0, D(i.v[0], poly(l, "g*c + k", group.v[0], ch, k.v[0]), at_x)),
                   at(l, 1, D(i.v[1], k.v[0], k.v[1]))));
    for (int64_t n = 0, o = 0; n < N; n++)
        for (int64_t p = 0; p < G * O; p++)
            for (int64_t y = 0; y < Y; y++, o++) {
                c->want[o] = integer(c, 0);
                for (int64_t r = 0; r < C; r++)
                    for (int64_t t = 0; t < K; t++) {
                        int64_t h = S * y + L * t - P;
                        if (h < 0 || h >= W) continue;
                        c->want[o] = plus(c, c->want[o],
                                          times(c, c->data[0][(n * G * C + p / O * C + r) * W + h],
                                                c->data[1][(p * C + r) * K + t]));
                    }
            }
}

static void softmax(Case *c) {
    int64_t M = draw(c, 0, 4), N = draw(c, 0, 1) ? draw(c, 0, 5) : draw(c, 20, 40);
    Poly n = named(c, "n", N);
    input(c, 0, DIMS(M, N)), output(c, DIMS(M, N));
    Call *l = &c->call;
    Dims i = index_of(c, 2), j = bound(l, D(n)), k = bound(l, D(n));
    Ex m = mul(l, num(l, -1, 1), maximum(l, j, (Cond){0}, at(l, 0, dims_with(i, 1, j.v[0]))));
    Ex z = sum(l, k, (Cond){0}, fn(l, FN_EXP, add(l, at(l, 0, dims_with(i, 1, k.v[0])), m)));
    c->e = mul(l, fn(l, FN_EXP, add(l, at(l, 0, i), m)), fn(l, FN_RECIP, z));
    for (int64_t x = 0; x < M; x++) {
        Number top = c->num->lowest(), all = integer(c, 0), *row = &c->data[0][x * N];
        for (int64_t y = 0; y < N; y++) top = c->num->most(top, row[y]);
        top = times(c, top, integer(c, -1));
        for (int64_t y = 0; y < N; y++)
            all = plus(c, all, c->num->call(FN_EXP, plus(c, row[y], top)));
        for (int64_t y = 0; y < N; y++)
            c->want[x * N + y] =
                times(c, c->num->call(FN_EXP, plus(c, row[y], top)), c->num->call(FN_RECIP, all));
    }
}

/* Concatenates input 0 and the reversed input 1 along axis 0, by a sum without variables and by
   IF. */
static void concat(Case *c) {
    int64_t A = draw(c, 0, 200), B = draw(c, 0, 70), N = draw(c, 0, 3);
    Poly a = named(c, "a", A), b = named(c, "b", B);
    input(c, 0, DIMS(A, N)), input(c, 1, DIMS(B, N)), output(c, DIMS(A + B, N));
    Call *l = &c->call;
    Dims i = index_of(c, 2);
    Poly left = poly(l, "a - i - 1", a, i.v[0]), back = poly(l, "a + b - 1 - i", a, b, i.v[0]);
    Ex first = sum(l, (Dims){0}, when_ge(l, left, 0), at(l, 0, i));
    Ex second = when(l, when_ge(l, left, 0), num(l, 0, 1), at(l, 1, D(back, i.v[1])));
    c->e = add(l, first, second);
    for (int64_t x = 0; x < (A + B) * N; x++)
        c->want[x] = x < A * N ? c->data[0][x] : c->data[1][(A + B - 1 - x / N) * N + x % N];
}

static void split_at_middle(Case *c) { /* the second part along axis 1, plus a size as a number */
    int64_t N = draw(c, 0, 5), A = draw(c, 0, 5), B = draw(c, 0, 300);
    Poly a = named(c, "a", A);
    input(c, 0, DIMS(N, A + B)), output(c, DIMS(N, B));
    Call *l = &c->call;
    Dims i = index_of(c, 2);
    c->e = add(l, at(l, 0, D(i.v[0], poly(l, "i + a", i.v[1], a))),
               size(l, poly(l, "a*i*j", a, i.v[0], i.v[1])));
    for (int64_t x = 0; x < N; x++)
        for (int64_t y = 0; y < B; y++)
            c->want[x * B + y] = plus(c, c->data[0][x * (A + B) + A + y], integer(c, A * x * y));
}

/* Some subexpressions are common to all rows, some to several rows, some to parts of rows: with f =
   b[z] / (z + 1) the result is h[x, y] * f + g[x, z], but f alone at the lanes from 7 * y on. */
static void rows_in_common(Case *c) {
    int64_t A = draw(c, 1, 3), B = draw(c, 1, 6), Z = draw(c, 0, 2) ? draw(c, 100, 400) : 40;
    input(c, 0, DIMS(Z)), input(c, 1, DIMS(A, Z)), input(c, 2, DIMS(A, B));
    output(c, DIMS(A, B, Z));
    Call *l = &c->call;
    Dims i = index_of(c, 3);
    Ex f = divide(l, at(l, 0, D(i.v[2])), size(l, poly(l, "z + 1", i.v[2]))),
       all = add(l, mul(l, at(l, 2, D(i.v[0], i.v[1])), f), at(l, 1, D(i.v[0], i.v[2])));
    c->e = when(l, when_ge(l, poly(l, "z - 7*y", i.v[2], i.v[1]), 0), f, all);
    for (int64_t x = 0, o = 0; x < A; x++)
        for (int64_t y = 0; y < B; y++)
            for (int64_t z = 0; z < Z; z++, o++) {
                const Number some = times(c, c->data[0][z], c->num->ratio(1, z + 1)),
                             more = times(c, c->data[2][x * B + y], some);
                c->want[o] = z >= 7 * y ? some : plus(c, more, c->data[1][x * Z + z]);
            }
}

static void pad(Case *c) { /* pads with a constant; the pads at the beginning may be negative */
    int64_t W = draw(c, 0, 9), Z = draw(c, 0, 200), P = draw(c, -2, 3), Q = draw(c, 0, 3),
            Y = W + P + 1 > 0 ? W + P + 1 : 0;
    Poly x = named(c, "x", W), z = named(c, "z", Z);
    input(c, 0, DIMS(W, Z)), output(c, DIMS(Y, Z + Q));
    Call *l = &c->call;
    Dims i = index_of(c, 2), s = D(poly(l, "i - p", i.v[0], poly_int(c->w, P)),
                                   poly(l, "i - q", i.v[1], poly_int(c->w, Q)));
    c->e = when(l, inside(l, s, D(x, z), 0), at(l, 0, s), num(l, 7, 2));
    for (int64_t o = 0; o < Y * (Z + Q); o++) {
        int64_t u = o / (Z + Q) - P, v = o % (Z + Q) - Q;
        c->want[o] = u >= 0 && u < W && v >= 0 ? c->data[0][u * Z + v] : c->num->ratio(7, 2);
    }
}

/* Computes the maximum plus the mean over the cells of a window that are inside; their count is
   written with min. */
static void pool(Case *c) {
    int64_t N = draw(c, 1, 200), K = draw(c, 1, 5), S = draw(c, 1, 3), P = draw(c, 0, K - 1),
            Y = N + 2 * P < K ? 0 : (N + 2 * P - K) / S + 1;
    Poly x = named(c, "x", N), kk = named(c, "k", K), s = named(c, "s", S), p = named(c, "p", P);
    input(c, 0, DIMS(2, N)), output(c, DIMS(2, Y));
    Call *l = &c->call;
    Dims i = index_of(c, 2), k = bound(l, D(kk)), j = bound(l, D(kk));
    Poly from = poly(l, "s*i - p", s, i.v[1], p), a = poly(l, "f + k", from, k.v[0]),
         b = poly(l, "f + k", from, j.v[0]);
    /* e - f + min(f, 0) is e - max(f, 0). */
    Poly count =
        poly(l, "e - f + m", least(l, poly(l, "f + k", from, kk), x), from, least(l, from, 0));
    Ex high = maximum(l, k, inside(l, D(a), D(x), 0), at(l, 0, D(i.v[0], a)));
    Ex all = sum(l, j, inside(l, D(b), D(x), 0), at(l, 0, D(i.v[0], b)));
    c->e = add(l, high, divide(l, all, size(l, count)));
    for (int64_t n = 0; n < 2; n++)
        for (int64_t y = 0; y < Y; y++) {
            Number top = c->num->lowest(), total_of = integer(c, 0);
            int64_t cells = 0;
            for (int64_t h = S * y - P; h < S * y - P + K; h++)
                if (h >= 0 && h < N) {
                    top = c->num->most(top, c->data[0][n * N + h]);
                    total_of = plus(c, total_of, c->data[0][n * N + h]);
                    cells++;
                }
            c->want[n * Y + y] = plus(c, top, times(c, total_of, c->num->ratio(1, cells)));
        }
}

/* Reshapes [a, b*d] and [d, a*b] to [a*b, d] and combines both. */
static void reshape(Case *c) {
    int64_t A = draw(c, 1, 5), B = draw(c, 1, 30), E = draw(c, 1, 40);
    Poly a = named(c, "a", A), b = named(c, "b", B), d = named(c, "d", E);
    input(c, 0, DIMS(A, B * E)), input(c, 1, DIMS(E, A * B)), output(c, DIMS(A * B, E));
    Call *l = &c->call;
    Dims i = index_of(c, 2);
    Poly flat = poly(l, "i*d + j", i.v[0], d, i.v[1]);
    Ex one = at(l, 0, digits(l, flat, D(a, poly(l, "b*d", b, d)))),
       two = at(l, 1, digits(l, flat, D(d, poly(l, "a*b", a, b))));
    c->e = max2(l, one, min2(l, two, num(l, 3, 1)));
    for (int64_t o = 0; o < A * B * E; o++)
        c->want[o] = c->num->most(c->data[0][o], c->num->least(c->data[1][o], integer(c, 3)));
}

/* A skewed read, with digits of possibly negative numbers, products of indices, and equations that
   hold at few places. */
static void digits_of_negatives(Case *c) {
    int64_t W = draw(c, 1, 60), A = draw(c, 1, 5), B = draw(c, 2, 6), S = draw(c, 2, 4);
    Poly x = named(c, "x", W), a = named(c, "a", A), b = named(c, "b", B), s = named(c, "s", S);
    (void)x;
    input(c, 0, DIMS(A, B)), output(c, DIMS(3, W));
    Call *l = &c->call;
    Dims i = index_of(c, 2), k = bound(l, D(b));
    Poly skew = poly(l, "j - i*j - i - 3", i.v[1], i.v[0]);
    Ex one = at(l, 0, digits(l, skew, D(a, b)));
    Ex two = sum(l, k, when_eq(l, poly(l, "s*k + 1 - j", s, k.v[0], i.v[1]), 0),
                 at(l, 0, D(poly_int(c->w, 0), k.v[0])));
    Poly seven = poly_int(c->w, 7),
         turn = poly_digit(c->w, least(l, poly(l, "i + 9", i.v[0]), poly(l, "j + 9", i.v[1])),
                           &seven, 1, 0);
    Poly steep =
        poly_floor(c->w, poly_mul(c->w, poly_floor(c->w, poly(l, "j - 3", i.v[1]), b), i.v[0]),
                   poly_int(c->w, 64));
    c->e = add(l, add(l, one, two),
               size(l, poly(l, "f + t + 100*s", poly_floor(c->w, skew, b), turn, steep)));
    for (int64_t u = 0; u < 3; u++)
        for (int64_t v = 0; v < W; v++) {
            int64_t e = v - u * v - u - 3, row = ((e % (A * B)) + A * B) % (A * B);
            int64_t n = floor_div(e, B) + ((u < v ? u : v) + 9) % 7 +
                        100 * floor_div(floor_div(v - 3, B) * u, 64);
            Number y = plus(c, c->data[0][row], integer(c, n));
            if (v >= 1 && (v - 1) % S == 0 && (v - 1) / S < B)
                y = plus(c, y, c->data[0][(v - 1) / S]);
            c->want[u * W + v] = y;
        }
}

static void gather_rows(Case *c) { /* selects rows by FN_DELTA of the data */
    int64_t W = draw(c, 1, 200), Y = draw(c, 0, 6), Z = draw(c, 0, 20);
    Poly x = named(c, "x", W);
    input(c, 0, DIMS(W, Z)), input(c, 1, DIMS(Y)), output(c, DIMS(Y, Z));
    int64_t place[6];
    for (int64_t y = 0; y < Y; y++) c->data[1][y] = integer(c, place[y] = draw(c, 0, W - 1));
    Call *l = &c->call;
    Dims i = index_of(c, 2), k = bound(l, D(x));
    c->e = sum(l, k, (Cond){0},
               mul(l, fn(l, FN_DELTA, sub(l, at(l, 1, D(i.v[0])), size(l, k.v[0]))),
                   at(l, 0, D(k.v[0], i.v[1]))));
    for (int64_t y = 0; y < Y; y++)
        for (int64_t z = 0; z < Z; z++) c->want[y * Z + z] = c->data[0][place[y] * Z + z];
}

/* Selects rows by TAKE, with some indices counted from the end, and adds a second row whose index
   is itself read through an index. */
static void take_rows(Case *c) {
    int64_t W = draw(c, 1, 200), Y = draw(c, 0, 40), Z = draw(c, 0, 20), place[40], other[40];
    Poly x = named(c, "x", W);
    input(c, 0, DIMS(W, Z)), input(c, 1, DIMS(Y)), input(c, 2, DIMS(W)), output(c, DIMS(Y, Z));
    for (int64_t r = 0; r < W; r++) c->data[2][r] = integer(c, (r * r + 1) % W);
    for (int64_t y = 0; y < Y; y++) {
        int64_t back = draw(c, 0, 1);
        place[y] = draw(c, 0, W - 1), other[y] = (place[y] * place[y] + 1) % W;
        c->data[1][y] = integer(c, place[y] - back * W);
    }
    Call *l = &c->call;
    Dims i = index_of(c, 2), k = bound(l, D(x)), j = bound(l, D(x)), m = bound(l, D(x));
    Ex inner = take(l, m.v[0], at(l, 1, D(i.v[0])), at(l, 2, D(m.v[0])));
    c->e = add(l, take(l, k.v[0], at(l, 1, D(i.v[0])), at(l, 0, D(k.v[0], i.v[1]))),
               take(l, j.v[0], inner, at(l, 0, D(j.v[0], i.v[1]))));
    for (int64_t y = 0; y < Y; y++)
        for (int64_t z = 0; z < Z; z++)
            c->want[y * Z + z] =
                plus(c, c->data[0][place[y] * Z + z], c->data[0][other[y] * Z + z]);
}

/* Where a mask is not 0, the result is the sum of the row, elsewhere the element. */
static void choose_by_data(Case *c) {
    int64_t W = draw(c, 1, 200), Y = draw(c, 1, 30);
    Poly x = named(c, "x", W);
    input(c, 0, DIMS(Y, W)), input(c, 1, DIMS(W)), output(c, DIMS(Y, W));
    for (int64_t k = 0; k < W; k++) c->data[1][k] = integer(c, draw(c, 0, 1) * draw(c, 1, 3));
    Call *l = &c->call;
    Dims i = index_of(c, 2), k = bound(l, D(x));
    Ex row = sum(l, k, (Cond){0}, at(l, 0, D(i.v[0], k.v[0])));
    c->e = where(l, at(l, 1, D(i.v[1])), row, at(l, 0, i));
    for (int64_t y = 0; y < Y; y++) {
        Number total_of = integer(c, 0);
        for (int64_t v = 0; v < W; v++) total_of = plus(c, total_of, c->data[0][y * W + v]);
        for (int64_t v = 0; v < W; v++)
            c->want[y * W + v] =
                c->num->approx(c->data[1][v]) != 0 ? total_of : c->data[0][y * W + v];
    }
}

/* An index outside its axis has no value, in the tree walk and in loop programs. */
static void places_outside_are_undefined(void **state) {
    (void)state;
    assert_true(ex_place(-1, 3) == 2 && ex_place(2, 3) == 2 && ex_place(3, 3) == -1 &&
                ex_place(-4, 3) == -1 && ex_place(0, 0) == -1);
    Case *c = case_new(1, &numbers_ratio);
    Poly x = named(c, "x", 2);
    input(c, 0, DIMS(2)), input(c, 1, DIMS(3)), output(c, DIMS(3));
    for (int k = 0; k < 3; k++) c->data[1][k] = integer(c, k);
    Dims i = index_of(c, 1), k = bound(&c->call, D(x));
    c->e = take(&c->call, k.v[0], at(&c->call, 1, i), at(&c->call, 0, k));
    c->want[0] = c->data[0][0];
    c->want[1] = c->data[0][1];
    c->want[2] = c->num->call(FN_RECIP, integer(c, 0));
    both_agree(c);
    case_free(c);
}

static void at_every_seed(void (*make)(Case *), const Numbers *num, int rounds) {
    for (int seed = 0; seed < rounds; seed++) {
        Case *c = case_new((uint64_t)seed, num);
        make(c);
        both_agree(c);
        case_free(c);
    }
}

static void definitions_equal_plain_loops(void **state) {
    (void)state;
    void (*const make[])(Case *) = {
        matmul,         conv,      softmax,       concat,  split_at_middle,
        rows_in_common, pad,       pool,          reshape, digits_of_negatives,
        gather_rows,    take_rows, choose_by_data};
    for (size_t k = 0; k < sizeof make / sizeof make[0]; k++) {
        at_every_seed(make[k], &numbers_real, ROUNDS);
        at_every_seed(make[k], &numbers_residue, ROUNDS / 2);
        if (make[k] != softmax) at_every_seed(make[k], &numbers_ratio, ROUNDS / 2);
    }
}

/* ---- errors */

static void what_cannot_be_said_is_an_error(void **state) {
    (void)state;
    Case *c = case_new(1, &numbers_real);
    Call *l = &c->call;
    LoopProgram p;
    Number y;
    Dims i = index_of(c, 1);
    input(c, 0, DIMS(4));
    Eval eval = {.w = c->w, .num = c->num, .nin = 1, .in = c->in};

    Error e = {0};
    Ex outside = at(l, 0, D(poly(l, "i + 1", i.v[0])));
    assert_true(eval_element(&eval, outside, 1, (const int64_t[]){2}, &y, &e));
    assert_true(y.real == c->data[0][3].real);
    assert_false(eval_element(&eval, outside, 1, (const int64_t[]){3}, &y, &e));
    assert_non_null(strstr(e.reason, "index 4 of axis 0 is outside input 0"));

    e = (Error){0};
    Ex unknown = size(l, poly_named(c->w, "mystery"));
    assert_false(eval_element(&eval, unknown, 1, (const int64_t[]){0}, &y, &e));
    assert_non_null(strstr(e.reason, "mystery"));
    e = (Error){0};
    assert_false(program_of(c, unknown, 1, (const int64_t[]){4}, &p, &e));
    assert_non_null(strstr(e.reason, "mystery"));
    e = (Error){0};
    assert_false(program_of(c, ex_param(c->w, "alpha"), 1, (const int64_t[]){4}, &p, &e));
    case_free(c);
}

static void a_parameter_has_the_value_it_is_given(void **state) {
    (void)state;
    Case *c = case_new(1, &numbers_residue);
    Ex e = mul(&c->call, ex_param(c->w, "alpha"), at(&c->call, 0, index_of(c, 1)));
    input(c, 0, DIMS(5));
    uint32_t word = world_word(c->w, "alpha");
    Number alpha = c->num->ratio(3, 7), got[5];
    LoopProgram p;
    Error error = {0};
    assert_true(loop_compile(
        &(LoopSource){
            .w = c->w, .define = e, .rank = 1, .dim = c->in[0].dim, .nparam = 1, .param = &word},
        c->w->arena, &p, &error));
    const View view[] = {view_dense(0, 0, 1, c->in[0].dim), view_dense(1, 0, 1, c->in[0].dim)};
    Loop *loop = loop_new(p, 2, view, c->num, &error);
    loop_run(loop, (void *const[]){got, c->data[0]}, &alpha);
    for (int k = 0; k < 5; k++)
        assert_true(c->num->equal(got[k], c->num->mul(alpha, c->data[0][k])));
    loop_free(loop);
    case_free(c);
}

/* Tests strides, offsets and every numeric element type: the stored element is that of a C
   conversion. */
static void views_of_every_type(void **state) {
    (void)state;
    Case *c = case_new(1, &numbers_real);
    Ex e = add(&c->call, at(&c->call, 0, D(index_of(c, 2).v[1], index_of(c, 2).v[0])),
               num(&c->call, 1, 1));
    const int64_t dim[] = {3, 2};
    LoopProgram p;
    Error error = {0};
    assert_true(program_of(c, e, 2, dim, &p, &error));
    float x[16] = {0}, want[] = {2, 5, 3, 6, 4, 7};
    for (int k = 0; k < 6; k++) x[2 + 2 * k] = (float)k + 1;
    View in = {
        .slot = 1, .dtype = DT_FLOAT, .rank = 2, .offset = 2, .dim = {2, 3}, .stride = {6, 2}};
    static const int types[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16, DT_BFLOAT16, DT_INT64,  DT_INT32,
                                DT_INT16, DT_INT8,   DT_UINT64,  DT_UINT32,   DT_UINT16, DT_UINT8};
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        uint64_t stored[6];
        float again[6];
        View out = view_dense(0, types[k], 2, dim),
             back = view_dense(0, DT_FLOAT, 1, (const int64_t[]){6}),
             flat = view_dense(1, types[k], 1, (const int64_t[]){6});
        Loop *loop = loop_new(p, 2, (const View[]){out, in}, &numbers_real, &error);
        assert_non_null(loop);
        loop_run(loop, (void *const[]){stored, x}, NULL);
        loop_free(loop);
        LoopProgram read;
        Ex same_place = at(&c->call, 0, index_of(c, 1));
        assert_true(program_of(c, same_place, 1, (const int64_t[]){6}, &read, &error));
        loop = loop_new(read, 2, (const View[]){back, flat}, &numbers_real, &error);
        loop_run(loop, (void *const[]){again, stored}, NULL);
        loop_free(loop);
        assert_memory_equal(again, want, sizeof want);
    }
    View text = view_dense(0, DT_STRING, 2, dim);
    assert_null(loop_new(p, 2, (const View[]){text, in}, &numbers_real, &error));
    case_free(c);
}

/* A program with one word changed is refused or computes something else, but never accesses memory
   outside its tables (the sanitizers check this). */
static void damaged_programs_are_refused(void **state) {
    (void)state;
    Case *c = case_new(3, &numbers_real);
    conv(c);
    LoopProgram p;
    Error error = {0};
    assert_true(loop_compile(&(LoopSource){.w = c->w,
                                           .define = c->e,
                                           .sizes = (Sizes){64, c->size},
                                           .rank = c->out.rank,
                                           .dim = c->out.dim},
                             c->w->arena, &p, &error));
    View view[] = {view_dense(0, DT_DOUBLE, c->out.rank, c->out.dim),
                   view_dense(1, DT_DOUBLE, 3, c->in[0].dim),
                   view_dense(2, DT_DOUBLE, 3, c->in[1].dim)};
    int64_t *words = test_malloc((size_t)p.n * 8);
    int refused = 0;
    for (int k = 0; k < p.n; k++)
        for (int64_t v = -3; v < 300; v += 101) {
            memcpy(words, p.words, (size_t)p.n * 8);
            words[k] = v;
            Error why = {0};
            Loop *loop = loop_new((LoopProgram){p.n, words}, 3, view, &numbers_real, &why);
            refused += !loop;
            assert_true(loop || why.kind != E_NONE);
            loop_free(loop);
        }
    assert_true(refused > p.n);
    assert_null(loop_new((LoopProgram){p.n - 1, p.words}, 3, view, &numbers_real, &error));
    test_free(words);
    case_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_equal_plain_loops),
        cmocka_unit_test(places_outside_are_undefined),
        cmocka_unit_test(what_cannot_be_said_is_an_error),
        cmocka_unit_test(a_parameter_has_the_value_it_is_given),
        cmocka_unit_test(views_of_every_type),
        cmocka_unit_test(damaged_programs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
