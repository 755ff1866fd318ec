/* What the verbs of `cicada files` share: asking the server about files. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/files_int.h"
#include "cli/pick.h"
#include "cli/remote.h"

const char *verb_workspace(const struct verb_input *in)
{
    const char *named = in->values[VERB_WORKSPACE];
    return named && *named ? named : WORKSPACE_DEFAULT;
}

const char *files_flag(const struct verb_input *in, char space[96])
{
    const char *named = in->values[VERB_WORKSPACE];
    (void)snprintf(space, 96, " -w %.80s", named ? named : "");
    return named ? space : "";
}

int files_version(const struct verb_input *in, unsigned long long *ret, struct err *e)
{
    return verb_number(in, FILES_VERSION, "version", 1, INT64_MAX, 0, ret, e);
}

bool file_is_directory(const struct json_t *file)
{
    return strcmp(pick_text(file, "kind"), "directory") == 0;
}

int verb_file_stat(struct remote *r, const char *workspace, const char *path,
                   unsigned long long version, struct json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    char query[64] = "stat=true";
    if (version)
        (void)snprintf(query, sizeof query, "stat=true&version=%llu", version);
    fileref_url(workspace, path, query, &url);
    if (buf_check(&url, e))
        return -1;
    if (client_call(r->client, &(struct call){.path = url.bytes}, ret, e))
        return err_wrap(e, "%.150s", path);
    return 0;
}

int files_post(struct remote *r, const char *workspace, const char *door, const struct buf *body,
               struct json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    workspace_url(workspace, door, &url);
    return buf_check(&url, e) ? -1 : remote_post(r, url.bytes, body, ret, e);
}

int files_list(struct remote *r, const char *workspace, const struct files_query *query,
               struct json_t **ret, bool *ret_has_more, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), text = BUF_INIT(CALL_PATH_MAX);
    workspace_url(workspace, "files", &url);
    buf_str(&text, query->is_deep ? "recursive=true" : "recursive=false");
    if (*query->prefix) {
        buf_str(&text, "&prefix=");
        client_encode(&text, query->prefix);
    }
    if (query->glob) {
        buf_str(&text, "&glob=");
        client_encode(&text, query->glob);
    }
    if (buf_check(&url, e) || buf_check(&text, e))
        return -1;
    return remote_list(r, url.bytes, text.bytes, query->max, ret, ret_has_more, e);
}

void found_done(struct found *f)
{
    json_decref(f->files);
    f->files = NULL;
}

/* All files that the query lists, without directories. */
static int list_files(struct remote *r, const char *workspace, const struct files_query *query,
                      json_t **ret, struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    bool has_more;
    if (files_list(r, workspace, query, &all, &has_more, e))
        return -1;
    if (has_more)
        return err_set(e, ERR_TOO_LARGE, "these are more than %u files; take them in parts",
                       query->max);
    for (size_t i = json_array_size(all); i > 0; i--)
        if (file_is_directory(json_array_get(all, i - 1)))
            (void)json_array_remove(all, i - 1); /* it is there */
    *ret = take(all);
    return 0;
}

static int find_below(struct remote *r, const char *workspace, const char *path, struct found *ret,
                      struct err *e)
{
    char prefix[FILEREF_SIZE + 1];
    (void)snprintf(prefix, sizeof prefix, "%s%s", path, *path ? "/" : "");
    const struct files_query query = {.prefix = prefix, .is_deep = true, .max = FILES_LIST_MAX};
    ret->meaning = MEANS_DIRECTORY;
    ret->base_len = (size_t)(fileref_base(path) - path);
    return list_files(r, workspace, &query, &ret->files, e);
}

static int find_fitting(struct remote *r, const char *workspace, const char *pattern,
                        struct found *ret, struct err *e)
{
    char prefix[FILEREF_SIZE];
    ret->base_len = fileref_fixed_len(pattern);
    ret->meaning = MEANS_PATTERN;
    (void)snprintf(prefix, sizeof prefix, "%.*s", (int)ret->base_len, pattern);
    const struct files_query query = {
        .prefix = prefix, .glob = pattern, .is_deep = true, .max = FILES_LIST_MAX};
    if (list_files(r, workspace, &query, &ret->files, e))
        return -1;
    if (json_array_size(ret->files) > 0)
        return 0;
    found_done(ret);
    return err_set(e, ERR_NOT_FOUND, "no file fits '%.150s'", pattern);
}

static int find_file(json_t *file, const char *path, struct found *ret, struct err *e)
{
    ret->meaning = MEANS_FILE;
    ret->base_len = (size_t)(fileref_base(path) - path);
    ret->files = json_array();
    if (!ret->files || json_array_append(ret->files, file)) {
        found_done(ret);
        return err_set(e, ERR_NO_MEMORY, "look for a file");
    }
    return 0;
}

int files_find(struct remote *r, const char *workspace, const char *word, struct found *ret,
               struct err *e)
{
    char path[FILEREF_SIZE];
    scoped(json_decrefp) json_t *file = NULL;
    struct err missing = {0};
    *ret = (struct found){0};
    if (fileref_clean(word, path, /* ret_is_dir= */ NULL, e))
        return -1;
    if (!*path)
        return find_below(r, workspace, path, ret, e);
    if (verb_file_stat(r, workspace, path, /* version= */ 0, &file, &missing) == 0)
        return file_is_directory(file) ? find_below(r, workspace, path, ret, e)
                                       : find_file(file, path, ret, e);
    if (missing.code == ERR_NOT_FOUND && fileref_is_pattern(path))
        return find_fitting(r, workspace, path, ret, e);
    *e = missing;
    return -1;
}
