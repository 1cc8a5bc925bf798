/* profile.c -- times whole plans side by side. On the CPU, the clock is the calling thread's CPU
   time, so that being preempted does not count. */
#include "graphs/plan/profile.h"
#include "graphs/plan/rounds.h"
#include <math.h>

#define PATIENCE 4.0 /* seconds for the rounds of all plans together */

typedef struct RunnerRun {
    Runner *runner;
    clockid_t clock;
    const void *const *in;
    void *const *out;
    Error *error;
} RunnerRun;

/* Times runs, including the copies to the device and back. */
static bool run_runner(void *what, int calls, double *seconds) {
    RunnerRun *r = what;
    double start = clock_now(r->clock);
    for (int k = 0; k < calls; k++)
        if (!runner_run(r->runner, r->in, r->out, r->error)) return false;
    *seconds = clock_now(r->clock) - start;
    return true;
}

bool profile_runners(int n, Runner *const runner[], const void *const *const in[],
                     void *const *const out[], double seconds[], Error *e) {
    Timed t[TIMED_MOST];
    RunnerRun r[TIMED_MOST];
    cpu_set_t before;
    const clockid_t clock = n ? device_clock(runner_backend(runner[0]), runner_device(runner[0]))
                              : CLOCK_THREAD_CPUTIME_ID;
    if (n > TIMED_MOST)
        return error_set(e, E_LIMIT, "timing", "%d plans cannot be timed together, at most %d", n,
                         (int)TIMED_MOST);
    for (int k = 0; k < n; k++) {
        r[k] = (RunnerRun){runner[k], clock, in[k], out[k], e};
        t[k] = (Timed){run_runner, &r[k], 1, false, {INFINITY, INFINITY}};
    }
    pin_thread(clock, &before);
    bool good = time_rounds(n, t, INFINITY, PATIENCE, 1);
    unpin_thread(&before);
    for (int k = 0; k < n; k++) seconds[k] = good ? timed_least(&t[k]) : -1;
    return good;
}
