/* backend_steps.c -- runs random steps with every choice of a back end and compares them with the
   reference.

   Usage: backend_steps BACKEND OPTIONS COUNT [KIND]. COUNT is the number of steps of each kind, or
   of the one KIND. Prints each wrong step, and one line for each kind. Exits with 1 if a step is
   wrong or a choice is refused, and with 5 if the back end cannot be opened. */
#include "test/shared/conformance.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    OpenDevice d;
    Error e = {0};
    bool wrong = false;
    if (argc != 4 && argc != 5)
        return fprintf(stderr, "usage: backend_steps BACKEND OPTIONS COUNT [KIND]\n"), 2;
    if (!device_open(&d, NULL, argv[1], argv[2], &e)) return fprintf(stderr, "%s\n", e.reason), 5;
    const Suite suite = {.backend = d.backend, .device = d.device};
    for (int k = 0; k < CONFORMANCE_KINDS; k++) {
        const StepCount *kind = &conformance_kinds[k];
        Found found = {0};
        if (argc == 5 && strcmp(argv[4], kind->name) != 0) continue;
        wrong |= !conformance_run(&suite, kind->kind, atoi(argv[3]), stdout, &found);
        printf("%s: %d steps, %d runs, %d refused, %d wrong\n", kind->name, found.steps, found.runs,
               found.refused, found.wrong);
        fflush(stdout);
    }
    device_close(&d);
    return wrong;
}
