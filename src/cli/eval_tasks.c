#include "cli/eval_tasks.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/closest.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/eval_regex.h"
#include "cli/fileref.h"
#include "json/read.h"

void tasks_done(struct tasks *t)
{
    for (size_t i = 0; i < t->count; i++)
        json_decref(t->all[i].object);
    free(t->all);
    *t = (struct tasks){0};
}

/* Text that C can hold: without a NUL in it. NULL if it is none, or empty. */
static const char *text_of(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && *text && strlen(text) == json_string_length(value) ? text : NULL;
}

static int check_keys(const json_t *object, const char *const *names, int count, const char *where,
                      struct err *e)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        bool is_known = false;
        for (int i = 0; i < count; i++)
            is_known |= strcmp(names[i], key) == 0;
        if (is_known)
            continue;
        const char *meant = closest_name(key, names, count);
        return err_set(e, ERR_INVALID, "%s has no '%.40s'%s%s%s", where, key,
                       meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    }
    return 0;
}

static int read_id(struct task *t, struct err *e)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    t->id = text_of(json_object_get(t->object, "id"));
    if (!t->id || strlen(t->id) > TASK_ID_MAX || t->id[strspn(t->id, plain)])
        return err_set(e, ERR_INVALID,
                       "\"id\" has to be a name of letters, digits, '.', '_' and '-', at most %d "
                       "of them",
                       TASK_ID_MAX);
    return 0;
}

/* Whether it may name a file both here, below where the tasks are, and in a workspace. */
static bool is_path(const char *text)
{
    char clean[FILEREF_SIZE];
    struct err ignored = {0};
    bool is_dir;
    return text && fileref_is_local(text) && fileref_clean(text, clean, &is_dir, &ignored) == 0 &&
           !is_dir && strcmp(clean, text) == 0;
}

static int read_files(struct task *t, struct err *e)
{
    t->files = json_object_get(t->object, "files");
    if (!t->files)
        return 0;
    if (!json_is_array(t->files) || json_array_size(t->files) > TASK_FILES_MAX)
        return err_set(e, ERR_INVALID, "\"files\" has to be a list of at most %d paths",
                       TASK_FILES_MAX);
    for (size_t i = 0; i < json_array_size(t->files); i++)
        if (!is_path(text_of(json_array_get(t->files, i))))
            return err_set(e, ERR_INVALID,
                           "\"files\" has to be paths of files below where the tasks are, such as "
                           "\"data/sales.csv\"");
    return 0;
}

/* ---- when it is solved ---- */

static int read_number(struct task *t, const json_t *expect, const json_t *value, struct err *e)
{
    const json_t *tolerance = json_object_get(expect, "tolerance");
    t->number = json_number_value(value);
    t->tolerance = json_number_value(tolerance);
    if (!json_is_number(value) || !isfinite(t->number))
        return err_set(e, ERR_INVALID, "\"number\" has to be a number");
    if (tolerance && (!json_is_number(tolerance) || !isfinite(t->tolerance) || t->tolerance < 0))
        return err_set(e, ERR_INVALID, "\"tolerance\" has to be a number, 0 or more");
    return 0;
}

static int read_parts(struct task *t, const json_t *value, struct err *e)
{
    t->parts = value;
    size_t count = json_array_size(value);
    bool is_right = json_is_array(value) && count > 0 && count <= TASK_PARTS_MAX;
    for (size_t i = 0; is_right && i < count; i++)
        is_right = text_of(json_array_get(value, i)) != NULL;
    if (!is_right)
        return err_set(e, ERR_INVALID, "\"contains\" has to be a list of 1 to %d texts",
                       TASK_PARTS_MAX);
    return 0;
}

static int read_regex(struct task *t, const json_t *value, struct err *e)
{
    scoped(pattern_freep) struct pattern *p = NULL;
    t->text = text_of(value);
    if (!t->text)
        return err_set(e, ERR_INVALID, "\"regex\" has to be a regular expression");
    return pattern_new(t->text, &p, e);
}

static int read_file(struct task *t, const json_t *expect, const json_t *value, struct err *e)
{
    const json_t *sha256 = json_object_get(expect, "sha256");
    t->text = text_of(value);
    t->sha256 = text_of(sha256);
    if (!is_path(t->text))
        return err_set(e, ERR_INVALID, "\"file\" has to be the path of a file in the workspace");
    if (sha256 &&
        (!t->sha256 || strlen(t->sha256) != 64 || t->sha256[strspn(t->sha256, "0123456789abcdef")]))
        return err_set(e, ERR_INVALID,
                       "\"sha256\" has to be 64 hexadecimal digits in small letters");
    return 0;
}

static int read_kind(struct task *t, const json_t *expect, const json_t *value, struct err *e)
{
    switch (t->kind) {
    case TASK_NUMBER: return read_number(t, expect, value, e);
    case TASK_TEXT:
        t->text = text_of(value);
        return t->text ? 0 : err_set(e, ERR_INVALID, "\"text\" has to be a text");
    case TASK_CONTAINS: return read_parts(t, value, e);
    case TASK_REGEX: return read_regex(t, value, e);
    case TASK_FILE: return read_file(t, expect, value, e);
    }
    return 0;
}

static int read_expect(struct task *t, struct err *e)
{
    static const char *const kinds[] = {"number", "text", "contains", "regex", "file"};
    static const char *const keys[] = {"number", "text",      "contains", "regex",
                                       "file",   "tolerance", "sha256"};
    const json_t *expect = json_object_get(t->object, "expect"), *found = NULL;
    size_t count = 0;
    if (!json_is_object(expect))
        return err_set(e, ERR_INVALID,
                       "\"expect\" has to say when it is solved, such as {\"number\": 42}");
    if (check_keys(expect, keys, sizeof keys / sizeof *keys, "\"expect\"", e))
        return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const json_t *value = json_object_get(expect, kinds[i]);
        if (!value)
            continue;
        found = value;
        t->kind = (enum task_kind)i;
        count++;
    }
    if (count != 1)
        return err_set(e, ERR_INVALID,
                       "\"expect\" has to have one of number, text, contains, regex and file");
    if (json_object_get(expect, "tolerance") && t->kind != TASK_NUMBER)
        return err_set(e, ERR_INVALID, "\"tolerance\" belongs to \"number\"");
    if (json_object_get(expect, "sha256") && t->kind != TASK_FILE)
        return err_set(e, ERR_INVALID, "\"sha256\" belongs to \"file\"");
    return read_kind(t, expect, found, e);
}

/* ---- lines ---- */

static int read_task(struct task *t, struct err *e)
{
    static const char *const keys[] = {"id", "question", "files", "expect"};
    if (!json_is_object(t->object))
        return err_set(e, ERR_INVALID, "a task has to be a JSON object");
    if (check_keys(t->object, keys, sizeof keys / sizeof *keys, "a task", e) || read_id(t, e))
        return -1;
    t->question = text_of(json_object_get(t->object, "question"));
    if (!t->question)
        return err_set(e, ERR_INVALID, "\"question\" has to be a text");
    return read_files(t, e) || read_expect(t, e) ? -1 : 0;
}

static int add_line(struct tasks *all, const char *line, size_t len, size_t number, struct err *e)
{
    if (all->count == TASKS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d tasks", TASKS_MAX);
    struct task *grown = reallocarray(all->all, all->count + 1, sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "read the tasks");
    all->all = grown;
    struct task *t = &all->all[all->count];
    *t = (struct task){.line = number};
    if (json_read(line, len, &t->object, e))
        return -1;
    all->count++;
    if (read_task(t, e))
        return -1;
    for (size_t i = 0; i + 1 < all->count; i++)
        if (strcmp(all->all[i].id, all->all[all->count - 1].id) == 0)
            return err_set(e, ERR_INVALID, "line %zu has the id '%s', too", all->all[i].line,
                           all->all[i].id);
    return 0;
}

static bool is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

int tasks_read(const char *text, size_t len, struct tasks *ret, struct err *e)
{
    size_t number = 0;
    *ret = (struct tasks){0};
    if (len > TASKS_BYTES_MAX)
        return err_set(e, ERR_LIMIT, "more than %d MiB of tasks", TASKS_BYTES_MAX >> 20);
    for (const char *at = text, *end = text + len; at < end;) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = (size_t)((feed ? feed : end) - at);
        number++;
        if (!is_blank(at, line_len) && add_line(ret, at, line_len, number, e))
            return err_wrap(e, "line %zu", number);
        at += line_len + (feed != NULL);
    }
    if (ret->count == 0)
        return err_set(e, ERR_INVALID, "there is no task; write one JSON object on each line");
    return 0;
}
