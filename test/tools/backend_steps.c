/* backend_steps.c -- drawn steps through every choice of a back end, against the reference.
   Usage: backend_steps BACKEND OPTIONS COUNT [KIND]: so many of each kind, or of one. Prints what
   is wrong and one line a kind; exits 1 if anything is wrong or an algorithm is refused, 5 if the
   back end does not open. */
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
