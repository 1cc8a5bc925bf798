/* verdicts.h -- verdicts as JSON, and the journal in which they are kept while a run goes on, so
   that another can take up where it ended. */
#ifndef ISOMER_VERDICTS_H
#define ISOMER_VERDICTS_H
#include "verifier/verify.h"

/* One object on one line: {"index": .., "id": .., "name": .., "verdict": .., "where": [..], ..};
   see README.md. id NULL: a rule that could not be read. */
const char *verdict_print(Arena *, int index, const char *id, const char *name,
                          const VerifyResult *);
/* The other way; false: it is not such a line, or was not written to its end. */
bool verdict_parse(Arena *, const char *line, VerifyResult *);

typedef struct Journal Journal;
/* A file of lines KEY VERDICT, to which finished verdicts are appended; only those that are
   answers. A key says which question was asked: the rule, the definitions of its operators and
   `mode`. resume: what the file has is kept and found again, else it is emptied. Free with
   journal_close: remove deletes the file. */
bool journal_open(Arena *, const char *path, const char *mode, bool resume, Journal **, Error *);
bool journal_find(const Journal *, const Rule *, VerifyResult *);
bool journal_add(const Journal *, const Rule *, const VerifyResult *, Error *);
void journal_close(Journal *, bool remove);
#endif
