/* turn_container.c -- the container that the code of a response runs in: found, or made when the first code comes. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "openai/container.h"
#include "openai/items.h"
#include "openai/shape.h"
#include "openai/turn.h"

enum { FILES_TOLD = 50 };

static void note_session(void *arg, const char *session)
{
    struct oa_turn *t = arg;
    struct err ignored = {0}; /* the next response then begins another session in the same files */
    memcpy(t->container.session, session, strlen(session) + 1);
    (void)oa_container_session(t->oa, t->caller, t->container.id, session, &ignored);
}

static void has_one(struct oa_turn *t)
{
    t->has_container = true;
    t->hands = (struct hands){.caller = t->caller,
                              .memory_mb = t->container.memory_mb,
                              .via = OA_VIA,
                              .made = note_session,
                              .arg = t};
    memcpy(t->hands.workspace, t->container.workspace, sizeof t->hands.workspace);
    memcpy(t->hands.session, t->container.session, sizeof t->hands.session);
}

/* That of earlier code, if it is still there. */
static int use_earlier(struct oa_turn *t, const json_t *items, struct err *e)
{
    const char *id = oa_items_container(items);
    struct err why = {0};
    if (!*id)
        return 0;
    if (oa_container_use(t->oa, t->caller, id, &t->container, &why) == 0) {
        has_one(t);
        return 0;
    }
    if (why.code == ERR_NOT_FOUND || why.code == ERR_INVALID)
        return 0; /* it was deleted or has expired: another one is made */
    *e = why;
    return -1;
}

static int link_files(struct oa_turn *t, const json_t *ids, struct err *e)
{
    size_t i;
    json_t *id;
    json_array_foreach((json_t *)ids, i, id)
    {
        if (oa_container_link(t->oa, t->caller, &t->container, json_string_value(id), t->names, e))
            return -1;
    }
    return 0;
}

int oa_turn_find(struct oa_turn *t, const struct json_t *items, struct err *e)
{
    if (!t->q.has_code)
        return 0;
    if (json_is_string(t->q.container)) {
        if (oa_container_use(t->oa, t->caller, json_string_value(t->q.container), &t->container, e))
            return -1;
        has_one(t);
        return 0;
    }
    const json_t *ids = json_object_get(t->q.container, "file_ids");
    if (use_earlier(t, items, e))
        return -1;
    if (json_array_size(ids) == 0)
        return 0;
    return t->has_container ? link_files(t, ids, e) : oa_turn_open(t, e);
}

int oa_turn_open(struct oa_turn *t, struct err *e)
{
    const json_t *wish = t->q.container;
    if (t->has_container)
        return 0;
    const struct oa_container_wishes wishes = {
        .memory_limit = json_object_get(wish, "memory_limit"),
        .expires_after = json_object_get(wish, "expires_after"),
        .network_policy = json_object_get(wish, "network_policy"),
        .file_ids = json_object_get(wish, "file_ids"),
        .names = t->names,
    };
    if (oa_container_make(t->oa, t->caller, &wishes, &t->container, e)) {
        oa_plain(t->oa, t->id, e); /* the model may be told of it */
        return -1;
    }
    t->is_container_new = true;
    has_one(t);
    return 0;
}

void oa_turn_unmake(struct oa_turn *t)
{
    scoped(oa_card_done) struct oa_card c = {0};
    struct err ignored = {0}; /* at worst it is in the list of containers */
    if (!t->is_container_new ||
        container_card(t->oa, caller_who(t->caller)->principal, t->container.id, &c, &ignored))
        return;
    (void)container_delete(t->oa, t->caller, &c, &ignored);
}

int oa_turn_code(void *turn, struct str code, struct halt *halt, struct json_t **ret_run,
                 struct err *e)
{
    struct oa_turn *t = turn;
    if (oa_turn_open(t, e))
        return -1;
    int failed = hands_run(&t->hands, code, halt, ret_run, e);
    if (failed)
        oa_plain(t->oa, t->id, e);
    return failed;
}

void oa_turn_tell_files(struct oa_turn *t, struct buf *out)
{
    scoped(native_done) struct native n = NATIVE("GET");
    struct err ignored = {0}; /* then the model has to look for itself */
    size_t i;
    json_t *file;
    if (!t->has_container)
        return;
    native_workspace(&n, t->container.workspace);
    native_text(&n, "/files");
    native_query(&n, "recursive", "true");
    native_query_u64(&n, "limit", FILES_TOLD);
    if (native_perform(&n, /* c= */ NULL, t->caller, OA_VIA, &ignored) ||
        json_array_size(json_object_get(n.json, "data")) == 0)
        return;
    buf_str(out, "Files that are there for the python tool:\n");
    json_array_foreach(json_object_get(n.json, "data"), i, file)
    {
        if (shape_is(file, "kind", "file"))
            buf_fmt(out, "- /mnt/data/%.1024s (%lld bytes)\n", shape_text(file, "path"),
                    (long long)json_integer_value(json_object_get(file, "size")));
    }
    if (json_is_true(json_object_get(n.json, "has_more")))
        buf_str(out, "- and more\n");
}
