/* trace.h -- what a proof did: its steps in words, for people, and every question on which it
   rests, for other solvers. Each of these Z3 answered "unsatisfiable"; the other answers only mean
   that something was not shown. */
#ifndef ISOMER_TRACE_H
#define ISOMER_TRACE_H
#include "ops/base/text.h"

typedef struct Obligation {
    char digest[17];     /* of the question without its comments: equal questions have the same */
    const char *purpose; /* one line: what was being shown, and the question in words */
    const char *text;    /* SMT-LIB 2, with comments and the answer */
} Obligation;
typedef struct Trace {
    Arena *arena;
    Text *words;        /* NULL: it is not wanted */
    bool quiet;         /* for the moment */
    bool collect;       /* obligations */
    const char *of;     /* which instance is proved; "": there is one only */
    const char *stage;  /* what is being shown */
    int n, since, room; /* since: those of this instance */
    Obligation *v;
    struct Intern *said; /* lines of this stage */
} Trace;

/* What follows shows `stage`. The trace may be NULL here and below: nothing happens. */
void trace_stage(Trace *, const char *stage);
void trace_end(Trace *);
bool trace_reads(const Trace *); /* somebody reads words */
/* One line, unless it was said in this stage already. */
void trace_line(Trace *, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool trace_collects(const Trace *);
/* What a constant of the question stands for; NULL: it has no explanation. */
typedef const char *(*TraceName)(void *user, const char *constant);
/* asserted: as Z3 prints it; of integers or of reals, as the logic says. Its constants get names by
   the order in which they appear. purpose: in words, without the stage. */
void trace_obligation(Trace *, const char *logic, const char *asserted, const char *purpose,
                      TraceName, void *user);
#endif
