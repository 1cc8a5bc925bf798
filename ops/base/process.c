/* process.c -- reads the resources of this process from /proc, /sys and the scheduler. The peak
   memory is not taken from getrusage, because its maximum survives exec: a small program that is
   started by a large one would report the large one's. */
#include "ops/base/process.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Finds the first line of a file that matches the scanf format, and stores its number in
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

static bool group_number(const char *folder, const char *file, const char *format, size_t *out) {
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    return n > 0 && (size_t)n < sizeof path && find_number(path, format, out);
}

/* Cached files can be dropped. MemAvailable counts them as free, but the use of a control group
   includes them, so inactive_file is subtracted from it. */
static size_t left_in_group(const char *folder) {
    size_t limit, used, cached = 0;
    if (!group_number(folder, "memory.max", "%zu", &limit) ||
        !group_number(folder, "memory.current", "%zu", &used))
        return SIZE_MAX;
    group_number(folder, "memory.stat", "inactive_file %zu", &cached);
    used -= cached < used ? cached : used;
    return limit > used ? limit - used : 1;
}

size_t process_group_left(const char *root, const char *group) {
    char folder[PATH_MAX];
    const int n = snprintf(folder, sizeof folder, "%s%s", root, group);
    size_t least = SIZE_MAX, base = strlen(root);
    if (n < 0 || (size_t)n >= sizeof folder) return least;
    for (char *slash;; *slash = 0) {
        const size_t left = left_in_group(folder);
        if (left < least) least = left;
        slash = strrchr(folder, '/');
        if (!slash || slash < folder + base) return least;
    }
}

/* Finds the control group of this process, of version 2: the line "0::/path". */
static bool own_group(char *path, size_t size) {
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool found = false;
    while (f && !found && fgets(path, (int)size, f)) found = !strncmp(path, "0::/", 4);
    if (f) fclose(f);
    if (!found) return false;
    memmove(path, path + 3, strlen(path + 3) + 1);
    path[strcspn(path, "\n")] = 0;
    return true;
}

size_t process_memory_left(void) {
    char group[PATH_MAX];
    size_t machine = 0;
    machine = find_number("/proc/meminfo", "MemAvailable: %zu kB", &machine) ? machine * 1024 : 0;
    const size_t left =
        process_group_left("/sys/fs/cgroup", own_group(group, sizeof group) ? group : "");
    return left == SIZE_MAX || (machine && machine < left) ? machine : left;
}

bool process_file(char *out, size_t room) {
    Dl_info info;
    struct link_map *map = NULL;
    const bool known =
        dladdr1((const void *)(uintptr_t)&process_file, &info, (void **)&map, RTLD_DL_LINKMAP) != 0;
    /* The program itself has no name there. */
    char *whole = realpath(known && map && *map->l_name ? map->l_name : "/proc/self/exe", NULL);
    const bool fits = whole && strlen(whole) < room;
    if (fits) strcpy(out, whole);
    free(whole);
    return fits;
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
