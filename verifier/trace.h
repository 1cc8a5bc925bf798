/* trace.h -- records what a proof did: its steps in words, for people, and the questions on which
   it rests (obligations), for other solvers. Z3 answered each of these with "unsatisfiable"; its
   other answers only mean that something was not shown. */
#ifndef ISOMER_TRACE_H
#define ISOMER_TRACE_H
#include "ops/base/text.h"

typedef struct Obligation {
    /* The digest of the question without its comments. Equal questions have the same digest. */
    char digest[17];
    const char *purpose; /* one line that says what was being shown, and the question in words */
    const char *text;    /* SMT-LIB 2, with comments and the answer */
} Obligation;
typedef struct Trace {
    Arena *arena;
    Text *words;  /* NULL if no words are wanted */
    bool collect; /* obligations are collected */
    /* The block lengths of the instance being proved; "" if there is only one instance. */
    const char *of;
    const char *stage;  /* what is being shown */
    int n, since, room; /* v[since..n-1] are the obligations of this instance */
    Obligation *v;
    /* The lines written in this stage, and the constants named in this obligation. */
    struct Intern *said, *named;
} Trace;

/* Begins a stage: what follows shows `stage`. Here and below the trace may be NULL, and then
   nothing happens. */
void trace_stage(Trace *, const char *stage);
void trace_end(Trace *);         /* frees the tables of the stage */
bool trace_reads(const Trace *); /* are words wanted? */
/* Adds one line, unless the stage has this line already. */
void trace_line(Trace *, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool trace_collects(const Trace *);
/* Says what a constant of a question stands for; NULL if there is no explanation. */
typedef const char *(*TraceName)(void *user, const char *constant);
/* Adds an obligation. `asserted` is the question as Z3 prints it, about reals if `logic` is QF_NRA
   and otherwise about integers; its constants are renamed in order of appearance. `purpose` is in
   words, without the stage. */
void trace_obligation(Trace *, const char *logic, const char *asserted, const char *purpose,
                      TraceName, void *user);
#endif
