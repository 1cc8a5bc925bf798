/* node_times.h -- reads the times of a model's nodes on another runtime, as printed by
   scripts/profile-onnxruntime. */
#ifndef ISOMER_NODE_TIMES_H
#define ISOMER_NODE_TIMES_H

typedef struct NodeTimes {
    int n;                 /* number of nodes in the file */
    double *seconds;       /* time of each node, to which lines add */
    double other;          /* time that belongs to no node of the file */
    double flops, bytes;   /* peak rates of the machine per second; 0: the text does not say */
    int nunknown, unknown; /* number of lines that name a node which the file does not have, and the
                              last such node */
} NodeTimes;
/* Reads lines "machine FLOPS BYTES", "node K SECONDS" and "other TYPE SECONDS"; skips other
   lines. */
void node_times_read(NodeTimes *, const char *text);
#endif
