/* report.h -- makes the closing table and the JSON report (search/REPORT.md). */
#ifndef ISOMER_REPORT_H
#define ISOMER_REPORT_H
#include "search/run.h"

/* Sets the run's stats: counts and costs by operator and by kind of step, and the total arithmetic.
   Must be called before run_table and run_report, which append the closing table and the JSON
   report to the text. */
void run_operators(Run *, const Graph *result);
void run_table(const Run *, const Derivation *, bool changed, Text *);
/* Appends the line that names the sizes that were guessed, if any were. */
void run_table_guessed(const RunStats *, Text *);
/* Returns what to call the times of the whole models: measured, or partly estimated in a frozen
   run. */
const char *run_time_word(const RunStats *);
/* Returns why no rule is applied: "nothing gains 3 %" or, where no time counts, what was found
   instead. */
const char *run_no_gain(const Run *);
void run_report(const Run *, const Derivation *, bool changed, Text *);
#endif
