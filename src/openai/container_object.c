/* container_object.c -- containers and their files as clients know them. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/scope.h"
#include "openai/container.h"

struct json_t *container_object(const struct openai *oa, const struct oa_card *c)
{
    const struct card *card = &c->card;
    const char *session = oa_card_text(c, "session_id");
    return json_pack(
        "{s:s, s:s, s:I, s:s, s:{s:s, s:I}, s:I, s:s, s:s, s:{s:s}, s:I, s:s, s:s?}", "id",
        card->id, "object", "container", "created_at", (json_int_t)(card->created_us / 1000000),
        "status", container_is_expired(oa, c) ? "expired" : "running", "expires_after", "anchor",
        "last_active_at", "minutes", (json_int_t)oa_card_int(c, "minutes"), "last_active_at",
        (json_int_t)(card->used_us / 1000000), "memory_limit", oa_card_text(c, "memory_limit"),
        "name", card->name, "network_policy", "type", "disabled", "memory_mb",
        (json_int_t)oa_card_int(c, "memory_mb"), "workspace_id", oa_card_text(c, "workspace_id"),
        "session_id", *session ? session : NULL);
}

/* ---- files ---- */

static const char native_prefix[] = "file_", our_prefix[] = "cfile_";

void oa_cfile_id(const char *file_id, char ret[ID_SIZE])
{
    bool is_native = strncmp(file_id, native_prefix, sizeof native_prefix - 1) == 0;
    (void)snprintf(ret, ID_SIZE, "%s%.*s", our_prefix, ID_SIZE - (int)sizeof our_prefix,
                   is_native ? file_id + sizeof native_prefix - 1 : file_id);
}

/* "2026-11-16T19:22:13.123Z" in seconds since 1970; 0 when it is none. */
static int64_t seconds_of(const char *text)
{
    struct tm utc = {0};
    if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &utc))
        return 0;
    return (int64_t)timegm(&utc);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* The newest version was made by code that ran. */
static bool is_assistants(const json_t *file)
{
    return *text_of(json_object_get(file, "author"), "run_id") != '\0';
}

struct json_t *container_file_object(const char *container, const struct json_t *file)
{
    char id[ID_SIZE];
    scoped(buf_done) struct buf path = BUF_INIT(PATH_BYTES_MAX + 64);
    oa_cfile_id(text_of(file, "id"), id);
    buf_fmt(&path, "/mnt/data/%s", text_of(file, "path"));
    if (path.failed)
        return NULL;
    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s}", "id", id, "object", "container.file",
                     "created_at", (json_int_t)seconds_of(text_of(file, "created_at")), "bytes",
                     json_integer_value(json_object_get(file, "size")), "container_id", container,
                     "path", path.bytes, "source", is_assistants(file) ? "assistant" : "user");
}

int container_file_find(struct oa_call *o, const struct oa_container *in, const char *cfile_id,
                        struct json_t **ret, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    char id[ID_SIZE];
    size_t len = sizeof our_prefix - 1;
    if (strncmp(cfile_id, our_prefix, len) != 0 || strlen(cfile_id) >= ID_SIZE)
        return oa_not_found(o, e, "File %.64s not found on container %s", cfile_id, in->id);
    (void)snprintf(id, sizeof id, "%s%.*s", native_prefix, ID_SIZE - (int)sizeof native_prefix,
                   cfile_id + len);
    native_workspace(&n, in->workspace);
    native_text(&n, "/files");
    native_query(&n, "id", id);
    if (oa_perform(o, &n, e))
        return -1;
    json_t *file = json_array_get(json_object_get(n.json, "data"), 0);
    if (!file || strcmp(text_of(file, "kind"), "file") != 0)
        return oa_not_found(o, e, "File %.64s not found on container %s", cfile_id, in->id);
    *ret = json_incref(file);
    return 0;
}
