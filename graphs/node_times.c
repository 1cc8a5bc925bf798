/* node_times.c -- reads the times of nodes line by line. */
#include "graphs/node_times.h"
#include <stdio.h>
#include <string.h>

static void read_line(NodeTimes *t, const char *line) {
    int node;
    char type[100];
    double a, b;
    if (sscanf(line, "machine %lf %lf", &a, &b) == 2) t->flops = a, t->bytes = b;
    else if (sscanf(line, "other %99s %lf", type, &a) == 2) t->other += a;
    else if (sscanf(line, "node %d %lf", &node, &a) != 2) return;
    else if (node < 0 || node >= t->n) t->nunknown++, t->unknown = node;
    else t->seconds[node] += a;
}

void node_times_read(NodeTimes *t, const char *text) {
    for (const char *line = text; *line; line += *line == '\n') {
        read_line(t, line);
        line += strcspn(line, "\n");
    }
}
