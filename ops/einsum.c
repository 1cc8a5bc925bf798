/* einsum: y[i..] = the sum, over the letters that y lacks, of the product of the inputs, where each
   axis of a tensor is named by a letter. A letter that occurs twice in an input takes its diagonal.
   The attribute `letters` lists, for each input and then for y, the number of axes and the letter
   of each axis; letters are numbers from 0. */
#include "ops/operator/op.h"
#include <string.h>
enum { LETTERS, LETTERS_MAX = 64 };
static const AttrDef attrs[] = {[LETTERS] = {.name = "letters", .kind = A_INTS}, {0}};

typedef struct Operand {
    int n, letter[RANK_MAX];
} Operand;
/* Reads the letters of one operand, from entry *k of the list on, and moves *k behind them. */
static bool operand(Call *c, int *k, Operand *o) {
    PolyList list = ints(c, LETTERS);
    int64_t n, letter;
    if (*k >= list.n || !is_const(c, list.v[*k], &n) || n < 0 || n > RANK_MAX ||
        *k + 1 + n > list.n)
        return false;
    o->n = (int)n;
    for (int j = 0; j < o->n; j++) {
        if (!is_const(c, list.v[*k + 1 + j], &letter) || letter < 0 || letter >= LETTERS_MAX)
            return false;
        o->letter[j] = (int)letter;
    }
    *k += 1 + o->n;
    return true;
}
typedef struct LetterSizes {
    Poly size[LETTERS_MAX];
    bool seen[LETTERS_MAX];
} LetterSizes;
static bool letter_sizes(Call *c, LetterSizes *s, bool needed) {
    Operand o;
    for (int j = 0, k = 0; j < c->nin; j++) {
        if (!operand(c, &k, &o) || o.n != c->in[j]->dim.n) return false;
        for (int a = 0; a < o.n; a++) {
            if (s->seen[o.letter[a]] && needed)
                need_eq(c, s->size[o.letter[a]], c->in[j]->dim.v[a]);
            if (!s->seen[o.letter[a]]) s->size[o.letter[a]] = c->in[j]->dim.v[a];
            s->seen[o.letter[a]] = true;
        }
    }
    return true;
}
static bool result(Call *c, Operand *y) {
    int k = 0;
    for (int j = 0; j < c->nin; j++)
        if (!operand(c, &k, y)) return false;
    return operand(c, &k, y) && k == ints(c, LETTERS).n;
}

static const char *shape(Call *c) {
    LetterSizes s = {{0}, {false}};
    Operand y;
    if (!letter_sizes(c, &s, true) || !result(c, &y)) return "the letters do not match the inputs";
    const char *why = same_type(c, "FIU");
    c->out[0].dim = (Dims){.n = y.n};
    for (int a = 0; a < y.n; a++) {
        if (!s.seen[y.letter[a]]) return "the result has a letter that no input has";
        c->out[0].dim.v[a] = s.size[y.letter[a]];
    }
    return why;
}
static Ex define(Call *c, Dims i) {
    LetterSizes s = {{0}, {false}};
    Operand y, o;
    Poly index[LETTERS_MAX];
    bool kept[LETTERS_MAX] = {false};
    Dims n = {0};
    int summed[RANK_MAX];
    letter_sizes(c, &s, false);
    result(c, &y);
    for (int a = 0; a < y.n; a++) index[y.letter[a]] = i.v[a], kept[y.letter[a]] = true;
    for (int l = 0; l < LETTERS_MAX; l++) {
        if (!s.seen[l] || kept[l]) continue;
        if (n.n == RANK_MAX) return 0;
        summed[n.n] = l;
        n.v[n.n++] = s.size[l];
    }
    Dims k = bound(c, n);
    for (int j = 0; j < n.n; j++) index[summed[j]] = k.v[j];
    Ex e = 0;
    for (int j = 0, from = 0; j < c->nin; j++) {
        operand(c, &from, &o);
        Dims x = {.n = o.n};
        for (int a = 0; a < o.n; a++) x.v[a] = index[o.letter[a]];
        e = e ? mul(c, e, at(c, j, x)) : at(c, j, x);
    }
    return n.n ? sum(c, k, (Cond){0}, e) : e;
}

/* ---- The item letters:equation: ONNX's text of an equation becomes the list of letters. */

enum { NAMED = 52, ENTRIES = 160 };
typedef struct Equation {
    Call *c;
    Poly list[ENTRIES];
    int nlist;
    bool full;                     /* an entry found no room in the list */
    int number[128];               /* 1 + the number of a letter, by first appearance; 0: new */
    int nletter, count[128], dots; /* dots: most axes that an ellipsis stands for */
} Equation;

static void add_entry(Equation *e, int number) {
    if (e->nlist == ENTRIES) e->full = true;
    else e->list[e->nlist++] = poly_int(e->c->w, number);
}
/* Ends the operand that begins at this place of the list, with its number of axes. */
static void end_operand(Equation *e, int place) {
    if (!e->full) e->list[place] = poly_int(e->c->w, e->nlist - place - 1);
}
/* Is c a letter of ONNX's equations, whatever the locale of the program? */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static int letter_number(Equation *e, char c) {
    if (!e->number[(int)c]) e->number[(int)c] = ++e->nletter;
    return e->number[(int)c] - 1;
}
/* Reads one term, up to a comma or arrow, as the letters of an operand of this rank; an ellipsis
   stands for the axes that have no letter. For the result, rank is -1, and an ellipsis stands for
   all axes that the inputs' ellipses do. Returns the end of the term, or NULL if it does not
   fit. */
static const char *term(Equation *e, const char *at, int rank) {
    int explicit_axes = 0;
    const char *end = at + strcspn(at, ",-");
    for (const char *c = at; c < end; c++) explicit_axes += is_letter(*c);
    int hidden = rank < 0 ? e->dots : rank - explicit_axes;
    if (hidden < 0) return NULL;
    int place = e->nlist;
    bool dotted = false;
    add_entry(e, 0);
    for (; at < end; at++) {
        if (is_letter(*at)) add_entry(e, letter_number(e, *at)), e->count[(int)*at]++;
        else if (*at == '.' && !dotted) {
            dotted = true;
            if (rank >= 0 && hidden > e->dots) e->dots = hidden;
            for (int k = 0; k < hidden; k++) add_entry(e, NAMED + RANK_MAX - hidden + k);
        } else if (*at != '.' && *at != ' ') return NULL;
    }
    if (!dotted && rank >= 0 && hidden) return NULL;
    end_operand(e, place);
    return end;
}
/* Adds the result of an equation without an arrow: the ellipsis, then the letters that occur once,
   in alphabetical order. */
static void implicit_result(Equation *e) {
    int place = e->nlist;
    add_entry(e, 0);
    for (int k = 0; k < e->dots; k++) add_entry(e, NAMED + RANK_MAX - e->dots + k);
    for (int c = 'A'; c <= 'z'; c++)
        if (e->count[c] == 1) add_entry(e, e->number[c] - 1);
    end_operand(e, place);
}
static bool read_equation(Call *c, OnnxRead *r, int attr) {
    const char *at = r->text(r, "equation", NULL);
    if (!at) return r->refuse(r, "the equation is missing");
    Equation e = {.c = c};
    for (int k = 0; k < c->nin; k++) {
        if (!c->in[k]) return r->refuse(r, "an input is missing");
        if (k && *at++ != ',')
            return r->refuse(r, "the equation has fewer terms than there are inputs");
        if (!(at = term(&e, at, c->in[k]->dim.n)))
            return r->refuse(r, "the equation does not match the inputs");
    }
    if (strncmp(at, "->", 2) == 0) at = term(&e, at + 2, -1);
    else implicit_result(&e);
    if (!at || *at) return r->refuse(r, "the equation cannot be parsed");
    if (e.full) return r->refuse(r, "the equation is too long");
    r->give(r, attr, e.nlist, e.list);
    return true;
}
static bool write_equation(Call *c, OnnxWrite *w, int attr) {
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[64] = "", text[2 * ENTRIES], *to = text;
    int next = 0, which = 0;
    PolyList list = ints(c, attr);
    int64_t n, letter;
    if (list.n > ENTRIES)
        return w->refuse(w, "the equation needs more letters than the alphabet has");
    for (int k = 0; k < list.n && is_const(c, list.v[k], &n); k += 1 + (int)n, which++) {
        if (which && which < c->nin) *to++ = ',';
        if (which && which == c->nin) *to++ = '-', *to++ = '>';
        for (int j = 1; j <= n && k + j < list.n && is_const(c, list.v[k + j], &letter); j++) {
            if (letter < 0 || letter >= 64 || (!name[letter] && next == NAMED))
                return w->refuse(w, "the equation needs more letters than the alphabet has");
            if (!name[letter]) name[letter] = alphabet[next++];
            *to++ = name[letter];
        }
    }
    return w->text(w, "equation", arena_string(c->w->arena, text, (size_t)(to - text)));
}
static const OnnxItem items[] = {{"letters", "equation", read_equation, write_equation}, {0}};

/* ---- Steps for a product of two inputs. A letter that only one input has and that y lacks is
   summed in that input first. If y has all other letters, the product is element-wise; otherwise it
   is a product of matrices: letters of both inputs and of y are batch axes, letters of one input
   and of y are rows or columns, and letters that y lacks are summed. */
enum { A, B, Y, TENSORS };
typedef enum Role { BATCH, ROW, COLUMN, SUMMED, ROLES } Role;
typedef struct Letters {
    int n, of[2 * RANK_MAX];
} Letters;
/* The letters of y = a * b. A stride is 0 where a tensor lacks the letter. */
typedef struct Product {
    StepBuf *b;
    View view[TENSORS];
    int has[LETTERS_MAX]; /* bit t: tensor t has the letter */
    int64_t dim[LETTERS_MAX], stride[TENSORS][LETTERS_MAX];
    Letters role[ROLES];
} Product;
/* The roles that the axes of each tensor have, in the order in which a copy has them. */
static const Role roles_of[TENSORS][3] = {
    {BATCH, ROW, SUMMED}, {BATCH, SUMMED, COLUMN}, {BATCH, ROW, COLUMN}};

static void add_letter(Letters *to, int letter) { to->of[to->n++] = letter; }
static void add_letters(Letters *to, const Letters *more) {
    for (int j = 0; j < more->n; j++) add_letter(to, more->of[j]);
}
static void add_axes(Product *p, int tensor, const Operand *o) {
    for (int a = 0; a < o->n; a++) { /* a letter that occurs twice takes the diagonal */
        const int l = o->letter[a];
        p->has[l] |= 1 << tensor;
        p->dim[l] = p->view[tensor].dim[a], p->stride[tensor][l] += p->view[tensor].stride[a];
    }
}
/* Sets *out to the view of a tensor along these letters. False: there are too many. */
static bool view_along(const Product *p, int tensor, const Letters *letters, View *out) {
    View v = p->view[tensor];
    if (letters->n > STEP_RANK) return false;
    v.rank = letters->n;
    for (int k = 0; k < v.rank; k++)
        v.dim[k] = p->dim[letters->of[k]], v.stride[k] = p->stride[tensor][letters->of[k]];
    *out = v;
    return true;
}
/* Makes the tensor a buffer of these letters, and *old the view along them that it was. */
static bool move_to_buffer(Product *p, int tensor, const Letters *letters, View *old) {
    if (!view_along(p, tensor, letters, old) ||
        !step_buffer(p->b, p->view[Y].dtype, old->rank, old->dim, &p->view[tensor]))
        return false;
    memset(p->stride[tensor], 0, sizeof p->stride[tensor]);
    for (int k = 0; k < letters->n; k++)
        p->stride[tensor][letters->of[k]] = p->view[tensor].stride[k];
    return true;
}
/* Sorts letters by descending strides in a tensor. */
static void sort_letters(Letters *letters, const int64_t stride[]) {
    for (int j = 1; j < letters->n; j++)
        for (int k = j; k > 0 && stride[letters->of[k - 1]] < stride[letters->of[k]]; k--) {
            const int other = letters->of[k];
            letters->of[k] = letters->of[k - 1], letters->of[k - 1] = other;
        }
}
static void add_sum(StepBuf *b, const View *y, const View *x) {
    step_param(b, step_add(b, S_REDUCE, 2, (const View[]){*y, *x}), 1, &(int64_t){REDUCE_SUM});
}
/* Sums an input over the letters that no other tensor has. */
static bool sum_alone(Product *p, int tensor) {
    Letters kept = {0}, all;
    View x;
    for (int l = 0; l < LETTERS_MAX; l++)
        if (p->has[l] >> tensor & 1 && p->has[l] != 1 << tensor) add_letter(&kept, l);
    sort_letters(&kept, p->stride[tensor]);
    all = kept;
    for (int l = 0; l < LETTERS_MAX; l++)
        if (p->has[l] == 1 << tensor) add_letter(&all, l), p->has[l] = 0;
    if (all.n == kept.n) return true;
    if (!view_along(p, tensor, &all, &x) || !move_to_buffer(p, tensor, &kept, &(View){0}))
        return false;
    add_sum(p->b, &p->view[tensor], &x);
    return true;
}
static void find_roles(Product *p) {
    for (int l = 0; l < LETTERS_MAX; l++) switch (p->has[l]) {
        case 1 << A | 1 << B | 1 << Y: add_letter(&p->role[BATCH], l); break;
        case 1 << A | 1 << Y: add_letter(&p->role[ROW], l); break;
        case 1 << B | 1 << Y: add_letter(&p->role[COLUMN], l); break;
        case 1 << A | 1 << B: add_letter(&p->role[SUMMED], l); break;
        default: break;
        }
    for (Role r = 0; r < SUMMED; r++) sort_letters(&p->role[r], p->stride[Y]);
    sort_letters(&p->role[SUMMED],
                 p->stride[view_count(&p->view[B]) > view_count(&p->view[A]) ? B : A]);
}
/* The product of a and b for each combination of the letters that y, or a buffer of the terms of
   its sums, has. */
static bool add_terms(Product *p, const View *y, const Letters *letters) {
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_MUL, .a = 0, .b = 1}};
    View v[3] = {*y};
    if (!view_along(p, A, letters, &v[1]) || !view_along(p, B, letters, &v[2])) return false;
    step_code(p->b, step_add(p->b, S_EWISE, 3, v), 3, code);
    return true;
}
/* Multiplies element by element, and then sums if y lacks letters. */
static bool multiply_elements(Product *p) {
    Letters all = {0}, kept = {0}, in_memory;
    View y, terms;
    for (Role r = 0; r < SUMMED; r++) add_letters(&kept, &p->role[r]);
    all = kept;
    add_letters(&all, &p->role[SUMMED]);
    if (!view_along(p, Y, &kept, &y)) return false;
    if (all.n == kept.n) return add_terms(p, &y, &kept);
    in_memory = all;
    sort_letters(&in_memory, p->stride[view_count(&p->view[B]) > view_count(&p->view[A]) ? B : A]);
    if (!move_to_buffer(p, Y, &in_memory, &(View){0}) || !add_terms(p, &p->view[Y], &in_memory) ||
        !view_along(p, Y, &all, &terms))
        return false;
    add_sum(p->b, &y, &terms);
    return true;
}
/* How many of the last letters of a role follow each other in the memory of a tensor. */
static int joined_letters(const Product *p, int tensor, Role role) {
    const Letters *l = &p->role[role];
    const int64_t *stride = p->stride[tensor];
    int n = l->n > 0;
    while (n > 0 && n < l->n &&
           stride[l->of[l->n - n - 1]] == stride[l->of[l->n - n]] * p->dim[l->of[l->n - n]])
        n++;
    return n;
}
static bool has_role(int tensor, Role role) {
    for (int k = 0; k < 3; k++)
        if (roles_of[tensor][k] == role) return true;
    return false;
}
/* The last letters of a role that are one axis of the matrices: those that follow each other in
   memory in all tensors. */
static int axis_letters(const Product *p, Role role) {
    int n = p->role[role].n;
    for (int t = 0; t < TENSORS; t++) {
        const int joined = has_role(t, role) ? joined_letters(p, t, role) : n;
        if (joined < n) n = joined;
    }
    return n;
}
static int64_t axis_length(const Product *p, Role role, int letters) {
    const Letters *l = &p->role[role];
    int64_t n = 1;
    for (int k = l->n - letters; k < l->n; k++) n *= p->dim[l->of[k]];
    return n;
}
/* Whether the letters of a role must be one axis of the matrices, since it would be too short with
   less than all letters. */
static bool must_join(const Product *p, Role role) {
    enum { LEAST = 16 };
    const int n = axis_letters(p, role);
    return n < p->role[role].n && (role == SUMMED || axis_length(p, role, n) < LEAST);
}
/* Copies the tensors in which letters that must be one axis do not follow each other. The copy of y
   is what the product writes; *copied then becomes the view to which it must be moved, and *from
   what is moved. */
static bool copy_apart(Product *p, bool *moved, View *to, View *from) {
    bool copies[TENSORS] = {false};
    for (Role r = ROW; r < ROLES; r++)
        for (int t = 0; t < TENSORS && must_join(p, r); t++)
            copies[t] = copies[t] || (has_role(t, r) && joined_letters(p, t, r) < p->role[r].n);
    for (int t = 0; t < TENSORS; t++) {
        Letters all = {0};
        View old;
        if (!copies[t]) continue;
        for (int k = 0; k < 3; k++) add_letters(&all, &p->role[roles_of[t][k]]);
        if (!move_to_buffer(p, t, &all, &old)) return false;
        if (t != Y) step_copy(p->b, &p->view[t], &old);
        else *moved = true, *to = old, *from = p->view[Y];
    }
    return true;
}
/* Appends an axis to the views of the tensors that have the role: its last n letters, or size 1. */
static void append_axis(const Product *p, View v[TENSORS], Role role, int n) {
    const Letters *l = &p->role[role];
    for (int t = 0; t < TENSORS; t++) {
        if (!has_role(t, role)) continue;
        v[t].dim[v[t].rank] = axis_length(p, role, n);
        v[t].stride[v[t].rank++] = n ? p->stride[t][l->of[l->n - 1]] : 0;
    }
}
static bool multiply_matrices(Product *p) {
    View v[TENSORS], to, from;
    bool moved = false;
    if (!copy_apart(p, &moved, &to, &from)) return false;
    Letters batch = p->role[BATCH];
    const int rows = axis_letters(p, ROW), columns = axis_letters(p, COLUMN);
    for (int k = 0; k < p->role[ROW].n - rows; k++) add_letter(&batch, p->role[ROW].of[k]);
    for (int k = 0; k < p->role[COLUMN].n - columns; k++) add_letter(&batch, p->role[COLUMN].of[k]);
    if (batch.n > STEP_RANK - 2) return false;
    for (int t = 0; t < TENSORS; t++) view_along(p, t, &batch, &v[t]);
    append_axis(p, v, ROW, rows);
    append_axis(p, v, SUMMED, p->role[SUMMED].n);
    append_axis(p, v, COLUMN, columns);
    step_add(p->b, S_GEMM, 3, (const View[]){v[Y], v[A], v[B]});
    if (moved) step_copy(p->b, &to, &from);
    return true;
}
/* Adds steps v[Y] = v[A] * v[B], whose letters are o[Y], o[A] and o[B]. Returns false if there are
   too many letters. */
static bool add_product(const Operand o[TENSORS], const View v[TENSORS], StepBuf *b) {
    Product p = {.b = b};
    for (int t = 0; t < TENSORS; t++) p.view[t] = v[t], add_axes(&p, t, &o[t]);
    if (!sum_alone(&p, A) || !sum_alone(&p, B)) return false;
    find_roles(&p);
    const bool single = !p.role[ROW].n && !p.role[COLUMN].n && p.role[BATCH].n;
    return single || !p.role[SUMMED].n ? multiply_elements(&p) : multiply_matrices(&p);
}

/* ---- Steps for more inputs: two at a time, first the pair whose product takes the fewest
   multiplications. */
enum { FACTORS = 8 };
typedef struct Factors { /* the factors that are still to be multiplied */
    int n;
    Operand o[FACTORS], y;
    View v[FACTORS];
} Factors;
/* Returns how many multiplications the product of factors i and j takes, or -1 if it has too many
   axes. *o becomes its letters, those that y or another factor has, and dim their sizes. */
static double product_cost(const Factors *f, int i, int j, Operand *o, int64_t dim[]) {
    bool seen[LETTERS_MAX] = {false}, wanted[LETTERS_MAX] = {false};
    double all = 1;
    o->n = 0;
    for (int a = 0; a < f->y.n; a++) wanted[f->y.letter[a]] = true;
    for (int k = 0; k < f->n; k++)
        for (int a = 0; k != i && k != j && a < f->o[k].n; a++) wanted[f->o[k].letter[a]] = true;
    for (int side = 0; side < 2; side++) {
        const int k = side ? j : i;
        for (int a = 0; a < f->o[k].n; a++) {
            const int l = f->o[k].letter[a];
            if (seen[l]) continue;
            seen[l] = true, all *= (double)f->v[k].dim[a];
            if (!wanted[l]) continue;
            if (o->n == STEP_RANK || o->n == RANK_MAX) return -1;
            dim[o->n] = f->v[k].dim[a], o->letter[o->n++] = l;
        }
    }
    return all;
}
static bool multiply_pair(Factors *f, const View *y, StepBuf *b) {
    int first = -1, second = -1;
    int64_t dim[STEP_RANK];
    double least = 0;
    Operand o[TENSORS];
    View v[TENSORS];
    v[Y] = *y;
    for (int i = 0; i < f->n; i++)
        for (int j = i + 1; j < f->n; j++) {
            const double cost = product_cost(f, i, j, &o[Y], dim);
            if (cost >= 0 && (first < 0 || cost < least)) first = i, second = j, least = cost;
        }
    if (first < 0) return false;
    product_cost(f, first, second, &o[Y], dim);
    if (f->n == 2) o[Y] = f->y;
    else if (!step_buffer(b, y->dtype, o[Y].n, dim, &v[Y])) return false;
    o[A] = f->o[first], v[A] = f->v[first], o[B] = f->o[second], v[B] = f->v[second];
    if (!add_product(o, v, b)) return false;
    f->n--;
    f->o[first] = o[Y], f->v[first] = v[Y];
    f->o[second] = f->o[f->n], f->v[second] = f->v[f->n];
    return true;
}
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    Factors f = {.n = c->nin};
    const int steps = b->n, buffers = b->nbuffers;
    int from = 0;
    bool done = true;
    if (c->nin < 2 || c->nin > FACTORS || !is_float(c->in[0]) || !result(c, &f.y)) return 0;
    for (int k = 0; k < c->nin; k++) {
        if (!operand(c, &from, &f.o[k])) return 0;
        f.v[k] = in[k];
    }
    while (f.n > 1 && done) done = multiply_pair(&f, &out[0], b);
    if (!done) b->n = steps, b->nbuffers = buffers;
    return done;
}

static const OnnxMap onnx[] = {{"", "Einsum", 12, 0, "letters:equation letters:ordered"}, {0}};
const Op op_einsum = {
    "einsum",     "xs..",        "y", attrs, shape, .define = define, .steps = write_steps,
    .onnx = onnx, .items = items};
