#include "api/condition.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "http/exchange.h"
#include "http/range.h"
#include "service/file_object.h"

struct condition condition_of(const struct http_request *r)
{
    return (struct condition){.if_match = http_header_get(r, "If-Match"),
                              .if_none_match = http_header_get(r, "If-None-Match")};
}

/* Etags are quoted in headers; in JSON nobody thinks of that. */
static size_t quote(const char *value, struct buf *text)
{
    size_t at = text->len;
    bool is_quoted = strchr(value, '"') || strcmp(value, "*") == 0;
    buf_fmt(text, is_quoted ? "%s" : "\"%s\"", value);
    buf_add(text, "", 1);
    return at;
}

struct condition condition_from(const char *if_match, const char *if_none_match, struct buf *text)
{
    struct condition c = {0};
    size_t match = if_match ? quote(if_match, text) : 0;
    size_t none = if_none_match ? quote(if_none_match, text) : 0;
    if (text->failed)
        return c; /* who gave the buf asks it */
    if (if_match)
        c.if_match = str_of(text->bytes + match);
    if (if_none_match)
        c.if_none_match = str_of(text->bytes + none);
    return c;
}

/* The commit is to find what we have found: this version, or nothing. */
static void expect_found(struct condition *c, const struct file_row *found)
{
    if (!found) {
        c->how.expect = EXPECT_ABSENT;
        return;
    }
    (void)snprintf(c->file, sizeof c->file, "%s", found->id);
    c->how.expect = EXPECT_VERSION;
    c->how.expected_file = c->file;
    c->how.expected_version = found->version;
}

static int compare(struct condition *c, const char *path, const struct file_row *found,
                   struct err *e)
{
    char etag[ETAG_SIZE] = "";
    if (found)
        file_etag(found->id, found->version, etag);
    if (c->if_match.ptr && !found)
        return err_set(e, ERR_PRECONDITION, "there is no file '%.80s' any more", path);
    if (c->if_match.ptr && !http_etag_in(c->if_match, etag, /* is_strong= */ true))
        return err_set(e, ERR_PRECONDITION, "'%.80s' was changed: it is at version %" PRIu64 " now",
                       path, found->version);
    if (c->if_none_match.ptr && found &&
        http_etag_in(c->if_none_match, etag, /* is_strong= */ false))
        return err_set(e, ERR_PRECONDITION, "'%.80s' is there already, at version %" PRIu64, path,
                       found->version);
    expect_found(c, found);
    if (str_is(c->if_match, "*"))
        c->how.expected_file = NULL; /* any: it may change until the commit */
    return 0;
}

int condition_check(struct condition *c, struct files *files, const struct workspace_row *ws,
                    const char *path, struct err *e)
{
    struct err why = {0};
    struct file_row row;
    if (!c->if_match.ptr && !c->if_none_match.ptr)
        return 0;
    if (meta_file_get(files_meta(files), ws->id, path, &row, &why) == 0) {
        int failed = compare(c, path, &row, e);
        file_row_done(&row);
        return failed;
    }
    if (why.code == ERR_NOT_FOUND)
        return compare(c, path, /* found= */ NULL, e);
    *e = why;
    return -1;
}
