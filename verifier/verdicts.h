/* verdicts.h -- writes verdicts as JSON, and keeps the journal: the file that records verdicts
   while a run goes on, so that another run can continue where it ended. */
#ifndef ISOMER_VERDICTS_H
#define ISOMER_VERDICTS_H
#include "verifier/verify.h"

/* The length of the first of several conditions: up to a comma outside parentheses, or the end. */
size_t verdict_condition_length(const char *conditions);
/* Returns the verdict as a JSON object on one line: {"index": .., "id": .., "name": .., "verdict":
   .., "where": [..], ..}; see README.md. `id` is NULL for a rule that could not be read. */
const char *verdict_print(Arena *, int index, const char *id, const char *name,
                          const VerifyResult *);
/* Reads such a line. False if the line is something else or was not written to its end. */
bool verdict_parse(Arena *, const char *line, VerifyResult *);

typedef struct Journal Journal;
/* The journal is a file of lines KEY VERDICT, to which verdicts that are answers (proved, refuted)
   are appended. A key identifies the question: the rule, the definitions of its operators and
   `mode`. With `resume` the verdicts in the file are kept and can be found, otherwise the file is
   emptied. journal_close frees the journal and, with `remove`, deletes the file. */
bool journal_open(Arena *, const char *path, const char *mode, bool resume, Journal **, Error *);
bool journal_find(const Journal *, const Rule *, VerifyResult *);
bool journal_add(const Journal *, const Rule *, const VerifyResult *, Error *);
void journal_close(Journal *, bool remove);
#endif
