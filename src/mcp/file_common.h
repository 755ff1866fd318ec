/* file_common.h -- what the tools for files share: what a file is, where it is, and what a model is to
 * do when something about it did not work.
 *
 *     scoped(native_done) struct native n = NATIVE("GET");
 *     struct file_facts f;
 *     if (file_stat(m, in->workspace_id, in->path, 0, &n, &f, e))
 *         return -1;                              m->hint says what to do next
 *     file_write(&m->reply.w, &f);                members of the object that is open
 *     file_link(m, &f, false);
 *
 * Everything goes through operations of the native API (native.h); nothing here decides who may.
 */
#ifndef MCP_FILE_COMMON_H
#define MCP_FILE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcp/native.h"

struct buf;
struct err;
struct json_t;
struct json_writer;
struct mcp_call;

enum {
    FILE_PATH_MAX = 4096,         /* bytes of a path as models write it */
    FILE_ROOM = 2 << 10,          /* bytes of text kept for what comes after a list or a page */
    FILE_SCAN_MAX = 64 << 20,     /* bytes that are read to find what was asked for */
    FILE_PIECE_FIRST = 256 << 10, /* read at once: at first, */
    FILE_PIECE_MAX = 4 << 20,     /* and when it takes longer */
    FILE_LOCK_TOKEN_MAX = 1024,
    FILE_WORKSPACE_MAX = 256,
};

#define FILE_PATH_DOC \
    "Path in the workspace, such as `reports/q3.csv`. `/mnt/data/reports/q3.csv` is the same file."
#define FILE_WORKSPACE_DOC "Workspace by id or name; left out: your default workspace."

/* Borrowed from the JSON they were read from. No text is NULL. */
struct file_facts {
    const char *id, *workspace, *path, *mime, *modified, *sha256, *etag;
    uint64_t version, size;
    bool is_dir;
};
void file_facts(const struct json_t *file, struct file_facts *ret);

const char *file_text(const struct json_t *object, const char *key); /* "" when there is none */
uint64_t file_number(const struct json_t *object, const char *key);  /* 0 when there is none */

/* What is known of a file or directory. `n` is fresh, and its JSON is what *ret borrows from. */
int file_stat(struct mcp_call *m, const char *workspace, const char *path, uint64_t version,
              struct native *n, struct file_facts *ret, struct err *e);

/* Some bytes of a version, from `first` on, at most `len`; fewer only at its end. `n` is fresh, and
 * n->answer.out has them. An empty file has none at 0: do not ask. */
int file_range(struct mcp_call *m, const struct file_facts *f, uint64_t first, size_t len,
               struct native *n, struct err *e);

/* The whole newest version of a file, up to `max` bytes (ERR_TOO_LARGE): n->answer.out has them, and
 * `ret_etag` what a change of exactly this version has to expect. `n` is fresh. */
enum { FILE_ETAG_SIZE = 128 };
int file_whole(struct mcp_call *m, const char *workspace, const char *path, size_t max,
               struct native *n, char ret_etag[FILE_ETAG_SIZE], uint64_t *ret_version,
               struct err *e);

/* Puts a new version; n->json is the file. The conditions and the token may be NULL. `n` is fresh. */
struct file_put {
    const char *workspace, *path;
    struct str bytes;
    const char *if_match, *if_none_match, *lock_token;
};
int file_put(struct mcp_call *m, const struct file_put *put, struct native *n, struct err *e);

/* The etag that `version` of what is at that path has, or would have. */
int file_etag_of(struct mcp_call *m, const char *workspace, const char *path, uint64_t version,
                 char ret[FILE_ETAG_SIZE], struct err *e);

/* file_missing.c: after a file was not found (`path` is clean): e says which, and m->hint what is called
 * nearly so. Returns -1. */
int file_missing(struct mcp_call *m, const char *workspace, const char *path, struct err *e);

/* Sets m->hint by what went wrong with a file, and returns -1. */
int file_failed(struct mcp_call *m, const struct err *e);
/* The same where nothing but the workspace can be what was not found. */
int file_workspace_failed(struct mcp_call *m, const struct err *e);

/* path, version, size, mime_type, sha256, modified_at, uri: members of the object that is open. */
void file_write(struct json_writer *w, const struct file_facts *f, bool is_pinned);
/* A resource_link to it; `is_pinned`: to this version, not to whatever is the newest. */
void file_link(struct mcp_call *m, const struct file_facts *f, bool is_pinned);

/* The last name of a path. */
const char *file_name(const char *path);

#endif
