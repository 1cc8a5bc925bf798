/* host_compiler.c -- takes the place of NVRTC in the plug-in of a test: the C compiler compiles the
   same text to a shared object, which host_driver.c loads.

   If $ISOMER_PLANT is OLD=>NEW, the first OLD in the kernel is replaced by NEW, so that tests can
   see whether the fault is noticed. The text with which every kernel starts is a precompiled
   header, HOST_START; HOST_COMPILE is the command by which it was compiled. The objects are linked
   with no library, which saves time: the program that loads them has all libraries. */
#include "ops/cuda/compiler.h"
#include "ops/cuda/source.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Compiler {
    char identity[300];
};

Compiler *compiler_open(const char *folder, int capability, int blocks, char *why, size_t n) {
    const char *plant = getenv("ISOMER_PLANT");
    Compiler *c = calloc(1, sizeof *c);
    (void)folder, (void)capability, (void)blocks;
    if (!c) return snprintf(why, n, "out of memory"), NULL;
    snprintf(c->identity, sizeof c->identity, "the host's compiler, 3%s%s",
             plant ? ", spoilt: " : "", plant ? plant : "");
    return c;
}
void compiler_close(Compiler *c) { free(c); }
const char *compiler_identity(const Compiler *c) { return c->identity; }

/* Writes the text after the prelude, with the planted fault in the kernel, which begins at
   `kernel`. */
static void write_spoilt(FILE *f, const char *text, const char *kernel) {
    char plant[200] = "", *to = NULL;
    const char *at = NULL;
    snprintf(plant, sizeof plant, "%s", getenv("ISOMER_PLANT") ? getenv("ISOMER_PLANT") : "");
    if ((to = strstr(plant, "=>"))) *to = 0, to += 2, at = strstr(kernel, plant);
    if (!at) fputs(text, f);
    else {
        fwrite(text, 1, (size_t)(at - text), f);
        fputs(to, f);
        fputs(at + strlen(plant), f);
    }
}

static bool write_unit(const char *path, const char *text, int args) {
    const char *prelude = strstr(text, source_prelude), *kernel = strstr(text, "KERNEL void k(");
    FILE *f = prelude && kernel ? fopen(path, "w") : NULL;
    if (!f) return false;
    const bool barriers = strstr(kernel, "SYNC()") || strstr(kernel, "SHUFFLE(");
    fputs("#include \"" HOST_START "\"\n", f);
    write_spoilt(f, prelude + strlen(source_prelude), kernel);
    fprintf(f, "enum { HOST_BARRIERS = %d };\nstatic void **host_args;\n", barriers);
    fprintf(f, "__attribute__((visibility(\"default\"))) const int host_count = %d;\n", args);
    fputs("static void call(void) { k(", f);
    for (int k = 0; k < args; k++) fprintf(f, "%s*(void **)host_args[%d]", k ? ", " : "", k);
    fputs("); }\n#include \"test/cuda/host_launch.h\"\n", f);
    return !fclose(f);
}

static bool read_all(const char *path, Image *image) {
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    image->bytes = malloc((size_t)size + 1), image->size = (size_t)size;
    const bool good = image->bytes && fread(image->bytes, 1, image->size, f) == image->size;
    fclose(f);
    return good;
}

bool compiler_run(Compiler *c, const char *text, int args, Image *image, char *why, size_t n) {
    char folder[] = "/tmp/isomer-cuda-XXXXXX", unit[64], object[64], command[600];
    (void)c;
    *image = (Image){0};
    if (!mkdtemp(folder)) return snprintf(why, n, "no temporary folder"), false;
    snprintf(unit, sizeof unit, "%s/k.c", folder);
    snprintf(object, sizeof object, "%s/k.so", folder);
    snprintf(command, sizeof command, HOST_COMPILE " -shared -nostdlib -o %s %s 2>%s/log", object,
             unit, folder);
    const bool done = write_unit(unit, text, args) && !system(command) && read_all(object, image);
    if (!done) snprintf(why, n, "the host's compiler failed: see %s", folder);
    else {
        snprintf(command, sizeof command, "rm -r %s", folder);
        if (system(command)) fprintf(stderr, "%s stays\n", folder);
    }
    return done;
}
