/* config_file.c -- INI text, line by line through inih.
 *
 * inih knows neither the number of the line it is at (in the build that distributions ship) nor
 * long lines, and takes an indented line for the continuation of the one before, whatever it is.
 * So we feed it: the reader below counts, refuses what would be cut, and moves an indented
 * "name = value" to the margin. A value is kept until the next one begins, because more of it may
 * come. */
#include <ctype.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/closest.h"
#include "base/scope.h"
#include "daemon/config_load.h"

enum { WHERE_SIZE = 160, WORD_SIZE = 64 };

struct feed {
    struct loading *l;
    const char *path;
    const char *rest; /* what inih has not seen yet */
    size_t left;
    unsigned line;
    bool is_indented;

    int pending; /* number of the key whose value is not complete; -1: none */
    unsigned pending_line;
    struct buf value;
    char unknown[WORD_SIZE]; /* the section that was complained about last */
};

static void where(const struct feed *f, unsigned line, char ret[WHERE_SIZE])
{
    (void)snprintf(ret, WHERE_SIZE, "%.100s:%u", f->path, line);
}

static void complain(struct feed *f, unsigned line, const char *text)
{
    char at[WHERE_SIZE];
    where(f, line, at);
    config_tell(f->l, CONFIG_PROBLEM, at, text);
}

/* The key whose value has come to its end gets it. */
static void finish(struct feed *f)
{
    char at[WHERE_SIZE];
    where(f, f->pending_line, at);
    if (f->pending >= 0 && !f->value.failed)
        config_apply(f->l, f->pending, f->value.bytes ? f->value.bytes : "",
                     (struct config_origin){CONFIG_FILE, f->pending_line}, at);
    else if (f->pending >= 0)
        config_tell(f->l, CONFIG_PROBLEM, at, "the value is too long");
    f->pending = -1;
    buf_done(&f->value);
}

/* An indented line that is a key all the same: `  workers = 8`. */
static bool is_assignment(const char *line, size_t len)
{
    size_t i = 0;
    while (i < len && (isalnum((unsigned char)line[i]) || line[i] == '_'))
        i++;
    size_t name = i;
    while (i < len && (line[i] == ' ' || line[i] == '\t'))
        i++;
    return name > 0 && i < len && line[i] == '=';
}

/* What follows " ;" is a comment, also where inih does not look: in continued lines. */
static size_t without_comment(const char *line, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (line[i] == ';' && isblank((unsigned char)line[i - 1]))
            return i;
    return len;
}

/* The next line as inih shall see it: without its end, possibly empty. */
static struct str next_line(struct feed *f)
{
    const char *end = memchr(f->rest, '\n', f->left);
    struct str line = {f->rest, end ? (size_t)(end - f->rest) : f->left};
    size_t used = end ? line.len + 1 : line.len;
    f->rest += used;
    f->left -= used;
    f->line++;
    size_t blanks = 0;
    while (blanks < line.len && isblank((unsigned char)line.ptr[blanks]))
        blanks++;
    f->is_indented = blanks > 0 && !is_assignment(line.ptr + blanks, line.len - blanks);
    if (f->is_indented)
        line.len = without_comment(line.ptr, line.len);
    else
        line = (struct str){line.ptr + blanks, line.len - blanks};
    return line;
}

/* Like fgets, as inih wants it. */
static char *read_line(char *to, int size, void *arg)
{
    struct feed *f = arg;
    if (f->left == 0)
        return NULL;
    struct str line = next_line(f);
    if (memchr(line.ptr, '\0', line.len)) {
        complain(f, f->line, "contains a NUL character");
        line.len = 0;
    } else if (line.len + 2 > (size_t)size) {
        complain(f, f->line, "the line is too long; a list may go on in indented lines");
        line.len = 0;
    }
    memcpy(to, line.ptr, line.len);
    memcpy(to + line.len, "\n", 2);
    return to;
}

/* Names the section that has the key, or the name that was probably meant. */
static void unknown_key(struct feed *f, const char *section, const char *name)
{
    const char *names[CONFIG_KEYS_MAX] = {0};
    const char *elsewhere = NULL;
    for (size_t i = 0; i < config_key_count; i++) {
        bool is_here = strcmp(config_keys[i].section, section) == 0;
        names[i] = is_here ? config_keys[i].name : "";
        if (!is_here && strcmp(config_keys[i].name, name) == 0)
            elsewhere = config_keys[i].section;
    }
    const char *meant = closest_name(name, names, (int)config_key_count);
    char text[200];
    int len = snprintf(text, sizeof text, "there is no key '%.40s' in [%s]", name, section);
    if (meant)
        (void)snprintf(text + len, sizeof text - (size_t)len, "; did you mean '%s'?", meant);
    else if (elsewhere)
        (void)snprintf(text + len, sizeof text - (size_t)len, "; [%s] has one", elsewhere);
    complain(f, f->line, text);
}

static bool is_section(const char *section)
{
    for (size_t i = 0; i < config_key_count; i++)
        if (strcmp(config_keys[i].section, section) == 0)
            return true;
    return false;
}

/* Once for each, not for every key in it. */
static void unknown_section(struct feed *f, const char *section)
{
    char word[WORD_SIZE], text[200];
    const char *names[CONFIG_KEYS_MAX] = {0};
    (void)snprintf(word, sizeof word, "%.60s", *section ? section : "?");
    if (strcmp(word, f->unknown) == 0)
        return;
    memcpy(f->unknown, word, sizeof word);
    for (size_t i = 0; i < config_key_count; i++)
        names[i] = config_keys[i].section;
    const char *meant = closest_name(section, names, (int)config_key_count);
    if (!*section)
        (void)snprintf(text, sizeof text, "a key before the first [section]");
    else if (meant)
        (void)snprintf(text, sizeof text, "there is no section [%.40s]; did you mean [%s]?",
                       section, meant);
    else
        (void)snprintf(text, sizeof text, "there is no section [%.40s]", section);
    complain(f, f->line, text);
}

/* A line more of the value that is pending. */
static void go_on(struct feed *f, const char *value)
{
    if (config_keys[f->pending].kind == KEY_LIST) {
        buf_fmt(&f->value, "\n%s", value);
        return;
    }
    complain(f, f->line, "an indented line goes on with the list above, but there is none");
}

static void begin(struct feed *f, int key, const char *value)
{
    const struct config_origin *before = &f->l->c->origins[key];
    char text[200];
    if (before->source == CONFIG_FILE) {
        (void)snprintf(text, sizeof text, "%s.%s is set in line %u already",
                       config_keys[key].section, config_keys[key].name, before->line);
        complain(f, f->line, text);
        return;
    }
    f->pending = key;
    f->pending_line = f->line;
    buf_str(&f->value, value);
}

/* What inih found. Problems are told here, so it always hears that all is well. */
static int on_value(void *arg, const char *section, const char *name, const char *value)
{
    struct feed *f = arg;
    int key = config_key_find(section, name);
    if (f->is_indented && f->pending >= 0 && key == f->pending) {
        go_on(f, value);
        return 1;
    }
    finish(f);
    if (key >= 0)
        begin(f, key, value);
    else if (is_section(section))
        unknown_key(f, section, name);
    else
        unknown_section(f, section);
    return 1;
}

int config_read_text(struct loading *l, const char *path, const char *text, size_t len,
                     struct err *e)
{
    struct feed f = {.l = l, .path = path, .rest = text, .left = len, .pending = -1};
    f.value = BUF_INIT(CONFIG_VALUE_MAX);
    int wrong = ini_parse_stream(read_line, &f, on_value, &f);
    finish(&f);
    if (wrong == -2)
        return err_set(e, ERR_NO_MEMORY, "read the configuration");
    if (wrong > 0)
        complain(&f, (unsigned)wrong, "neither [section] nor name = value");
    return 0;
}
