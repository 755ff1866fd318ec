/* `cicada files restore` and `trash`: what was, and can be again. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "json/write.h"

enum { LIST_PRESET = 1000 };

/* clang-format off */
const struct option files_restore_options[] = {
    {FILES_VERSION, 'v', "version", "N", "make this version the newest again"},
    {FILES_TO, 't', "to", "PATH", "from the trash to another path than where it was"},
    VERB_LOCKED, VERB_IN_WORKSPACE, VERB_COMMON, {0}};
const struct option files_trash_options[] = {
    {FILES_TO, 't', "to", "PATH", "restore: to another path than where it was"},
    {FILES_LIMIT, 'n', "limit", "N", "ls: at most so many (1000)"},
    {FILES_FORCE, 'f', "force", NULL, "empty: really; it cannot be undone"},
    VERB_LOCKED, VERB_IN_WORKSPACE, VERB_COMMON, {0}};

static const struct column trash_columns[] = {
    {"SIZE", true, false}, {"DELETED", false, false}, {"ID", false, false}, {"NAME", false, false}};
/* clang-format on */

static void add_row(struct table *t, const json_t *file)
{
    verb_add_size(t, pick_count(file, "size"));
    verb_add_moment(t, file, "deleted_at", "-");
    table_add(t, pick_text(file, "id"), NULL);
    table_add(t, pick_text(file, "path"), NULL);
}

static int list_trash(struct remote *r, const struct verb_input *in, unsigned max, json_t **ret,
                      bool *ret_has_more, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    workspace_url(verb_workspace(in), "trash", &url);
    return buf_check(&url, e) ? -1 : remote_list(r, url.bytes, "", max, ret, ret_has_more, e);
}

static int ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t =
        TABLE(trash_columns, sizeof trash_columns / sizeof *trash_columns);
    unsigned long long max;
    bool has_more;
    char flag[96];
    if (verb_number(in, FILES_LIMIT, "limit", 1, FILES_LIST_MAX, LIST_PRESET, &max, e) ||
        list_trash(r, in, (unsigned)max, &all, &has_more, e))
        return -1;
    int code = verb_print_list(in, all, &t, add_row, e);
    if (code < 0)
        return -1;
    if (json_array_size(all) == 0)
        note(&r->notes, "the trash is empty");
    else if (terminal_width() > 0)
        note(&r->notes, "`cicada files restore%s NAME` brings one back", files_flag(in, flag));
    if (has_more)
        note(&r->notes, "there are more; --limit N shows more of them");
    return code;
}

/* The file in the trash that the word means: by id, or the one deleted last that was there. */
static const json_t *find_trashed(const json_t *all, const char *word, const char *path)
{
    const json_t *newest = NULL;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        if (strcmp(pick_text(one, "id"), word) == 0)
            return one;
        if (strcmp(pick_text(one, "path"), path) == 0 &&
            (!newest || strcmp(pick_text(one, "deleted_at"), pick_text(newest, "deleted_at")) > 0))
            newest = one;
    }
    return newest;
}

static int tell(struct remote *r, const struct verb_input *in, const json_t *file,
                unsigned long long from_version)
{
    if (verb_is_json(in))
        return verb_print(in, file);
    if (from_version)
        note(&r->notes, "%s is as it was in version %llu; that is version %llu now",
             pick_text(file, "path"), from_version,
             (unsigned long long)pick_count(file, "version"));
    else
        note(&r->notes, "brought back %s", pick_text(file, "path"));
    return EXIT_DONE;
}

static int restore_version(struct remote *r, const struct verb_input *in, const char *path,
                           unsigned long long version, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(FILES_BODY_MAX);
    scoped(json_decrefp) json_t *file = NULL;
    struct json_writer w = JSON_WRITER(&body);
    jw_object(&w);
    jw_key(&w, "path");
    jw_text(&w, path);
    jw_key(&w, "version");
    jw_u64(&w, version);
    jw_end_object(&w);
    jw_finish(&w);
    if (files_post(r, verb_workspace(in), "restore", &body, &file, e))
        return -1;
    return tell(r, in, file, version);
}

/* Nothing of that name is in the trash: is it where it was? */
static int not_in_trash(struct remote *r, const struct verb_input *in, const char *path,
                        struct err *e)
{
    scoped(json_decrefp) json_t *file = NULL;
    char flag[96];
    if (verb_file_stat(r, verb_workspace(in), path, /* version= */ 0, &file, e))
        return e->code == ERR_NOT_FOUND
                   ? err_set(e, ERR_NOT_FOUND, "%.150s is not in the trash", path)
                   : -1;
    return err_set(e, ERR_INVALID,
                   "%.150s is there; which version should come back? Write --version N "
                   "(`cicada files history%s %.150s` lists them)",
                   path, files_flag(in, flag), path);
}

static int restore_trashed(struct remote *r, const struct verb_input *in, const char *word,
                           struct err *e)
{
    char path[FILEREF_SIZE], to[FILEREF_SIZE];
    scoped(buf_done) struct buf body = BUF_INIT(FILES_BODY_MAX);
    scoped(json_decrefp) json_t *all = NULL, *file = NULL;
    struct json_writer w = JSON_WRITER(&body);
    if (fileref_clean(word, path, /* ret_is_dir= */ NULL, e) ||
        (in->values[FILES_TO] && fileref_clean(in->values[FILES_TO], to, NULL, e)) ||
        list_trash(r, in, FILES_LIST_MAX, &all, /* ret_has_more= */ NULL, e))
        return -1;
    const json_t *trashed = find_trashed(all, word, path);
    if (!trashed)
        return not_in_trash(r, in, path, e);
    jw_object(&w);
    jw_key(&w, "file_id");
    jw_text(&w, pick_text(trashed, "id"));
    if (in->values[FILES_TO]) {
        jw_key(&w, "path");
        jw_text(&w, to);
    }
    jw_end_object(&w);
    jw_finish(&w);
    if (files_post(r, verb_workspace(in), "restore", &body, &file, e)) {
        if (e->code == ERR_CONFLICT)
            note(&r->notes, "another file is there now; --to PATH brings it back beside it");
        return -1;
    }
    return tell(r, in, file, /* from_version= */ 0);
}

static int restore_words(struct remote *r, const struct verb_input *in, size_t first, struct err *e)
{
    int code = EXIT_DONE;
    if (in->values[FILES_TO] && in->operand_count - first > 1)
        return err_set(e, ERR_INVALID, "--to goes with one file");
    for (size_t i = first; code == EXIT_DONE && i < in->operand_count; i++)
        code = restore_trashed(r, in, in->operands[i], e);
    return code;
}

int files_restore(struct remote *r, const struct verb_input *in, struct err *e)
{
    unsigned long long version;
    char path[FILEREF_SIZE];
    if (files_version(in, &version, e))
        return -1;
    if (!version)
        return restore_words(r, in, 0, e);
    if (in->operand_count > 1 || in->values[FILES_TO])
        return err_set(e, ERR_INVALID,
                       "--version goes with one file, which stays where it is; to put an old "
                       "version elsewhere: cicada files cp --version N FROM TO");
    if (fileref_clean(in->operands[0], path, /* ret_is_dir= */ NULL, e))
        return -1;
    return restore_version(r, in, path, version, e);
}

static int empty(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(FILES_BODY_MAX);
    scoped(json_decrefp) json_t *done = NULL;
    if (!in->values[FILES_FORCE])
        return err_set(e, ERR_INVALID,
                       "what is purged cannot be brought back; --force empties the trash");
    buf_str(&body, "{\"trash\":true}");
    if (files_post(r, verb_workspace(in), "purge", &body, &done, e))
        return -1;
    if (verb_is_json(in) && done)
        return verb_print(in, done);
    note(&r->notes, "the trash is empty now");
    return EXIT_DONE;
}

int files_trash(struct remote *r, const struct verb_input *in, struct err *e)
{
    const char *word = in->operand_count ? in->operands[0] : "ls";
    if (strcmp(word, "restore") == 0 && in->operand_count > 1)
        return restore_words(r, in, 1, e);
    if (in->operand_count > 1 || strcmp(word, "restore") == 0)
        return err_set(e, ERR_INVALID, "write: cicada files trash [ls | restore NAME... | empty]");
    if (strcmp(word, "ls") == 0)
        return ls(r, in, e);
    if (strcmp(word, "empty") == 0)
        return empty(r, in, e);
    return err_set(e, ERR_INVALID, "there is no 'trash %.60s'; write ls, restore or empty", word);
}
