/* config_show.c -- the configuration and its table, for people and programs. */
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "daemon/config_int.h"
#include "json/write.h"

enum { COMMENT_WIDTH = 86, INLINE_MAX = 100 };

static const char *const sources[] = {
    [CONFIG_DEFAULT] = "default",
    [CONFIG_FILE] = "file",
    [CONFIG_ENVIRONMENT] = "environment",
    [CONFIG_FLAG] = "flag",
};

/* How much of the text goes on a line of `width`: up to a blank, or a word that is longer. */
static size_t line_length(const char *text, size_t width)
{
    size_t len = strcspn(text, " ");
    for (size_t more = len; text[more] && more <= width; more += 1 + strcspn(text + more + 1, " "))
        len = more;
    return strlen(text) <= width ? strlen(text) : len;
}

/* Appends a text as lines of a comment. */
static void put_wrapped(const char *text, struct buf *out)
{
    for (size_t len; *text; text += len + (text[len] != '\0')) {
        len = line_length(text, COMMENT_WIDTH);
        buf_str(out, "# ");
        buf_add(out, text, len);
        buf_str(out, "\n");
    }
}

/* True for the first key of a section. */
static bool begins_section(size_t index)
{
    return index == 0 || strcmp(config_keys[index - 1].section, config_keys[index].section) != 0;
}

static bool is_numeric(const struct config_key *k)
{
    return k->kind != KEY_TEXT && k->kind != KEY_LIST && k->kind != KEY_CHOICE;
}

/* The comment above a key: what it is for, what it may be, when it takes effect. */
static void put_comment(const struct config_key *k, struct buf *out)
{
    char variable[CONFIG_VARIABLE_SIZE];
    config_key_variable(k, variable);
    put_wrapped(k->doc, out);
    buf_fmt(out, "# %s", variable);
    if (is_numeric(k)) {
        buf_str(out, "; ");
        config_key_range(k, out);
    }
    buf_str(out, k->is_live ? "; a reload can change it\n" : "; needs a restart\n");
}

/* The value, unless it is nobody's business. */
static void put_value(const struct config *c, const struct config_key *k, struct buf *out)
{
    size_t start = out->len;
    config_key_get(c, k, out);
    if (k->is_secret && out->len > start && !out->failed) {
        out->len = start;
        out->bytes[start] = '\0';
        buf_str(out, "(set)");
    }
}

static void put_source(const char *front, const struct config_origin *origin, struct buf *out)
{
    buf_fmt(out, "%s%s", front, sources[origin->source]);
    if (origin->line)
        buf_fmt(out, ", line %u", origin->line);
    buf_str(out, "\n");
}

/* Lines of a file are not long: a list goes on in others, and where else a value leaves no room the
 * source stands above it. */
static void put_setting(const struct config *c, size_t index, struct buf *out)
{
    const struct config_key *k = &config_keys[index];
    const struct config_origin *origin = &c->origins[index];
    scoped(buf_done) struct buf value = BUF_INIT(2 * CONFIG_VALUE_MAX);
    put_value(c, k, &value);
    const char *text = value.bytes ? value.bytes : "";
    if (value.len <= INLINE_MAX) {
        buf_fmt(out, "%s = %s", k->name, text);
        put_source(" ; ", origin, out);
    } else if (k->kind == KEY_LIST) {
        buf_fmt(out, "%s =", k->name);
        put_source(" ; ", origin, out);
        for (size_t len; *text; text += len, text += strspn(text, ", ")) {
            len = strcspn(text, ",");
            buf_fmt(out, "    %.*s\n", (int)len, text);
        }
    } else {
        put_source("# ", origin, out);
        buf_fmt(out, "%s = %s\n", k->name, text);
    }
}

void config_show(const struct config *c, struct buf *out)
{
    if (*c->path)
        buf_fmt(out, "# file: %s\n\n", c->path);
    else
        buf_str(out, "# file: none\n\n");
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *k = &config_keys[i];
        if (begins_section(i))
            buf_fmt(out, "%s[%s]\n", i ? "\n" : "", k->section);
        else
            buf_str(out, "\n");
        put_comment(k, out);
        put_setting(c, i, out);
    }
}

static void put_json(const struct config *c, size_t index, struct json_writer *w)
{
    const struct config_key *k = &config_keys[index];
    scoped(buf_done) struct buf value = BUF_INIT(2 * CONFIG_VALUE_MAX);
    char variable[CONFIG_VARIABLE_SIZE];
    put_value(c, k, &value);
    config_key_variable(k, variable);
    jw_object(w);
    jw_key(w, "section"), jw_text(w, k->section);
    jw_key(w, "name"), jw_text(w, k->name);
    jw_key(w, "value"), jw_str(w, value.bytes ? value.bytes : "", value.len);
    jw_key(w, "source"), jw_text(w, sources[c->origins[index].source]);
    if (c->origins[index].line)
        jw_key(w, "line"), jw_u64(w, c->origins[index].line);
    jw_key(w, "default"), jw_text(w, k->preset);
    jw_key(w, "variable"), jw_text(w, variable);
    jw_key(w, "reload"), jw_bool(w, k->is_live);
    jw_key(w, "doc"), jw_text(w, k->doc);
    jw_end_object(w);
}

void config_show_json(const struct config *c, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "file"), jw_text(&w, *c->path ? c->path : NULL);
    jw_key(&w, "keys"), jw_array(&w);
    for (size_t i = 0; i < config_key_count; i++)
        put_json(c, i, &w);
    jw_end_array(&w);
    jw_end_object(&w);
    jw_finish(&w);
    buf_str(out, "\n");
}

void config_example(struct buf *out)
{
    buf_str(
        out,
        "# Configuration of `cicada serve`. Every key is here with its default; take the # away\n"
        "# from a line to change it. Each is also an environment variable, named in its comment.\n"
        "# The command line overrides the environment, which overrides this file.\n"
        "#\n"
        "# `cicada config check FILE` says what is wrong with a file, `cicada config show` what\n"
        "# holds. A comment may also follow a value, after a blank and a semicolon.\n");
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *k = &config_keys[i];
        if (begins_section(i))
            buf_fmt(out, "\n[%s]\n", k->section);
        put_comment(k, out);
        buf_fmt(out, "#%s =%s%s\n\n", k->name, *k->preset ? " " : "", k->preset);
    }
}

/* As a cell of a table wants it. */
static void put_cell(const char *text, struct buf *out)
{
    for (; *text; text++)
        if (*text == '|' || *text == '*')
            buf_fmt(out, "\\%c", *text);
        else
            buf_add(out, text, 1);
}

void config_reference(struct buf *out)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *k = &config_keys[i];
        if (begins_section(i))
            buf_fmt(out,
                    "%s### [%s]\n\n| key | default | values | reload | what it is for |\n"
                    "|---|---|---|---|---|\n",
                    i ? "\n" : "", k->section);
        buf_fmt(out, "| `%s` | %s%s%s | ", k->name, *k->preset ? "`" : "", k->preset,
                *k->preset ? "`" : "");
        config_key_range(k, out);
        buf_fmt(out, " | %s | ", k->is_live ? "yes" : "");
        put_cell(k->doc, out);
        buf_str(out, " |\n");
    }
}
