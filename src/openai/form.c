#include "openai/form.h"

#include <jansson.h>
#include <string.h>

#include "base/scope.h"
#include "base/utf8.h"
#include "http/exchange.h"
#include "http/multipart.h"
#include "http/params.h"
#include "http/syntax.h"
#include "openai/openai_int.h"

static int from_client(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    return http_read(arg, to, size, ret_len, e);
}

bool form_is(const struct oa_call *o)
{
    struct str type = http_header_get(o->c->request, "Content-Type");
    return type.ptr && http_same(params_word(&type), "multipart/form-data");
}

/* ---- fields ---- */

bool form_split(char *name, const char **ret_member)
{
    size_t len = strlen(name);
    char *open = strchr(name, '[');
    *ret_member = NULL;
    if (!open)
        return len > 0;
    if (open == name || name[len - 1] != ']' || strpbrk(open + 1, "[") ||
        strchr(open, ']') != name + len - 1)
        return false;
    *open = name[len - 1] = '\0';
    *ret_member = open + 1;
    return true;
}

static int read_field(struct form *f, struct buf *ret, struct err *e)
{
    char piece[4096];
    size_t len = 0;
    do {
        if (multipart_read(f->parts, piece, sizeof piece, &len, e))
            return -1;
        buf_add(ret, piece, len);
    } while (len > 0 && !ret->failed);
    return 0;
}

/* The object or array that a name with brackets speaks of. */
static json_t *holder(struct form *f, const char *name, bool is_array)
{
    json_t *found = json_object_get(f->fields, name);
    if (!found) {
        (void)json_object_set_new(f->fields, name, is_array ? json_array() : json_object());
        found = json_object_get(f->fields, name);
    }
    return is_array == json_is_array(found) && (json_is_array(found) || json_is_object(found))
               ? found
               : NULL;
}

static int put_field(struct form *f, const char *name, const char *member, json_t *value)
{
    json_t *in = member ? holder(f, name, !*member) : f->fields;
    if (in && member && !*member)
        return json_array_append_new(in, value);
    if (in && !json_object_get(in, member ? member : name))
        return json_object_set_new(in, member ? member : name, value);
    json_decref(value);
    return -1;
}

static int take_field(struct form *f, const struct multipart_part *part, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(FORM_FIELD_MAX);
    char name[MULTIPART_NAME_MAX + 1];
    const char *member;
    memcpy(name, part->name, sizeof name);
    if (read_field(f, &text, e))
        return -1;
    if (text.failed)
        return oa_fail(f->o, e, ERR_INVALID, part->name, "string_above_max_length",
                       "Invalid '%.80s': it has more than %d bytes.", part->name, FORM_FIELD_MAX);
    bool is_text = utf8_is_valid(text.bytes ? text.bytes : "", text.len) &&
                   utf8_is_valid(name, strlen(name)) &&
                   (text.len == 0 || !memchr(text.bytes, '\0', text.len));
    if (!is_text || !form_split(name, &member) ||
        put_field(f, name, member, json_stringn(text.bytes ? text.bytes : "", text.len)))
        return oa_fail(f->o, e, ERR_INVALID, NULL, "invalid_value",
                       "A field of the form is malformed, or came twice.");
    return 0;
}

/* ---- the file ---- */

static int read_file(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    struct form *f = arg;
    if (multipart_read(f->parts, to, size, ret_len, e))
        return -1;
    f->len += *ret_len;
    if (f->max && f->len > f->max)
        return oa_fail(f->o, e, ERR_TOO_LARGE, f->field, NULL,
                       "Invalid '%s': it has more than %llu MB.", f->field,
                       (unsigned long long)(f->max >> 20));
    return 0;
}

static int take_file(struct form *f, const struct multipart_part *part, struct err *e)
{
    const struct inner_body body = {.read = read_file, .arg = f};
    if (f->files++)
        return oa_fail(f->o, e, ERR_INVALID, f->field, "invalid_value",
                       "Send one '%s' with each request.", f->field);
    f->is_refused = f->store(f->arg, part->filename ? part->filename : "", &body, e) != 0;
    return f->is_refused ? -1 : 0;
}

/* ---- all of it ---- */

static int read_parts(struct form *f, struct err *e)
{
    const struct multipart_part *part = NULL;
    for (;;) {
        if (multipart_next(f->parts, &part, e))
            return -1;
        if (!part)
            return 0;
        bool is_file = strcmp(part->name, f->field) == 0;
        if (is_file ? take_file(f, part, e) : take_field(f, part, e))
            return -1;
    }
}

int form_read(struct form *f, struct err *e)
{
    struct str type = http_header_get(f->o->c->request, "Content-Type");
    struct err why = {0};
    f->fields = json_object();
    if (!f->fields)
        return err_set(e, ERR_NO_MEMORY, "read a form");
    if (multipart_new(type, from_client, f->o->c->x, &f->parts, &why) == 0 &&
        read_parts(f, &why) == 0)
        return 0;
    *e = why;
    if (why.code == ERR_INVALID && !f->is_refused && !f->o->c->told.is_whole)
        return oa_fail(f->o, e, ERR_INVALID, NULL, NULL,
                       "The form could not be read: %.120s. Send multipart/form-data with a "
                       "boundary, as it is written by the libraries for it.",
                       why.text);
    return -1;
}

void form_done(struct form *f)
{
    json_decref(f->fields);
    multipart_free(f->parts);
    f->fields = NULL;
    f->parts = NULL;
}
