/* fft.c -- dft and stft (ops/fourier.c) in O(n log n), in doubles.

   It uses Stockham's autosort transform with factors 4, 2, 3, 5 and other small primes
   (simd_fft.h). A length with a larger prime factor becomes a convolution with a chirp, which is
   computed by transforms of a length with small factors only (L. I. Bluestein, 1970). If the input
   or the result is real and n is even, a transform of n/2 complex numbers suffices. Some lines are
   computed side by side; blocks of lines are distributed over the threads. The frames of an stft
   are lines that overlap. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/base/least.h"
#include "ops/cpu/cpu.h"
#include <math.h>
#include <string.h>

/* PASSES: passes of a transform, at most. LANES: lines of a block. LARGEST: the largest factor.
   ROOM: complex numbers of a block, about. LONGEST: the longest line. */
enum { Y, X, PASSES = 32, LANES = 8, LARGEST = 31, ROOM = 1 << 16, LONGEST = 1 << 24 };
typedef struct Turns { /* a transform of n complex numbers as a series of passes */
    int64_t n;
    int passes;
    FftPass pass[PASSES]; /* as for one line */
} Turns;
typedef struct Fourier {
    View y, x, window; /* lines are multiplied by it; rank -1: there is none */
    Nest line;         /* over y and x without the axis and without real and imaginary parts */
    const Simd *simd;
    int axis, parts, x_size, y_size;
    int64_t n, lanes, room;      /* room: complex numbers of a line in a buffer */
    bool inverse, half;          /* half: an inverse of which half of the spectrum is given */
    bool reads_real, gives_real; /* real input or result, transformed as n/2 complex numbers */
    Turns turns;
    FftPass whole;                /* converts real lines from or to n/2 complex numbers */
    const double *chirp, *filter; /* NULL: there is no convolution */
    int64_t count;                /* complex numbers of a line that are transformed */
    size_t at, each; /* scratch memory: the offset of part 0, which has two buffers and the window;
                        the bytes of a part */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
} Fourier;
typedef struct Lines { /* a block of lines: where each begins in y and x */
    const Fourier *f;
    const char *x;
    char *y;
    int64_t n, at[2][LANES], apart[2]; /* apart: the distance of neighbouring lines if it is
                                          constant and smaller than that of a line's places; else
                                          0 */
    int64_t im;                        /* from real to imaginary parts in a buffer */
    const double *window;              /* NULL: none */
} Lines;

/* ---- reads lines into a buffer [place, line] and writes them back; `beside` is a buffer of the
   same size */
static void read_part(const Lines *l, int64_t first, int64_t stride, int64_t n, int64_t all,
                      double *to, double *beside) {
    const Fourier *f = l->f;
    const int64_t lines = l->n;
    if (l->apart[X]) {
        const char *x = l->x + (l->at[X][0] + first) * f->x_size;
        for (int64_t k = 0; k < n; k++)
            f->load(to + k * lines, x + k * stride * f->x_size, l->apart[X], lines);
    } else {
        double *run = lines == 1 ? to : beside;
        for (int64_t j = 0; j < lines && n > 0; j++)
            f->load(run + j * n, l->x + (l->at[X][j] + first) * f->x_size, stride, n);
        for (int64_t k = 0; k < n && lines > 1; k++)
            for (int64_t j = 0; j < lines; j++) to[k * lines + j] = run[j * n + k];
    }
    memset(to + n * lines, 0, (size_t)((all - n) * lines) * sizeof *to);
}
static void write_part(const Lines *l, int64_t first, int64_t stride, int64_t n, const double *from,
                       double *beside) {
    const Fourier *f = l->f;
    const int64_t lines = l->n;
    if (l->apart[Y]) {
        char *y = l->y + (l->at[Y][0] + first) * f->y_size;
        for (int64_t k = 0; k < n; k++)
            f->store(y + k * stride * f->y_size, l->apart[Y], from + k * lines, lines);
        return;
    }
    const double *run = lines == 1 ? from : beside;
    for (int64_t k = 0; k < n && lines > 1; k++)
        for (int64_t j = 0; j < lines; j++) beside[j * n + k] = from[k * lines + j];
    for (int64_t j = 0; j < lines && n > 0; j++)
        f->store(l->y + (l->at[Y][j] + first) * f->y_size, stride, run + j * n, n);
}
/* Multiplies n places of each line by every `step`-th number of the window. */
static void multiply_lines(double *x, const double *window, int64_t step, int64_t n,
                           int64_t lines) {
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < lines; j++) x[k * lines + j] *= window[k * step];
}
/* Reads a block. Missing places are 0. */
static void read_lines(const Lines *l, double *to, double *beside) {
    const Fourier *f = l->f;
    const View *x = &f->x;
    const int64_t stride = x->stride[f->axis], im = l->im, lines = l->n,
                  all = f->half ? f->n / 2 + 1 : f->n, n = int64_least(x->dim[f->axis], all);
    if (f->reads_real) {
        read_part(l, 0, 2 * stride, (n + 1) / 2, f->count, to, beside);
        read_part(l, stride, 2 * stride, n / 2, f->count, to + im, beside);
        if (l->window) {
            multiply_lines(to, l->window, 2, f->count, lines);
            multiply_lines(to + im, l->window + 1, 2, f->count, lines);
        }
        return;
    }
    const bool real = x->dim[x->rank - 1] < 2;
    read_part(l, 0, stride, n, all, to, beside);
    read_part(l, x->stride[x->rank - 1], stride, real ? 0 : n, all, to + im, beside);
    if (l->window) {
        multiply_lines(to, l->window, 1, n, lines);
        multiply_lines(to + im, l->window, 1, n, lines);
    }
    for (int64_t k = all; k < f->n && !f->gives_real; k++)
        for (int64_t j = 0; j < lines; j++) {
            to[k * lines + j] = to[(f->n - k) * lines + j];
            to[im + k * lines + j] = -to[im + (f->n - k) * lines + j];
        }
    for (int64_t j = 0; j < lines && f->gives_real; j++)
        to[im + j] = to[im + f->count * lines + j] = 0;
}
static void scale(double *x, double by, int64_t n) {
    for (int64_t k = 0; k < n; k++) x[k] *= by;
}
static void write_lines(const Lines *l, double *from, double *beside) {
    const Fourier *f = l->f;
    const View *y = &f->y;
    const int64_t stride = y->stride[f->axis], im = l->im, lines = l->n, last = y->rank - 1,
                  all = y->dim[f->axis];
    const double one = f->inverse ? 1 / (double)f->n : 1;
    const bool back = f->inverse && f->reads_real; /* the forward transform was computed */
    if (f->inverse) {
        scale(from, one, l->f->room * lines);
        scale(from + im, back ? -one : one, l->f->room * lines);
    }
    if (f->gives_real) {
        write_part(l, 0, 2 * stride, f->count, from, beside);
        write_part(l, stride, 2 * stride, f->count, from + im, beside);
        return;
    }
    const int64_t n = f->reads_real ? int64_least(all, f->count + 1) : all;
    write_part(l, 0, stride, n, from, beside);
    if (y->dim[last] > 1) write_part(l, y->stride[last], stride, n, from + im, beside);
    if (n == all) return;
    const int64_t end = (f->n - 1) * stride;
    scale(from + im, -1, n * lines);
    write_part(l, end, -stride, f->n - n, from + lines, beside);
    write_part(l, end + y->stride[last], -stride, f->n - n, from + im + lines, beside);
}

/* ---- transforms: they go back and forth between buffers a and b, and return the one with the
   result */
static double *turn(const Simd *simd, const Turns *t, int64_t lines, int64_t im, double *a,
                    double *b) {
    for (int k = 0; k < t->passes; k++) {
        FftPass pass = t->pass[k];
        double *const keep = a;
        pass.s *= lines, pass.im = im;
        simd->fft_pass(&pass, b, a);
        a = b, b = keep;
    }
    return a;
}
/* Computes x[k] * chirp[k] * sum over j of (x[j] * chirp[j]) / chirp[k - j]. */
static double *convolve(const Fourier *f, int64_t lines, int64_t im, double *a, double *b) {
    const int64_t n = f->count * lines, rest = (f->turns.n - f->count) * lines;
    FftPass chirp = {.m = f->count, .s = lines, .im = im, .step = 1, .root = f->chirp},
            filter = chirp;
    filter.m = f->turns.n, filter.root = f->filter;
    f->simd->fft_scale(&chirp, a, a);
    memset(a + n, 0, (size_t)rest * sizeof *a);
    memset(a + im + n, 0, (size_t)rest * sizeof *a);
    double *y = turn(f->simd, &f->turns, lines, im, a, b), *other = y == a ? b : a;
    f->simd->fft_scale(&filter, y, y);
    y = turn(f->simd, &f->turns, lines, -im, y + im, other + im) - im;
    f->simd->fft_scale(&chirp, y, y);
    return y;
}
static double *transform(const Fourier *f, int64_t lines, int64_t im, double *a, double *b) {
    FftPass whole = f->whole;
    whole.s = lines, whole.im = im;
    if (f->gives_real) {
        double *const keep = a;
        f->simd->fft_join(&whole, b, a);
        a = b, b = keep;
    }
    /* An inverse transform is a forward one whose real and imaginary parts are exchanged before and
       after. */
    const int64_t swap = f->inverse && !f->reads_real ? im : 0, apart = swap ? -im : im;
    double *y = f->filter ? convolve(f, lines, apart, a + swap, b + swap)
                          : turn(f->simd, &f->turns, lines, apart, a + swap, b + swap);
    y -= swap;
    if (!f->reads_real) return y;
    double *const to = y == a ? b : a;
    f->simd->fft_split(&whole, to, y);
    return to;
}

/* ---- running */
typedef struct FourierRun {
    const Fourier *f;
    char *y, *work;
    const char *x, *window;
} FourierRun;
/* The constant distance of the lines if it is smaller than the distance of a line's places; else
   0. */
static int64_t spacing(const int64_t at[], int64_t n, int64_t stride) {
    const int64_t apart = n > 1 ? at[1] - at[0] : 0;
    for (int64_t k = 2; k < n; k++)
        if (at[k] - at[k - 1] != apart) return 0;
    return apart > 0 && apart < stride ? apart : 0;
}
static void run_block(const FourierRun *run, int64_t first, double *a) {
    const Fourier *f = run->f;
    Lines l = {.f = f, .x = run->x, .y = run->y, .n = int64_least(f->lanes, f->line.count - first)};
    double *const b = a + 2 * f->room * f->lanes;
    l.im = f->room * l.n;
    if (run->window) l.window = b + 2 * f->room * f->lanes;
    for (int64_t k = 0; k < l.n; k++) {
        int64_t index[STEP_RANK], offset[2];
        nest_goto(&f->line, 0, first + k, index, offset);
        l.at[Y][k] = offset[Y], l.at[X][k] = offset[X];
    }
    l.apart[Y] = spacing(l.at[Y], l.n, f->y.stride[f->axis]);
    l.apart[X] = spacing(l.at[X], l.n, f->x.stride[f->axis]);
    read_lines(&l, a, b);
    double *y = transform(f, l.n, l.im, a, b);
    write_lines(&l, y, y == a ? b : a);
}
static void run_part(void *job, int k) {
    const FourierRun *run = job;
    const Fourier *f = run->f;
    const int64_t blocks = (f->line.count + f->lanes - 1) / f->lanes,
                  end = blocks * (k + 1) / f->parts;
    double *buffer = (double *)(void *)(run->work + (size_t)k * f->each);
    if (run->window)
        f->simd->load[CLASS_DOUBLE][f->window.dtype](buffer + 4 * f->room * f->lanes, run->window,
                                                     f->window.stride[0], f->n);
    for (int64_t at = blocks * k / f->parts; at < end; at++) run_block(run, at * f->lanes, buffer);
}
static int fft_run(const Kernel *k, void *const slot[], void *work) {
    const Fourier *f = k->self;
    FourierRun run = {f, view_at(&f->y, slot, work), (char *)work + f->at,
                      view_at(&f->x, slot, work), NULL};
    if (f->window.rank == 1) run.window = view_at(&f->window, slot, work);
    team_run(k->device->team, f->parts, run_part, &run);
    return 0;
}

/* ---- making */
static void root_of_unity(double to[2], int64_t k, int64_t n) {
    const double angle = -6.283185307179586 * (double)k / (double)n;
    to[0] = cos(angle), to[1] = sin(angle);
}
static double *roots_of_unity(Arena *arena, int64_t n) {
    double *root = ARENA_NEW(arena, double, 2 * n);
    for (int64_t k = 0; k < n; k++) root_of_unity(root + 2 * k, k, n);
    return root;
}
/* Lists the passes of a transform of length n. `root` has the roots of unity of a multiple of n.
   False: n has a large prime factor. */
static bool turns_of(int64_t n, const double *root, int64_t roots, Turns *t) {
    static const int first[] = {4, 2, 3, 5};
    int64_t left = n, radix = 0;
    *t = (Turns){.n = n};
    for (int k = 0; left > 1;) {
        radix = k < 4 ? first[k] : k + 3;
        if (radix > LARGEST) return false;
        if (left % radix) {
            k++;
            continue;
        }
        t->pass[t->passes++] = (FftPass){
            .radix = radix, .m = left / radix, .s = n / left, .step = roots / left, .root = root};
        left /= radix;
    }
    return true;
}
/* The least length of at least n that is a power of 2, or 3 or 5 times such a power. */
static int64_t smooth_length(int64_t n) {
    int64_t best = INT64_MAX;
    for (int64_t factor = 1; factor <= 5; factor += 2) {
        int64_t length = factor;
        while (length < n) length *= 2;
        best = int64_least(best, length);
    }
    return best;
}
/* Computes the transform of the inverse of the chirp, as far as the convolution reaches, divided by
   its length. */
static void make_filter(Build *b, Fourier *f) {
    const int64_t n = f->count, m = smooth_length(2 * n - 1);
    double *chirp = ARENA_NEW(b->arena, double, 2 * n),
           *filter = ARENA_NEW(b->arena, double, 2 * m),
           *room = ARENA_NEW(b->scratch, double, 4 * m); /* zeroed */
    for (int64_t k = 0; k < n; k++) {
        root_of_unity(chirp + 2 * k, k * k % (2 * n), 2 * n);
        room[k] = room[(m - k) % m] = chirp[2 * k] / (double)m;
        room[m + k] = room[m + (m - k) % m] = -chirp[2 * k + 1] / (double)m;
    }
    turns_of(m, roots_of_unity(b->arena, m), m, &f->turns);
    const double *y = turn(f->simd, &f->turns, 1, m, room, room + 2 * m);
    for (int64_t k = 0; k < m; k++) filter[2 * k] = y[k], filter[2 * k + 1] = y[m + k];
    f->chirp = chirp, f->filter = filter;
}
static void make_transform(Build *b, Fourier *f) {
    const bool even = f->n % 2 == 0, real = f->x.dim[f->x.rank - 1] < 2;
    f->gives_real = even && f->half;
    f->reads_real = even && real && !f->half;
    f->count = f->gives_real || f->reads_real ? f->n / 2 : f->n;
    const double *root = roots_of_unity(b->arena, f->n);
    f->whole = (FftPass){.m = f->count, .step = 1, .root = root};
    if (!turns_of(f->count, root, f->n, &f->turns)) make_filter(b, f);
    f->room = f->turns.n + 1;
}
/* Reads the parameters of a dft. */
static bool read_dft(const Step *s, Fourier *f) {
    *f = (Fourier){
        .y = s->view[0], .x = s->view[1], .window.rank = -1, .axis = (int)s->param[OP_AXIS]};
    f->inverse = s->param[DFT_INVERSE] != 0, f->half = f->inverse && s->param[DFT_ONESIDED] != 0;
    f->n = s->param[DFT_LENGTH] > 0 ? s->param[DFT_LENGTH]
           : f->half                ? 2 * f->x.dim[f->axis] - 2
                                    : f->x.dim[f->axis];
    return true;
}
/* Reads the parameters of an stft. x becomes its frames [b, frame, place, part]. */
static bool read_stft(const Step *s, Fourier *f) {
    const View *x = &s->view[1];
    const int64_t hop = s->param[STFT_HOP],
                  n = s->nview > 2 ? s->view[2].dim[0] : s->param[STFT_FRAME];
    const bool parts = x->rank > 2;
    *f = (Fourier){.y = s->view[0], .x = *x, .window.rank = -1, .axis = 2, .n = n};
    if (s->nview > 2) f->window = s->view[2];
    f->x.rank = 4;
    f->x.dim[1] = f->y.dim[1], f->x.stride[1] = hop * x->stride[1];
    f->x.dim[2] = n, f->x.stride[2] = x->stride[1];
    f->x.dim[3] = parts ? x->dim[2] : 1, f->x.stride[3] = parts ? x->stride[2] : 0;
    return f->window.rank < 0 || (dtype_numeric(f->window.dtype) && !f->window.format);
}
static bool build(Build *b, bool (*read)(const Step *, Fourier *), Kernel *k) {
    Fourier *f = ARENA_NEW(b->arena, Fourier, 1);
    if (!read(b->step, f) || !dtype_numeric(f->x.dtype) || !dtype_numeric(f->y.dtype) ||
        f->x.format || f->y.format || view_count(&f->y) == 0 || f->n < 1 || f->n > LONGEST)
        return false;
    View line[2] = {f->y, f->x};
    for (int j = 0; j < 2; j++) line[j].dim[f->axis] = line[j].dim[line[j].rank - 1] = 1;
    f->simd = b->device->simd;
    f->x_size = dtype_size(f->x.dtype), f->y_size = dtype_size(f->y.dtype);
    f->load = f->simd->load[CLASS_DOUBLE][f->x.dtype];
    f->store = f->simd->store[CLASS_DOUBLE][f->y.dtype];
    f->line = nest_new(
        b->arena, (const View *const[]) { &line[Y], &line[X] }, 2);
    make_transform(b, f);
    f->lanes = int64_least(int64_least(LANES, f->line.count), 1 + ROOM / f->room);
    f->parts = count_parts(b, (f->line.count + f->lanes - 1) / f->lanes,
                           f->n * f->line.count * (1 + f->turns.passes), 4);
    const int64_t window = f->window.rank == 1 ? f->n : 0;
    f->at = build_bytes(b, (size_t)(4 * f->room * f->lanes + window) * sizeof(double));
    f->each = b->workspace - f->at;
    build_bytes(b, (size_t)(f->parts - 1) * f->each);
    k->run = fft_run, k->self = f;
    return true;
}
bool fft_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    return build(b, read_dft, k);
}
bool stft_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    return build(b, read_stft, k);
}
