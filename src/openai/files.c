/* files.c -- /v1/files: create, list, retrieve, content, delete. */
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "openai/file.h"
#include "openai/form.h"
#include "workspace/people.h"

enum { LIST_MAX = 10000 };

/* ---- create ---- */

struct storing {
    struct oa_call *o;
    struct caller *k;
    struct file_plan plan;
    json_t *file; /* the native object; owned */
};

static int store(void *arg, const char *filename, const struct inner_body *body, struct err *e)
{
    struct storing *s = arg;
    scoped(native_done) struct native n = NATIVE("PUT");
    if (file_begin(s->o->oa, s->k, filename, &s->plan, e))
        return -1;
    native_workspace(&n, s->plan.workspace);
    native_text(&n, "/files/");
    native_path(&n, s->plan.path);
    n.stream = body;
    n.type = "application/octet-stream";
    if (oa_perform(s->o, &n, e))
        return -1;
    s->file = take(n.json);
    return 0;
}

static int check_terms(struct storing *s, const struct form *f, struct err *e)
{
    static const char *const names[] = {"purpose", "expires_after", NULL};
    static const char *const after_names[] = {"anchor", "seconds", NULL};
    const json_t *after = json_object_get(f->fields, "expires_after");
    const char *param = NULL;
    struct err why = {0};
    if (oa_only(s->o, f->fields, "", names, e) ||
        (json_is_object(after) && oa_only(s->o, after, "expires_after.", after_names, e)))
        return -1;
    if (f->files == 0)
        return oa_missing(s->o, e, "file");
    if (file_terms(json_object_get(f->fields, "purpose"), after, &s->plan, &param, &why))
        return oa_fail(s->o, e, why.code, param, NULL, "%s", why.text);
    return 0;
}

static int take_form(struct storing *s, struct oa_card *ret, struct err *e)
{
    scoped(form_done) struct form f = {.o = s->o, .field = "file", .store = store, .arg = s};
    if (form_read(&f, e) || check_terms(s, &f, e))
        return -1;
    return file_finish(s->o->oa, s->k, &s->plan, s->file, ret, e);
}

static int create(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    struct storing s = {.o = o};
    if (!form_is(o))
        return oa_fail(o, e, ERR_UNSUPPORTED, NULL, NULL,
                       "Send the file as multipart/form-data, with the fields 'file' and "
                       "'purpose'.");
    if (oa_caller(o, &s.k, e))
        return -1;
    int failed = take_form(&s, &c, e);
    if (failed && s.file) {
        struct err ignored = {0}; /* bytes that nobody knows of are only a waste of space */
        (void)file_forget(s.k, s.plan.workspace, s.plan.path, &ignored);
    }
    json_decref(s.file);
    return failed ? -1 : oa_answer_take(o, file_object(&c), e);
}

/* ---- list ---- */

/* One that has expired since the last tidying is not there. */
static int add_row(const struct card *row, int64_t now_us, json_t *data, struct err *e)
{
    struct oa_card c = {0};
    if (row->expires_us && row->expires_us <= now_us)
        return 0;
    if (oa_card_of(row, &c, e))
        return -1;
    int failed = json_array_append_new(data, file_object(&c));
    json_decref(c.body);
    return failed ? err_set(e, ERR_NO_MEMORY, "list files") : 0;
}

static int list(struct oa_call *o, struct err *e)
{
    struct oa_page page;
    char purpose[CARD_NAME_MAX + 1];
    if (oa_page(o, LIST_MAX, LIST_MAX, &page, e) ||
        oa_query(o, "purpose", purpose, sizeof purpose, e))
        return -1;
    const struct card_filter filter = {.principal = o->c->who.principal,
                                       .kind = CARD_FILE,
                                       .name = *purpose ? purpose : NULL,
                                       .is_ascending = page.is_ascending,
                                       .after = *page.after ? page.after : NULL,
                                       .limit = page.limit};
    scoped(card_rows_done) struct card_rows rows = {0};
    if (card_list(o->oa->o.cards, &filter, &rows, e))
        return -1;
    scoped(json_decrefp) json_t *data = json_array();
    for (size_t i = 0; i < rows.count; i++)
        if (add_row(&rows.items[i], clock_wall_us(), data, e))
            return -1;
    return oa_answer_list(o, take(data), rows.has_more, e);
}

/* ---- one of them ---- */

static int find(struct oa_call *o, struct oa_card *ret, struct err *e)
{
    struct err why = {0};
    if (file_card(o->oa, o->c->who.principal, o->piece[0], ret, &why) == 0)
        return 0;
    if (why.code == ERR_NOT_FOUND)
        return oa_fail(o, e, ERR_NOT_FOUND, "id", NULL, "%s", why.text);
    *e = why;
    return -1;
}

static int retrieve(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    return find(o, &c, e) || oa_answer_take(o, file_object(&c), e) ? -1 : 0;
}

static int content(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    scoped(native_done) struct native n = NATIVE("GET");
    char workspace[ID_SIZE];
    struct caller *k;
    if (find(o, &c, e) || oa_caller(o, &k, e) || file_workspace(o->oa, k, workspace, e))
        return -1;
    native_workspace(&n, workspace);
    native_text(&n, "/files/");
    native_path(&n, oa_card_text(&c, "path"));
    return oa_forward(o, &n, e);
}

static int delete (struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    char workspace[ID_SIZE];
    struct caller *k;
    if (find(o, &c, e) || oa_caller(o, &k, e) || file_workspace(o->oa, k, workspace, e) ||
        file_forget(k, workspace, oa_card_text(&c, "path"), e) ||
        card_delete(o->oa->o.cards, o->c->who.principal, CARD_FILE, c.card.id, e))
        return -1;
    return oa_answer_deleted(o, c.card.id, "file", e);
}

static const struct oa_op ops[] = {
    {"POST", "files", SCOPE_FILES_WRITE, create},
    {"GET", "files", SCOPE_FILES_READ, list},
    {"GET", "files/{id}", SCOPE_FILES_READ, retrieve},
    {"GET", "files/{id}/content", SCOPE_FILES_READ, content},
    {"DELETE", "files/{id}", SCOPE_FILES_WRITE, delete},
};

const struct oa_table oa_files = {ops, sizeof ops / sizeof *ops};
