#include "cli/run_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/err.h"
#include "base/scope.h"
#include "cli/pick.h"

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NO_MEMORY, "read a run");
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Whether a string of that type is the content itself, and not base64 of it. */
static bool is_text_type(const char *type)
{
    return strncmp(type, "text/", 5) == 0 || ends_with(type, "json") || ends_with(type, "xml") ||
           ends_with(type, "javascript");
}

/* Decodes base64 of whole groups. False when it is none. */
static bool decode(const char *text, size_t len, char **ret, size_t *ret_len)
{
    if (len % 4 != 0 || len > INT32_MAX / 2)
        return false;
    size_t padding = len > 0 ? (size_t)(text[len - 1] == '=') + (size_t)(text[len - 2] == '=') : 0;
    unsigned char *bytes = malloc(len / 4 * 3 + 1);
    if (!bytes)
        return false;
    if (EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)len) != (int)(len / 4 * 3)) {
        free(bytes);
        return false;
    }
    *ret_len = len / 4 * 3 - padding;
    bytes[*ret_len] = '\0';
    *ret = (char *)bytes;
    return true;
}

static int mime_read(const char *type, const json_t *content, struct mime *ret, struct err *e)
{
    struct mime m = {.type = strdup(type), .form = FORM_TEXT};
    if (!json_is_string(content)) {
        m.form = FORM_JSON;
        m.bytes = json_dumps(content, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        m.len = m.bytes ? strlen(m.bytes) : 0;
    } else {
        const char *text = json_string_value(content);
        size_t len = json_string_length(content);
        if (!is_text_type(type) && decode(text, len, &m.bytes, &m.len))
            m.form = FORM_BINARY;
        else
            m.bytes = (m.len = len, strndup(text, len));
    }
    if (!m.type || !m.bytes) {
        free(m.type);
        free(m.bytes);
        return no_memory(e);
    }
    *ret = m;
    return 0;
}

int display_read(const struct json_t *bundle, struct display *ret, struct err *e)
{
    struct display d = {0};
    const char *type;
    json_t *content;
    *ret = d;
    if (json_object_size(bundle) == 0)
        return 0;
    if (!(d.entries = calloc(json_object_size(bundle), sizeof *d.entries)))
        return no_memory(e);
    json_object_foreach((json_t *)bundle, type, content)
    {
        if (d.count == DISPLAY_ENTRIES_MAX)
            break;
        if (mime_read(type, content, &d.entries[d.count], e)) {
            display_done(&d);
            return -1;
        }
        d.count++;
    }
    *ret = d;
    return 0;
}

int run_error_read(const struct json_t *object, struct run_error *ret, struct err *e)
{
    struct run_error error = {0};
    if (json_is_object(object)) {
        error = (struct run_error){.name = strdup(pick_text(object, "name")),
                                   .message = strdup(pick_text(object, "message")),
                                   .traceback = strdup(pick_text(object, "traceback")),
                                   .line = (uint32_t)pick_count(object, "line")};
        if (!error.name || !error.message || !error.traceback) {
            run_error_done(&error);
            return no_memory(e);
        }
    }
    *ret = error;
    return 0;
}

/* Head and tail of a stream; `dropped` bytes are missing between them. */
static int keep_from(const char *head, size_t head_len, const char *tail, size_t tail_len,
                     uint64_t dropped, struct keep *ret, struct err *e)
{
    size_t half = head_len > tail_len ? head_len : tail_len;
    struct keep k = KEEP_INIT(2 * half);
    if (keep_add(&k, head, head_len, e))
        goto fail;
    if (tail_len > 0) {
        if (!(k.ring = malloc(half))) {
            no_memory(e);
            goto fail;
        }
        memcpy(k.ring, tail, tail_len);
        k.ring_len = tail_len;
        k.ring_at = tail_len % half;
    }
    k.total = head_len + dropped + tail_len;
    *ret = k;
    return 0;

fail:
    keep_done(&k);
    return -1;
}

/* Where the line about `dropped` bytes begins, and what follows it; NULL if it is not there. Up to six
 * bytes of torn characters may be in its number and not in `dropped` (keep.h). */
static const char *find_gap(const char *text, size_t len, uint64_t dropped, const char **ret_tail)
{
    for (uint64_t torn = 0; dropped > 0 && torn <= 6; torn++) {
        char notice[KEEP_NOTICE_MAX];
        int notice_len = snprintf(notice, sizeof notice, "\n[... %" PRIu64 " bytes left out ...]\n",
                                  dropped + torn);
        const char *gap = memmem(text, len, notice, (size_t)notice_len);
        if (gap) {
            *ret_tail = gap + notice_len;
            return gap;
        }
    }
    return NULL;
}

static int stream_read(const json_t *object, const char *key, struct keep *ret, struct err *e)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_is_string(value) ? json_string_value(value) : "", *tail = NULL;
    size_t len = json_is_string(value) ? json_string_length(value) : 0;
    uint64_t dropped = pick_count(json_object_get(object, "truncated"), key);
    const char *gap = find_gap(text, len, dropped, &tail);
    if (!gap)
        return keep_from(text, len, "", 0, /* dropped= */ 0, ret, e);
    return keep_from(text, (size_t)(gap - text), tail, len - (size_t)(tail - text), dropped, ret,
                     e);
}

static int displays_read(const json_t *list, struct run *run, struct err *e)
{
    size_t count = json_array_size(list);
    if (count == 0)
        return 0;
    if (!(run->displays = calloc(count, sizeof *run->displays)))
        return no_memory(e);
    for (size_t i = 0; i < count; i++) {
        if (display_read(json_array_get(list, i), &run->displays[i], e))
            return -1;
        run->display_count++;
    }
    return 0;
}

static enum capture_change change_of(const char *name)
{
    if (strcmp(name, "deleted") == 0)
        return FILE_DELETED;
    return strcmp(name, "modified") == 0 ? FILE_MODIFIED : FILE_CREATED;
}

static int files_read(const json_t *list, struct capture *files, struct err *e)
{
    size_t count = json_array_size(list);
    if (count == 0)
        return 0;
    if (!(files->files = calloc(count, sizeof *files->files)))
        return no_memory(e);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(list, i);
        struct captured_file *f = &files->files[files->count];
        if (!(f->path = strdup(pick_text(one, "path"))))
            return no_memory(e);
        f->size = pick_count(one, "size");
        f->change = change_of(pick_text(one, "change"));
        f->mime = "";
        files->count++;
    }
    return 0;
}

static void numbers_read(const json_t *object, struct run *run)
{
    const json_t *limits = json_object_get(object, "limits");
    run->duration_us = (uint64_t)(pick_number(object, "duration_ms") * 1000);
    run->cpu_us = (uint64_t)(pick_number(object, "cpu_ms") * 1000);
    run->memory_peak = pick_count(object, "peak_memory_bytes");
    run->displays_dropped = pick_count(json_object_get(object, "truncated"), "displays");
    run->limits = LIMITS_DEFAULT;
    run->limits.memory_bytes = (uint64_t)(pick_number(limits, "memory_mb") * (double)MIB);
    run->limits.disk_bytes = (uint64_t)(pick_number(limits, "disk_mb") * (double)MIB);
    run->limits.output_bytes = pick_count(limits, "output_bytes");
    run->limits.wall_ms = (uint32_t)(pick_number(limits, "wall_s") * 1000);
    (void)snprintf(run->hint, sizeof run->hint, "%s", pick_text(object, "hint"));
}

/* "SIGSEGV" as a number; 0 if there is none of that name. */
static int signal_by_name(const char *name)
{
    for (int n = 1; n < NSIG; n++) {
        const char *known = sigabbrev_np(n);
        if (known && strncmp(name, "SIG", 3) == 0 && strcmp(known, name + 3) == 0)
            return n;
    }
    return 0;
}

static int end_read(const json_t *object, struct run *run, struct err *e)
{
    const char *end = pick_text(object, "end"), *state = pick_text(object, "state");
    run->end = END_COUNT;
    for (int i = 0; i < END_COUNT; i++)
        if (strcmp(end, run_end_name((enum run_end)i)) == 0)
            run->end = (enum run_end)i;
    for (int i = 0; i < STATE_COUNT; i++)
        if (strcmp(state, run_state_name((enum run_state)i)) == 0)
            run->state = (enum run_state)i;
    if (run->end == END_COUNT)
        return err_set(e, ERR_PROTOCOL, "the server sent a run that ended as '%.40s'", end);
    run->crash_signal = signal_by_name(pick_text(object, "signal"));
    run->crash_code = (int)pick_count(object, "exit_code");
    run->is_disk_full = pick_is_true(object, "server_disk_full");
    return 0;
}

int run_read(const struct json_t *object, struct run *ret, struct err *e)
{
    struct run run = {0};
    if (end_read(object, &run, e) || stream_read(object, "stdout", &run.out, e) ||
        stream_read(object, "stderr", &run.err, e) ||
        displays_read(json_object_get(object, "displays"), &run, e) ||
        display_read(json_object_get(object, "result"), &run.result, e) ||
        run_error_read(json_object_get(object, "error"), &run.error, e) ||
        files_read(json_object_get(object, "files"), &run.files, e)) {
        run_done(&run);
        return -1;
    }
    numbers_read(object, &run);
    *ret = run;
    return 0;
}
