/* ask.h -- the questions of a graph: its connected parts of a few operators, with sizes turned into
   symbols. */
#ifndef ISOMER_ASK_H
#define ISOMER_ASK_H
#include "generator/discover/question.h"
#include "graphs/graph.h"

/* Adds a question for every connected part of up to `most` operators that no path leaves and
   re-enters. Operators on constants alone do not count. sizes: those of the graph at the place that
   asks. from: the name of the model. lost: the seconds to count for each node, by NodeId (lost.h);
   NULL: estimated times. A part is asked in several forms (Keep in general.h), the most general
   ones first. */
void questions_ask(Questions *, World *, const Graph *, Sizes sizes, int most, const char *from,
                   const double *lost);
#endif
