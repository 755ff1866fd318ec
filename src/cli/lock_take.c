/* lock_take.c -- `cicada lock`: taking one, with patience. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/locks_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/words.h"
#include "json/write.h"

enum { BODY_MAX = 8192, POLL_S = 60, POLL_MORE_S = 30 };

static int put_seconds(struct json_writer *w, const char *text, const char *option, const char *key,
                       struct err *e)
{
    uint64_t seconds;
    if (!text)
        return 0;
    if (parse_duration(text, &seconds, e))
        return err_wrap(e, "--%s", option);
    jw_key(w, key);
    jw_u64(w, seconds);
    return 0;
}

static int put_session(struct remote *r, struct json_writer *w, const char *name, struct err *e)
{
    char id[ID_SIZE];
    if (!name)
        return 0;
    if (remote_resolve(r, &shelf_sessions, name, id, e))
        return -1;
    jw_key(w, "session");
    jw_text(w, id);
    return 0;
}

static int put_wishes(struct remote *r, const struct verb_input *in, uint64_t wait_s,
                      struct buf *body, struct err *e)
{
    struct json_writer w = JSON_WRITER(body);
    char path[FILEREF_SIZE];
    bool is_dir = false;
    if (fileref_clean(in->operands[0], path, &is_dir, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "path");
    jw_text(&w, path);
    jw_key(&w, "tree");
    jw_bool(&w, in->values[OPT_TREE] || is_dir || !*path);
    jw_key(&w, "shared");
    jw_bool(&w, in->values[OPT_SHARED] != NULL);
    if (in->values[OPT_HOLDER]) {
        jw_key(&w, "holder");
        jw_text(&w, in->values[OPT_HOLDER]);
    }
    if (put_seconds(&w, in->values[OPT_TTL], "ttl", "ttl_s", e) ||
        put_session(r, &w, in->values[OPT_SESSION], e))
        return -1;
    if (wait_s) {
        jw_key(&w, "wait_s");
        jw_u64(&w, wait_s);
    }
    jw_end_object(&w);
    jw_finish(&w);
    return buf_check(body, e);
}

static int take_once(struct remote *r, const struct verb_input *in, uint64_t wait_s, json_t **ret,
                     struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(BODY_MAX);
    workspace_url(verb_workspace(in), "locks", &url);
    if (put_wishes(r, in, wait_s, &body, e) || buf_check(&url, e))
        return -1;
    const struct call call = {
        .path = url.bytes, .body = &body, .timeout_s = (unsigned)wait_s + POLL_MORE_S};
    return client_call(r->client, &call, ret, e);
}

/* The server waits for a minute at most; we ask again. */
static int take_patiently(struct remote *r, const struct verb_input *in, json_t **ret,
                          struct err *e)
{
    uint64_t wait_s = 0;
    if (in->values[OPT_WAIT] && parse_duration(in->values[OPT_WAIT], &wait_s, e))
        return err_wrap(e, "--wait");
    int64_t end_us = clock_us() + (int64_t)wait_s * 1000000;
    for (;;) {
        int64_t left_s = wait_s ? (end_us - clock_us() + 999999) / 1000000 : 0;
        uint64_t now_s = left_s <= 0 ? 0 : left_s < POLL_S ? (uint64_t)left_s : POLL_S;
        struct err why = {0};
        if (take_once(r, in, now_s, ret, &why) == 0)
            return 0;
        if (why.code != ERR_LOCKED || left_s <= POLL_S) {
            *e = why;
            return -1;
        }
    }
}

static int tell_taken(struct remote *r, const struct verb_input *in, const json_t *lock)
{
    scoped(buf_done) struct buf text = BUF_INIT(1024);
    char ago[AGO_TEXT];
    if (verb_is_json(in))
        return verb_print(in, lock);
    const char *path = pick_text(lock, "path");
    note(&r->notes, "locked %s (%s); it ends %s; its token is shown only this once:",
         *path ? path : "the workspace", pick_text(lock, "id"),
         ago_text(pick_text(lock, "expires_at"), clock_wall_us(), ago));
    buf_fmt(&text, "%s\n", pick_text(lock, "token"));
    return verb_print_text(&text);
}

int lock_path(struct remote *r, const struct verb_input *in, char *const *command, struct err *e)
{
    scoped(json_decrefp) json_t *lock = NULL;
    if (take_patiently(r, in, &lock, e))
        return -1;
    struct own_lock own = {.workspace = verb_workspace(in), .ttl_s = pick_count(lock, "ttl_s")};
    (void)snprintf(own.id, sizeof own.id, "%s", pick_text(lock, "id"));
    (void)snprintf(own.token, sizeof own.token, "%s", pick_text(lock, "token"));
    if (!*own.token || !own.ttl_s)
        return err_set(e, ERR_PROTOCOL, "the server gave a lock and not its token");
    return command ? lock_run(r, &own, command, e) : tell_taken(r, in, lock);
}
