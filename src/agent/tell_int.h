/* tell_int.h -- what tell.c and tell_notes.c share. */
#ifndef AGENT_TELL_INT_H
#define AGENT_TELL_INT_H

#include "agent/tell.h"
#include "base/str.h"

struct str tell_str(const struct json_t *object, const char *key); /* "": there is none */
double tell_number(const struct json_t *object, const char *key);  /* 0: there is none */

/* What stands for a bundle {MIME type: content} where only text can; its image, in base64, and the type of that. {NULL, 0}: none.
 * image/svg+xml is text. */
struct str tell_bundle_text(const struct json_t *bundle);
struct str tell_bundle_image(const struct json_t *bundle, const char **ret_mime);

/* How it ended, in words; files, and what else is to be said (tell_notes.c). */
void tell_end(const struct json_t *run, struct buf *out);
void tell_rest(const struct json_t *run, bool has_past, struct buf *out);

#endif
