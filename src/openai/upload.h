/* upload.h -- Uploads: files that come in parts. What uploads.c and upload_complete.c share.
 *
 * An upload is a card, each part another one below it; their bytes are in the hidden workspace of Files at
 * ".uploads/UPLOAD/PART". Parts come in any order and at the same time; which belong together, and in which order, is said at the
 * end.
 *
 *     pending --complete--> completed         the parts are gone, there is a File
 *             --cancel----> cancelled         the parts are gone
 *             --an hour---> expired           the same, when tidied
 */
#ifndef OPENAI_UPLOAD_H
#define OPENAI_UPLOAD_H

#include "openai/openai_int.h"

enum {
    UPLOAD_LIFE_S = 3600,
    UPLOAD_KEEP_S =
        86400,          /* until it is forgotten what became of it, or until there are too many */
    UPLOADS_MAX = 1000, /* of one principal, as the next; those that have ended make room */
    UPLOAD_PARTS_MAX = 20000,
    UPLOAD_PART_BYTES = 64 << 20,
};
#define UPLOAD_BYTES_MAX ((int64_t)8 << 30)

/* "pending", "completed", "cancelled" or "expired" at that moment. */
const char *oa_upload_status(const struct oa_card *upload, int64_t now_us);
/* Whether it is over and its parts are gone; one that expired and was not tidied yet is not. */
bool oa_upload_has_ended(const struct card *row);
/* ".uploads/UPLOAD" or a part below it. `part` NULL: without. */
void oa_upload_path(const char *upload, const char *part, char ret[PATH_BYTES_MAX + 1]);

/* As clients know it; `file` NULL: without. NULL: no memory. */
struct json_t *oa_upload_object(const struct oa_card *upload, const struct oa_card *file);
/* The upload of the address. ERR_NOT_FOUND. */
int oa_upload_find(struct oa_call *o, struct oa_card *ret, struct err *e);
/* The same, and it is still pending; otherwise 400. */
int oa_upload_find_pending(struct oa_call *o, struct oa_card *ret, struct err *e);
/* Notes what became of it, and forgets its parts. */
int oa_upload_end(struct openai *oa, struct caller *k, struct oa_card *upload, const char *status,
                  struct err *e);

/* The cards of its parts. */
int oa_upload_forget_parts(struct openai *oa, const struct card *upload, struct err *e);

/* upload_complete.c */
int oa_upload_complete(struct oa_call *o, struct err *e);
/* Does that while nobody else completes or cancels the upload of the address. ERR_CONFLICT. */
int oa_upload_alone(struct oa_call *o, int (*act)(struct oa_call *, struct err *), struct err *e);

#endif
