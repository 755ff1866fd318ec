/* container.c -- a container is a card, a hidden workspace, and a session in it once code is run. */
#include "openai/container.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "openai/container_life.h"
#include "openai/file.h"
#include "openai/names.h"
#include "service/service.h"

/* ---- the card ---- */

int container_card(struct openai *oa, const char *principal, const char *id, struct oa_card *ret,
                   struct err *e)
{
    if (strlen(id) < ID_SIZE && oa_card_get(oa, principal, CARD_CONTAINER, id, ret, e) == 0)
        return 0;
    if (strlen(id) < ID_SIZE && e->code != ERR_NOT_FOUND)
        return -1;
    return err_set(e, ERR_NOT_FOUND, "Container with id '%.64s' not found.", id);
}

bool container_is_expired(const struct openai *oa, const struct oa_card *c)
{
    return container_has_expired(c->card.used_us, oa_card_int(c, "minutes"), oa->o.is_strict,
                                 clock_wall_us());
}

void container_touch(struct openai *oa, struct oa_card *c)
{
    struct err ignored = {0}; /* when it was used last is good to know and no more */
    if (container_is_expired(oa, c))
        return;
    c->card.used_us = clock_wall_us();
    (void)card_touch(oa->o.cards, c->card.id, c->card.used_us, &ignored);
}

int64_t container_memory_max(const struct openai *oa, const struct who *who)
{
    int64_t max =
        oa->o.service ? (int64_t)(service_limits_max(oa->o.service)->memory_bytes >> 20) : 0;
    int64_t own = who->limits.memory_mb;
    return own && (!max || own < max) ? own : max;
}

static void fill(const struct oa_card *c, struct oa_container *ret)
{
    *ret = (struct oa_container){.memory_mb = oa_card_int(c, "memory_mb")};
    memcpy(ret->id, c->card.id, sizeof ret->id);
    (void)snprintf(ret->workspace, sizeof ret->workspace, "%s", oa_card_text(c, "workspace_id"));
    (void)snprintf(ret->session, sizeof ret->session, "%s", oa_card_text(c, "session_id"));
}

/* ---- making one ---- */

static int make_workspace(struct caller *k, const char *name, char ret[ID_SIZE], struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(buf_done) struct buf body = BUF_INIT(512);
    buf_fmt(&body, "{\"name\":\"%s\",\"kind\":\"container\"}", name); /* an id of ours */
    native_text(&n, "/api/v1/workspaces");
    n.body = (struct str){body.bytes, body.len};
    if (native_perform(&n, /* c= */ NULL, k, OA_VIA, e))
        return -1;
    const char *id = json_string_value(json_object_get(n.json, "id"));
    (void)snprintf(ret, ID_SIZE, "%s", id ? id : "");
    return 0;
}

static int make_card(struct openai *oa, struct caller *k, const struct container_plan *plan,
                     const char *name, struct oa_card *ret, struct err *e)
{
    char workspace[ID_SIZE];
    struct oa_card c = {.card = {.kind = CARD_CONTAINER, .name = name}};
    memcpy(c.card.principal, caller_who(k)->principal, ID_SIZE);
    c.card.created_us = c.card.used_us = clock_wall_us();
    if (card_make_id("cntr_", c.card.id, e) || make_workspace(k, c.card.id, workspace, e))
        return -1;
    c.body = json_pack("{s:s, s:s, s:s, s:I, s:I}", "workspace_id", workspace, "session_id", "",
                       "memory_limit", plan->memory_limit, "memory_mb", (json_int_t)plan->memory_mb,
                       "minutes", (json_int_t)plan->minutes);
    if (!c.body)
        (void)err_set(e, ERR_NO_MEMORY, "make a container");
    struct err ignored = {0};
    if (!c.body || oa_card_insert(oa, &c, CONTAINERS_MAX, e)) {
        (void)container_delete(oa, k, &c, &ignored);
        oa_card_done(&c);
        return -1;
    }
    *ret = c;
    return 0;
}

static int link_all(struct openai *oa, struct caller *k, const struct oa_container *to,
                    const json_t *file_ids, json_t *names, struct err *e)
{
    size_t index;
    json_t *id;
    if (file_ids && !json_is_null(file_ids) && !json_is_array(file_ids))
        return err_set(e, ERR_INVALID, "Invalid type for 'file_ids': expected an array.");
    json_array_foreach((json_t *)file_ids, index, id) /* which does not change it */
    {
        if (!json_is_string(id))
            return err_set(e, ERR_INVALID, "Invalid type for 'file_ids[%zu]': expected a string.",
                           index);
        if (oa_container_link(oa, k, to, json_string_value(id), names, e))
            return -1;
    }
    return 0;
}

int oa_container_make(struct openai *oa, struct caller *k, const struct oa_container_wishes *w,
                      struct oa_container *ret, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    struct container_plan plan;
    struct oa_container made;
    const char *param;
    scoped(json_decrefp) json_t *names = w->names ? json_incref(w->names) : json_object();
    if (!names)
        return err_set(e, ERR_NO_MEMORY, "make a container");
    if (container_plan(w->memory_limit, w->expires_after, w->network_policy,
                       container_memory_max(oa, caller_who(k)), &plan, &param, e) ||
        make_card(oa, k, &plan, w->name ? w->name : "auto", &c, e))
        return -1;
    fill(&c, &made);
    if (link_all(oa, k, &made, w->file_ids, names, e)) {
        struct err ignored = {0}; /* what could not be undone is still in the list */
        (void)container_delete(oa, k, &c, &ignored);
        return -1;
    }
    *ret = made;
    return 0;
}

/* ---- using it ---- */

int oa_container_use(struct openai *oa, struct caller *k, const char *id, struct oa_container *ret,
                     struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    if (container_card(oa, caller_who(k)->principal, id, &c, e))
        return -1;
    if (container_is_expired(oa, &c))
        return err_set(e, ERR_INVALID, "Container is expired.");
    container_touch(oa, &c);
    fill(&c, ret);
    return 0;
}

int oa_container_session(struct openai *oa, struct caller *k, const char *id, const char *session,
                         struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    if (container_card(oa, caller_who(k)->principal, id, &c, e))
        return -1;
    if (json_object_set_new(c.body, "session_id", json_string(session)))
        return err_set(e, ERR_NO_MEMORY, "note a session");
    c.card.used_us = clock_wall_us();
    return oa_card_save(oa, &c, e);
}

int oa_container_link(struct openai *oa, struct caller *k, const struct oa_container *to,
                      const char *file_id, struct json_t *names, struct err *e)
{
    scoped(json_decrefp) json_t *file = NULL;
    return container_link(oa, k, to, file_id, names, &file, e);
}

static int give_name(json_t *names, struct str bytes, char name[NAME_SIZE], struct err *e)
{
    uint8_t digest[HASH_LEN];
    char hex[HASH_HEX_SIZE];
    scoped(hash_done) struct hash h = {0};
    if (hash_init(&h, e) || hash_add(&h, bytes.ptr, bytes.len, e) || hash_end(&h, digest, e))
        return -1;
    hash_hex(digest, hex);
    return name_give(names, hex, name, e);
}

int oa_container_put(struct openai *oa, struct caller *k, const struct oa_container *to,
                     const char *name, struct str bytes, struct json_t *names,
                     char ret_path[PATH_BYTES_MAX + 1], struct err *e)
{
    (void)oa;
    scoped(native_done) struct native n = NATIVE("PUT");
    char plain[NAME_SIZE];
    name_plain(name, plain);
    if (give_name(names, bytes, plain, e))
        return -1;
    native_workspace(&n, to->workspace);
    native_text(&n, "/files/");
    native_path(&n, plain);
    n.body = bytes.ptr ? bytes : str_of("");
    n.type = "application/octet-stream";
    if (native_perform(&n, /* c= */ NULL, k, OA_VIA, e))
        return -1;
    (void)snprintf(ret_path, PATH_BYTES_MAX + 1, "%s", plain);
    return 0;
}

int container_link(struct openai *oa, struct caller *k, const struct oa_container *to,
                   const char *file_id, struct json_t *names, struct json_t **ret_file,
                   struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    scoped(native_done) struct native n = NATIVE("POST");
    char workspace[ID_SIZE], plain[NAME_SIZE];
    if (file_card(oa, caller_who(k)->principal, file_id, &c, e) ||
        file_workspace(oa, k, workspace, e))
        return -1;
    name_plain(oa_card_text(&c, "filename"), plain);
    if (names && name_give(names, file_id, plain, e))
        return -1;
    json_auto_t *body = json_pack("{s:s, s:s, s:s, s:b}", "workspace", workspace, "from",
                                  oa_card_text(&c, "path"), "to", plain, "overwrite", 1);
    scoped(freep) char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    if (!text)
        return err_set(e, ERR_NO_MEMORY, "link a file");
    native_workspace(&n, to->workspace);
    native_text(&n, "/copy");
    n.body = str_of(text);
    if (native_perform(&n, /* c= */ NULL, k, OA_VIA, e))
        return -1;
    *ret_file = take(n.json);
    return 0;
}

/* ---- its end ---- */

enum { DELETE_TRIES = 20 };

static int delete_native(struct caller *k, const char *address, const char *id, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("DELETE");
    struct err why = {0};
    native_text(&n, address);
    native_piece(&n, id);
    if (native_perform(&n, /* c= */ NULL, k, OA_VIA, &why) == 0 || why.code == ERR_NOT_FOUND)
        return 0;
    *e = why;
    return -1;
}

/* Also those that somebody began there by the native API. */
static int close_sessions(struct caller *k, const char *workspace, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    size_t index;
    json_t *session;
    native_text(&n, "/api/v1/sessions");
    native_query(&n, "workspace", workspace);
    native_query(&n, "status", "open");
    native_query_u64(&n, "limit", 100);
    if (native_perform(&n, /* c= */ NULL, k, OA_VIA, e))
        return -1;
    json_array_foreach(json_object_get(n.json, "data"), index, session)
    {
        const char *id = json_string_value(json_object_get(session, "id"));
        if (id && delete_native(k, "/api/v1/sessions/", id, e))
            return -1;
    }
    return 0;
}

/* A response that runs code there takes a new session when its own is closed, until there is no workspace for one. */
static int delete_workspace(struct caller *k, const char *workspace, struct err *e)
{
    struct err why = {0};
    for (unsigned tries = 0; tries < DELETE_TRIES; tries++) {
        if (delete_native(k, "/api/v1/workspaces/", workspace, &why) == 0)
            return 0;
        if (why.code != ERR_CONFLICT)
            break;
        if (close_sessions(k, workspace, e))
            return -1;
    }
    *e = why;
    return -1;
}

int container_delete(struct openai *oa, struct caller *k, struct oa_card *c, struct err *e)
{
    const char *workspace = oa_card_text(c, "workspace_id");
    if (*workspace && delete_workspace(k, workspace, e))
        return -1;
    return card_delete(oa->o.cards, caller_who(k)->principal, CARD_CONTAINER, c->card.id, e);
}
