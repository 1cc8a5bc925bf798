/* process.c -- read from /proc: getrusage's maximum survives exec, so that a small program started
   by a large one would report the large one's. */
#include "ops/base/process.h"
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

size_t process_peak(void) {
    char line[200];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    if (!f) return 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %zu kB", &kib) == 1) break;
    fclose(f);
    return kib * 1024;
}

double process_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The first processor of `allowed` in a list of Linux's sysfs, "0-1,32"; -1: none. */
static int first_allowed(FILE *list, const cpu_set_t *allowed) {
    for (int from, to; fscanf(list, "%d", &from) == 1;) {
        if (fscanf(list, "-%d", &to) != 1) to = from;
        for (int k = from; k <= to && k < CPU_SETSIZE; k++)
            if (k >= 0 && CPU_ISSET((unsigned)k, allowed)) return k;
        if (fgetc(list) != ',') break;
    }
    return -1;
}

/* Whether a processor is the first of `allowed` on its core; also where nothing is known of it. */
static bool is_first_of_core(int cpu, const cpu_set_t *allowed) {
    char path[80];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *f = fopen(path, "re");
    if (!f) return true;
    const int first = first_allowed(f, allowed);
    fclose(f);
    return first < 0 || first == cpu;
}

int process_cores(void) {
    cpu_set_t allowed;
    int n = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) return 1;
    for (int k = 0; k < CPU_SETSIZE; k++)
        n += CPU_ISSET((unsigned)k, &allowed) && is_first_of_core(k, &allowed);
    return n > 0 ? n : 1;
}
