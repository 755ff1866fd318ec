/* share_door.h -- /s/{token}: what the doors of share links share. workspace/shares.h has the rules.
 *
 * Who comes in by a link is nobody: c->who is empty, and everything they may is in c->share. Pages are for
 * people (HTML that needs no script); programs say Accept: application/json.
 *
 * Everything behind a link is hostile content on our origin. So no page and no file that is sent here may
 * run a script: pages have a policy without any, files are sent to be kept, in a sandbox, with nosniff,
 * and shown only if they are one of a few kinds of pictures, or as plain text.
 */
#ifndef API_SHARE_DOOR_H
#define API_SHARE_DOOR_H

#include <stdbool.h>

#include "base/str.h"
#include "workspace/shares.h"

struct buf;
struct call;
struct err;

extern const char share_html[], share_css[]; /* web/share/, made by tools/embed-text */

/* op->admit: the link has to work, and its password has to be given, as a pass in a cookie or as
 * X-Share-Password. */
int share_admit(struct call *c, struct err *e);
/* The same without a word about either: for the form that brings the password. */
int share_admit_any(struct call *c, struct err *e);

/* op->tell: a failure as a page, or as JSON for programs. */
void share_tell(struct call *c, const struct err *e, const char *hint);

int share_unlock(struct call *c, struct err *e); /* POST /s/{token} */

void share_leave(
    struct call *c); /* the end of a request; nothing to do when it did not come by one */

/* The path as it may be logged: without the token. */
struct str share_hide(struct str path);

bool share_wants_json(const struct call *c);

/* Fails with ERR_DENIED when the link does not give it. */
int share_may(struct call *c, enum share_right right, struct err *e);

/* "/s/TOKEN", with "/files/PATH", "?path=PATH" or the like behind it. */
void share_url(struct buf *out, const struct call *c, const char *door, const char *path);

/* What tells a browser to run nothing of it: of pages, and JSON; and of files. */
void share_page_headers(struct call *c);
void share_bytes_headers(struct call *c);

/* share_show.c, share_preview.c, share_files.c, share_put.c */
struct share_page_args {
    const char *path, *after;
    int64_t uploaded;
};
int share_show(struct call *c, struct err *e);
/* Adds the preview of a file, if there is one, to the page. With a number of downloads seeing it is having
 * it: nothing is shown then. */
int share_preview(struct call *c, const char *name, const char *below,
                  const struct content *content, struct err *e);
int share_file(struct call *c, struct err *e);
int share_zip(struct call *c, struct err *e);
int share_upload(struct call *c, struct err *e);

#endif
