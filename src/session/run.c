#include "session/run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"

enum { MIME_NAME_MAX = 127 }; /* of each side of the slash, RFC 6838 4.2 */

static const char *const end_names[END_COUNT] = {
    [END_OK] = "ok",
    [END_ERROR] = "error",
    [END_TIMEOUT] = "timeout",
    [END_MEMORY] = "memory",
    [END_OUTPUT_LIMIT] = "output_limit",
    [END_DISK] = "disk",
    [END_CANCELLED] = "cancelled",
    [END_CRASHED] = "crashed",
    [END_KILLED] = "killed",
};

static const char *const state_names[STATE_COUNT] = {
    [STATE_FRESH] = "fresh",
    [STATE_KEPT] = "kept",
    [STATE_WOKEN] = "woken",
    [STATE_LOST] = "lost",
};

static const char *const language_names[LANGUAGE_COUNT] = {
    [LANGUAGE_PYTHON] = "python",
    [LANGUAGE_BASH] = "bash",
    [LANGUAGE_JAVASCRIPT] = "javascript",
};

const char *run_end_name(enum run_end end)
{
    assert(end < END_COUNT);
    return end_names[end];
}

const char *run_state_name(enum run_state state)
{
    assert(state < STATE_COUNT);
    return state_names[state];
}

const char *run_language_name(enum run_language language)
{
    assert(language < LANGUAGE_COUNT);
    return language_names[language];
}

int run_language_parse(const char *name, enum run_language *ret, struct err *e)
{
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        if (strcmp(name, language_names[i]) == 0) {
            *ret = (enum run_language)i;
            return 0;
        }
    return err_set(e, ERR_INVALID,
                   "'%.40s' is no language known here; write python, bash or javascript", name);
}

enum run_language run_language_of_file(const char *name)
{
    static const struct {
        const char *ending;
        enum run_language language;
    } endings[] = {
        {".sh", LANGUAGE_BASH},        {".bash", LANGUAGE_BASH},      {".js", LANGUAGE_JAVASCRIPT},
        {".mjs", LANGUAGE_JAVASCRIPT}, {".cjs", LANGUAGE_JAVASCRIPT},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i].ending) == 0)
            return endings[i].language;
    return LANGUAGE_PYTHON;
}

void display_done(struct display *display)
{
    for (size_t i = 0; i < display->count; i++) {
        free(display->entries[i].type);
        free(display->entries[i].bytes);
    }
    free(display->entries);
    free(display->id);
    *display = (struct display){0};
}

void run_error_done(struct run_error *error)
{
    free(error->name);
    free(error->message);
    free(error->traceback);
    *error = (struct run_error){0};
}

bool run_error_is_memory(const struct run_error *error)
{
    static const char *const said[] = {"Cannot allocate memory", "out of memory"};
    static const char name[] = "MemoryError";
    size_t len = error->name ? strlen(error->name) : 0;
    if (len >= sizeof name - 1 && strcmp(error->name + len - (sizeof name - 1), name) == 0)
        return true;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (error->message && strstr(error->message, said[i]))
            return true;
    return false;
}

void run_done(struct run *run)
{
    keep_done(&run->out);
    keep_done(&run->err);
    for (size_t i = 0; i < run->display_count; i++)
        display_done(&run->displays[i]);
    free(run->displays);
    display_done(&run->result);
    run_error_done(&run->error);
    capture_done(&run->files);
    names_done(&run->lost);
    run_reads_done(&run->reads);
    *run = (struct run){0};
}

size_t display_bytes(const struct display *display)
{
    size_t sum = 0;
    for (size_t i = 0; i < display->count; i++)
        sum += display->entries[i].len;
    return sum;
}

static bool is_letter_or_digit(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_mime_name(const uint8_t *at, size_t len)
{
    if (len == 0 || len > MIME_NAME_MAX || !is_letter_or_digit(at[0]))
        return false;
    for (size_t i = 1; i < len; i++)
        if (at[i] == '\0' || (!is_letter_or_digit(at[i]) && !strchr("!#$&-^_.+", at[i])))
            return false;
    return true;
}

static bool is_mime_type(const struct field *f)
{
    const uint8_t *slash = f->len ? memchr(f->bytes, '/', f->len) : NULL;
    if (!slash)
        return false;
    size_t left = (size_t)(slash - f->bytes);
    return is_mime_name(f->bytes, left) && is_mime_name(slash + 1, f->len - left - 1);
}

static char *copy_text(const uint8_t *bytes, size_t len)
{
    char *text = malloc(len + 1);
    if (!text)
        return NULL;
    if (len)
        memcpy(text, bytes, len);
    text[len] = '\0';
    return text;
}

/* An entry while its fields come by: MIME opens it, DATA closes it. */
struct draft {
    struct field type;
    uint32_t form;
};

static bool is_known_form(uint32_t form)
{
    return form == FORM_TEXT || form == FORM_BINARY || form == FORM_JSON;
}

static bool has_type(const struct display *display, const struct field *type)
{
    for (size_t i = 0; i < display->count; i++) {
        const char *known = display->entries[i].type;
        if (strlen(known) == type->len && memcmp(known, type->bytes, type->len) == 0)
            return true;
    }
    return false;
}

static bool is_wanted(const struct display *display, const struct draft *draft)
{
    return is_mime_type(&draft->type) && is_known_form(draft->form) &&
           display->count < DISPLAY_ENTRIES_MAX && !has_type(display, &draft->type);
}

/* Room for one more entry in a display that has fewer than DISPLAY_ENTRIES_MAX. */
static int add_entry(struct display *display, const struct draft *draft,
                     const struct field *content)
{
    struct mime *grown = realloc(display->entries, (display->count + 1) * sizeof *grown);
    if (!grown)
        return -1;
    display->entries = grown;
    scoped(freep) char *type = copy_text(draft->type.bytes, draft->type.len);
    scoped(freep) char *bytes = copy_text(content->bytes, content->len);
    if (!type || !bytes)
        return -1;
    grown[display->count++] = (struct mime){
        .type = take(type),
        .form = (enum field_form)draft->form,
        .bytes = take(bytes),
        .len = content->len,
    };
    return 0;
}

static int set_id(struct display *display, const struct field *id)
{
    if (display->id)
        return 0;
    size_t len = strnlen((const char *)id->bytes, id->len);
    display->id = copy_text(id->bytes, len < DISPLAY_ID_MAX ? len : DISPLAY_ID_MAX);
    return display->id ? 0 : -1;
}

static int display_field(struct display *display, struct draft *draft, const struct field *f)
{
    int failed = 0;
    switch (f->tag) {
    case FIELD_MIME: *draft = (struct draft){.type = *f, .form = FORM_TEXT}; break;
    case FIELD_FORM: draft->form = field_u32(f, /* preset= */ 0); break;
    case FIELD_DATA:
        if (is_wanted(display, draft))
            failed = add_entry(display, draft, f);
        *draft = (struct draft){0};
        break;
    case FIELD_ID: failed = set_id(display, f); break;
    default: /* a field some other version of the kernel knows */ break;
    }
    return failed;
}

int display_from_frame(const struct frame *frame, struct display *ret, struct err *e)
{
    scoped(display_done) struct display display = {0};
    struct draft draft = {0};
    for (struct field f = {0}; field_next(frame, &f);)
        if (display_field(&display, &draft, &f))
            return err_set(e, ERR_NO_MEMORY, "keep a display");
    *ret = display;
    display = (struct display){0};
    return 0;
}

/* The text of a field, at most `max` bytes of it plus a notice, without NULs. NULL: no memory. */
static char *bounded_text(const struct frame *frame, enum field_tag tag, size_t max)
{
    static const char nul_picture[] = "\xE2\x90\x80";
    struct field f = {0};
    if (!field_find(frame, tag, &f))
        return copy_text(/* bytes= */ NULL, 0);

    struct err ignored = {0}; /* the only failure is memory, and NULL says that */
    scoped(keep_done) struct keep kept = KEEP_INIT(max);
    scoped(buf_done) struct buf raw = BUF_INIT(max + KEEP_NOTICE_MAX);
    if (keep_add(&kept, f.bytes, f.len, &ignored))
        return NULL;
    keep_text(&kept, &raw);

    scoped(buf_done) struct buf text = BUF_INIT(3 * raw.max);
    size_t at = 0;
    while (at < raw.len) {
        size_t len = strnlen(raw.bytes + at, raw.len - at);
        buf_add(&text, raw.bytes + at, len);
        at += len;
        if (at < raw.len) {
            buf_str(&text, nul_picture);
            at++;
        }
    }
    buf_add(&text, "", 0); /* an empty text is allocated too */
    return raw.failed || text.failed ? NULL : buf_take(&text, /* ret_len= */ NULL);
}

int run_error_from_frame(const struct frame *frame, struct run_error *ret, struct err *e)
{
    struct field line = {0};
    bool has_line = field_find(frame, FIELD_LINE, &line);
    scoped(run_error_done) struct run_error error = {
        .name = bounded_text(frame, FIELD_NAME, ERROR_NAME_MAX),
        .message = bounded_text(frame, FIELD_MESSAGE, ERROR_MESSAGE_MAX),
        .traceback = bounded_text(frame, FIELD_TRACEBACK, TRACEBACK_MAX),
        .line = has_line ? field_u32(&line, /* preset= */ 0) : 0,
    };
    if (!error.name || !error.message || !error.traceback)
        return err_set(e, ERR_NO_MEMORY, "keep an error");
    *ret = error;
    error = (struct run_error){0};
    return 0;
}
