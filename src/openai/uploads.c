/* uploads.c -- /v1/uploads: create, parts, cancel; complete is upload_complete.c's. */
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "openai/file.h"
#include "openai/form.h"
#include "openai/upload.h"
#include "workspace/people.h"

enum { FORGOTTEN_AT_ONCE = 100 };

/* ---- create ---- */

static int check_text(struct oa_call *o, const char *name, struct err *e)
{
    const json_t *value = json_object_get(o->json, name);
    if (!value)
        return oa_missing(o, e, name);
    if (!json_is_string(value) || json_string_length(value) == 0 ||
        json_string_length(value) > 1024)
        return oa_fail(o, e, ERR_INVALID, name, "invalid_value",
                       "Invalid '%s': expected a string of 1 to 1024 bytes.", name);
    return 0;
}

static int check_bytes(struct oa_call *o, struct err *e)
{
    const json_t *value = json_object_get(o->json, "bytes");
    if (!value)
        return oa_missing(o, e, "bytes");
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > UPLOAD_BYTES_MAX)
        return oa_fail(o, e, ERR_INVALID, "bytes", "invalid_value",
                       "Invalid 'bytes': expected an integer from 0 to %lld.",
                       (long long)UPLOAD_BYTES_MAX);
    return 0;
}

static int check_create(struct oa_call *o, struct file_plan *plan, struct err *e)
{
    static const char *const names[] = {"filename",  "purpose",       "bytes",
                                        "mime_type", "expires_after", NULL};
    const char *param = NULL;
    struct err why = {0};
    if (oa_body(o, e) || oa_only(o, o->json, "", names, e) || check_text(o, "filename", e) ||
        check_text(o, "purpose", e) || check_bytes(o, e) || check_text(o, "mime_type", e))
        return -1;
    if (file_terms(json_object_get(o->json, "purpose"), json_object_get(o->json, "expires_after"),
                   plan, &param, &why))
        return oa_fail(o, e, why.code, param, "invalid_value", "%s", why.text);
    return 0;
}

/* The oldest that have ended: nobody can delete them, and what became of them is good to know and no more. */
static int forget_ended(struct openai *oa, const char *principal, struct err *e)
{
    char after[ID_SIZE] = "";
    bool has_more = true;
    for (size_t forgotten = 0; has_more && forgotten < FORGOTTEN_AT_ONCE;) {
        scoped(card_rows_done) struct card_rows rows = {0};
        const struct card_filter filter = {.principal = principal,
                                           .kind = CARD_UPLOAD,
                                           .is_ascending = true,
                                           .after = *after ? after : NULL,
                                           .limit = FORGOTTEN_AT_ONCE};
        if (card_list(oa->o.cards, &filter, &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count; i++) {
            memcpy(after, rows.items[i].id, ID_SIZE);
            if (!oa_upload_has_ended(&rows.items[i]))
                continue;
            if (card_delete(oa->o.cards, principal, CARD_UPLOAD, after, e) &&
                e->code != ERR_NOT_FOUND)
                return -1;
            forgotten++;
        }
        has_more = rows.has_more && rows.count > 0;
    }
    return 0;
}

static int insert(struct openai *oa, struct oa_card *c, struct err *e)
{
    struct err full = {0};
    if (oa_card_insert(oa, c, UPLOADS_MAX, &full) == 0)
        return 0;
    if (full.code == ERR_QUOTA)
        return forget_ended(oa, c->card.principal, e) || oa_card_insert(oa, c, UPLOADS_MAX, e) ? -1
                                                                                               : 0;
    *e = full;
    return -1;
}

static int create(struct oa_call *o, struct err *e)
{
    struct file_plan plan = {0};
    scoped(oa_card_done) struct oa_card c = {.card = {.kind = CARD_UPLOAD, .name = ""}};
    if (check_create(o, &plan, e) || card_make_id("upload_", c.card.id, e))
        return -1;
    memcpy(c.card.principal, o->c->who.principal, ID_SIZE);
    c.card.created_us = c.card.used_us = clock_wall_us();
    c.card.expires_us = c.card.created_us + (int64_t)UPLOAD_LIFE_S * 1000000;
    name_plain(json_string_value(json_object_get(o->json, "filename")), plan.filename);
    c.body = json_pack("{s:s, s:s, s:s, s:I, s:O}", "status", "pending", "filename", plan.filename,
                       "purpose", plan.purpose, "bytes",
                       json_integer_value(json_object_get(o->json, "bytes")), "mime_type",
                       json_object_get(o->json, "mime_type"));
    const json_t *after = json_object_get(o->json, "expires_after");
    if (!c.body || (after && json_object_set(c.body, "expires_after", (json_t *)after)))
        return err_set(e, ERR_NO_MEMORY, "begin an upload");
    if (insert(o->oa, &c, e))
        return -1;
    return oa_answer_take(o, oa_upload_object(&c, /* file= */ NULL), e);
}

/* ---- parts ---- */

struct storing {
    struct oa_call *o;
    const char *upload, *workspace;
    char part[ID_SIZE], path[PATH_BYTES_MAX + 1];
    json_t *file; /* the native object; owned */
};

static int store(void *arg, const char *filename, const struct inner_body *body, struct err *e)
{
    struct storing *s = arg;
    scoped(native_done) struct native n = NATIVE("PUT");
    (void)filename;
    oa_upload_path(s->upload, s->part, s->path);
    native_workspace(&n, s->workspace);
    native_text(&n, "/files/");
    native_path(&n, s->path);
    n.stream = body;
    n.type = "application/octet-stream";
    if (oa_perform(s->o, &n, e))
        return -1;
    s->file = take(n.json);
    return 0;
}

static int read_part(struct storing *s, struct err *e)
{
    scoped(form_done) struct form f = {
        .o = s->o, .field = "data", .store = store, .arg = s, .max = UPLOAD_PART_BYTES};
    static const char *const names[] = {NULL};
    if (form_read(&f, e) || oa_only(s->o, f.fields, "", names, e))
        return -1;
    return f.files ? 0 : oa_missing(s->o, e, "data");
}

static int note_part(struct storing *s, struct oa_card *ret, struct err *e)
{
    scoped(oa_card_done) struct oa_card again = {0};
    struct oa_card c = {.card = {.kind = CARD_PART, .name = ""}};
    memcpy(c.card.id, s->part, ID_SIZE);
    memcpy(c.card.principal, s->o->c->who.principal, ID_SIZE);
    memcpy(c.card.parent, s->upload, ID_SIZE);
    c.card.created_us = c.card.used_us = clock_wall_us();
    /* It may have been completed or cancelled meanwhile. */
    if (oa_upload_find_pending(s->o, &again, e))
        return -1;
    c.body = json_pack("{s:I}", "bytes", json_integer_value(json_object_get(s->file, "size")));
    if (!c.body)
        return err_set(e, ERR_NO_MEMORY, "note a part");
    if (oa_card_insert(s->o->oa, &c, UPLOAD_PARTS_MAX, e)) {
        oa_card_done(&c);
        return -1;
    }
    *ret = c;
    return 0;
}

static int add_part(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card upload = {0}, part = {0};
    char workspace[ID_SIZE];
    struct caller *k;
    if (oa_upload_find_pending(o, &upload, e))
        return -1;
    if (!form_is(o))
        return oa_fail(o, e, ERR_UNSUPPORTED, NULL, NULL,
                       "Send the part as multipart/form-data, with the field 'data'.");
    if (oa_caller(o, &k, e) || file_workspace(o->oa, k, workspace, e))
        return -1;
    struct storing s = {.o = o, .upload = upload.card.id, .workspace = workspace};
    if (card_make_id("part_", s.part, e))
        return -1;
    int failed = read_part(&s, e) || note_part(&s, &part, e);
    if (failed && s.file) {
        struct err ignored = {0}; /* bytes that nobody knows of are only a waste of space */
        (void)file_forget(k, workspace, s.path, &ignored);
    }
    json_decref(s.file);
    if (failed)
        return -1;
    return oa_answer_take(
        o,
        json_pack("{s:s, s:s, s:I, s:s}", "id", part.card.id, "object", "upload.part", "created_at",
                  (json_int_t)(part.card.created_us / 1000000), "upload_id", upload.card.id),
        e);
}

/* ---- cancel ---- */

static int cancel_it(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card upload = {0};
    struct caller *k;
    if (oa_upload_find_pending(o, &upload, e) || oa_caller(o, &k, e) ||
        oa_upload_end(o->oa, k, &upload, "cancelled", e))
        return -1;
    return oa_answer_take(o, oa_upload_object(&upload, /* file= */ NULL), e);
}

static int cancel(struct oa_call *o, struct err *e)
{
    return oa_upload_alone(o, cancel_it, e);
}

static const struct oa_op ops[] = {
    {"POST", "uploads", SCOPE_FILES_WRITE, create},
    {"POST", "uploads/{id}/parts", SCOPE_FILES_WRITE, add_part},
    {"POST", "uploads/{id}/complete", SCOPE_FILES_WRITE, oa_upload_complete},
    {"POST", "uploads/{id}/cancel", SCOPE_FILES_WRITE, cancel},
};

const struct oa_table oa_uploads = {ops, sizeof ops / sizeof *ops};
