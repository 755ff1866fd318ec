/* container_files.c -- /v1/containers/{id}/files: create, retrieve, content, delete. The list is container_list.c's. */
#include <jansson.h>
#include <string.h>

#include "base/scope.h"
#include "http/exchange.h"
#include "openai/container.h"
#include "openai/container_list.h"
#include "openai/form.h"
#include "openai/names.h"
#include "workspace/people.h"

/* The container of the address, which is used by this. */
static int use(struct oa_call *o, struct oa_container *ret, struct err *e)
{
    struct caller *k;
    struct err why = {0};
    if (oa_caller(o, &k, e))
        return -1;
    if (oa_container_use(o->oa, k, o->piece[0], ret, &why) == 0)
        return 0;
    if (why.code == ERR_NOT_FOUND || why.code == ERR_INVALID)
        return oa_fail(o, e, why.code, NULL, NULL, "%s", why.text);
    *e = why;
    return -1;
}

/* ---- create ---- */

struct storing {
    struct oa_call *o;
    struct oa_container in;
    json_t *file; /* the native object; owned */
};

static int store(void *arg, const char *filename, const struct inner_body *body, struct err *e)
{
    struct storing *s = arg;
    scoped(native_done) struct native n = NATIVE("PUT");
    char plain[NAME_SIZE];
    name_plain(filename, plain);
    native_workspace(&n, s->in.workspace);
    native_text(&n, "/files/");
    native_path(&n, plain);
    n.stream = body;
    n.type = "application/octet-stream";
    if (oa_perform(s->o, &n, e))
        return -1;
    s->file = take(n.json);
    return 0;
}

static void form_of(struct storing *s, struct form *ret)
{
    *ret = (struct form){.o = s->o, .field = "file", .store = store, .arg = s};
}

/* `fields`: of the form, or the JSON. `missing`: what to ask for when there is none. */
static int create_from_file(struct storing *s, const json_t *fields, const char *missing,
                            struct err *e)
{
    struct caller *k;
    struct err why = {0};
    const char *id = json_string_value(json_object_get(fields, "file_id"));
    if (!id)
        return oa_missing(s->o, e, missing);
    if (oa_caller(s->o, &k, e))
        return -1;
    if (container_link(s->o->oa, k, &s->in, id, /* names= */ NULL, &s->file, &why) == 0)
        return 0;
    if (why.code == ERR_NOT_FOUND)
        return oa_fail(s->o, e, ERR_NOT_FOUND, "file_id", NULL, "%s", why.text);
    *e = why;
    return -1;
}

static const char *const create_names[] = {"file_id", NULL};

/* Some clients send the id of a File as a form, too. */
static int create_from_form(struct storing *s, struct err *e)
{
    scoped(form_done) struct form f;
    form_of(s, &f);
    if (form_read(&f, e) || oa_only(s->o, f.fields, "", create_names, e))
        return -1;
    return f.files > 0 ? 0 : create_from_file(s, f.fields, "file", e);
}

static int create_from_json(struct storing *s, struct err *e)
{
    if (oa_body(s->o, e) || oa_only(s->o, s->o->json, "", create_names, e))
        return -1;
    return create_from_file(s, s->o->json, "file_id", e);
}

static int create(struct oa_call *o, struct err *e)
{
    struct storing s = {.o = o};
    if (use(o, &s.in, e))
        return -1;
    int failed = form_is(o) ? create_from_form(&s, e) : create_from_json(&s, e);
    if (!failed)
        failed = oa_answer_take(o, container_file_object(s.in.id, s.file), e);
    json_decref(s.file);
    return failed;
}

/* ---- one of them ---- */

/* A file that is there now. */
static int find(struct oa_call *o, struct oa_container *ret_in, json_t **ret, struct err *e)
{
    scoped(json_decrefp) json_t *file = NULL;
    if (use(o, ret_in, e) || container_file_find(o, ret_in, o->piece[1], &file, e))
        return -1;
    if (json_object_get(file, "deleted_at"))
        return oa_not_found(o, e, "File %.64s not found on container %s", o->piece[1], ret_in->id);
    *ret = take(file);
    return 0;
}

static void address(struct native *n, const struct oa_container *in, const json_t *file)
{
    const char *path = json_string_value(json_object_get(file, "path"));
    native_workspace(n, in->workspace);
    native_text(n, "/files/");
    native_path(n, path ? path : "");
}

static int retrieve(struct oa_call *o, struct err *e)
{
    scoped(json_decrefp) json_t *file = NULL;
    struct oa_container in;
    if (find(o, &in, &file, e))
        return -1;
    return oa_answer_take(o, container_file_object(in.id, file), e);
}

static int content(struct oa_call *o, struct err *e)
{
    scoped(json_decrefp) json_t *file = NULL;
    scoped(native_done) struct native n = NATIVE("GET");
    struct oa_container in;
    if (find(o, &in, &file, e))
        return -1;
    address(&n, &in, file);
    return oa_forward(o, &n, e);
}

static int delete (struct oa_call *o, struct err *e)
{
    scoped(json_decrefp) json_t *file = NULL;
    scoped(native_done) struct native n = NATIVE("DELETE");
    struct oa_container in;
    if (find(o, &in, &file, e))
        return -1;
    address(&n, &in, file);
    if (oa_perform(o, &n, e))
        return -1;
    return oa_answer_deleted(o, o->piece[1], "container.file.deleted", e);
}

static int list(struct oa_call *o, struct err *e)
{
    struct oa_container in;
    return use(o, &in, e) || container_list(o, &in, e) ? -1 : 0;
}

static const struct oa_op ops[] = {
    {"POST", "containers/{id}/files", 0, create},
    {"GET", "containers/{id}/files", 0, list},
    {"GET", "containers/{id}/files/{file}", 0, retrieve},
    {"DELETE", "containers/{id}/files/{file}", 0, delete},
    {"GET", "containers/{id}/files/{file}/content", 0, content},
};

const struct oa_table oa_container_files = {ops, sizeof ops / sizeof *ops};
