/* uri.h -- what resources are called.
 *
 *     workspace://ws_7k.../plots/a%20b.png               a file, as it is now; or a directory
 *     workspace://ws_7k.../plots/a%20b.png?version=3     as it was
 *     workspace://ws_7k.../                              the root
 *     run://run_4f.../displays/0                         what a run showed, the original of it
 *     run://run_4f.../result                             and the value of its last expression
 *
 * Paths are escaped as in any URI; what is written here escapes everything but letters, digits, "-._~"
 * and the slashes between names. No I/O; the fuzz target is tests/fuzz/uri.c.
 */
#ifndef MCP_URI_H
#define MCP_URI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "workspace/files.h"

struct buf;

enum uri_kind { URI_FILE, URI_DISPLAY, URI_RESULT };

enum { URI_LEN_MAX = 4096, URI_INDEX_MAX = 99999 };

struct mcp_uri {
    enum uri_kind kind;
    char id[ID_SIZE];              /* of the workspace, or of the run */
    char path[PATH_BYTES_MAX + 1]; /* URI_FILE: clean (workspace/paths.h); "": the root */
    uint64_t version;              /* URI_FILE; 0: the newest */
    uint32_t index;                /* URI_DISPLAY */
};

/* False: it is none of these. */
bool uri_read(const char *text, struct mcp_uri *ret);

/* Whether it never changes: a version, what a run showed. */
bool uri_is_fixed(const struct mcp_uri *u);

/* Appends it; uri_read makes the same of it again. */
void uri_write(struct buf *out, const struct mcp_uri *u);
/* Of a file; version 0: as it is now. */
void uri_write_file(struct buf *out, const char *workspace, const char *path, uint64_t version);

#endif
