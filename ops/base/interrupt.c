/* interrupt.c -- counts the signals that end a program. */
#include "ops/base/interrupt.h"
#include <signal.h>

/* Global, since a signal handler reaches nothing else. */
static volatile int count, last;
_Static_assert(sizeof(sig_atomic_t) == sizeof(int), "a handler writes an int at once");

static void on_interrupt(int number) {
    (void)number;
    if (count < last) count++;
    if (count == last) signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL);
}

const volatile int *interrupts_count(int most) {
    struct sigaction action = {.sa_handler = on_interrupt}, old;
    last = most;
    sigaction(SIGINT, &action, NULL);
    /* Sent by timeout(1), for example. SIGHUP is sent when a terminal is closed. */
    sigaction(SIGTERM, &action, NULL);
    if (!sigaction(SIGHUP, NULL, &old) && old.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    return &count;
}

static const char reason[] = "stopped by a signal";

bool interrupted(const volatile int *signals, Error *e) {
    if (!signals || !*signals) return false;
    error_set(e, E_INTERRUPTED, "", "%s", reason);
    return true;
}

void interrupted_raise(const volatile int *signals, Escape *escape) {
    if (signals && *signals) escape_raise(escape, E_INTERRUPTED, "%s", reason);
}
