/* generate_rules.c -- the main function of generate-rules. */
#include "generator/generate.h"

int main(int argc, char **argv) { return generate_program(argc, argv, NULL); }
