/* proof.c -- proves one instance of a rule, in stages.

   It is shown that the needs of the right side follow from those of the left side, that outputs
   have the same sizes, and that the elements of each output have equal normal forms or are equal as
   real numbers; then that the right side is defined wherever the left side is; last, which class
   the proof has. An index whose digits are looked at is written as high * radix + low, which is one
   to one on 0..n-1 for every radix that divides n. */
#include "verifier/proof.h"
#include "verifier/defined.h"
#include "verifier/explain.h"
#include "verifier/index_checks.h"
#include "verifier/rule_numbers.h"
#include "verifier/reads.h"
#include "verifier/cases.h"
#include <string.h>

typedef struct Attempt { /* lives in an arena, since prover_fail loses local variables */
    Prover prover;
    Escape escape;
    NfImport import;
    const Instance *instance;
    bool needs_only; /* only what concerns sizes is proved */
    Reading reading; /* what the right side reads, compared with the left */
    /* Some output was shown to be equal only by a question about real numbers. */
    bool by_reals;
    RuleNumbers numbers;
    bool any_numbers;     /* the proof holds for any values of the numbers that their types round */
    bool exact;           /* both sides do the same operations */
    bool places;          /* no index need lie within its axis that need not do so on the left */
    bool refines;         /* the right side is defined wherever the left side is */
    bool refines_exactly; /* the same in terms of operations, also for maxima over empty sets */
    bool defines;         /* the right side may be defined where the left side is not */
    bool overflows;       /* the right side may overflow in exp where the left side does not */
    const char *lacks;    /* why `refines` was not shown */
    Lack lack;
    SizeFacts facts;
    IndexSplits *splits; /* by output */
    Proof proof;
} Attempt;

/* ---- sizes */

static void add_missing(Attempt *a, Lit l, const char *side) {
    Proof *q = &a->proof;
    Missing *v = ARENA_NEW(a->prover.arena, Missing, q->nmissing + 1);
    if (q->nmissing) memcpy(v, q->missing, sizeof *v * (size_t)q->nmissing);
    v[q->nmissing++] = (Missing){lit_restated(&a->facts, l), side};
    q->missing = v;
}
/* Adds the condition to the missing ones unless it follows or is there already. */
static void require_condition(Attempt *a, Lit l, const char *side) {
    const Proof *q = &a->proof;
    Lit solved = lit_solved(&a->facts, l);
    for (int k = 0; k < q->nmissing; k++)
        if (q->missing[k].lit.p == l.p && q->missing[k].lit.eq == l.eq) return;
    Dom d = dom_make(&a->prover, 1, &solved);
    if (!d || prover_entails(&a->prover, DOM_TRUE, d)) return;
    add_missing(a, l, side);
}
/* Shows that the needs of the right side hold and that outputs have equal sizes. What does not
   follow is listed as missing. */
static bool sizes_follow(Attempt *a) {
    Prover *p = &a->prover;
    const Instance *i = a->instance;
    trace_stage(p->trace, "sizes of the right side");
    for (int k = 0; k < i->nneed_to; k++) require_condition(a, i->need_to[k], "right side");
    for (int k = 0; k < i->from.nout; k++) {
        Dims x = value_type(p->w, i->from.out[k])->dim, y = value_type(p->w, i->to.out[k])->dim;
        for (int j = 0; j < x.n; j++) require_condition(a, lit_eq(p, x.v[j], y.v[j]), "outputs");
    }
    if (!a->proof.nmissing) return true;
    Text t = text_new(p->arena);
    text_add(&t, "the right side needs something that does not follow from the left side: ");
    for (int k = 0; k < a->proof.nmissing; k++) {
        text_add(&t, k ? ", " : "");
        lit_print(p->w, a->proof.missing[k].lit, &t);
    }
    a->proof.why = t.data;
    return false;
}

/* ---- one output */

typedef struct Output {
    Nf from, to;
    Dom ctx;
} Output;

/* Splits the index that simplification asked to be split. */
static void split_output(Prover *p, IndexSplits *noted, Output *o) {
    Map m;
    splits_note(p, noted, p->split);
    const Dom range = split_index(p, p->split, &m);
    o->from = nf_subst(p, o->from, m);
    o->to = nf_subst(p, o->to, m);
    o->ctx = dom_and(p, dom_subst(p, o->ctx, m), range);
    explain_value(p, "an index by its digits", p->split.variable, *m.to, DOM_TRUE);
    p->split.variable = 0;
}
static const char *attempt_words(const Prover *p) {
    if (p->exact) return ", the same operations";
    if (p->any_numbers) return ", for any values of the rounded numbers";
    return p->unroll ? ", with short sums written out" : "";
}
/* Compares the forms and, if they are not shown to be equal, asks a question about real numbers. In
   the attempt to show the same operations, it asks only if that was necessary for the values,
   too. */
static bool forms_or_reals_equal(Attempt *a, const Output *o) {
    Prover *p = &a->prover;
    if (forms_equal(p, o->ctx, o->from, o->to)) return true;
    if (p->exact && !a->by_reals) return false;
    const Nf difference = nf_add(p, o->from, nf_scale(p, o->to, ratio(-1, 1)));
    if (!reals_zero(p, o->ctx, difference)) return false;
    return a->by_reals = true;
}
static bool output_equal(Attempt *a, int k) {
    Prover *p = &a->prover;
    const Instance *i = a->instance;
    trace_stage(p->trace, arena_format(p->arena, "output %d%s", k + 1, attempt_words(p)));
    Output o = {import_value(&a->import, i->from.out[k]), import_value(&a->import, i->to.out[k]),
                import_range(&a->import, i->from.out[k])};
    if (!prover_entails(p, o.ctx, p->inhabited_if)) p->maybe_empty = true;
    p->index = a->import.index;
    p->nindex = RANK_MAX;
    p->split.variable = 0;
    a->splits[k].n = 0;
    for (int s = 0; s < SPLITS_MAX; s++) {
        o.from = simplify(p, o.ctx, o.from);
        o.to = simplify(p, o.ctx, o.to);
        if (o.from == o.to || !p->split.variable) break;
        split_output(p, &a->splits[k], &o);
    }
    explain_form(p, "left", o.from);
    explain_form(p, "right", o.to);
    const bool equal = forms_or_reals_equal(a, &o);
    p->nindex = 0;
    if (!equal && !a->proof.why)
        a->proof.why =
            arena_format(p->arena, "output %d: the normal forms were not shown to be equal", k + 1);
    return equal;
}
static bool outputs_equal(Attempt *a) {
    for (int k = 0; k < a->instance->from.nout; k++)
        if (!output_equal(a, k)) return false;
    return true;
}

/* ---- where both sides are defined */

typedef struct OutputWants { /* what each side wants of its arguments, over an output's indices */
    const Parts *left, *right;
    Dom ctx;
} OutputWants;
static void explain_wants(Prover *p, const char *title, const Parts *s) {
    for (int k = 0; k < s->n; k++) explain_form(p, title, s->v[k].nf);
}
static OutputWants output_wants(Attempt *a, int k, const char *defined) {
    const Instance *i = a->instance;
    const char *stage = arena_format(a->prover.arena, "output %d, where %s", k + 1, defined);
    trace_stage(a->prover.trace, stage);
    const Parts *left = import_wants(&a->import, i->from.out[k]),
                *right = import_wants(&a->import, i->to.out[k]);
    explain_wants(&a->prover, "left wants", left);
    explain_wants(&a->prover, "right wants", right);
    return (OutputWants){left, right, import_range(&a->import, i->from.out[k])};
}
/* Says in the proof's words what was not shown. */
static void note_lack(Attempt *a, const char *what) {
    Text t = text_new(a->prover.arena);
    text_add(&t, "%s", what);
    if (a->lack.want) text_add(&t, ": ");
    nf_print(&a->prover, a->lack.want, &t);
    a->lacks = t.data;
}
/* Shows that the right side is defined wherever the left side is. This is not part of the equality
   of forms: powers are total there, so the forms are equal everywhere. */
static void refine(Attempt *a) {
    Prover *p = &a->prover;
    bool maybe_empty = p->maybe_empty; /* it is about the forms */
    a->refines = true;
    for (int k = 0; k < a->instance->from.nout && a->refines; k++) {
        const OutputWants x = output_wants(a, k, "it is defined");
        Lack ignored;
        a->refines = wants_follow(p, x.ctx, x.left, x.right, false, &a->lack);
        p->lenient = true;
        a->defines |= a->refines && !wants_follow(p, x.ctx, x.right, x.left, false, &ignored);
        a->overflows |= a->refines && !wants_follow(p, x.ctx, x.left, x.right, true, &ignored);
        p->lenient = false;
    }
    p->maybe_empty = maybe_empty;
    if (a->refines) return;
    note_lack(a, "the right side was not shown to be defined wherever the left side is");
}

/* Shows that operators on the right find their indices within their axes if those on the left do.
   Whatever else is lacking is not used if this fails. */
static void check_places(Attempt *a) {
    Prover *p = &a->prover;
    const bool maybe_empty = p->maybe_empty; /* it is about the forms */
    Lack lack = {0};
    trace_stage(p->trace, "indices");
    import_init(&a->import);
    a->places = places_follow(&a->import, a->instance, &lack);
    p->maybe_empty = maybe_empty;
    if (a->places) return;
    a->lack = lack;
    note_lack(a, "an index on the right side was not shown to lie within its axis");
}

/* Shows the same in terms of operations: functions are uninterpreted, and a maximum wants an
   element. */
static void refine_exactly(Attempt *a) {
    Prover *p = &a->prover;
    const bool maybe_empty = p->maybe_empty;
    p->exact = a->refines_exactly = true;
    import_init(&a->import);
    for (int k = 0; k < a->instance->from.nout && a->refines_exactly; k++) {
        const OutputWants x = output_wants(a, k, "its operations are defined");
        Lack ignored;
        a->refines_exactly = wants_follow(p, x.ctx, x.left, x.right, false, &ignored);
    }
    p->maybe_empty = maybe_empty;
    p->exact = false;
}

/* ---- what the equality is worth in floating point */

/* What the right side reads for output k, compared with the left side. */
static Reading output_reads(Attempt *a, int k) {
    const Instance *i = a->instance;
    const Parts *x = import_reads(&a->import, i->from.out[k]),
                *y = import_reads(&a->import, i->to.out[k]);
    const Dom ctx = import_range(&a->import, i->from.out[k]);
    if (x->too_many || y->too_many) return READS_OTHER;
    return reads_compare(&a->prover, ctx, a->import.index, &a->splits[k], x, y);
}
/* The same for all outputs. Sums and maxima are assumed to have at least one element each. */
static Reading compare_reads(Attempt *a, ReadsAsked asked) {
    static const char *const stages[] = {
        [READS_ALL] = "the elements that are read",
        [READS_PADDED] = "the factors of products, those of padding among them",
        [READS_PASSING] = "the elements that are read and whose NaN passes",
        [READS_COMPUTED] = "the operations that are done"};
    Prover *p = &a->prover;
    Reading reading = READS_SAME;
    trace_stage(p->trace, stages[asked]);
    p->lenient = true;
    import_init(&a->import);
    a->import.reads_asked = asked;
    for (int k = 0; k < a->instance->from.nout && reading != READS_OTHER; k++) {
        const Reading here = output_reads(a, k);
        if (here > reading) reading = here;
    }
    p->lenient = false;
    return overflow_noted(p->w) ? READS_OTHER : reading;
}
/* Where there are maxima, equal forms do not show that all operations are the same: x is min(x,
   max(x, y)), but not for y = inf - inf. So the lists of operations are compared, too. */
static bool same_computed(Attempt *a) {
    const bool maybe_empty = a->prover.maybe_empty; /* it is about the forms */
    const bool same = !a->import.any_maximum || compare_reads(a, READS_COMPUTED) == READS_SAME;
    a->prover.maybe_empty = maybe_empty;
    return same;
}
/* Shows that both sides do the same operations. */
static bool outputs_exact(Attempt *a) {
    Prover *p = &a->prover;
    const char *why = a->proof.why;
    p->exact = true;
    import_init(&a->import);
    a->import.any_maximum = false;
    const bool exact = outputs_equal(a) && same_computed(a);
    p->exact = false;
    a->proof.why = why;
    return exact;
}
/* Compares what is read, and improves a->reading by the result. */
static void read_elements(Attempt *a) {
    Reading reading = compare_reads(a, READS_ALL);
    if (reading != READS_OTHER && a->import.any_stopping &&
        compare_reads(a, READS_PASSING) == READS_OTHER)
        reading = READS_OTHER; /* a NaN passes on the left, but may be stopped on the right */
    if (reading < a->reading) a->reading = reading;
}
/* The classes that follow from what the stages have shown. */
static unsigned float_classes(Attempt *a, bool exact) {
    const RuleNumbers x = a->numbers;
    unsigned classes = CLASS_EXACT;
    if (!exact) classes |= CLASS_REASSOCIATES | (x.divide ? CLASS_DIVIDES : 0);
    if (x.rounded_unlike || (x.any_rounded && !exact && !a->any_numbers)) classes |= CLASS_ROUNDS;
    if (a->reading == READS_MORE) classes |= CLASS_SPREADS;
    if (a->reading == READS_OTHER) classes |= CLASS_DROPS;
    if (exact && a->import.any_padding && compare_reads(a, READS_PADDED) != READS_SAME)
        classes |= CLASS_REASSOCIATES;
    if (!exact && a->defines) classes |= CLASS_DEFINES;
    if (!exact && (a->overflows || x.may_write_out)) classes |= CLASS_OVERFLOWS;
    const bool rounded = classes & (CLASS_REASSOCIATES | CLASS_DIVIDES | CLASS_ROUNDS);
    if (!x.jump || !rounded) return classes;
    /* Another choice may read elements that are NaN, or not read those that were. */
    return classes | CLASS_JUMPS | (x.choice ? CLASS_DROPS : 0);
}

/* ---- the whole */

/* Twice the number of steps of nearly all proofs of our rules, some seconds. A caller who raises
   the budget gets proportionally more. */
enum { STEPS = 1000000 };
static uint64_t most_steps(uint64_t budget) {
    const uint64_t times = budget / SOLVER_BUDGET;
    return times > 1 ? STEPS * times : STEPS;
}

/* The set of inputs that are a single number by which an element divides according to these wants,
   whatever its index. */
static uint64_t inputs_divided_by(Prover *p, const Parts *wants) {
    uint64_t set = 0;
    for (int k = 0; k < wants->n; k++) {
        const Part *part = &wants->v[k];
        Ratio c;
        if (part->nvar || part->dom || nf_size(p, part->nf) != 1) continue;
        const NfTerm *t = &nf_body(p, part->nf, 0, &c)->term;
        const AtomInfo *want = t->nfactor == 1 ? atom_info(p, t->factor[0].atom) : NULL;
        if (!want || want->kind != AT_PAIR || want->word != WANT_NONZERO) continue;
        if (nf_size(p, want->a) != 1) continue;
        t = &nf_body(p, want->a, 0, &c)->term;
        const AtomInfo *x =
            t->nfactor == 1 && !t->nvar && !t->dom ? atom_info(p, t->factor[0].atom) : NULL;
        if (x && x->kind == AT_INPUT && !x->nindex && x->word < NATURAL_BITS)
            set |= (uint64_t)1 << x->word;
    }
    return set;
}
/* Finds the inputs of a single number by which each element of the left side divides. Nothing need
   be shown for the case that such a number is 0. */
static bool find_divisors(Attempt *a) {
    Prover *p = &a->prover;
    uint64_t set = ~(uint64_t)0;
    import_init(&a->import);
    for (int k = 0; k < a->instance->from.nout; k++) {
        const Parts *wants = import_wants(&a->import, a->instance->from.out[k]);
        set &= wants->too_many ? 0 : inputs_divided_by(p, wants);
    }
    p->nonzero = set;
    return set != 0;
}

/* Makes the instance's assumptions on sizes the base facts of the solver. Returns false, with a
   reason in the proof, if no sizes satisfy them. */
static bool assume_sizes(Attempt *a) {
    Prover *p = &a->prover;
    trace_stage(p->trace, "sizes");
    if (!size_facts(p->w, p->arena, a->instance, &a->facts)) {
        a->proof.vacuous = !overflow_noted(p->w);
        a->proof.why = "the conditions on sizes contradict each other";
        return false;
    }
    p->nsize = a->facts.nsize;
    p->size = a->facts.size;
    p->size_low = a->facts.low;
    for (int k = 0; k < a->facts.nfact; k++) solver_assume(p->solver, a->facts.fact[k]);
    for (int k = 0; k < a->facts.nsolved; k++)
        explain_value(p, "by the conditions", a->facts.from[k], a->facts.to[k], DOM_TRUE);
    explain_facts(p, a->facts.nfact, a->facts.fact);
    a->proof.vacuous = solver_empty(p->solver, (Lits){0});
    if (a->proof.vacuous) a->proof.why = "no sizes satisfy the conditions";
    return !a->proof.vacuous;
}
static void prove_outputs(Attempt *a) {
    a->proof.why = NULL;
    import_init(&a->import);
    a->proof.proved = outputs_equal(a);
}
/* Proves sizes, then the outputs: as they stand, then given that what the left side divides by is
   not 0, then with short sums written out. */
static void attempt_proof(Attempt *a) {
    Prover *p = &a->prover;
    if (!assume_sizes(a) || !sizes_follow(a) || a->needs_only) return;
    a->import = (NfImport){.p = p,
                           .ninput = a->instance->ninput,
                           .input = a->instance->input,
                           .nsolved = a->facts.nsolved,
                           .from = a->facts.from,
                           .to = a->facts.to};
    prove_outputs(a);
    if (!a->proof.proved && find_divisors(a)) prove_outputs(a);
    if (a->proof.proved || !p->unrollable) return;
    p->unroll = true; /* five shifted slices then meet a window of five */
    prove_outputs(a);
}
static void same_operations(Attempt *a) { a->exact = outputs_exact(a); }
/* Tests whether the proof holds for any values of the numbers that their types round. */
static void for_any_numbers(Attempt *a) {
    a->prover.any_numbers = true;
    import_init(&a->import);
    a->any_numbers = outputs_equal(a);
}
static void classify_proof(Attempt *a) { a->proof.classes = float_classes(a, a->exact); }
/* Leaves a stage in which the prover gave up. Returns false. */
static bool leave_stage(Attempt *a) {
    escape_free(&a->escape);
    a->proof.why = a->escape.error.reason;
    trace_line(a->prover.trace, "gave up: %s", a->proof.why);
    a->escape.error.kind = E_NONE;
    a->prover.depth = 0;
    a->prover.ndecided = 0;
    a->prover.exact = a->prover.lenient = false;
    return false;
}
/* Runs one stage. False: the prover gave up, or a size exceeded 64 bits; what the stage found does
   not count. */
static bool stage(Attempt *a, void (*run)(Attempt *)) {
    if (setjmp(a->escape.here)) return leave_stage(a);
    escape_within(&a->escape, arena_escape(a->prover.arena));
    run(a);
    if (overflow_noted(a->prover.w)) prover_fail(&a->prover, "a size exceeds 64 bits");
    escape_free(&a->escape);
    return true;
}
/* Requires the conditions on sizes under which no maximum is over an empty set. */
static void require_inhabited(Attempt *a) {
    const Lits l = dom_lits(&a->prover, a->prover.inhabited_if);
    const Symbol *v;
    for (int k = 0; k < l.n; k++)
        if (!poly_variables(&a->prover, l.v[k].p, &v)) require_condition(a, l.v[k], "definedness");
}
/* Returns whether the equality of values is a proof: the right side is defined wherever the left
   side is, and no maximum may be over an empty set. Otherwise it says why, and which conditions on
   sizes may help. */
static bool proof_holds(Attempt *a) {
    if (a->places && a->refines_exactly) return true;
    if (a->places && a->prover.maybe_empty) {
        stage(a, require_inhabited);
        a->proof.why = "a maximum may be over an empty set";
        return false;
    }
    if (a->places && a->refines) return true;
    a->proof.why = a->lacks ? a->lacks : "it was not shown where the right side is defined";
    for (int k = 0; k < a->lack.ncondition; k++)
        add_missing(a, a->lack.condition[k], "definedness");
    return false;
}
/* Tries to show that both sides do the same operations. This may succeed where forms become too
   large when they are multiplied out. */
static bool proved_by_operations(Attempt *a) {
    const char *why = a->proof.why;
    a->proof.proved = a->import.p && stage(a, same_operations) && a->exact;
    if (!a->proof.proved) a->proof.why = why;
    return a->proof.proved;
}
/* Runs a stage that can only make the class smaller. It gets a default budget, and is not run after
   a proof that took more than that. */
static bool optional_stage(Attempt *a, void (*run)(Attempt *)) {
    Prover *p = &a->prover;
    const uint64_t most = p->most_steps;
    if (p->steps >= STEPS) return false;
    const uint64_t budget = solver_limit(p->solver, SOLVER_BUDGET);
    if (p->steps + STEPS < most) p->most_steps = p->steps + STEPS;
    const bool done = stage(a, run);
    solver_unlimit(p->solver, budget);
    p->most_steps = most;
    return done;
}
/* Compares what is read, with as many steps as the proof was allowed, however many it took. Short
   sums are first compared as they stand, since that is less to compare than sums written out. */
static void classify_reads(Attempt *a) {
    Prover *p = &a->prover;
    const uint64_t steps = p->steps;
    const bool unroll = p->unroll;
    a->reading = READS_OTHER;
    p->steps = 0;
    p->unroll = false;
    stage(a, read_elements);
    if (a->reading != READS_SAME && p->unrollable) {
        p->unroll = true;
        solver_retry(p->solver);
        stage(a, read_elements);
    }
    p->unroll = unroll;
    p->steps += steps;
}
/* Sets the element types of the inputs, and which inputs are never negative. */
static void take_types(Attempt *a) {
    Prover *p = &a->prover;
    const Instance *i = a->instance;
    DType *type = ARENA_NEW(p->arena, DType, i->ninput);
    for (int k = 0; k < i->ninput; k++) {
        const DType t = type[k] = value_type(p->w, i->input[k])->dtype;
        const bool natural = t == DT_BOOL || dtype_class(t) == 'U';
        if (natural && k < NATURAL_BITS) p->natural |= (uint64_t)1 << k;
    }
    p->type = type;
    p->ninput = i->ninput;
}
/* The stages: are the values equal, is the right side defined where the left side is, and what does
   floating point make of it? If a later stage fails, this takes nothing away from earlier ones. */
static void run_stages(Attempt *a) {
    Prover *p = &a->prover;
    if (!stage(a, attempt_proof) && !proved_by_operations(a)) {
        a->proof.proved = false;
        for (int k = 0; k < a->import.nlack; k++) add_missing(a, a->import.lack[k], "integers");
    }
    if (!a->proof.proved) return;
    if (!stage(a, refine)) a->refines = false;
    /* Before the optional stages, which may use up the steps that are left. */
    if (!stage(a, check_places)) a->places = false;
    if (!optional_stage(a, same_operations)) a->exact = false;
    if (a->exact && (!a->refines || p->maybe_empty) && !stage(a, refine_exactly))
        a->refines_exactly = false;
    a->proof.proved = proof_holds(a);
    if (!a->proof.proved) return;
    a->numbers = rule_numbers(p->w, p->arena, a->instance);
    if (a->numbers.lost) {
        a->proof.proved = false;
        a->proof.why = "a number of the rule is 0, infinite or not an integer in its element type";
        return;
    }
    if (a->numbers.has_accurate_op) a->exact = false;
    if (a->numbers.any_rounded && !a->numbers.rounded_unlike && !a->exact &&
        !optional_stage(a, for_any_numbers))
        a->any_numbers = false;
    p->any_numbers = false;
    classify_reads(a);
    if (!stage(a, classify_proof))
        a->proof.classes = CLASS_REASSOCIATES | CLASS_ROUNDS | CLASS_DIVIDES | CLASSES_OFF;
}
Proof prove_instance(World *w, Arena *arena, const Instance *i, const ProofOptions *o) {
    Attempt *a = ARENA_NEW(arena, Attempt, 1);
    a->instance = i;
    a->splits = ARENA_NEW(arena, IndexSplits, i->from.nout);
    a->needs_only = o->needs_only;
    a->prover = (Prover){.w = w,
                         .arena = arena,
                         .check = o->check,
                         .escape = &a->escape,
                         .trace = o->trace,
                         .most_steps = most_steps(o->budget)};
    take_types(a);
    a->prover.solver = solver_new(w, arena, o->budget);
    solver_trace(a->prover.solver, o->trace);
    normal_init(&a->prover);
    Overflow overflow = overflow_begin(w);
    run_stages(a);
    overflow_end(w, overflow);
    a->proof.stats = solver_stats(a->prover.solver);
    a->proof.spent = solver_spent(a->prover.solver);
    trace_end(o->trace);
    normal_done(&a->prover);
    solver_free(a->prover.solver);
    return a->proof;
}
