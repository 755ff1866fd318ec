/* Fuzzes the names of resources: whatever is read is written, and that is read as the same again. */
#include "mcp/uri.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "workspace/paths.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct mcp_uri u, again;
    char clean[PATH_BYTES_MAX + 1];
    scoped(freep) char *text = malloc(len + 1);
    scoped(buf_done) struct buf written = BUF_INIT(2 * URI_LEN_MAX);
    assert(text);
    memcpy(text, bytes, len);
    text[len] = '\0';
    if (!uri_read(text, &u))
        return 0;
    assert(*u.id && (u.kind == URI_FILE || !*u.path));
    assert(!*u.path || (!path_wrong(u.path, clean) && strcmp(clean, u.path) == 0));
    uri_write(&written, &u);
    assert(!written.failed);
    assert(uri_read(written.bytes, &again));
    assert(again.kind == u.kind && again.version == u.version && again.index == u.index);
    assert(strcmp(again.id, u.id) == 0 && strcmp(again.path, u.path) == 0);
    return 0;
}
