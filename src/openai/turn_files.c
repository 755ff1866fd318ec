/* turn_files.c -- the files that the code of a response made: told with the call, and cited in the answer. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/cite.h"
#include "base/scope.h"
#include "openai/shape.h"
#include "openai/turn.h"

enum { FILES_MAX = 500 }; /* of one run that are told */

/* Where a file of a run is; "": it is nowhere. */
static const char *place_of(const json_t *file)
{
    const char *kept_as = shape_text(file, "kept_as");
    if (*kept_as)
        return kept_as;
    return json_is_integer(json_object_get(file, "version")) ? shape_text(file, "path") : "";
}

static size_t find_path(const json_t *files, const char *path)
{
    size_t i, count = json_array_size(files);
    for (i = 0; i < count; i++)
        if (shape_is(json_array_get(files, i), "path", path))
            break;
    return i;
}

/* The native file object; the caller's. NULL: it is not there any more. */
static json_t *stat_file(struct oa_turn *t, const char *path)
{
    scoped(native_done) struct native n = NATIVE("GET");
    struct err ignored = {0};
    native_workspace(&n, t->container.workspace);
    native_text(&n, "/files/");
    native_path(&n, path);
    native_query(&n, "stat", "true");
    if (native_perform(&n, /* c= */ NULL, t->caller, OA_VIA, &ignored))
        return NULL;
    return take(n.json);
}

/* What cite.h wants of a file. */
static json_t *citable(struct oa_turn *t, const json_t *file)
{
    char id[ID_SIZE];
    oa_cfile_id(shape_text(file, "id"), id);
    return json_pack("{s:O, s:s, s:s}", "path", json_object_get(file, "path"), "file_id", id,
                     "container_id", t->container.id);
}

static void note_file(struct oa_turn *t, const json_t *file)
{
    json_t *made = citable(t, file);
    size_t at = find_path(t->made, shape_text(file, "path"));
    /* A file that is not noted for want of memory is there all the same, only not cited. */
    if (at < json_array_size(t->made))
        (void)json_array_set_new(t->made, at, made);
    else
        (void)json_array_append_new(t->made, made);
}

static void tell_file(struct oa_turn *t, const json_t *file, json_t *told)
{
    char id[ID_SIZE];
    oa_cfile_id(shape_text(file, "id"), id);
    (void)json_array_append_new(
        told, json_pack("{s:s, s:O, s:O, s:O, s:s, s:O}", "file_id", id, "path",
                        json_object_get(file, "path"), "bytes", json_object_get(file, "size"),
                        "sha256", json_object_get(file, "sha256"), "workspace_id",
                        t->container.workspace, "version", json_object_get(file, "version")));
}

static json_t *files_of(struct oa_turn *t, const json_t *run)
{
    json_t *told = json_array(), *file;
    size_t i;
    json_array_foreach(json_object_get(run, "files"), i, file)
    {
        const char *path = place_of(file);
        if (i == FILES_MAX)
            break;
        if (shape_is(file, "change", "deleted")) {
            size_t at = find_path(t->made, shape_text(file, "path"));
            (void)json_array_remove(t->made, at); /* past the end: it was never there */
            continue;
        }
        scoped(json_decrefp) json_t *found = *path ? stat_file(t, path) : NULL;
        if (!found || !shape_is(found, "kind", "file"))
            continue;
        note_file(t, found);
        tell_file(t, found, told);
    }
    return told;
}

void oa_turn_ran(struct oa_turn *t, const struct json_t *run, struct json_t *ret_marks)
{
    /* What cannot be made for want of memory is left out: all of these are extras. */
    (void)json_object_set_new(
        ret_marks, "x_exec",
        json_pack("{s:O?, s:O?, s:O?, s:O?, s:O?}", "run_id", json_object_get(run, "id"), "end",
                  json_object_get(run, "end"), "duration_ms", json_object_get(run, "duration_ms"),
                  "state", json_object_get(run, "state"), "error", json_object_get(run, "error")));
    (void)json_object_set_new(ret_marks, "x_files", files_of(t, run));
}

/* ---- citing ---- */

/* All files of the container, but those in t->made; the caller's. */
static json_t *earlier_files(struct oa_turn *t)
{
    scoped(native_done) struct native n = NATIVE("GET");
    struct err ignored = {0};
    json_t *files = json_array(), *file;
    size_t i;
    native_workspace(&n, t->container.workspace);
    native_text(&n, "/files");
    native_query(&n, "recursive", "true");
    native_query_u64(&n, "limit", FILES_MAX);
    if (native_perform(&n, /* c= */ NULL, t->caller, OA_VIA, &ignored))
        return files;
    json_array_foreach(json_object_get(n.json, "data"), i, file)
    {
        if (shape_is(file, "kind", "file") &&
            find_path(t->made, shape_text(file, "path")) == json_array_size(t->made))
            (void)json_array_append_new(files,
                                        citable(t, file)); /* one that is missing is not cited */
    }
    return files;
}

static bool is_among(const json_t *files, const json_t *citation)
{
    size_t i;
    json_t *file;
    json_array_foreach((json_t *)files, i, file)
    {
        if (shape_is(citation, "file_id", shape_text(file, "file_id")))
            return true;
    }
    return false;
}

/* Earlier files are cited only where the text speaks of them. */
static void drop_unlinked(json_t *citations, const json_t *earlier)
{
    for (size_t i = json_array_size(citations); i-- > 0;) {
        const json_t *one = json_array_get(citations, i);
        if (json_integer_value(json_object_get(one, "end_index")) == 0 && is_among(earlier, one))
            (void)json_array_remove(citations, i); /* it is there */
    }
}

void oa_turn_cite(struct oa_turn *t, const char *text, struct json_t **ret)
{
    struct err ignored = {0}; /* then it is an answer without citations */
    *ret = NULL;
    if (!t->has_container)
        return;
    scoped(json_decrefp) json_t *earlier =
        strstr(text, "sandbox:/") ? earlier_files(t) : json_array();
    scoped(json_decrefp) json_t *all = json_copy(t->made);
    if (!earlier || !all || json_array_extend(all, earlier) || json_array_size(all) == 0 ||
        cite_files(text, all, ret, &ignored))
        return;
    drop_unlinked(*ret, earlier);
    (void)json_array_clear(t->made); /* each is cited once unless a text speaks of it again */
}
