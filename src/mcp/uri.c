#include "mcp/uri.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "workspace/paths.h"

/* ---- reading ---- */

static bool is_id_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* What follows the scheme, or NULL when it is another one. Case does not matter there. */
static const char *after_scheme(const char *text, const char *scheme)
{
    size_t len = strlen(scheme);
    if (strncasecmp(text, scheme, len) != 0 || strncmp(text + len, "://", 3) != 0)
        return NULL;
    return text + len + 3;
}

/* Takes the id and the slash behind it. NULL: there is none. */
static const char *take_id(const char *at, char ret[ID_SIZE])
{
    size_t len = 0;
    while (is_id_char(at[len]))
        len++;
    if (len == 0 || len >= ID_SIZE || at[len] != '/')
        return NULL;
    memcpy(ret, at, len);
    ret[len] = '\0';
    return at + len + 1;
}

static bool read_path(struct str text, char *ret)
{
    struct err e = {0};
    scoped(buf_done) struct buf path = BUF_INIT(URI_LEN_MAX);
    if (http_decode(text, /* is_form= */ false, &path, &e))
        return false;
    if (path.len == 0 || strcmp(path.bytes, "/") == 0) {
        ret[0] = '\0';
        return true;
    }
    return path_wrong(path.bytes, ret) == NULL;
}

static bool read_version(const char *query, uint64_t *ret)
{
    struct err e = {0};
    static const char name[] = "version=";
    return strncmp(query, name, sizeof name - 1) == 0 &&
           parse_u64(query + sizeof name - 1, 1, INT64_MAX, ret, &e) == 0;
}

static bool read_file(const char *at, struct mcp_uri *ret)
{
    ret->kind = URI_FILE;
    at = take_id(at, ret->id);
    if (!at || strchr(at, '#'))
        return false;
    size_t len = strcspn(at, "?");
    if (!read_path((struct str){at, len}, ret->path))
        return false;
    return at[len] == '\0' || (*ret->path && read_version(at + len + 1, &ret->version));
}

static bool read_run(const char *at, struct mcp_uri *ret)
{
    static const char displays[] = "displays/";
    struct err e = {0};
    uint64_t index = 0;
    at = take_id(at, ret->id);
    if (!at)
        return false;
    ret->kind = URI_RESULT;
    if (strcmp(at, "result") == 0)
        return true;
    ret->kind = URI_DISPLAY;
    if (strncmp(at, displays, sizeof displays - 1) != 0 ||
        parse_u64(at + sizeof displays - 1, 0, URI_INDEX_MAX, &index, &e))
        return false;
    ret->index = (uint32_t)index;
    return true;
}

bool uri_read(const char *text, struct mcp_uri *ret)
{
    struct mcp_uri u = {0};
    const char *at;
    if (strnlen(text, URI_LEN_MAX + 1) > URI_LEN_MAX)
        return false;
    bool is_one = (at = after_scheme(text, "workspace")) ? read_file(at, &u)
                  : (at = after_scheme(text, "run"))     ? read_run(at, &u)
                                                         : false;
    if (is_one)
        *ret = u;
    return is_one;
}

bool uri_is_fixed(const struct mcp_uri *u)
{
    return u->kind != URI_FILE || u->version;
}

/* ---- writing ---- */

static bool is_plain(char c)
{
    return is_id_char(c) || c == '.' || c == '~' || c == '/';
}

void uri_write_file(struct buf *out, const char *workspace, const char *path, uint64_t version)
{
    buf_fmt(out, "workspace://%s/", workspace);
    for (; *path; path++)
        if (is_plain(*path))
            buf_add(out, path, 1);
        else
            buf_fmt(out, "%%%02X", (unsigned)(unsigned char)*path);
    if (version)
        buf_fmt(out, "?version=%" PRIu64, version);
}

void uri_write(struct buf *out, const struct mcp_uri *u)
{
    switch (u->kind) {
    case URI_FILE: uri_write_file(out, u->id, u->path, u->version); break;
    case URI_DISPLAY: buf_fmt(out, "run://%s/displays/%" PRIu32, u->id, u->index); break;
    case URI_RESULT: buf_fmt(out, "run://%s/result", u->id); break;
    }
}
