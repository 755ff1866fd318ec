/* native_usage.c -- /api/v1/usage: what keys and workspaces used in a month; quotas of owners. */
#include <stdio.h>
#include <string.h>

#include "api/api_int.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "workspace/files.h"
#include "workspace/usage.h"
#include "json/fields.h"
#include "json/write.h"

struct usage_args {
    const char *month, *principal;
};

static const struct json_field usage_fields[] = {
    {JF_TEXT(struct usage_args, month), .min = 1, .max = 16,
     .doc = "2026-01; this one if left out"},
    {JF_TEXT(struct usage_args, principal), .min = 1, .max = 64,
     .doc = "whose; for admins: all if left out"},
    {0},
};

struct quota_args {
    int64_t bytes;
};

static const struct json_field quota_fields[] = {
    {JF_INT(struct quota_args, bytes), .required = true, .min = 0, .max = INT64_MAX,
     .doc = "of all versions in all its workspaces together; 0: no limit"},
    {0},
};

static void put_lines(struct json_writer *w, const char *key, const char *id_key,
                      const struct usage_lines *l)
{
    bool is_workspace = strcmp(id_key, "workspace_id") == 0;
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < l->count; i++) {
        const struct usage_line *u = &l->items[i];
        jw_object(w);
        jw_key(w, id_key);
        jw_text(w, u->id);
        jw_key(w, "name");
        jw_text(w, u->name);
        jw_key(w, "runs");
        jw_u64(w, u->runs);
        jw_key(w, "cpu_ms");
        jw_u64(w, u->cpu_us / 1000);
        if (is_workspace) {
            jw_key(w, "files");
            jw_u64(w, u->files);
            jw_key(w, "bytes");
            jw_u64(w, u->bytes);
            jw_key(w, "kept_bytes");
            jw_u64(w, u->kept_bytes);
        }
        jw_end_object(w);
    }
    jw_end_array(w);
}

static int show_usage(struct call *c, struct err *e)
{
    const struct usage_args *in = c->query;
    struct json_writer w = JSON_WRITER(&c->out);
    struct usage_report r;
    if (usage_report(c->api->o.files, &c->who, in->principal, in->month, clock_wall_us(), &r, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "month");
    jw_text(&w, r.month);
    put_lines(&w, "keys", "key_id", &r.keys);
    put_lines(&w, "workspaces", "workspace_id", &r.workspaces);
    jw_end_object(&w);
    usage_report_done(&r);
    return 0;
}

static int set_quota(struct call *c, struct err *e)
{
    const struct quota_args *in = c->in;
    return usage_set_quota(c->api->o.files, c->param[0], (uint64_t)in->bytes, e);
}

static const struct op ops[] = {
    {.method = "GET",
     .path = "/api/v1/usage",
     .name = "getUsageReport",
     .summary = "Runs, CPU and storage of a month, by key and by workspace.",
     .needs = NEEDS_NOTHING,
     .query = usage_fields,
     .query_size = sizeof(struct usage_args),
     .status = 200,
     .answer = "UsageReport",
     .run = show_usage},
    {.method = "PUT",
     .path = "/api/v1/principals/{id}/quota",
     .name = "setQuota",
     .summary = "How much all workspaces of a principal may keep together.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     .body = quota_fields,
     .body_size = sizeof(struct quota_args),
     .status = 204,
     .run = set_quota},
};

const struct op_table native_usage = {ops, sizeof ops / sizeof *ops};
