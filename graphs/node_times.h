/* node_times.h -- the times of a model's nodes on another runtime, as scripts/profile-onnxruntime
   prints them. */
#ifndef ISOMER_NODE_TIMES_H
#define ISOMER_NODE_TIMES_H

typedef struct NodeTimes {
    int n;                 /* nodes of the file */
    double *seconds;       /* of each; added to */
    double other;          /* seconds that belong to no node of the file */
    double flops, bytes;   /* a second: what the machine reaches; 0: the text does not say */
    int nunknown, unknown; /* lines that name a node which the file does not have; its number */
} NodeTimes;
/* Reads lines "machine FLOPS BYTES", "node K SECONDS" and "other TYPE SECONDS"; others are passed
   over. */
void node_times_read(NodeTimes *, const char *text);
#endif
