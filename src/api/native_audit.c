/* native_audit.c -- /api/v1/audit: who did what; the check of it; checkpoints to be kept elsewhere.
 *
 * An entry is its record with seq and hash before it, in lists as in exports:
 *
 *     {"seq":7,"hash":"...","time":"...","event":"putFile",...}
 *
 * so that whoever has an export has the very bytes that are hashed: what stands after the hash and its
 * comma, with a "{" before it.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "api/api_int.h"
#include "api/native.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "workspace/auditor.h"
#include "workspace/paths.h"
#include "json/fields.h"
#include "json/write.h"

static const char *const results[] = {"any", "ok", "denied", "error", NULL};
static const char *const formats[] = {"json", "jsonl", NULL};

struct list_args {
    const char *workspace, *principal, *event, *path, *from, *until;
    int result, format;
    bool changes;
    int64_t limit, cursor;
};

#define FILTERS                                                                                      \
    {JF_TEXT(struct list_args, principal), .max = ID_SIZE - 1, .doc = "only of this one"},           \
        {JF_TEXT(struct list_args, event), .max = AUDIT_TEXT_MAX,                                    \
         .doc = "name of an operation, such as putFile"},                                            \
        {JF_TEXT(struct list_args, path), .max = AUDIT_PATH_MAX,                                     \
         .doc = "this file or directory, and what is below"},                                        \
        {JF_TEXT(struct list_args, from), .max = 64,                                                 \
         .doc = "not before: 2026-01-31T12:00:00Z, or a day"},                                       \
        {JF_TEXT(struct list_args, until), .max = 64, .doc = "before"},                              \
        {JF_CHOICE(struct list_args, result, results), .preset = 0},                                 \
        {JF_BOOL(struct list_args, changes), .doc = "only what changed something"},                  \
        {JF_CHOICE(struct list_args, format, formats), .preset = 0,                                  \
         .doc =                                                                                      \
             "jsonl: all of them, the oldest first, one on a line; also Accept: application/jsonl"}, \
        {JF_INT(struct list_args, limit), .min = 1, .max = AUDIT_LIST_MAX, .preset = 100},           \
        {JF_INT(struct list_args, cursor), .min = 1, .max = INT64_MAX, .is_open = true,              \
         .doc = "next_cursor of the list before"},

static const struct json_field all_fields[] = {
    {JF_TEXT(struct list_args, workspace), .max = ID_SIZE - 1,
     .doc = "only in the one with this id"},
    FILTERS{0},
};
static const struct json_field workspace_fields[] = {FILTERS{0}};

/* ---- what is asked for ---- */

/* A moment, or the begin of a day. 0: none was given. */
static int read_time(const char *name, const char *text, int64_t *ret, struct err *e)
{
    struct tm utc = {0};
    *ret = 0;
    if (!text || !*text)
        return 0;
    const char *rest = strptime(text, "%Y-%m-%d", &utc);
    if (rest && *rest == 'T')
        rest = strptime(rest, "T%H:%M:%S", &utc);
    if (rest && *rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (!rest || (*rest && strcmp(rest, "Z") != 0))
        return err_set(e, ERR_INVALID, "%s: write it like 2026-01-31 or 2026-01-31T12:00:00Z",
                       name);
    *ret = (int64_t)timegm(&utc) * 1000000;
    return 0;
}

/* The path as files have it; what cannot be one is looked for as it is. */
static int read_path(const char *text, char ret[AUDIT_PATH_MAX + 1], struct err *e)
{
    ret[0] = '\0';
    return text && *text ? path_clean(text, ret, e) : 0;
}

static int read_filter(struct call *c, const char *workspace, char path[AUDIT_PATH_MAX + 1],
                       struct audit_filter *f, struct err *e)
{
    const struct list_args *in = c->query;
    *f = (struct audit_filter){.workspace = workspace,
                               .principal = in->principal,
                               .event = in->event,
                               .path = path,
                               .after = (uint64_t)in->cursor,
                               .has_result = in->result > 0,
                               .is_events = in->changes,
                               .limit = (uint32_t)in->limit};
    if (in->result > 0)
        f->result = (enum audit_result)(in->result - 1);
    if (read_path(in->path, path, e) || read_time("from", in->from, &f->from_us, e) ||
        read_time("until", in->until, &f->until_us, e))
        return -1;
    return 0;
}

/* ---- as text ---- */

static void put_entry(struct buf *out, const struct audit_row *r)
{
    char hash[HASH_HEX_SIZE];
    hash_hex(r->hash, hash);
    buf_fmt(out, "{\"seq\":%" PRIu64 ",\"hash\":\"%s\",", r->seq, hash);
    buf_str(out, r->record + 1);
}

static int send_list(struct call *c, const struct audit_filter *f, struct err *e)
{
    struct audit_rows rows;
    if (auditor_list(c->api->o.auditor, f, &rows, e))
        return -1;
    buf_str(&c->out, "{\"data\":[");
    for (size_t i = 0; i < rows.count; i++) {
        buf_str(&c->out, i ? "," : "");
        put_entry(&c->out, &rows.items[i]);
    }
    buf_fmt(&c->out, "],\"has_more\":%s,\"next_cursor\":", rows.has_more ? "true" : "false");
    if (rows.has_more)
        buf_fmt(&c->out, "\"%" PRIu64 "\"}", rows.next);
    else
        buf_str(&c->out, "null}");
    audit_rows_done(&rows);
    return 0;
}

static int send_page(struct call *c, const struct audit_rows *rows, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT((size_t)AUDIT_LIST_MAX * AUDIT_RECORD_MAX);
    for (size_t i = 0; i < rows->count; i++) {
        put_entry(&text, &rows->items[i]);
        buf_str(&text, "\n");
    }
    if (buf_check(&text, e))
        return -1;
    return text.len ? http_write(c->x, text.bytes, text.len, e) : 0;
}

static int find_newest(struct call *c, uint64_t *ret, struct err *e)
{
    struct audit_rows rows;
    if (auditor_list(c->api->o.auditor, &(struct audit_filter){.limit = 1}, &rows, e))
        return -1;
    *ret = rows.count ? rows.items[0].seq : 0;
    audit_rows_done(&rows);
    return 0;
}

/* Up to the newest at the begin: the audit grows while it is sent, not least by this, and must end. */
static int send_export(struct call *c, struct audit_filter f, struct err *e)
{
    uint64_t last;
    bool has_more = true;
    if (find_newest(c, &last, e))
        return -1;
    f.is_forward = true;
    f.limit = AUDIT_LIST_MAX;
    c->is_answered = true;
    c->status = 200;
    http_add_header(c->x, "Cache-Control", "no-store");
    if (http_begin(c->x, 200, "application/jsonl", /* length= */ -1, e))
        return -1;
    while (has_more && f.after < last) {
        struct audit_rows rows;
        if (auditor_list(c->api->o.auditor, &f, &rows, e))
            return -1;
        int failed = send_page(c, &rows, e);
        has_more = rows.has_more;
        f.after = rows.next;
        audit_rows_done(&rows);
        if (failed)
            return -1;
    }
    return http_end(c->x, e);
}

static bool wants_lines(const struct call *c)
{
    const struct list_args *in = c->query;
    struct str accept = http_header_get(c->request, "Accept");
    static const char jsonl[] = "application/jsonl";
    return in->format == 1 || (accept.len >= sizeof jsonl - 1 &&
                               strncasecmp(accept.ptr, jsonl, sizeof jsonl - 1) == 0);
}

static int send(struct call *c, const char *workspace, struct err *e)
{
    char path[AUDIT_PATH_MAX + 1];
    struct audit_filter f;
    if (read_filter(c, workspace, path, &f, e))
        return -1;
    return wants_lines(c) ? send_export(c, f, e) : send_list(c, &f, e);
}

static int list_all(struct call *c, struct err *e)
{
    const struct list_args *in = c->query;
    return send(c, in->workspace, e);
}

static int list_of_workspace(struct call *c, struct err *e)
{
    return send(c, c->ws.id, e);
}

/* ---- proving ---- */

static int head(struct call *c, struct err *e)
{
    struct audit_checkpoint k;
    if (auditor_head(c->api->o.auditor, &k, e))
        return -1;
    audit_checkpoint_print(&k, &c->out);
    return 0;
}

struct verify_args {
    int64_t seq;
    const char *hash;
};

static const struct json_field verify_fields[] = {
    {JF_INT(struct verify_args, seq), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "of a checkpoint that was kept elsewhere"},
    {JF_TEXT(struct verify_args, hash), .max = 2 * HASH_LEN, .doc = "and its hash"},
    {0},
};

static int read_given(const struct verify_args *in, struct audit_checkpoint *ret, struct err *e)
{
    static const char digits[] = "0123456789abcdef";
    *ret = (struct audit_checkpoint){.seq = (uint64_t)in->seq};
    if (!in->hash || strlen(in->hash) != (size_t)2 * HASH_LEN ||
        strspn(in->hash, digits) != (size_t)2 * HASH_LEN)
        return err_set(e, ERR_INVALID, "hash: give seq and the 64 hexadecimal digits of its hash");
    for (size_t i = 0; i < HASH_LEN; i++)
        ret->hash[i] = (uint8_t)((strchr(digits, in->hash[2 * i]) - digits) << 4 |
                                 (strchr(digits, in->hash[2 * i + 1]) - digits));
    return 0;
}

static void put_problem(struct json_writer *w, const struct audit_verdict *v)
{
    jw_key(w, "problem");
    if (v->is_intact) {
        jw_null(w);
        return;
    }
    jw_object(w);
    jw_key(w, "seq");
    if (v->bad_seq)
        jw_u64(w, v->bad_seq);
    else
        jw_null(w);
    jw_key(w, "message");
    jw_text(w, v->what);
    jw_end_object(w);
}

static int verify(struct call *c, struct err *e)
{
    const struct verify_args *in = c->query;
    struct audit_checkpoint given;
    struct audit_verdict v;
    bool is_given = in->seq > 0 || in->hash;
    char hash[HASH_HEX_SIZE];
    if ((is_given && read_given(in, &given, e)) ||
        auditor_verify(c->api->o.auditor, is_given ? &given : NULL, &v, e))
        return -1;
    hash_hex(v.hash, hash);
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "is_intact");
    jw_bool(&w, v.is_intact);
    jw_key(&w, "entries");
    jw_u64(&w, v.entries);
    jw_key(&w, "checkpoints");
    jw_u64(&w, v.checkpoints);
    jw_key(&w, "hash");
    jw_text(&w, hash);
    put_problem(&w, &v);
    jw_end_object(&w);
    return 0;
}

/* What is the server's takes an admin's key, and one that may look at the audit at that. */
static void demand_audit(const struct call *c, enum scope *ret_scope, enum op_needs *ret_needs)
{
    (void)c;
    (void)ret_needs;
    *ret_scope = SCOPE_AUDIT;
}

static const struct op ops[] = {
    {.method = "GET",
     .path = "/api/v1/audit",
     .name = "listAudit",
     .summary = "Who did what on this server, the newest first; or all of it as lines.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     .query = all_fields,
     .query_size = sizeof(struct list_args),
     .status = 200,
     .answer = "AuditList",
     .gives = "application/jsonl",
     .demand = demand_audit,
     .run = list_all},
    {.method = "GET",
     .path = "/api/v1/audit/head",
     .name = "getAuditHead",
     .summary = "A signed checkpoint of the newest entry, to be kept elsewhere.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     .status = 200,
     .answer = "AuditCheckpoint",
     .demand = demand_audit,
     .run = head},
    {.method = "GET",
     .path = "/api/v1/audit/verify",
     .name = "verifyAudit",
     .summary = "Check every entry and every checkpoint.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     .query = verify_fields,
     .query_size = sizeof(struct verify_args),
     .status = 200,
     .answer = "AuditVerdict",
     .demand = demand_audit,
     .run = verify},
    {.method = "GET",
     .path = "/api/v1/workspaces/{ws}/audit",
     .name = "listWorkspaceAudit",
     .summary = "Who did what in a workspace, the newest first; or all of it as lines.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_AUDIT,
     .query = workspace_fields,
     .query_size = sizeof(struct list_args),
     .status = 200,
     .answer = "AuditList",
     .gives = "application/jsonl",
     .run = list_of_workspace},
};

const struct op_table native_audit = {ops, sizeof ops / sizeof *ops};
