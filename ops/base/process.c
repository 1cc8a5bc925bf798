/* process.c -- reads the resources of this process from /proc, /sys and the scheduler. The peak
   memory is not taken from getrusage, because its maximum survives exec: a small program that is
   started by a large one would report the large one's. */
#include "ops/base/process.h"
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* Finds the first line of a file that matches the scanf format `word`, and stores its number in
 *out. False: no line matches. */
static bool find_number(const char *path, const char *format, size_t *out) {
    char line[200];
    bool found = false;
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) found = sscanf(line, format, out) == 1;
    if (f) fclose(f);
    return found;
}

size_t process_peak(void) {
    size_t kib;
    return find_number("/proc/self/status", "VmHWM: %zu kB", &kib) ? kib * 1024 : 0;
}

/* Cached files can be dropped. MemAvailable counts them as free, but the use of a control group
   includes them, so inactive_file is subtracted from it. */
size_t process_memory_free(void) {
    size_t machine = 0, limit, used, cached = 0;
    machine = find_number("/proc/meminfo", "MemAvailable: %zu kB", &machine) ? machine * 1024 : 0;
    if (!find_number("/sys/fs/cgroup/memory.max", "%zu", &limit) ||
        !find_number("/sys/fs/cgroup/memory.current", "%zu", &used))
        return machine;
    find_number("/sys/fs/cgroup/memory.stat", "inactive_file %zu", &cached);
    used -= cached < used ? cached : used;
    const size_t group = limit > used ? limit - used : 1;
    return machine && machine < group ? machine : group;
}

double process_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The first allowed processor in a list in the format of Linux's sysfs, such as "0-1,32"; -1:
   none. */
static int first_allowed(FILE *list, const cpu_set_t *allowed) {
    for (int from, to; fscanf(list, "%d", &from) == 1;) {
        if (fscanf(list, "-%d", &to) != 1) to = from;
        for (int k = from; k <= to && k < CPU_SETSIZE; k++)
            if (k >= 0 && CPU_ISSET((unsigned)k, allowed)) return k;
        if (fgetc(list) != ',') break;
    }
    return -1;
}

/* Whether a processor is the first allowed one on its core; also true if its core is not known. */
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
