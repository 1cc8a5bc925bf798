/* report.h -- the closing table and the JSON report (search/REPORT.md). */
#ifndef ISOMER_REPORT_H
#define ISOMER_REPORT_H
#include "search/run.h"

/* Counts and costs by operator, and the total arithmetic; called before the reports. */
void run_operators(Run *, const Graph *result);
void run_table(const Run *, const Derivation *, bool changed, Text *);
void run_report(const Run *, const Derivation *, bool changed, Text *);
#endif
