/* generate_rules.c -- the program generate-rules, alone or as a shard. */
#include "generator/generate.h"

int main(int argc, char **argv) { return generate_program(argc, argv, NULL); }
