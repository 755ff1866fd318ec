/* native_files.h -- what the doors to workspaces and files share. */
#ifndef API_NATIVE_FILES_H
#define API_NATIVE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "workspace/files.h"
#include "workspace/paths.h"

struct call;
struct err;
struct json_writer;

enum { TRANSFER_SIZE = 128 << 10 }; /* bytes of a file in memory while it comes or goes */

/* A workspace by another name than that of the address (which is c->ws); NULL: the default one. */
int named_workspace(struct call *c, const char *name, enum right right, struct workspace_row *ret,
                    struct err *e);

extern const char
    *const lock_headers[]; /* op->headers of what changes files and heeds nothing else */
struct author call_author(struct call *c); /* with the lock tokens that were presented */

/* The end of {"data":[...], as every list has it. */
void end_list(struct json_writer *w, bool has_more, const char *next);

/* Answers with the file that a change made, as it is by it; 201 when it is new, and its ETag. */
int answer_change(struct call *c, const struct workspace_row *ws, const struct file_change *change,
                  struct err *e);
/* Answers with what is at a clean path now: a file, or a directory, also one that is only there
 * because something is in it. */
int answer_path(struct call *c, const struct workspace_row *ws, const char *path, struct err *e);

/* Whether something is below that path. */
int look_below(struct call *c, const struct workspace_row *ws, const char *path, bool *ret,
               struct err *e);

/* download.c: answers with the bytes of a version, or a part of them. */
struct download {
    const char *path; /* clean */
    uint64_t version; /* 0: the newest */
    const char *type; /* NULL: by its name */
    bool is_inline;
    bool is_shared; /* by a link: for nobody's cache, and says no more than it has to */
    bool is_whole;  /* there are no ranges of it */
    /* Asked before the first byte goes out; may refuse. NULL: nothing to ask. */
    int (*begin)(struct call *c, struct err *e);
};
int send_download(struct call *c, const struct workspace_row *ws, const struct download *d,
                  struct err *e);

/* The same of a row that was looked up. */
int send_version(struct call *c, const struct workspace_row *ws, const struct download *d,
                 const struct version_row *row, struct err *e);

/* receive.c: the body of a request, or of a part of one, as a file. */
typedef int body_read_fn(void *arg, void *to, size_t size, size_t *ret_len, struct err *e);
struct receiving {
    const char *path; /* clean */
    struct how how;
    uint64_t size;      /* announced; 0: not known */
    struct str sha256;  /* that it has to have, in hex; STR_NONE: any */
    body_read_fn *read; /* like http_read */
    void *arg;
    int (*check)(void *arg, struct err *e); /* asked when all has come; NULL: nothing */
    void *check_arg;
};
/* Answers with the file. Nothing has happened when it fails. */
int receive_file(struct call *c, const struct workspace_row *ws, const struct receiving *r,
                 struct err *e);
/* http_read as a body_read_fn; arg is the exchange. */
int read_request(void *arg, void *to, size_t size, size_t *ret_len, struct err *e);

/* native_sign.c: op->admit of what may be had by a signed address. */
int admit_signed(struct call *c, struct err *e);

#endif
