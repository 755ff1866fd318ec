#include "cli/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/closest.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/address.h"
#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/launch.h"
#include "cli/locks_int.h"
#include "cli/pick.h"
#include "cli/state_dir.h"
#include "json/write.h"

enum {
    PAGE_MAX = 100,
    NAMES_MAX = 1000, /* that are looked at for the one that was meant */
    START_MS = 20000,
};

const struct shelf shelf_sessions = {"/api/v1/sessions", "ses_", "session", "sessions ls"};
const struct shelf shelf_runs = {"/api/v1/runs", "run_", "run", "runs ls"};
const struct shelf shelf_keys = {"/api/v1/keys", "key_", "key", "key ls"};
const struct shelf shelf_workspaces = {"/api/v1/workspaces", "ws_", "workspace", "workspaces ls"};
const struct shelf shelf_principals = {"/api/v1/principals", "prn_", "principal", "principal ls"};

/* Starts a server of the user's own. */
static int start_own(struct notes *notes, struct address *ret, struct err *e)
{
    char socket_path[ADDRESS_SOCKET_MAX + 1], log_path[PATH_MAX];
    struct err ignored = {0};
    if (address_own(/* makes_dir= */ true, socket_path, e))
        return -1;
    bool has_log = state_path("server.log", log_path, &ignored) == 0;
    const struct launch l = {.program = "/proc/self/exe",
                             .socket_path = socket_path,
                             .log_path = has_log ? log_path : NULL,
                             .timeout_ms = START_MS};
    note(notes, "starting a server; it ends when it is idle");
    if (launch_server(&l, e)) {
        if (has_log)
            note(notes, "its log is %s", log_path);
        return -1;
    }
    *ret = address_of_socket(socket_path);
    return 0;
}

int remote_find(struct notes *notes, struct address *ret, struct err *e)
{
    if (address_find(ret, e))
        return -1;
    if (ret->kind == ADDRESS_NONE && ret->is_named)
        return err_set(
            e, ERR_UNAVAILABLE,
            "this needs a server, and CICADA_SOCKET is off; unset it, or set CICADA_URL");
    return ret->kind == ADDRESS_NONE ? start_own(notes, ret, e) : 0;
}

int remote_open(struct remote *r, struct err *e)
{
    struct address address;
    *r = (struct remote){.notes = notes_to_stderr()};
    if (remote_find(&r->notes, &address, e))
        return -1;
    if (client_open(&address, &r->notes, &r->client, e))
        return -1;
    client_lock(r->client, getenv(LOCK_ENVIRONMENT));
    return 0;
}

void remote_done(struct remote *r)
{
    client_free(r->client);
    r->client = NULL;
}

int remote_failure(struct remote *r, const struct err *e)
{
    note_problem(&r->notes, "%s", e->text);
    if (r->client && *client_hint(r->client))
        note_lines(&r->notes, client_hint(r->client));
    return answer_exit_code(e);
}

int remote_failure_json(struct remote *r, const struct err *e, bool is_json)
{
    scoped(buf_done) struct buf text = BUF_INIT(4096);
    struct json_writer w = JSON_WRITER(&text);
    int code = remote_failure(r, e);
    if (!is_json)
        return code;
    jw_object(&w);
    jw_key(&w, "error");
    jw_object(&w);
    jw_key(&w, "code");
    jw_text(&w, err_wire(e->code));
    jw_key(&w, "message");
    jw_text(&w, e->text);
    jw_key(&w, "hint");
    jw_text(&w, r->client ? client_hint(r->client) : "");
    jw_end_object(&w);
    jw_end_object(&w);
    buf_str(&text, "\n");
    (void)print_out(&text); /* the exit code says it too */
    return code;
}

bool shelf_is_id(const struct shelf *s, const char *word)
{
    return strncmp(word, s->prefix, strlen(s->prefix)) == 0 && strlen(word) < ID_SIZE;
}

/* Appends one page to `all`. *cursor is where the next begins, owned; NULL at the end. */
static int add_page(struct remote *r, const char *path, const char *query, size_t limit,
                    json_t *all, char **cursor, struct err *e)
{
    scoped(buf_done) struct buf where = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *page = NULL;
    buf_fmt(&where, "%s?limit=%zu%s%s", path, limit, *query ? "&" : "", query);
    if (*cursor) {
        buf_str(&where, "&cursor=");
        client_encode(&where, *cursor);
    }
    if (buf_check(&where, e) ||
        client_call(r->client, &(struct call){.path = where.bytes}, &page, e))
        return -1;
    const json_t *rows = json_object_get(page, "data");
    if (!json_is_array(rows))
        return err_set(e, ERR_PROTOCOL, "the server answered with something else than a list");
    if (json_array_extend(all, (json_t *)rows))
        return err_set(e, ERR_NO_MEMORY, "read a list");
    const char *next = pick_text(page, "next_cursor");
    bool has_more = pick_is_true(page, "has_more") && *next;
    if (has_more && *cursor && strcmp(next, *cursor) == 0)
        return err_set(e, ERR_PROTOCOL, "the list of the server does not end");
    free(*cursor);
    *cursor = has_more ? strdup(next) : NULL;
    return 0;
}

int remote_list(struct remote *r, const char *path, const char *query, unsigned max,
                struct json_t **ret, bool *ret_has_more, struct err *e)
{
    scoped(freep) char *cursor = NULL;
    scoped(json_decrefp) json_t *all = json_array();
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "read a list");
    do {
        size_t left = max - json_array_size(all);
        if (add_page(r, path, query, left < PAGE_MAX ? left : PAGE_MAX, all, &cursor, e))
            return -1;
    } while (cursor && json_array_size(all) < max);
    if (ret_has_more)
        *ret_has_more = cursor != NULL;
    *ret = take(all);
    return 0;
}

/* There is nothing of that name: which one may have been meant? */
static int no_such_name(const struct shelf *s, const json_t *all, const char *word, struct err *e)
{
    const char *names[NAMES_MAX];
    int count = 0;
    for (size_t i = 0; i < json_array_size(all) && count < NAMES_MAX; i++) {
        const char *name = pick_text(json_array_get(all, i), "name");
        if (*name)
            names[count++] = name;
    }
    const char *meant = closest_name(word, names, count);
    if (meant)
        return err_set(e, ERR_NOT_FOUND, "there is no %s '%.60s'; did you mean '%.60s'?", s->what,
                       word, meant);
    return err_set(e, ERR_NOT_FOUND, "there is no %s '%.60s'; `cicada %s` lists them", s->what,
                   word, s->ls);
}

int remote_resolve(struct remote *r, const struct shelf *s, const char *word, char ret[ID_SIZE],
                   struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    const char *found = NULL;
    if (shelf_is_id(s, word)) {
        (void)snprintf(ret, ID_SIZE, "%s", word);
        return 0;
    }
    if (remote_list(r, s->path, "", NAMES_MAX, &all, /* ret_has_more= */ NULL, e))
        return -1;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        if (strcmp(pick_text(one, "name"), word) != 0 ||
            strcmp(pick_text(one, "status"), "closed") == 0)
            continue;
        if (found)
            return err_set(e, ERR_CONFLICT,
                           "several %ss are called '%.60s'; name one by its id: %s", s->what, word,
                           found);
        found = pick_text(one, "id");
    }
    if (!found || !*found)
        return no_such_name(s, all, word, e);
    (void)snprintf(ret, ID_SIZE, "%s", found);
    return 0;
}

static int one(struct remote *r, const char *method, const struct shelf *s, const char *id,
               const char *action, struct json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX);
    buf_fmt(&path, "%s/", s->path);
    client_encode(&path, id);
    if (action)
        buf_fmt(&path, "/%s", action);
    if (buf_check(&path, e))
        return -1;
    return client_call(r->client, &(struct call){.method = method, .path = path.bytes}, ret, e);
}

int remote_act(struct remote *r, const struct shelf *s, const char *id, const char *action,
               struct json_t **ret, struct err *e)
{
    return one(r, "POST", s, id, action, ret, e);
}

int remote_get(struct remote *r, const struct shelf *s, const char *id, struct json_t **ret,
               struct err *e)
{
    return one(r, "GET", s, id, /* action= */ NULL, ret, e);
}

int remote_delete(struct remote *r, const struct shelf *s, const char *id, struct err *e)
{
    return one(r, "DELETE", s, id, /* action= */ NULL, /* ret= */ NULL, e);
}

int remote_post(struct remote *r, const char *path, const struct buf *body, struct json_t **ret,
                struct err *e)
{
    char key[ID_SIZE];
    if (buf_check(body, e) || id_make("cli_", key, e))
        return -1;
    return client_call(r->client, &(struct call){.path = path, .body = body, .key = key}, ret, e);
}
