/* versions.c -- prints the versions of this program and of the libraries that it runs with. */
#include "search/show/versions.h"
#include "graphs/npz.h"
#include "ops/backend/backend.h"
#include "ops/base/options.h"
#include <cjson/cJSON.h>

const char *isomer_version(void) { return ISOMER_VERSION; }

void versions_print(const IsomerOptions *o, bool backend, Text *t) {
    options_version(t, "");
    text_add(t, "  SQLite %s\n  cJSON %s\n  libzip %s\n", costdb_version(), cJSON_Version(),
             npz_version());
    onnx_versions(t);
    if (backend) backend_version(o->backend, t);
}
