/* main.h -- how every program starts and ends. Only files with a main function include it: printing
   and the exit status are not for a library. */
#ifndef ISOMER_MAIN_H
#define ISOMER_MAIN_H
#include "ops/base/options.h"
#include <stdio.h>

typedef void ProgramAct(void *user, Arena *, int argc, char **argv);
/* Calls act with an arena and afterwards frees all memory. *e is the error that act left there, or
   the one raised by an allocation; it is printed to standard error after the program's name.
   Returns the exit status. Failing to write standard output is an error, too. */
static inline int program_main(const ProgramText *program, int argc, char **argv, ProgramAct *act,
                               void *user, Error *e) {
    Escape escape = {.error = {.kind = E_NONE}};
    char text[800];
    if (setjmp(escape.here)) *e = escape.error;
    else act(user, arena_new(&escape, 0), argc, argv);
    escape_free(&escape);
    if ((fflush(stdout) || ferror(stdout)) && e->kind == E_NONE)
        error_set(e, E_ENVIRONMENT, "", "cannot write to standard output");
    if (e->kind == E_NONE) return 0;
    error_print(e, text, sizeof text);
    fprintf(stderr, "%s: %s\n", program->name, text);
    return error_exit_code(e);
}
#endif
