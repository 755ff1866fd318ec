/* form.h -- multipart/form-data as OpenAI's clients send it: one file, and fields around it in any order.
 *
 *     struct form f = {.o = o, .field = "file", .store = store, .arg = &mine};
 *     form_read(&f, e)         calls store(arg, name, read, ...) when the file comes, then goes on
 *     f.fields                 {"purpose":"user_data","expires_after":{"anchor":"created_at","seconds":"3600"}}
 *     form_done(&f)
 *
 * The bytes of the file go through `store` as they come; only fields are kept. "a[b]" is a member of an object, "a[]" of an array.
 */
#ifndef OPENAI_FORM_H
#define OPENAI_FORM_H

#include <stddef.h>
#include <stdint.h>

#include "api/inner.h"

struct err;
struct json_t;
struct multipart;
struct oa_call;

enum { FORM_FIELD_MAX = 64 << 10 }; /* bytes of one that is not the file */

struct form {
    struct oa_call *o;
    const char *field; /* which one is the file */
    int (*store)(void *arg, const char *filename, const struct inner_body *body, struct err *e);
    void *arg;
    uint64_t max; /* bytes of the file; 0: whatever who stores it allows */

    unsigned files;        /* that came: 0 or 1 */
    bool is_refused;       /* by `store` */
    struct json_t *fields; /* owned */
    struct multipart *parts;
    uint64_t len; /* bytes of the file up to now */
};

bool form_is(const struct oa_call *o); /* the body says that it is one */
int form_read(struct form *f, struct err *e);
void form_done(struct form *f);

/* "expires_after[seconds]" -> "expires_after" and "seconds"; "a[]" -> "a" and ""; "a" -> "a" and NULL. False: it is malformed. */
bool form_split(char *name, const char **ret_member);

#endif
