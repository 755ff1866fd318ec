/* native_keys.c -- /api/v1/keys and /api/v1/principals. */
#include <string.h>

#include "api/api_int.h"
#include "api/native.h"
#include "base/clock.h"
#include "base/err.h"
#include "service/object.h"
#include "json/fields.h"
#include "json/write.h"

/* ---- what they take ---- */

struct limit_args {
    int64_t sessions, runs_per_minute, cpu_s_per_day, memory_mb, runs_per_month, cpu_s_per_month;
};

static const struct json_field limit_fields[] = {
    {JF_INT(struct limit_args, sessions), .min = 0, .max = 1000000,
     .doc = "open at the same time; 0: no limit, as for the others"},
    {JF_INT(struct limit_args, runs_per_minute), .min = 0, .max = 1000000},
    {JF_INT(struct limit_args, cpu_s_per_day), .min = 0, .max = 100000000},
    {JF_INT(struct limit_args, memory_mb), .min = 0, .max = 1 << 20, .doc = "of one session"},
    {JF_INT(struct limit_args, runs_per_month), .min = 0, .max = 1000000000},
    {JF_INT(struct limit_args, cpu_s_per_month), .min = 0, .max = 1000000000},
    {0},
};

struct key_args {
    const char *name, *principal;
    unsigned scopes;
    int64_t expires_in_s;
    struct limit_args limits;
};

static const struct json_field key_fields[] = {
    {JF_TEXT(struct key_args, name), .max = PEOPLE_NAME_MAX, .preset_text = ""},
    {JF_FLAGS(struct key_args, scopes, scope_names), .is_open = true,
     .doc = "what it may be used for; all you have but admin if left out"},
    {JF_TEXT(struct key_args, principal), .min = 1, .max = 64, .doc = "whose; yours if left out"},
    {JF_INT(struct key_args, expires_in_s), .min = 1, .max = (int64_t)100 * 366 * 86400,
     .is_open = true, .doc = "seconds it works; for ever if left out"},
    {JF_OBJECT(struct key_args, limits, limit_fields)},
    {0},
};

struct page_args {
    const char *cursor, *principal;
    int64_t limit;
};

static const struct json_field page_fields[] = {
    {JF_TEXT(struct page_args, cursor), .max = 128},
    {JF_INT(struct page_args, limit), .min = 1, .max = 100, .preset = 20},
    {0},
};

static const struct json_field key_list_fields[] = {
    {JF_TEXT(struct page_args, principal), .max = 64},
    {JF_TEXT(struct page_args, cursor), .max = 128},
    {JF_INT(struct page_args, limit), .min = 1, .max = 100, .preset = 20},
    {0},
};

static const char *const kinds[] = {"human", "agent", NULL};

struct principal_args {
    const char *name;
    int kind;
};

static const struct json_field principal_fields[] = {
    {JF_TEXT(struct principal_args, name), .required = true, .min = 1, .max = PEOPLE_NAME_MAX},
    {JF_CHOICE(struct principal_args, kind, kinds), .preset = PRINCIPAL_AGENT},
    {0},
};

struct change_args {
    bool disabled;
};

static const struct json_field change_fields[] = {
    {JF_BOOL(struct change_args, disabled), .required = true,
     .doc = "nobody is let in as this one: neither its keys work nor tokens"},
    {0},
};

/* ---- as JSON ---- */

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static void put_number(struct json_writer *w, const char *key, uint64_t v)
{
    jw_key(w, key);
    jw_u64(w, v);
}

static void put_scopes(struct json_writer *w, uint32_t scopes)
{
    jw_key(w, "scopes");
    jw_array(w);
    for (unsigned i = 0; scope_names[i]; i++)
        if (scopes & 1u << i)
            jw_text(w, scope_names[i]);
    jw_end_array(w);
}

void native_put_key(struct json_writer *w, const struct key_row *row, const char *secret)
{
    jw_object(w);
    put_text(w, "id", row->id);
    put_text(w, "name", row->name ? row->name : "");
    put_text(w, "principal_id", row->principal);
    put_scopes(w, row->scopes);
    jw_key(w, "limits");
    jw_object(w);
    put_number(w, "sessions", row->limits.sessions);
    put_number(w, "runs_per_minute", row->limits.runs_per_minute);
    put_number(w, "cpu_s_per_day", row->limits.cpu_s_per_day);
    put_number(w, "memory_mb", row->limits.memory_mb);
    put_number(w, "runs_per_month", row->limits.runs_per_month);
    put_number(w, "cpu_s_per_month", row->limits.cpu_s_per_month);
    jw_end_object(w);
    object_time(w, "created_at", row->created_us);
    object_time(w, "expires_at", row->expires_us);
    object_time(w, "revoked_at", row->revoked_us);
    object_time(w, "last_used_at", row->used_us);
    if (secret)
        put_text(w, "secret", secret);
    jw_end_object(w);
}

static void put_principal(struct json_writer *w, const struct principal_row *row)
{
    jw_object(w);
    put_text(w, "id", row->id);
    put_text(w, "name", row->name ? row->name : "");
    put_text(w, "kind", kinds[row->kind]);
    put_text(w, "parent_id", *row->parent ? row->parent : NULL);
    put_text(w, "on_behalf_of", row->external);
    put_text(w, "workspace_id", row->workspace);
    object_time(w, "created_at", row->created_us);
    object_time(w, "disabled_at", row->disabled_us);
    jw_end_object(w);
}

static void end_list(struct json_writer *w, bool has_more, const char *next)
{
    jw_end_array(w);
    jw_key(w, "has_more");
    jw_bool(w, has_more);
    put_text(w, "next_cursor", has_more ? next : NULL);
    jw_end_object(w);
}

/* ---- what they do ---- */

static int create_key(struct call *c, struct err *e)
{
    const struct key_args *in = c->in;
    struct json_writer w = JSON_WRITER(&c->out);
    struct key_row row;
    char secret[SECRET_SIZE];
    const struct key_wishes wishes = {
        .name = in->name,
        .principal = in->principal,
        .scopes = in->scopes,
        .expires_in_s = in->expires_in_s,
        .limits = {.sessions = (uint32_t)in->limits.sessions,
                   .runs_per_minute = (uint32_t)in->limits.runs_per_minute,
                   .cpu_s_per_day = (uint32_t)in->limits.cpu_s_per_day,
                   .memory_mb = (uint32_t)in->limits.memory_mb,
                   .runs_per_month = (uint32_t)in->limits.runs_per_month,
                   .cpu_s_per_month = (uint32_t)in->limits.cpu_s_per_month},
    };
    if (people_key_create(c->api->o.people, &c->who, &wishes, clock_wall_us(), &row, secret, e))
        return -1;
    native_put_key(&w, &row, secret);
    explicit_bzero(secret, sizeof secret);
    key_row_done(&row);
    return 0;
}

static int list_keys(struct call *c, struct err *e)
{
    const struct page_args *in = c->query;
    struct json_writer w = JSON_WRITER(&c->out);
    struct key_rows rows;
    const struct page page = {.limit = (uint32_t)in->limit, .cursor = in->cursor};
    if (people_key_list(c->api->o.people, &c->who, in->principal, &page, &rows, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++)
        native_put_key(&w, &rows.items[i], NULL);
    end_list(&w, rows.has_more, rows.next);
    key_rows_done(&rows);
    return 0;
}

static int get_key(struct call *c, struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    struct key_row row;
    if (people_key_get(c->api->o.people, &c->who, c->param[0], &row, e))
        return -1;
    native_put_key(&w, &row, NULL);
    key_row_done(&row);
    return 0;
}

static int revoke_key(struct call *c, struct err *e)
{
    return people_key_revoke(c->api->o.people, &c->who, c->param[0], clock_wall_us(), e);
}

static int create_principal(struct call *c, struct err *e)
{
    const struct principal_args *in = c->in;
    struct json_writer w = JSON_WRITER(&c->out);
    struct principal_row row;
    if (people_principal_create(c->api->o.people, &c->who, (enum principal_kind)in->kind, in->name,
                                clock_wall_us(), &row, e))
        return -1;
    put_principal(&w, &row);
    principal_row_done(&row);
    return 0;
}

static int list_principals(struct call *c, struct err *e)
{
    const struct page_args *in = c->query;
    struct json_writer w = JSON_WRITER(&c->out);
    struct principal_rows rows;
    const struct page page = {.limit = (uint32_t)in->limit, .cursor = in->cursor};
    if (people_principal_list(c->api->o.people, &c->who, &page, &rows, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++)
        put_principal(&w, &rows.items[i]);
    end_list(&w, rows.has_more, rows.next);
    principal_rows_done(&rows);
    return 0;
}

static int get_principal(struct call *c, struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    struct principal_row row;
    const char *id = strcmp(c->param[0], "me") == 0 ? c->who.principal : c->param[0];
    if (people_principal_get(c->api->o.people, &c->who, id, &row, e))
        return -1;
    put_principal(&w, &row);
    principal_row_done(&row);
    return 0;
}

static int change_principal(struct call *c, struct err *e)
{
    const struct change_args *in = c->in;
    struct json_writer w = JSON_WRITER(&c->out);
    struct principal_row row;
    if (people_principal_disable(c->api->o.people, &c->who, c->param[0], in->disabled,
                                 clock_wall_us(), &row, e))
        return -1;
    put_principal(&w, &row);
    principal_row_done(&row);
    return 0;
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)

static const struct op ops[] = {
    {.method = "POST",
     .path = "/api/v1/keys",
     .name = "createKey",
     .summary = "Make a key. Its secret is shown once.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     BODY(key_args, key_fields),
     .body_is_optional = true,
     .status = 201,
     .answer = "Key",
     .run = create_key},
    {.method = "GET",
     .path = "/api/v1/keys",
     .name = "listKeys",
     .summary = "List keys.",
     .needs = NEEDS_NOTHING,
     QUERY(page_args, key_list_fields),
     .status = 200,
     .answer = "KeyList",
     .run = list_keys},
    {.method = "GET",
     .path = "/api/v1/keys/{id}",
     .name = "getKey",
     .summary = "Show a key.",
     .needs = NEEDS_OWNER,
     .status = 200,
     .answer = "Key",
     .run = get_key},
    {.method = "DELETE",
     .path = "/api/v1/keys/{id}",
     .name = "revokeKey",
     .summary = "Revoke a key: it stops working at once.",
     .needs = NEEDS_OWNER,
     .status = 204,
     .run = revoke_key},
    {.method = "POST",
     .path = "/api/v1/principals",
     .name = "createPrincipal",
     .summary = "Make a principal: a human or an agent.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     BODY(principal_args, principal_fields),
     .status = 201,
     .answer = "Principal",
     .run = create_principal},
    {.method = "GET",
     .path = "/api/v1/principals",
     .name = "listPrincipals",
     .summary = "List principals: yourself and those you act for, or all.",
     .needs = NEEDS_NOTHING,
     QUERY(page_args, page_fields),
     .status = 200,
     .answer = "PrincipalList",
     .run = list_principals},
    {.method = "GET",
     .path = "/api/v1/principals/{id}",
     .name = "getPrincipal",
     .summary = "Show a principal; `me` is you.",
     .needs = NEEDS_OWNER,
     .status = 200,
     .answer = "Principal",
     .run = get_principal},
    {.method = "PATCH",
     .path = "/api/v1/principals/{id}",
     .name = "changePrincipal",
     .summary = "Disable a principal, or take that back.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     BODY(change_args, change_fields),
     .status = 200,
     .answer = "Principal",
     .run = change_principal},
};

const struct op_table native_keys = {ops, sizeof ops / sizeof *ops};
