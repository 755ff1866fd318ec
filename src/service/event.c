#include "service/event.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/glob.h"
#include "base/scope.h"
#include "service/object.h"
#include "json/read.h"
#include "json/write.h"

/* ---- who may see what ---- */

/* Parts of the names of what happens to files, to locks on them and to the workspace itself. */
static const char *const common[] = {
    "File",   "Trash",     "Version",      "Upload",       "Archive",    "Directory", "Lock",
    "Member", "Workspace", "lockConflict", "acceptInvite", "joinByForm", "takeClaim", NULL};

/* A commit of files has a revision. The record is canonical: its own members come before the detail. */
static bool is_commit(const struct audit_row *row)
{
    const char *rev = strstr(row->record, "\"rev\":"), *detail = strstr(row->record, "\"detail\":");
    return rev && (!detail || rev < detail);
}

bool event_is_shown(const struct audit_row *row, const struct event_reader *reader)
{
    if (row->is_read || row->result != AUDIT_OK)
        return false;
    if (reader->is_admin || is_commit(row) ||
        (row->principal && strcmp(row->principal, reader->principal) == 0))
        return true;
    for (const char *const *part = common; *part; part++)
        if (strstr(row->event, *part))
            return true;
    return false;
}

static bool has_detail(const struct audit_row *row, const struct event_reader *reader)
{
    return reader->is_admin || is_commit(row) || strcmp(row->event, "lockConflict") == 0 ||
           (row->principal && strcmp(row->principal, reader->principal) == 0);
}

/* ---- types ---- */

static bool is_pattern(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("._-*?", text[i]))
            return false;
    return len > 0 && len <= EVENT_TYPE_LEN_MAX;
}

int event_types_check(const char *types, struct err *e)
{
    size_t count = 0;
    if (strlen(types) >= EVENT_TYPES_SIZE)
        return err_set(e, ERR_INVALID, "types: at most %d characters", EVENT_TYPES_SIZE - 1);
    for (const char *at = types; *types; count++) {
        size_t len = strcspn(at, ",");
        if (!is_pattern(at, len))
            return err_set(e, ERR_INVALID,
                           "types: '%.*s' is no name of an event, such as putFile or *File*",
                           (int)(len < 64 ? len : 64), at);
        at += len;
        if (!*at++) {
            count++;
            break;
        }
    }
    if (count > EVENT_TYPES_MAX)
        return err_set(e, ERR_INVALID, "types: at most %d", EVENT_TYPES_MAX);
    return 0;
}

bool event_types_fit(const char *types, const char *type)
{
    if (!*types)
        return true;
    for (const char *at = types; *at;) {
        char pattern[EVENT_TYPE_LEN_MAX + 1];
        size_t len = strcspn(at, ",");
        if (len < sizeof pattern) {
            memcpy(pattern, at, len);
            pattern[len] = '\0';
            if (glob_fits(pattern, type))
                return true;
        }
        at += len + (at[len] == ',');
    }
    return false;
}

/* ---- as JSON ---- */

static const char *text_of(const json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

static void put(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static void put_number(struct json_writer *w, const char *key, const json_t *record,
                       const char *name)
{
    json_int_t v = json_integer_value(json_object_get(record, name));
    jw_key(w, key);
    if (v > 0)
        jw_u64(w, (uint64_t)v);
    else
        jw_null(w);
}

static int put_detail(struct json_writer *w, const json_t *detail, struct err *e)
{
    scoped(buf_done) struct buf clean = BUF_INIT(EVENT_BYTES_MAX);
    jw_key(w, "detail");
    if (!json_is_object(detail)) {
        jw_null(w);
        return 0;
    }
    scoped(freep) char *text = json_dumps(detail, JSON_COMPACT);
    if (!text)
        return err_set(e, ERR_NO_MEMORY, "write an event");
    if (json_compact(text, strlen(text), &clean, e) || buf_check(&clean, e))
        return -1;
    jw_raw(w, clean.bytes, clean.len);
    return 0;
}

static int put_all(struct json_writer *w, const struct audit_row *row, const json_t *record,
                   bool is_detailed, struct err *e)
{
    const char *object = text_of(record, "object");
    bool is_file = object && strncmp(object, "file_", 5) == 0;
    jw_object(w);
    jw_key(w, "seq");
    jw_u64(w, row->seq);
    put(w, "type", row->event);
    object_time(w, "at", row->at_us);
    put(w, "principal", text_of(record, "principal"));
    put(w, "via", text_of(record, "via"));
    put(w, "workspace_id", row->workspace);
    put(w, "object_id", object);
    put(w, "file_id", is_file ? object : NULL);
    put(w, "path", text_of(record, "path"));
    put_number(w, "version", record, "version");
    put_number(w, "rev", record, "rev");
    put(w, "session_id", text_of(record, "session"));
    put(w, "run_id", text_of(record, "run"));
    if (put_detail(w, is_detailed ? json_object_get(record, "detail") : NULL, e))
        return -1;
    jw_end_object(w);
    return 0;
}

int event_write(const struct audit_row *row, const struct event_reader *reader, struct buf *out,
                struct err *e)
{
    struct err why = {0};
    json_t *record = NULL;
    if (json_read(row->record, strlen(row->record), &record, &why))
        return err_set(e, ERR_DAMAGED, "entry %llu of the audit: %s", (unsigned long long)row->seq,
                       why.text);
    struct json_writer w = JSON_WRITER(out);
    int failed = put_all(&w, row, record, has_detail(row, reader), e);
    json_decref(record);
    return failed ? -1 : buf_check(out, e);
}
