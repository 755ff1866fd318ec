/* params.h -- the parameters of a header: word; name=token; name="quoted \\" text"
 *
 *     struct str word = params_word(&value);
 *     while ((more = params_next(&value, &p)) == 1) ...        -1: malformed
 */
#ifndef HTTP_PARAMS_H
#define HTTP_PARAMS_H

#include <stddef.h>

#include "base/str.h"

enum { PARAM_VALUE_MAX = 1023 };

struct param {
    struct str name;
    char value[PARAM_VALUE_MAX + 1]; /* without quotes and escapes; no control characters */
    size_t len;
};

/* Takes what is before the first ';'. */
struct str params_word(struct str *s);

/* Takes the next "; name=value": 1, or 0 at the end, or -1 when it is malformed or too long. */
int params_next(struct str *s, struct param *ret);

#endif
