/* `cicada files ls` and `history`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "cli/words.h"

enum { LIST_PRESET = 1000 };

/* clang-format off */
const struct option files_ls_options[] = {
    {FILES_LONG, 'l', "long", NULL, "size, time, version and who made it, not only the name"},
    {FILES_DEEP, 'R', "recursive", NULL, "also what is in directories"},
    {FILES_BY_TIME, 't', "time", NULL, "newest first"},
    {FILES_BY_SIZE, 'S', "size", NULL, "largest first"},
    {FILES_REVERSED, 'r', "reverse", NULL, "the other way round"},
    {FILES_LIMIT, 'n', "limit", "N", "at most so many (1000)"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};
const struct option files_history_options[] = {
    {FILES_LIMIT, 'n', "limit", "N", "at most so many (1000)"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};

static const struct column name_columns[] = {{"NAME", false, false}};
static const struct column long_columns[] = {
    {"SIZE", true, false}, {"MODIFIED", false, false}, {"VERSION", true, false}, {"BY", false, true},
    {"NAME", false, false}};
static const struct column history_columns[] = {
    {"VERSION", true, false}, {"SIZE", true, false}, {"MADE", false, false}, {"CHANGE", false, false},
    {"BY", false, true}, {"PINNED", false, false}, {"SHA256", false, true}};
/* clang-format on */

/* Who made a version: the run, the session, the key, or whoever it was. */
static const char *author_of(const json_t *file)
{
    static const char *const keys[] = {"run_id", "session_id", "key_id", "principal_id"};
    const json_t *author = json_object_get(file, "author");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (*pick_text(author, keys[i]))
            return pick_text(author, keys[i]);
    return "";
}

static void add_name(struct table *t, const json_t *file)
{
    char name[FILEREF_SIZE + 1];
    (void)snprintf(name, sizeof name, "%s%s", pick_text(file, "path"),
                   file_is_directory(file) ? "/" : "");
    table_add(t, name, NULL);
}

static void add_long(struct table *t, const json_t *file)
{
    bool is_directory = file_is_directory(file);
    if (is_directory)
        table_add(t, "", "-");
    else
        verb_add_size(t, pick_count(file, "size"));
    verb_add_moment(t, file, "modified_at", "-");
    if (is_directory)
        table_add(t, "", "-");
    else
        verb_add_count(t, pick_count(file, "version"));
    table_add(t, author_of(file), NULL);
    add_name(t, file);
}

static void add_version(struct table *t, const json_t *version)
{
    bool is_pinned = pick_is_true(version, "pinned");
    verb_add_count(t, pick_count(version, "version"));
    verb_add_size(t, pick_count(version, "size"));
    verb_add_moment(t, version, "created_at", "-");
    table_add(t, pick_text(version, "change"), NULL);
    table_add(t, author_of(version), NULL);
    table_add(t, is_pinned ? "pinned" : "", NULL);
    table_add(t, pick_text(version, "sha256"), NULL);
}

/* A file to be sorted. */
struct row {
    json_t *file;
};

static int by_name(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return strcmp(pick_text(left->file, "path"), pick_text(right->file, "path"));
}

static int by_time(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    int order = strcmp(pick_text(right->file, "modified_at"), pick_text(left->file, "modified_at"));
    return order ? order : by_name(a, b);
}

static int by_size(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    uint64_t left_size = pick_count(left->file, "size"),
             right_size = pick_count(right->file, "size");
    if (left_size == right_size)
        return by_name(a, b);
    return left_size < right_size ? 1 : -1;
}

/* The same things in the order that was asked for. */
static int sort(const struct verb_input *in, json_t **all, struct err *e)
{
    size_t count = json_array_size(*all);
    scoped(freep) struct row *rows = calloc(count + 1, sizeof *rows);
    scoped(json_decrefp) json_t *sorted = json_array();
    if (!rows || !sorted)
        return err_set(e, ERR_NO_MEMORY, "sort a list");
    for (size_t i = 0; i < count; i++)
        rows[i].file = json_array_get(*all, i);
    qsort(rows, count, sizeof *rows,
          in->values[FILES_BY_TIME]   ? by_time
          : in->values[FILES_BY_SIZE] ? by_size
                                      : by_name);
    for (size_t i = 0; i < count; i++)
        if (json_array_append(sorted, rows[in->values[FILES_REVERSED] ? count - 1 - i : i].file))
            return err_set(e, ERR_NO_MEMORY, "sort a list");
    json_decref(*all);
    *all = take(sorted);
    return 0;
}

/* Appends what the word names: what is in the directory, what fits the pattern, or the file itself. */
static int add_word(struct remote *r, const struct verb_input *in, const char *word, unsigned max,
                    json_t *all, bool *has_more, struct err *e)
{
    char path[FILEREF_SIZE], prefix[FILEREF_SIZE + 1];
    const char *workspace = verb_workspace(in);
    scoped(json_decrefp) json_t *rows = NULL, *file = NULL;
    bool is_more;
    if (fileref_clean(word, path, /* ret_is_dir= */ NULL, e))
        return -1;
    bool is_pattern = fileref_is_pattern(path);
    (void)snprintf(prefix, sizeof prefix, "%.*s%s",
                   (int)(is_pattern ? fileref_fixed_len(path) : strlen(path)), path,
                   *path && !is_pattern ? "/" : "");
    const struct files_query query = {.prefix = prefix,
                                      .glob = is_pattern ? path : NULL,
                                      .is_deep = is_pattern || in->values[FILES_DEEP],
                                      .max = max};
    if (files_list(r, workspace, &query, &rows, &is_more, e))
        return -1;
    *has_more |= is_more;
    if (json_array_extend(all, rows))
        return err_set(e, ERR_NO_MEMORY, "read a list");
    if (json_array_size(rows) > 0 || !*path)
        return 0;
    /* Nothing is in it: is it a file, an empty directory, or nothing at all? */
    if (verb_file_stat(r, workspace, path, /* version= */ 0, &file, e))
        return is_pattern && e->code == ERR_NOT_FOUND
                   ? err_set(e, ERR_NOT_FOUND, "no file fits '%.150s'", path)
                   : -1;
    return file_is_directory(file) || json_array_append(all, file) == 0
               ? 0
               : err_set(e, ERR_NO_MEMORY, "read a list");
}

int files_ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    static const char *const root[] = {""};
    bool is_long = in->values[FILES_LONG], has_more = false;
    bool is_ordered = in->values[FILES_BY_TIME] || in->values[FILES_BY_SIZE];
    scoped(json_decrefp) json_t *all = json_array();
    scoped(table_done) struct table t =
        is_long ? TABLE(long_columns, sizeof long_columns / sizeof *long_columns)
                : TABLE(name_columns, 1);
    unsigned long long max;
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "read a list");
    if (verb_number(in, FILES_LIMIT, "limit", 1, FILES_LIST_MAX, LIST_PRESET, &max, e))
        return -1;
    const char *const *words = in->operand_count ? in->operands : root;
    for (size_t i = 0; i < (in->operand_count ? in->operand_count : 1); i++)
        if (add_word(r, in, words[i], is_ordered ? FILES_LIST_MAX : (unsigned)max, all, &has_more,
                     e))
            return -1;
    if (sort(in, &all, e))
        return -1;
    for (size_t count; (count = json_array_size(all)) > max; has_more = true)
        (void)json_array_remove(all, count - 1);
    int code = verb_print_list(in, all, &t, is_long ? add_long : add_name, e);
    if (code < 0)
        return -1;
    if (json_array_size(all) == 0 && in->operand_count == 0)
        note(&r->notes, "no files; `cicada files put FILE` stores one");
    if (has_more)
        note(&r->notes, "there are more; --limit N shows more of them");
    return code;
}

int files_history(struct remote *r, const struct verb_input *in, struct err *e)
{
    char path[FILEREF_SIZE];
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t =
        TABLE(history_columns, sizeof history_columns / sizeof *history_columns);
    unsigned long long max;
    bool has_more;
    if (fileref_clean(in->operands[0], path, /* ret_is_dir= */ NULL, e) ||
        verb_number(in, FILES_LIMIT, "limit", 1, FILES_LIST_MAX, LIST_PRESET, &max, e))
        return -1;
    fileref_url(verb_workspace(in), path, "", &url);
    if (buf_check(&url, e) ||
        remote_list(r, url.bytes, "versions=true", (unsigned)max, &all, &has_more, e))
        return -1;
    int code = verb_print_list(in, all, &t, add_version, e);
    if (code >= 0 && has_more)
        note(&r->notes, "there are more; --limit N shows more of them");
    return code;
}
