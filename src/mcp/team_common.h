/* team_common.h -- what the tools for working together share: reading the answers of the native API,
 * saying them again in short lines, and telling a model what to do about a failure.
 *
 *     scoped(native_done) struct native n = NATIVE("POST");
 *     scoped(team_body_done) struct team_body body = TEAM_BODY;
 *     native_workspace(&n, in->workspace_id);
 *     native_text(&n, "/mkdir");
 *     team_put(&body.w, "path", in->path);                 what is NULL is left out
 *     if (team_send(m, &n, &body, e))
 *         return -1;                                       m->hint says what to do with which tool
 *
 * Nothing that others wrote (names, notes, holders) gets into a line of text but through team_say: it
 * has no line breaks then, and an end.
 */
#ifndef MCP_TEAM_COMMON_H
#define MCP_TEAM_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "workspace/files.h"
#include "json/write.h"

struct err;
struct json_t;
struct mcp_call;
struct native;

enum {
    TEAM_PATH_MAX = 4097, /* bytes of a path as models write it */
    TEAM_ID_MAX = 128,    /* of an id, a name of a workspace may be longer */
    TEAM_NAME_MAX = 256,
    TEAM_TOKEN_MAX = 1024,        /* lock tokens, several with commas between */
    TEAM_CURSOR_MAX = 8192,       /* of the longest cursor there is */
    TEAM_VERSION_MAX = INT32_MAX, /* what every client can count to */
    TEAM_PAGE = 20,
    TEAM_PAGE_MAX = 50,
    TEAM_BODY_MAX = 32 << 10,
};

/* ---- what came ---- */

const char *team_text(const struct json_t *object, const char *key); /* "": none */
uint64_t team_number(const struct json_t *object, const char *key);  /* 0: none */
bool team_true(const struct json_t *object, const char *key);

/* A path as the workspace knows it, to be compared with; what is no path stays what it is. */
void team_clean(const char *path, char ret[PATH_BYTES_MAX + 1]);

/* Fails with ERR_INVALID: `action` cannot do without it. */
int team_need(const char *value, const char *name, const char *action, struct err *e);

/* ---- calling ---- */

struct team_body {
    struct buf buf;
    struct json_writer w;
};
#define TEAM_BODY ((struct team_body){.buf = BUF_INIT(TEAM_BODY_MAX)})
void team_body_done(struct team_body *b);
/* Members of the body, as of structured content. NULL is left out. */
void team_put(struct json_writer *w, const char *key, const char *text);
void team_put_u64(struct json_writer *w, const char *key, uint64_t value);
void team_put_true(struct json_writer *w, const char *key, bool value); /* false is left out */
void team_copy(struct json_writer *w, const struct json_t *from, const char *key); /* as it is */
/* The body begins with the first of these, or team_body_begin; team_send ends it. */
void team_body_begin(struct team_body *b);

/* native_call. On failure m->hint names tools and parameters instead of headers and addresses. */
int team_call(struct mcp_call *m, struct native *n, struct err *e);
int team_send(struct mcp_call *m, struct native *n, struct team_body *b, struct err *e);
/* What a model should do next about a failure. */
void team_hint(struct mcp_call *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- what is said ---- */

/* Others' text on one line of ours: no control characters, at most `max` bytes. */
void team_say(struct buf *out, const char *text, size_t max);
void team_say_size(struct buf *out, uint64_t bytes);      /* "1.5 KB" */
void team_say_time(struct buf *out, const char *time);    /* "2026-01-31T12:00:00Z" */
void team_action(struct mcp_call *m, const char *action); /* the first member of the content */
/* The last line of the text, and the member `next`. */
void team_next(struct mcp_call *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A file as others say it too: {path, kind, version, size, uri}. */
void team_put_file(struct json_writer *w, const struct json_t *file);

/* A page of a list: {data, has_more, next_cursor} of the native API, a line and an item for each row as
 * long as there is room. */
struct team_list {
    const char *key;     /* of the array */
    const char *empty;   /* what is said when there is nothing */
    const char *columns; /* the first line */
    const char *number;  /* the number of a row after which a list may go on; NULL: it may not */
    void (*row)(const struct json_t *row, struct buf *line, struct json_writer *item);
};
/* Returns how many there are. Says how to go on, as the last line, if there is more. */
size_t team_list(struct mcp_call *m, const struct team_list *list, const struct json_t *page);

#endif
