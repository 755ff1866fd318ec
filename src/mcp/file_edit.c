/* file_edit.c -- edit_file: exact pieces of a text replaced, against the version they were found in. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "mcp/file_common.h"
#include "mcp/file_edits.h"
#include "mcp/mcp_int.h"
#include "workspace/diff.h"
#include "json/fields.h"
#include "json/write.h"

enum {
    EDITS_MAX = 100,
    TEXT_MAX = DIFF_BYTES_MAX,
    TRIES = 200, /* of several who write at the same time, one wins each time */
    DIFF_SHOWN = REPLY_TEXT_MAX - FILE_ROOM,
};

struct edit_args {
    const char *path, *lock_token, *workspace_id;
    struct json_structs edits;
    int64_t if_version;
    bool dry_run;
};

static const struct json_field one_fields[] = {
    {JF_STR(struct edit, old_text), .required = true, .min = 1, .max = TEXT_MAX,
     .doc =
         "What is in the file now, to the character: blanks, tabs and line ends as they are, without the "
         "line numbers of read_file. With enough around it that it is there once."},
    {JF_STR(struct edit, new_text), .required = true, .max = TEXT_MAX,
     .doc = "What stands there afterwards; empty to delete it."},
    {JF_BOOL(struct edit, replace_all), .doc = "Replace it wherever it is."},
    {0},
};

static const struct json_field fields[] = {
    {JF_TEXT(struct edit_args, path), .required = true, .min = 1, .max = FILE_PATH_MAX,
     .doc = FILE_PATH_DOC},
    {JF_OBJECTS(struct edit_args, edits, struct edit, one_fields), .required = true, .min = 1,
     .max = EDITS_MAX, .doc = "Applied in order; all of them, or none."},
    {JF_INT(struct edit_args, if_version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "Edit only if the file is still at this version."},
    {JF_TEXT(struct edit_args, lock_token), .min = 1, .max = FILE_LOCK_TOKEN_MAX,
     .doc = "Token of your lock on it, from lock_file."},
    {JF_BOOL(struct edit_args, dry_run), .doc = "Only show what would change."},
    {JF_TEXT(struct edit_args, workspace_id), .min = 1, .max = FILE_WORKSPACE_MAX,
     .doc = FILE_WORKSPACE_DOC},
    {0},
};

/* One try: what was read, and what is to be instead. */
struct attempt {
    struct native old, put;
    struct buf text;
    char etag[FILE_ETAG_SIZE];
    uint64_t version, replaced;
    bool is_told; /* the reply says why not */
};

static void attempt_done(struct attempt *a)
{
    native_done(&a->old);
    native_done(&a->put);
    buf_done(&a->text);
}

static struct str old_text(const struct attempt *a)
{
    const struct buf *out = &a->old.answer.out;
    return (struct str){out->bytes ? out->bytes : "", out->len};
}

/* ---- what cannot be done ---- */

static void tell_lines(struct buf *text, const struct edit_fault *fault)
{
    enum { KNOWN = sizeof fault->lines / sizeof *fault->lines };
    buf_fmt(text, "it is there %" PRIu64 " times, in lines", fault->count);
    for (size_t i = 0; i < KNOWN && i < fault->count; i++)
        buf_fmt(text, "%s %" PRIu64, i ? "," : "", fault->lines[i]);
    buf_fmt(text, "%s.\n", fault->count > KNOWN ? " and more" : "");
}

/* As a reply, because an error has no room for what the file says. */
static void tell_fault(struct mcp_call *m, struct attempt *a, const struct edit_fault *fault)
{
    const struct edit_args *in = m->in;
    const struct edit *edit = (const struct edit *)in->edits.items + fault->index;
    struct buf *text = &m->reply.text;
    m->reply.is_error = a->is_told = true;
    buf_fmt(text, "Error: edits[%zu] of %s (version %" PRIu64 "): ", fault->index,
            native_clean(in->path), a->version);
    switch (fault->kind) {
    case EDIT_SAME: buf_str(text, "old_text and new_text are the same.\n"); break;
    case EDIT_SEVERAL:
        tell_lines(text, fault);
        buf_str(text, "Add the lines around it to old_text until it is there once, or pass "
                      "replace_all: true.\n");
        break;
    case EDIT_MISSING:
    case EDIT_FINE:
        buf_str(text, "old_text is not in the file.\n");
        if (fault->index == 0)
            edits_explain(old_text(a), edit->old_text, text);
        else
            buf_str(
                text,
                "Edits see what those before them have made: it may have been replaced by one of "
                "them.\n");
        buf_str(text, "Copy old_text from read_file (as: \"text\"), without the line numbers.\n");
        break;
    }
    buf_str(text, "Nothing was changed.\n");
}

static int check_text(struct mcp_call *m, struct str text, struct err *e)
{
    if (utf8_is_valid(text.ptr, text.len) && !memchr(text.ptr, '\0', text.len))
        return 0;
    (void)snprintf(
        m->hint, sizeof m->hint,
        "Change it with run_code, which can open it with another encoding or a library.");
    return err_set(e, ERR_UNSUPPORTED, "it is not UTF-8 text");
}

/* ---- what is told ---- */

static void count_lines(struct str diff, uint64_t *ret_added, uint64_t *ret_removed)
{
    *ret_added = *ret_removed = 0;
    bool is_head = true; /* "--- a" and "+++ b" come before the first "@@" */
    for (size_t i = 0; i < diff.len; i++) {
        if (i > 0 && diff.ptr[i - 1] != '\n')
            continue;
        is_head = is_head && diff.ptr[i] != '@';
        *ret_added += !is_head && diff.ptr[i] == '+';
        *ret_removed += !is_head && diff.ptr[i] == '-';
    }
}

static void put_diff(struct buf *text, struct str diff)
{
    size_t len = diff.len <= DIFF_SHOWN ? diff.len : DIFF_SHOWN;
    while (len < diff.len && len > 0 && diff.ptr[len - 1] != '\n')
        len--;
    if (len == 0 && diff.len) /* one line longer than all there is room for */
        len = utf8_cut(diff.ptr, DIFF_SHOWN);
    buf_add(text, diff.ptr, len);
    if (len < diff.len)
        buf_fmt(text, "[%zu more bytes of the diff are left out]\n", diff.len - len);
}

static int tell(struct mcp_call *m, const struct attempt *a, const struct file_facts *f,
                struct err *e)
{
    const struct edit_args *in = m->in;
    scoped(buf_done) struct buf diff = BUF_INIT(8 * (size_t)TEXT_MAX);
    const struct diff_side from = {f->path, old_text(a)},
                           to = {f->path, {a->text.bytes, a->text.len}};
    struct json_writer *w = &m->reply.w;
    enum diff_outcome outcome;
    uint64_t added, removed;
    if (diff_text(&from, &to, &diff, &outcome, e) || buf_check(&diff, e))
        return -1;
    struct str shown = {diff.bytes ? diff.bytes : "", diff.len};
    count_lines(shown, &added, &removed);
    if (in->dry_run)
        buf_fmt(&m->reply.text, "Dry run: nothing was written. %s is at version %" PRIu64 ".\n",
                f->path, f->version);
    else
        buf_fmt(&m->reply.text, "Edited %s: version %" PRIu64 ", %" PRIu64 " replaced.\n", f->path,
                f->version, a->replaced);
    if (outcome == DIFF_DIFFERENT)
        put_diff(&m->reply.text, shown);
    file_write(w, f, /* is_pinned= */ false);
    jw_key(w, "dry_run");
    jw_bool(w, in->dry_run);
    jw_key(w, "replaced");
    jw_u64(w, a->replaced);
    jw_key(w, "lines_added");
    jw_u64(w, added);
    jw_key(w, "lines_removed");
    jw_u64(w, removed);
    file_link(m, f, /* is_pinned= */ false);
    return 0;
}

/* ---- what is done ---- */

static int prepare(struct mcp_call *m, struct attempt *a, struct err *e)
{
    const struct edit_args *in = m->in;
    struct edit_fault fault = {0};
    if (file_whole(m, in->workspace_id, in->path, TEXT_MAX, &a->old, a->etag, &a->version, e))
        return e->code == ERR_NOT_FOUND
                   ? file_missing(m, in->workspace_id, native_clean(in->path), e)
                   : -1;
    if (in->if_version && a->version != (uint64_t)in->if_version) {
        (void)err_set(e, ERR_PRECONDITION, "'%.80s' was changed: it is at version %" PRIu64 " now",
                      native_clean(in->path), a->version);
        return file_failed(m, e);
    }
    if (check_text(m, old_text(a), e))
        return -1;
    if (edits_apply(in->edits.items, in->edits.count, old_text(a), &a->text, &a->replaced, &fault,
                    e) == 0)
        return 0;
    if (fault.kind != EDIT_FINE)
        tell_fault(m, a, &fault);
    return -1;
}

static int show_only(struct mcp_call *m, struct attempt *a, struct err *e)
{
    const struct edit_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("GET");
    struct file_facts f;
    if (file_stat(m, in->workspace_id, in->path, a->version, &n, &f, e))
        return -1;
    return tell(m, a, &f, e);
}

static int write_back(struct mcp_call *m, struct attempt *a, struct err *e)
{
    const struct edit_args *in = m->in;
    const struct file_put put = {.workspace = in->workspace_id,
                                 .path = in->path,
                                 .bytes = {a->text.bytes, a->text.len},
                                 .if_match = a->etag,
                                 .lock_token = in->lock_token};
    struct file_facts f;
    if (file_put(m, &put, &a->put, e))
        return -1;
    file_facts(a->put.json, &f);
    return tell(m, a, &f, e);
}

/* When somebody writes in between, what they wrote is read and edited: an edit says what it expects. */
static int run(struct mcp_call *m, struct err *e)
{
    const struct edit_args *in = m->in;
    for (int tries = 1;; tries++) {
        scoped(attempt_done) struct attempt a = {
            .old = NATIVE("GET"), .put = NATIVE("PUT"), .text = BUF_INIT(2 * (size_t)TEXT_MAX)};
        if (prepare(m, &a, e))
            return a.is_told ? 0 : -1;
        if (in->dry_run)
            return show_only(m, &a, e);
        if (write_back(m, &a, e) == 0)
            return 0;
        if (e->code != ERR_PRECONDITION || in->if_version || in->lock_token || tries >= TRIES ||
            mcp_is_cancelled(m))
            return -1;
    }
}

const struct mcp_tool tool_edit_file = {
    .name = "edit_file",
    .title = "Edit a file",
    .description =
        "Replace exact pieces of a text file, and show what changed as a diff. Read the file first: "
        "old_text has to be what stands there, character for character, and only once (or pass "
        "replace_all), e.g. {\"path\": \"a.py\", \"edits\": [{\"old_text\": \"x = 1\\n\", "
        "\"new_text\": \"x = 2\\n\"}]}. All edits are made, or none; when others write at the same time, "
        "nothing of theirs is lost. dry_run shows the diff without writing. For a new file, or to "
        "replace all of one, use write_file; for large or regular changes run_code.",
    .fields = fields,
    .size = sizeof(struct edit_args),
    .scope = SCOPE_FILES_WRITE,
    .flags = TOOL_CORE,
    .run = run,
};
