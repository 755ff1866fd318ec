/* tidy.c -- what time brings: Files that have expired, uploads that nobody completed.
 *
 * There is nobody to ask for, so this goes to the workspaces themselves, as the principal whose they are. What it cannot do now it
 * does the next time.
 */
#include <jansson.h>
#include <string.h>

#include "base/log.h"
#include "base/scope.h"
#include "openai/file.h"
#include "openai/upload.h"
#include "workspace/files.h"

enum { AT_ONCE = 200 };

/* The hidden workspace of a principal; ERR_NOT_FOUND. */
static int find_workspace(struct openai *oa, const char *principal, struct workspace_row *ret,
                          struct err *e)
{
    struct who who = {0};
    memcpy(who.principal, principal, sizeof who.principal);
    return files_workspace(oa->o.files, &who, FILE_WORKSPACE, RIGHT_WRITE, ret, e);
}

static int delete_path(struct openai *oa, const struct workspace_row *ws, const char *principal,
                       const char *path, struct err *e)
{
    scoped(commit_freep) struct commit *commit = NULL;
    struct author author = {0};
    const struct how how = {0};
    memcpy(author.principal, principal, sizeof author.principal);
    return commit_new(oa->o.files, ws, &author, COMMIT_EDIT, &commit, e) ||
                   commit_delete(commit, path, &how, e) || commit_finish(commit, e)
               ? -1
               : 0;
}

/* Away with what is there, and out of the trash, which nobody looks into. */
static int remove_path(struct openai *oa, const char *principal, const char *path, int64_t now_us,
                       struct err *e)
{
    scoped(workspace_row_done) struct workspace_row ws = {0};
    struct err why = {0};
    uint64_t count = 0;
    if (find_workspace(oa, principal, &ws, &why) == 0 &&
        delete_path(oa, &ws, principal, path, &why) == 0)
        return meta_purge_trash(files_meta(oa->o.files), ws.id, now_us + 1, AT_ONCE, &count, e);
    *e = why;
    return why.code == ERR_NOT_FOUND ? 0 : -1;
}

/* ---- Files ---- */

static int tidy_file(struct openai *oa, const struct card *row, int64_t now_us, struct err *e)
{
    struct oa_card c = {0};
    if (oa_card_of(row, &c, e))
        return -1;
    int failed = remove_path(oa, row->principal, oa_card_text(&c, "path"), now_us, e) ||
                 card_delete(oa->o.cards, row->principal, CARD_FILE, row->id, e);
    json_decref(c.body);
    return failed ? -1 : 0;
}

/* ---- uploads ---- */

static int tidy_parts(struct openai *oa, const struct card *upload, int64_t now_us, struct err *e)
{
    char path[PATH_BYTES_MAX + 1];
    oa_upload_path(upload->id, /* part= */ NULL, path);
    return oa_upload_forget_parts(oa, upload, e) ||
                   remove_path(oa, upload->principal, path, now_us, e)
               ? -1
               : 0;
}

/* Pending: it expires now, and is remembered for a while. Otherwise that while is over. */
static int tidy_upload(struct openai *oa, const struct card *row, int64_t now_us, struct err *e)
{
    struct oa_card c = {0};
    if (oa_card_of(row, &c, e))
        return -1;
    int failed = tidy_parts(oa, row, now_us, e);
    bool is_pending = strcmp(oa_card_text(&c, "status"), "pending") == 0;
    if (!failed && !is_pending)
        failed = card_delete(oa->o.cards, row->principal, CARD_UPLOAD, row->id, e);
    if (!failed && is_pending) {
        c.card.expires_us = now_us + (int64_t)UPLOAD_KEEP_S * 1000000;
        failed = json_object_set_new(c.body, "status", json_string("expired")) ||
                 oa_card_save(oa, &c, e);
    }
    json_decref(c.body);
    return failed ? -1 : 0;
}

/* ---- all ---- */

static void tidy_kind(struct openai *oa, enum card_kind kind, int64_t now_us,
                      int (*tidy)(struct openai *, const struct card *, int64_t, struct err *))
{
    scoped(card_rows_done) struct card_rows rows = {0};
    struct err e = {0};
    if (card_list_expired(oa->o.cards, kind, now_us, AT_ONCE, &rows, &e)) {
        log_line(oa->o.log, LOG_WARNING, "could not tidy", LOG_STR("why", e.text));
        return;
    }
    for (size_t i = 0; i < rows.count; i++)
        if (tidy(oa, &rows.items[i], now_us, &e))
            log_line(oa->o.log, LOG_WARNING, "could not tidy", LOG_STR("id", rows.items[i].id),
                     LOG_STR("why", e.text));
}

void openai_tidy(struct openai *o, int64_t now_us)
{
    tidy_kind(o, CARD_FILE, now_us, tidy_file);
    tidy_kind(o, CARD_UPLOAD, now_us, tidy_upload);
}
