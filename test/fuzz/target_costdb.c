/* target_costdb.c -- arbitrary bytes as a cost file. A file that opens answers queries and takes a
   new entry, or says why it cannot. */
#include "graphs/plan/costdb.h"
#include "test/fuzz/fuzz.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void use(CostDb *d) {
    Error e = {0};
    double seconds = 1;
    if (costdb_get(d, "step", "cpu", "gemm", &seconds))
        fuzz_need(seconds >= 0, "a time is not negative");
    if (!costdb_put(d, "plan", "cpu", "new", 0.5, &e)) fuzz_refused(&e);
    else if (costdb_get(d, "plan", "cpu", "new", &seconds))
        fuzz_need(seconds <= 0.5, "what was put is there");
}

int fuzz_costdb(const uint8_t *data, size_t size) {
    Error e = {0};
    const char *folder = getenv("TMPDIR"), *suffix[] = {"", "-wal", "-shm", "-journal"};
    char path[300], beside[320];
    if (size > FUZZ_BYTES) return 0;
    snprintf(path, sizeof path, "%.250s/isomer-costs-%ld", folder ? folder : "/tmp",
             (long)getpid());
    FILE *f = fopen(path, "wb");
    fuzz_need(f && fwrite(data, 1, size, f) == size, "a file of costs");
    fclose(f);
    CostDb *d = costdb_open(NULL, path, &e);
    fuzz_need((d != NULL) == (e.kind == E_NONE), "a file of costs or an error");
    if (d) use(d);
    else fuzz_refused(&e);
    costdb_close(d);
    for (int k = 0; k < 4; k++) {
        snprintf(beside, sizeof beside, "%s%s", path, suffix[k]);
        unlink(beside);
    }
    return 0;
}
