/* index_follow.c -- what changed in workspaces, and which runs there were: noted, to be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/filetype.h"
#include "base/scope.h"
#include "service/indexer_int.h"
#include "workspace/files.h"

enum {
    CHANGES_STEP = 500,
    RUNS_BACK_MAX = 5000, /* runs that are looked at for those that were not noted */
};

static struct text_change change_of(const struct file_row *row)
{
    struct text_change c = {.doc = {.kind = DOC_FILE,
                                    .version = row->version,
                                    .size = row->content.size,
                                    .changed_us = row->changed_us},
                            .mime = filetype_of(row->path),
                            .is_gone = row->state != FILE_LIVE};
    memcpy(c.doc.id, row->id, ID_SIZE);
    memcpy(c.doc.sha256, row->content.sha256, HASH_LEN);
    (void)snprintf(c.doc.path, sizeof c.doc.path, "%s", row->path);
    return c;
}

/* The place that a file has left is no file: the file itself comes under its new one. */
static bool is_document(const struct file_row *row)
{
    bool is_left = row->state != FILE_LIVE && row->change == CHANGE_MOVED;
    return row->kind == FILE_REGULAR && *row->id && !is_left;
}

static int note_rows(struct indexer *ix, const struct workspace_row *ws,
                     const struct file_rows *rows, uint64_t rev, struct err *e)
{
    size_t count = 0;
    scoped(freep) struct text_change *changes = calloc(rows->count + 1, sizeof *changes);
    if (!changes)
        return err_set(e, ERR_NO_MEMORY, "index a workspace");
    for (size_t i = 0; i < rows->count; i++)
        if (is_document(&rows->items[i]))
            changes[count++] = change_of(&rows->items[i]);
    return text_index_note(ix->o.index, ws->id, ws->vault, changes, count, rev, e);
}

static int follow_changes(struct indexer *ix, const struct workspace_row *ws, struct err *e)
{
    uint64_t since = 0, after;
    if (text_index_rev(ix->o.index, ws->id, &since, e))
        return -1;
    after = since;
    for (bool has_more = ws->rev > since; has_more && !ix->is_stopping;) {
        struct file_rows rows;
        if (meta_file_changes_after(files_meta(ix->o.files), ws->id, since, after, CHANGES_STEP,
                                    &rows, e))
            return -1;
        has_more = rows.has_more;
        if (rows.count)
            after = rows.items[rows.count - 1].rev;
        uint64_t rev = has_more || after > ws->rev ? after : ws->rev;
        /* Of the first look all that is live comes, by revision: one that is cut short goes on there. */
        int failed = note_rows(ix, ws, &rows, rev, e);
        file_rows_done(&rows);
        if (failed)
            return -1;
    }
    return 0;
}

static int forget(struct indexer *ix, const char *workspace, struct err *e)
{
    for (bool has_more = true; has_more && !ix->is_stopping;)
        if (text_index_forget(ix->o.index, workspace, &has_more, e))
            return -1;
    return 0;
}

int index_note_workspace(struct indexer *ix, const char *workspace, struct err *e)
{
    struct workspace_row ws;
    struct err why = {0};
    if (meta_workspace_get(files_meta(ix->o.files), workspace, &ws, &why)) {
        if (why.code == ERR_NOT_FOUND)
            return forget(ix, workspace, e);
        *e = why;
        return -1;
    }
    int failed = follow_changes(ix, &ws, e) || index_mean_workspace(ix, &ws, e) ? -1 : 0;
    workspace_row_done(&ws);
    return failed;
}

/* ---- runs ---- */

static int note_run(struct indexer *ix, const struct run_row *run, struct err *e)
{
    struct workspace_row ws;
    struct text_change c = {
        .doc = {.kind = DOC_RUN, .size = run->code_len, .changed_us = run->created_us},
        .mime = "text/x-run"};
    if (meta_workspace_get(files_meta(ix->o.files), run->workspace, &ws, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    memcpy(c.doc.id, run->id, ID_SIZE);
    memcpy(c.doc.principal, run->principal, ID_SIZE);
    memcpy(c.doc.sha256, run->id, HASH_LEN); /* it never changes */
    (void)snprintf(c.doc.path, sizeof c.doc.path, "%s", run->name ? run->name : "");
    int failed = text_index_note(ix->o.index, ws.id, ws.vault, &c, 1, 0, e);
    workspace_row_done(&ws);
    return failed;
}

int index_note_run(struct indexer *ix, const char *run, struct err *e)
{
    struct meta *meta = files_meta(ix->o.files);
    struct run_row row;
    struct err why = {0};
    if (meta_settle(meta, e))
        return -1;
    if (meta_run_get(meta, run, &row, &why)) {
        if (why.code == ERR_NOT_FOUND)
            return 0;
        *e = why;
        return -1;
    }
    int failed = row.status == RUN_DONE ? note_run(ix, &row, e) : 0;
    run_row_done(&row);
    return failed;
}

/* 1: all of them were known. */
static int note_unknown(struct indexer *ix, const struct run_rows *rows, struct err *e)
{
    int all = 1;
    for (size_t i = 0; i < rows->count && !ix->is_stopping; i++) {
        bool is_known = false;
        if (text_index_knows(ix->o.index, DOC_RUN, rows->items[i].id, &is_known, e))
            return -1;
        if (is_known || rows->items[i].status != RUN_DONE)
            continue;
        all = 0;
        if (note_run(ix, &rows->items[i], e))
            return -1;
    }
    return all;
}

/* Newest first, until a page brings nothing new. */
static int follow_runs(struct indexer *ix, struct err *e)
{
    char cursor[CURSOR_SIZE] = "";
    const struct run_filter filter = {.is_brief = true};
    for (uint32_t seen = 0; seen < RUNS_BACK_MAX && !ix->is_stopping;) {
        struct run_rows rows;
        const struct page page = {.limit = 200, .cursor = *cursor ? cursor : NULL};
        if (meta_run_list(files_meta(ix->o.files), &filter, &page, &rows, e))
            return -1;
        int all = note_unknown(ix, &rows, e);
        bool has_more = rows.has_more;
        memcpy(cursor, rows.next, sizeof cursor);
        run_rows_done(&rows);
        if (all || !has_more)
            return all < 0 ? -1 : 0;
        seen += page.limit;
    }
    return 0;
}

/* ---- everything ---- */

static int follow_known(struct indexer *ix, struct err *e)
{
    scoped(freep) char(*known)[ID_SIZE] = NULL;
    size_t count = 0;
    if (text_index_workspaces(ix->o.index, &known, &count, e))
        return -1;
    for (size_t i = 0; i < count && !ix->is_stopping; i++) {
        struct workspace_row ws;
        struct err why = {0};
        if (meta_workspace_get(files_meta(ix->o.files), known[i], &ws, &why) == 0)
            workspace_row_done(&ws);
        else if (why.code == ERR_NOT_FOUND && forget(ix, known[i], e))
            return -1;
    }
    return 0;
}

int index_note_all(struct indexer *ix, struct err *e)
{
    char cursor[CURSOR_SIZE] = "";
    for (bool has_more = true; has_more && !ix->is_stopping;) {
        struct workspace_rows rows;
        const struct page page = {.limit = PAGE_MAX, .cursor = *cursor ? cursor : NULL};
        int failed = 0;
        if (meta_workspace_list(files_meta(ix->o.files), /* owner= */ NULL, WORKSPACE_ANY, &page,
                                &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count && !failed && !ix->is_stopping; i++)
            failed = rows.items[i].rev ? follow_changes(ix, &rows.items[i], e) : 0;
        has_more = rows.has_more;
        memcpy(cursor, rows.next, sizeof cursor);
        workspace_rows_done(&rows);
        if (failed)
            return -1;
    }
    return follow_known(ix, e) || follow_runs(ix, e) ? -1 : 0;
}
