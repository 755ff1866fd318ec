/* containers.c -- /v1/containers: create, list, retrieve, delete. */
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "openai/container.h"
#include "openai/container_life.h"
#include "workspace/people.h"

enum { LIST_PRESET = 20, LIST_MAX = 100, FILES_AT_ONCE = 500 }; /* each is a commit of its own */

/* ---- create ---- */

static const char *const create_names[] = {
    "name", "expires_after", "file_ids", "memory_limit", "network_policy", "skills", NULL};
static const char *const after_names[] = {"anchor", "minutes", NULL};
static const char *const policy_names[] = {"type", "allowed_domains", "domain_secrets", NULL};

static int check_name(struct oa_call *o, struct err *e)
{
    const json_t *name = json_object_get(o->json, "name");
    if (!name)
        return oa_missing(o, e, "name");
    if (!json_is_string(name))
        return oa_fail(o, e, ERR_INVALID, "name", "invalid_type",
                       "Invalid type for 'name': expected a string.");
    if (json_string_length(name) > CARD_NAME_MAX)
        return oa_fail(o, e, ERR_INVALID, "name", "string_above_max_length",
                       "Invalid 'name': string too long. Expected at most %d bytes.",
                       CARD_NAME_MAX);
    return 0;
}

static int check_files(struct oa_call *o, struct err *e)
{
    const size_t count = json_array_size(json_object_get(o->json, "file_ids"));
    if (count <= FILES_AT_ONCE)
        return 0;
    return oa_fail(o, e, ERR_INVALID, "file_ids", "array_above_max_length",
                   "Invalid 'file_ids': array too long. Expected an array with maximum length %d, "
                   "but got an array with length %zu instead.",
                   FILES_AT_ONCE, count);
}

static int check_skills(struct oa_call *o, struct err *e)
{
    const json_t *skills = json_object_get(o->json, "skills");
    if (!skills || json_is_null(skills) || (json_is_array(skills) && json_array_size(skills) == 0))
        return 0;
    return oa_fail(o, e, ERR_INVALID, "skills", "unsupported_parameter",
                   "Unsupported parameter: 'skills'. Put the files that the code needs into the "
                   "container instead.");
}

static int check_members(struct oa_call *o, struct err *e)
{
    const json_t *after = json_object_get(o->json, "expires_after");
    const json_t *policy = json_object_get(o->json, "network_policy");
    return oa_only(o, o->json, "", create_names, e) ||
                   (json_is_object(after) && oa_only(o, after, "expires_after.", after_names, e)) ||
                   (json_is_object(policy) &&
                    oa_only(o, policy, "network_policy.", policy_names, e)) ||
                   check_name(o, e) || check_files(o, e) || check_skills(o, e)
               ? -1
               : 0;
}

/* So that the answer can say which parameter it was. */
static int check_plan(struct oa_call *o, struct err *e)
{
    struct container_plan plan;
    const char *param = NULL;
    struct err why = {0};
    if (container_plan(json_object_get(o->json, "memory_limit"),
                       json_object_get(o->json, "expires_after"),
                       json_object_get(o->json, "network_policy"), 0, &plan, &param, &why))
        return oa_fail(o, e, why.code, param, "invalid_value", "%s", why.text);
    return 0;
}

/* What was found wrong without a call to say more with. */
static int retell(struct oa_call *o, const char *param, struct err *e)
{
    struct err why = *e;
    if (why.code != ERR_NOT_FOUND && why.code != ERR_INVALID)
        return -1;
    return oa_fail(o, e, why.code, param, NULL, "%s", why.text);
}

static int create(struct oa_call *o, struct err *e)
{
    struct caller *k;
    struct oa_container made;
    scoped(oa_card_done) struct oa_card c = {0};
    if (oa_body(o, e) || check_members(o, e) || check_plan(o, e) || oa_caller(o, &k, e))
        return -1;
    const struct oa_container_wishes wishes = {
        .name = json_string_value(json_object_get(o->json, "name")),
        .memory_limit = json_object_get(o->json, "memory_limit"),
        .expires_after = json_object_get(o->json, "expires_after"),
        .network_policy = json_object_get(o->json, "network_policy"),
        .file_ids = json_object_get(o->json, "file_ids")};
    if (oa_container_make(o->oa, k, &wishes, &made, e))
        return retell(o, "file_ids", e);
    if (container_card(o->oa, o->c->who.principal, made.id, &c, e))
        return -1;
    return oa_answer_take(o, container_object(o->oa, &c), e);
}

/* ---- the others ---- */

static int find(struct oa_call *o, struct oa_card *ret, struct err *e)
{
    if (container_card(o->oa, o->c->who.principal, o->piece[0], ret, e))
        return retell(o, NULL, e);
    return 0;
}

static int add_row(const struct openai *oa, const struct card *row, json_t *data, struct err *e)
{
    struct oa_card c = {0};
    if (oa_card_of(row, &c, e))
        return -1;
    int failed = json_array_append_new(data, container_object(oa, &c));
    json_decref(c.body);
    return failed ? err_set(e, ERR_NO_MEMORY, "list containers") : 0;
}

static int list(struct oa_call *o, struct err *e)
{
    struct oa_page page;
    char name[CARD_NAME_MAX + 1];
    if (oa_page(o, LIST_PRESET, LIST_MAX, &page, e) || oa_query(o, "name", name, sizeof name, e))
        return -1;
    const struct card_filter filter = {.principal = o->c->who.principal,
                                       .kind = CARD_CONTAINER,
                                       .name = *name ? name : NULL,
                                       .is_ascending = page.is_ascending,
                                       .after = *page.after ? page.after : NULL,
                                       .limit = page.limit};
    scoped(card_rows_done) struct card_rows rows = {0};
    if (card_list(o->oa->o.cards, &filter, &rows, e))
        return -1;
    scoped(json_decrefp) json_t *data = json_array();
    for (size_t i = 0; i < rows.count; i++)
        if (add_row(o->oa, &rows.items[i], data, e))
            return -1;
    return oa_answer_list(o, take(data), rows.has_more, e);
}

static int retrieve(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    if (find(o, &c, e))
        return -1;
    container_touch(o->oa, &c);
    return oa_answer_take(o, container_object(o->oa, &c), e);
}

static int delete (struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    struct caller *k;
    if (find(o, &c, e) || oa_caller(o, &k, e) || container_delete(o->oa, k, &c, e))
        return -1;
    return oa_answer_deleted(o, c.card.id, "container.deleted", e);
}

static const struct oa_op ops[] = {
    {"POST", "containers", 0, create},
    {"GET", "containers", SCOPE_FILES_READ, list},
    {"GET", "containers/{id}", SCOPE_FILES_READ, retrieve},
    {"DELETE", "containers/{id}", 0, delete},
};

const struct oa_table oa_containers = {ops, sizeof ops / sizeof *ops};
