/* What verbs print: objects, lists, texts, and the verbs that only do that. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/stage.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "json/write.h"

enum { TABLE_TEXT_MAX = 64 << 20, TEXT_MAX = 128 << 20 };

int verb_print_text(const struct buf *text)
{
    return print_exit(text, EXIT_DONE);
}

/* A value for people; texts of several lines come later, under their names. */
static void put_value(const char *name, const json_t *value, struct table *t)
{
    char ago[AGO_TEXT + 64], space[AGO_TEXT];
    const char *text = json_string_value(value);
    if (json_is_null(value))
        return;
    if (text && moment_us(text) >= 0) {
        (void)snprintf(ago, sizeof ago, "%s (%s)", text, ago_text(text, clock_wall_us(), space));
        table_add(t, name, NULL);
        table_add(t, text, ago);
    } else if (text) {
        table_add(t, name, NULL);
        table_add(t, text, NULL);
    } else {
        scoped(freep) char *dumped =
            json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        table_add(t, name, NULL);
        table_add(t, dumped ? dumped : "", NULL);
    }
}

static bool is_long_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strchr(text, '\n');
}

static void put_long_texts(const json_t *object, struct buf *out)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) if (is_long_text(value))
    {
        const char *text = json_string_value(value);
        buf_fmt(out, "\n%s:\n", name);
        printable_lines(text, strlen(text), out);
        if (text[strlen(text) - 1] != '\n')
            buf_str(out, "\n");
    }
    const char *traceback = pick_text(json_object_get(object, "error"), "traceback");
    if (*traceback) {
        buf_str(out, "\ntraceback:\n");
        printable_lines(traceback, strlen(traceback), out);
    }
}

static int put_fields(const json_t *object, struct buf *out, struct err *e)
{
    static const struct column columns[] = {{"FIELD", false, false}, {"VALUE", false, true}};
    scoped(table_done) struct table t = TABLE(columns, 2);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) if (!is_long_text(value))
        put_value(name, value, &t);
    return table_print(&t, terminal_width(), out, e);
}

int verb_print(const struct verb_input *in, const struct json_t *object)
{
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    struct err e = {0};
    if (!object)
        return EXIT_DONE;
    if (verb_is_json(in)) {
        int failed = stage_print(/* stop= */ NULL, object);
        if (failed == EPIPE)
            return EXIT_NO_READER;
        return failed ? EXIT_NO_JAIL : EXIT_DONE;
    }
    if (put_fields(object, &text, &e))
        return EXIT_NO_JAIL;
    put_long_texts(object, &text);
    return verb_print_text(&text);
}

int verb_number(const struct verb_input *in, int id, const char *name, unsigned long long min,
                unsigned long long max, unsigned long long preset, unsigned long long *ret,
                struct err *e)
{
    uint64_t n = preset;
    if (in->values[id] && parse_u64(in->values[id], min, max, &n, e))
        return err_wrap(e, "--%s", name);
    *ret = n;
    return 0;
}

int verb_print_list(const struct verb_input *in, const struct json_t *all, struct table *t,
                    void (*add)(struct table *t, const struct json_t *row), struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(TABLE_TEXT_MAX);
    int code = EXIT_DONE;
    for (size_t i = 0; i < json_array_size(all) && code == EXIT_DONE; i++)
        if (verb_is_json(in))
            code = verb_print(in, json_array_get(all, i));
        else
            add(t, json_array_get(all, i));
    if (verb_is_json(in))
        return code;
    if (table_print(t, json_array_size(all) ? terminal_width() : 0, &text, e))
        return -1;
    return verb_print_text(&text);
}

int verb_show(struct remote *r, const struct verb_input *in, const struct shelf *shelf,
              struct err *e)
{
    scoped(json_decrefp) json_t *object = NULL;
    char id[ID_SIZE];
    if (remote_resolve(r, shelf, in->operands[0], id, e) || remote_get(r, shelf, id, &object, e))
        return -1;
    return verb_print(in, object);
}

int verb_rm(struct remote *r, const struct verb_input *in, const struct shelf *shelf,
            const char *done, struct err *e)
{
    for (size_t i = 0; i < in->operand_count; i++) {
        char id[ID_SIZE];
        if (remote_resolve(r, shelf, in->operands[i], id, e) || remote_delete(r, shelf, id, e))
            return -1;
        note(&r->notes, "%s %s", done, in->operands[i]);
    }
    return EXIT_DONE;
}

int verb_print_new(const struct verb_input *in, const struct json_t *made)
{
    scoped(buf_done) struct buf text = BUF_INIT(256);
    if (verb_is_json(in))
        return verb_print(in, made);
    buf_fmt(&text, "%.64s\n", pick_text(made, "id"));
    return verb_print_text(&text);
}

int verb_tell(struct remote *r, const struct verb_input *in, const struct json_t *object,
              const char *done)
{
    if (verb_is_json(in))
        return verb_print(in, object);
    const char *name = pick_text(object, "name");
    note(&r->notes, "%s %s%s%s", done, *name ? name : pick_text(object, "id"), *name ? " = " : "",
         *name ? pick_text(object, "id") : "");
    return EXIT_DONE;
}

void verb_add_size(struct table *t, unsigned long long bytes)
{
    char digits[24], size[SIZE_TEXT];
    (void)snprintf(digits, sizeof digits, "%llu", bytes);
    table_add(t, digits, size_text(bytes, size));
}

void verb_add_count(struct table *t, unsigned long long count)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%llu", count);
    table_add(t, digits, NULL);
}

void verb_add_moment(struct table *t, const struct json_t *object, const char *key,
                     const char *none)
{
    char ago[AGO_TEXT];
    const char *moment = pick_text(object, key);
    table_add(t, moment, *moment ? ago_text(moment, clock_wall_us(), ago) : none);
}

void verb_put_one(const char *key, const char *text, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    if (text) {
        jw_key(&w, key);
        jw_text(&w, text);
    }
    jw_end_object(&w);
    jw_finish(&w);
}
