/* process.h -- resources of this process as the operating system reports them, and the time. */
#ifndef ISOMER_PROCESS_H
#define ISOMER_PROCESS_H
#include <stdbool.h>
#include <stddef.h>

/* The peak resident memory of this program in bytes; 0: not known. Unlike ru_maxrss, it does not
   include the peak of the process that started this one. */
size_t process_peak(void);
/* The bytes of memory that can still be allocated without swapping, as limited by the machine and
   by the control group (version 2) of this process; 0: not known. */
size_t process_memory_left(void);
/* The bytes that a control group and those that contain it leave, with `root` the folder where
   control groups are mounted and `group` a path such as "/a/b"; SIZE_MAX: none of them has a
   limit. */
size_t process_group_left(const char *root, const char *group);
/* Sets `out` to the absolute path of the file that this code was loaded from: the shared library,
   or the program if it is linked into that. Returns false if it is not known, or too long. */
bool process_file(char *out, size_t room);
/* A monotonic time in seconds; only differences are meaningful. */
double process_clock(void);
/* The number of physical cores that this process may run on, at least 1: hardware threads of the
   same core are counted once. */
int process_cores(void);
#endif
