/* What the audit says of a commit. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/audit_int.h"
#include "store/commit_int.h"
#include "json/write.h"

enum {
    CHANGE_BYTES_MAX = 16 << 10
}; /* of one, as JSON: two paths, every byte of which may need six */

static void put(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static const char *path_of(const struct file_change *c)
{
    if (c->ret_path)
        return c->ret_path;
    return c->to ? c->to : c->path;
}

static bool is_told(const struct file_change *c)
{
    return c->made != 0 || c->outcome == OUTCOME_QUOTA || c->outcome == OUTCOME_KEPT;
}

static void put_content(struct json_writer *w, const struct file_change *c)
{
    char hex[HASH_HEX_SIZE];
    hash_hex(c->content.sha256, hex);
    jw_key(w, "size");
    jw_u64(w, c->content.size);
    put(w, "sha256", hex);
}

static void put_change(struct json_writer *w, const struct file_change *c)
{
    const char *path = path_of(c);
    jw_object(w);
    put(w, "path", path ? path : "");
    if (*c->ret_file)
        put(w, "file", c->ret_file);
    if (c->made && c->ret_version) {
        jw_key(w, "version");
        jw_u64(w, c->ret_version);
    }
    if (c->made)
        put(w, "change", change_names[c->made]);
    else
        put(w, "refused", c->outcome == OUTCOME_QUOTA ? "quota" : "conflict");
    if (c->path && path != c->path && strcmp(path, c->path) != 0)
        put(w, c->outcome == OUTCOME_ASIDE ? "instead_of" : "from", c->path);
    if (c->made && c->op == OP_PUT)
        put_content(w, c);
    jw_end_object(w);
}

/* {"changes":[...],"more":N}: as many as fit, whole. */
static int tell_all(const struct file_change *changes, size_t count, bool is_recovered,
                    struct buf *out, struct err *e)
{
    size_t more = 0;
    buf_str(out, "{\"changes\":[");
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        if (!is_told(&changes[i]))
            continue;
        scoped(buf_done) struct buf one = BUF_INIT(CHANGE_BYTES_MAX);
        struct json_writer w = JSON_WRITER(&one);
        if (more == 0)
            put_change(&w, &changes[i]);
        if (more > 0 || one.failed || out->len + one.len + 64 > AUDIT_DETAIL_MAX) {
            more++;
            continue;
        }
        buf_str(out, is_first ? "" : ",");
        buf_add(out, one.bytes, one.len);
        is_first = false;
    }
    buf_str(out, "]");
    if (more > 0)
        buf_fmt(out, ",\"more\":%zu", more);
    buf_str(out, is_recovered ? ",\"is_recovered\":true}" : "}");
    return buf_check(out, e);
}

static const struct file_change *only_one(const struct file_change *changes, size_t count)
{
    const struct file_change *found = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!is_told(&changes[i]))
            continue;
        if (found)
            return NULL;
        found = &changes[i];
    }
    return found;
}

static int fill(struct work *w, struct audit_ride *r, const struct file_change *changes,
                size_t count, struct err *e)
{
    audit_ride_done(r); /* of an earlier try */
    r->made.is_unchanged = !w->has_changed;
    /* The request may not have named it. */
    memcpy(r->made.workspace, w->commit->workspace, ID_SIZE);
    if (!w->has_changed)
        return 0;
    r->made.rev = w->rev;
    scoped(buf_done) struct buf detail = BUF_INIT(2 * AUDIT_DETAIL_MAX);
    if (tell_all(changes, count, w->commit->kind == COMMIT_RECOVERED, &detail, e))
        return -1;
    r->made.detail = buf_take(&detail, NULL);
    const struct file_change *one = only_one(changes, count);
    if (!one)
        return 0;
    r->made.version = one->ret_version;
    memcpy(r->made.object, one->ret_file, ID_SIZE);
    const char *path = path_of(one);
    if (path && !(r->made.path = strdup(path)))
        return err_set(e, ERR_NO_MEMORY, "write to the audit");
    return 0;
}

/* Nobody's request: a run's files, what was recovered, the further commits of a large import. */
static int add_own(struct work *w, const struct file_change *changes, size_t count, struct err *e)
{
    const struct commit_row *k = w->commit;
    bool is_run = k->kind == COMMIT_RUN;
    struct audit_ride r = {.entry = {.at_us = k->created_us,
                                     .event = "saveFiles",
                                     .principal = k->author.principal,
                                     .key = k->author.key,
                                     .via = is_run ? "sandbox" : "server",
                                     .workspace = k->workspace,
                                     .session = k->author.session,
                                     .run = k->author.run}};
    int failed = fill(w, &r, changes, count, e) || audit_ride(w->c, &r, e) ? -1 : 0;
    audit_ride_done(&r);
    return failed;
}

int audit_commit(struct work *w, const struct file_change *changes, size_t count, struct err *e)
{
    struct audit_ride *r = audit_riding(w->c);
    if (r)
        return fill(w, r, changes, count, e);
    return w->has_changed ? add_own(w, changes, count, e) : 0;
}
