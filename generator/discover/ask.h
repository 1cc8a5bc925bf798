/* ask.h -- the questions of a graph: its connected parts of a few operators, with sizes turned into
   symbols. */
#ifndef ISOMER_ASK_H
#define ISOMER_ASK_H
#include "generator/discover/question.h"
#include "graphs/graph.h"

/* Every connected part of up to `most` operators that no path leaves and enters again; what depends
   on constants alone does not count as one. `sizes` are the graph's at the place that asks. from:
   the model's name. lost: by NodeId, the seconds that count (lost.h); NULL: estimates do. A part is
   asked in several forms (Keep, general.h), the most general ones first. */
void questions_ask(Questions *, World *, const Graph *, Sizes sizes, int most, const char *from,
                   const double *lost);
#endif
