/* uploads.h -- uploads that come in pieces and go on where they stopped.
 *
 *     upload_create(files, &ws, &author, &wishes, &upload, e)
 *     append_begin(files, &ws, id, offset, &a, e); append_write(a, bytes, len, e) ...
 *     append_end(a, &received, e)                  what was received is on disk
 *     upload_complete(files, &ws, id, &author, &how, sha256, &commit, e)
 *
 * Staged bytes lie in DATA/uploads/ID until they are complete; nothing of them is in the workspace
 * before. How much counts is written down in the file itself, after the bytes were synced, so that after
 * a crash an upload is exactly as long as its last acknowledged piece, or longer by what was synced on
 * the way, and never has a byte that nobody sent. One request at a time sends to an upload: the others
 * get ERR_BUSY.
 *
 * Who may: whoever files_workspace gives RIGHT_WRITE to the workspace. An upload of another workspace is
 * ERR_NOT_FOUND. Uploads that nobody sent anything to for UPLOAD_DAYS are removed by files_tidy.
 *
 * Any number of threads; an append belongs to one. All block on disk.
 */
#ifndef WORKSPACE_UPLOADS_H
#define WORKSPACE_UPLOADS_H

#include "workspace/files.h"

enum {
    UPLOAD_DAYS = 7,
    UPLOADS_MAX = 100, /* of one workspace, at the same time */
};
#define UPLOAD_SIZE_NONE UINT64_MAX /* was not announced */

struct append;

struct upload {
    struct upload_row row;
    uint64_t received; /* bytes that are safe: go on from there */
    int64_t expires_us;
};

void upload_done(struct upload *u);

struct upload_wishes {
    const char *path;
    uint64_t size;         /* UPLOAD_SIZE_NONE: not known */
    const char *condition; /* for whoever completes it; NULL: none */
};

/* Fails as commit_put does, as early: ERR_INVALID, ERR_TOO_LARGE, ERR_QUOTA, ERR_NO_SPACE; ERR_LIMIT
 * past UPLOADS_MAX. */
int upload_create(struct files *f, const struct workspace_row *ws, const struct author *author,
                  const struct upload_wishes *wishes, struct upload *ret, struct err *e);
int upload_get(struct files *f, const struct workspace_row *ws, const char *id, struct upload *ret,
               struct err *e);
/* What was staged goes away. ERR_BUSY while somebody is sending. */
int upload_abort(struct files *f, const struct workspace_row *ws, const char *id, struct err *e);

/* `offset` has to be what was received: ERR_CONFLICT with the right one in the message and in
 * *ret_received, which is set then too. */
int append_begin(struct files *f, const struct workspace_row *ws, const char *id, uint64_t offset,
                 struct append **ret, uint64_t *ret_received, struct err *e);
/* Fails with ERR_TOO_LARGE (announced, or of a file), ERR_QUOTA, ERR_NO_SPACE. What came before stays. */
int append_write(struct append *a, const void *bytes, size_t len, struct err *e);
/* Syncs and counts; also after a failed write, or when the client is gone. Frees it in every case. When
 * the sync fails, the upload is given up. */
int append_end(struct append *a, uint64_t *ret_received, struct err *e);
void append_abandon(struct append *a); /* the same, when nobody wants to know; NULL is fine */

/* One commit, like any other; the caller looks at it and frees it. `sha256` is what the sender says it
 * is, or NULL. Fails with ERR_CONFLICT when not everything that was announced has come, ERR_INVALID when
 * it is not what the sender says, ERR_PRECONDITION, ERR_QUOTA...; then the upload is still there. When
 * the server dies between the commit and the end of this, completing it again changes nothing. */
int upload_complete(struct files *f, const struct workspace_row *ws, const char *id,
                    const struct author *author, const struct how *how, const uint8_t *sha256,
                    struct commit **ret, struct err *e);

#endif
