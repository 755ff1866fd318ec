#include "session/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"

void names_done(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
    *n = (struct names){0};
}

static int make_room(struct names *n, size_t count, struct err *e)
{
    char **grown = realloc(n->list, (n->count + count) * sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "keep a name");
    n->list = grown;
    return 0;
}

int names_add(struct names *n, const void *bytes, size_t len, struct err *e)
{
    if (n->count == NAMES_MAX) {
        n->more++;
        return 0;
    }
    if (len > NAMES_LEN_MAX)
        len = NAMES_LEN_MAX;
    scoped(freep) char *name = malloc(len + 1);
    if (!name)
        return err_set(e, ERR_NO_MEMORY, "keep a name");
    for (size_t i = 0; i < len; i++)
        name[i] = ((const char *)bytes)[i] ? ((const char *)bytes)[i] : '?';
    name[len] = '\0';
    if (make_room(n, 1, e))
        return -1;
    n->list[n->count++] = take(name);
    return 0;
}

int names_from_frame(struct names *n, const struct frame *frame, enum field_tag tag, struct err *e)
{
    for (struct field f = {0}; field_next(frame, &f);)
        if (f.tag == tag && names_add(n, f.bytes, f.len, e))
            return -1;
    return 0;
}

int names_append(struct names *to, struct names *from, struct err *e)
{
    if (from->count > 0 && make_room(to, from->count, e))
        return -1;
    for (size_t i = 0; i < from->count; i++) {
        if (to->count < NAMES_MAX) {
            to->list[to->count++] = from->list[i];
        } else {
            free(from->list[i]);
            to->more++;
        }
    }
    to->more += from->more;
    free(from->list);
    *from = (struct names){0};
    return 0;
}

size_t names_bytes(const struct names *n)
{
    size_t len = 0;
    for (size_t i = 0; i < n->count; i++)
        len += strlen(n->list[i]) + 1;
    return len;
}

void names_text(const struct names *n, size_t len, struct buf *out)
{
    size_t i = 0;
    for (; i < n->count; i++) {
        const char *separator = i ? ", " : "";
        if (out->len + strlen(separator) + strlen(n->list[i]) + NAMES_MORE_SIZE > len)
            break;
        buf_fmt(out, "%s%s", separator, n->list[i]);
    }
    size_t rest = n->count - i + n->more;
    if (rest > 0)
        buf_fmt(out, "%s%zu%s", i ? " and " : "", rest, i ? " more" : "");
}
