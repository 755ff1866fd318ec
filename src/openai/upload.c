/* upload.c -- uploads as cards. */
#include "openai/upload.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "openai/file.h"

const char *oa_upload_status(const struct oa_card *upload, int64_t now_us)
{
    static const char *const ends[] = {"completed", "cancelled", "expired"};
    const char *status = oa_card_text(upload, "status");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(status, ends[i]) == 0)
            return ends[i];
    return now_us >= upload->card.expires_us ? "expired" : "pending";
}

bool oa_upload_has_ended(const struct card *row)
{
    struct oa_card c = {0};
    struct err ignored = {0}; /* one that cannot be read is left to who tidies */
    if (oa_card_of(row, &c, &ignored))
        return false;
    bool has_ended = strcmp(oa_card_text(&c, "status"), "pending") != 0;
    json_decref(c.body);
    return has_ended;
}

void oa_upload_path(const char *upload, const char *part, char ret[PATH_BYTES_MAX + 1])
{
    (void)snprintf(ret, PATH_BYTES_MAX + 1, ".uploads/%s%s%s", upload, part ? "/" : "",
                   part ? part : "");
}

struct json_t *oa_upload_object(const struct oa_card *upload, const struct oa_card *file)
{
    const struct card *card = &upload->card;
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:I}", "id", card->id, "object", "upload",
                  "bytes", (json_int_t)oa_card_int(upload, "bytes"), "created_at",
                  (json_int_t)(card->created_us / 1000000), "filename",
                  oa_card_text(upload, "filename"), "purpose", oa_card_text(upload, "purpose"),
                  "status", oa_upload_status(upload, clock_wall_us()), "expires_at",
                  (json_int_t)card->created_us / 1000000 + UPLOAD_LIFE_S);
    json_t *made = file ? file_object(file) : json_null();
    if (object && json_object_set_new(object, "file", made) == 0)
        return object;
    json_decref(object);
    return NULL;
}

int oa_upload_find(struct oa_call *o, struct oa_card *ret, struct err *e)
{
    const char *id = o->piece[0];
    struct err why = {.code = ERR_NOT_FOUND};
    if (strlen(id) < ID_SIZE &&
        oa_card_get(o->oa, o->c->who.principal, CARD_UPLOAD, id, ret, &why) == 0)
        return 0;
    if (why.code == ERR_NOT_FOUND)
        return oa_not_found(o, e, "Upload not found: %.64s", id);
    *e = why;
    return -1;
}

int oa_upload_find_pending(struct oa_call *o, struct oa_card *ret, struct err *e)
{
    scoped(oa_card_done) struct oa_card upload = {0};
    if (oa_upload_find(o, &upload, e))
        return -1;
    const char *status = oa_upload_status(&upload, clock_wall_us());
    if (strcmp(status, "pending") != 0)
        return oa_fail(o, e, ERR_INVALID, NULL, NULL,
                       "Upload %s is %s already. Make a new one for more bytes.", upload.card.id,
                       status);
    *ret = upload;
    upload = (struct oa_card){0};
    return 0;
}

/* ---- the end ---- */

/* The bytes of all parts at once. */
static int forget_bytes(struct openai *oa, struct caller *k, const char *upload, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("DELETE");
    struct err why = {0};
    char workspace[ID_SIZE], path[PATH_BYTES_MAX + 1];
    oa_upload_path(upload, /* part= */ NULL, path);
    if (file_workspace(oa, k, workspace, e))
        return -1;
    native_workspace(&n, workspace);
    native_text(&n, "/files/");
    native_path(&n, path);
    native_query(&n, "recursive", "true");
    if (native_perform(&n, /* c= */ NULL, k, OA_VIA, &why) == 0)
        return file_empty_trash(k, workspace, e);
    if (why.code == ERR_NOT_FOUND)
        return 0;
    *e = why;
    return -1;
}

int oa_upload_forget_parts(struct openai *oa, const struct card *upload, struct err *e)
{
    const struct card_filter filter = {.principal = upload->principal,
                                       .kind = CARD_PART,
                                       .parent = upload->id,
                                       .is_ascending = true,
                                       .limit = CARD_PAGE_MAX};
    bool has_more = true;
    while (has_more) {
        scoped(card_rows_done) struct card_rows rows = {0};
        if (card_list(oa->o.cards, &filter, &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count; i++)
            if (card_delete(oa->o.cards, upload->principal, CARD_PART, rows.items[i].id, e) &&
                e->code != ERR_NOT_FOUND)
                return -1;
        has_more = rows.has_more && rows.count > 0;
    }
    return 0;
}

int oa_upload_end(struct openai *oa, struct caller *k, struct oa_card *upload, const char *status,
                  struct err *e)
{
    upload->card.expires_us = clock_wall_us() + (int64_t)UPLOAD_KEEP_S * 1000000;
    if (json_object_set_new(upload->body, "status", json_string(status)))
        return err_set(e, ERR_NO_MEMORY, "end an upload");
    return oa_card_save(oa, upload, e) || oa_upload_forget_parts(oa, &upload->card, e) ||
                   forget_bytes(oa, k, upload->card.id, e)
               ? -1
               : 0;
}
