/* native_store.c -- /api/v1/store: what the store holds, and what it needs now and then. */
#include "api/api_int.h"
#include "api/native.h"
#include "base/err.h"
#include "service/object.h"
#include "workspace/upkeep.h"
#include "json/fields.h"
#include "json/write.h"

enum { PLACES_AGE_US = 2 * 1000000 }; /* looking at every file is not for every request */

static void put(struct json_writer *w, const char *key, uint64_t v)
{
    jw_key(w, key);
    jw_u64(w, v);
}

static void put_gc(struct json_writer *w, const struct gc_result *r)
{
    jw_object(w);
    put(w, "chunks", r->chunks);
    put(w, "dead", r->dead);
    put(w, "swept", r->swept);
    put(w, "packs_removed", r->packs_removed);
    put(w, "packs_copied", r->packs_copied);
    put(w, "packs_left", r->packs_left);
    put(w, "bytes_freed", r->bytes_freed);
    jw_end_object(w);
}

static void put_scrub(struct json_writer *w, const struct scrub_state *s)
{
    jw_object(w);
    put(w, "rounds", s->rounds);
    put(w, "bytes", s->bytes);
    put(w, "damaged", s->damaged);
    object_time(w, "finished_at", s->round_at_us);
    jw_end_object(w);
}

static void put_places(struct json_writer *w, const struct upkeep_stats *s)
{
    jw_object(w);
    for (enum place i = 0; i < PLACE_COUNT; i++)
        put(w, place_names[i], s->places[i]);
    object_time(w, "measured_at", s->measured_at_us);
    jw_end_object(w);
}

static int show(struct call *c, struct err *e)
{
    struct upkeep_stats s;
    struct json_writer w = JSON_WRITER(&c->out);
    struct err ignored = {0}; /* the figures stay as they were, and say of when they are */
    (void)upkeep_measure(c->api->o.upkeep, PLACES_AGE_US, &ignored);
    if (upkeep_look(c->api->o.upkeep, &s, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "status");
    jw_text(&w, s.is_stopped ? "read_only" : s.is_full ? "degraded" : "ok");
    if (s.is_full)
        native_put_reasons(&w);
    put(&w, "workspaces", s.workspaces);
    put(&w, "files", s.files);
    put(&w, "bytes", s.bytes);
    put(&w, "kept_bytes", s.kept_bytes);
    put(&w, "vaults", s.vaults);
    put(&w, "packs", s.packs);
    put(&w, "pack_bytes", s.pack_bytes);
    put(&w, "disk_free", s.disk_free);
    jw_key(&w, "places");
    put_places(&w, &s);
    if (s.inodes_free != UINT64_MAX)
        put(&w, "inodes_free", s.inodes_free);
    put(&w, "ballast_bytes", s.ballast_bytes);
    jw_key(&w, "scrub");
    put_scrub(&w, &s.scrub);
    jw_key(&w, "gc");
    put_gc(&w, &s.last_gc);
    object_time(&w, "gc_at", s.gc_at_us);
    object_time(&w, "backup_at", s.backup_at_us);
    jw_end_object(&w);
    return 0;
}

struct gc_args {
    bool now;
};

static const struct json_field gc_fields[] = {
    {JF_BOOL(struct gc_args, now),
     .doc = "also what was purged within the last day; what is being uploaded is safe in any case"},
    {0},
};

static int collect(struct call *c, struct err *e)
{
    const struct gc_args *in = c->in;
    struct gc_result result;
    struct json_writer w = JSON_WRITER(&c->out);
    if (upkeep_gc(c->api->o.upkeep, in->now, &result, e))
        return -1;
    put_gc(&w, &result);
    return 0;
}

static int back_up(struct call *c, struct err *e)
{
    struct backup_result r;
    struct json_writer w = JSON_WRITER(&c->out);
    if (upkeep_backup(c->api->o.upkeep, &r, e))
        return -1;
    jw_object(&w);
    put(&w, "database_bytes", r.database_bytes);
    put(&w, "packs", r.packs);
    put(&w, "packs_copied", r.packs_copied);
    put(&w, "bytes", r.bytes);
    put(&w, "bytes_copied", r.bytes_copied);
    jw_end_object(&w);
    return 0;
}

static const struct op ops[] = {
    {.method = "GET",
     .path = "/api/v1/store",
     .name = "getStore",
     .summary = "What the store holds, and how it is.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     .status = 200,
     .answer = "Store",
     .run = show},
    {.method = "POST",
     .path = "/api/v1/store/gc",
     .name = "collectGarbage",
     .summary = "Takes away what no kept version needs. Happens by itself every six hours.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     .body = gc_fields,
     .body_size = sizeof(struct gc_args),
     .body_is_optional = true,
     .status = 200,
     .answer = "Collected",
     .run = collect},
    {.method = "POST",
     .path = "/api/v1/store/backup",
     .name = "backUp",
     .summary = "Brings the backup up to date, in the directory that is configured for it.",
     .needs = NEEDS_SERVER,
     .scope = SCOPE_ADMIN,
     .status = 200,
     .answer = "BackedUp",
     .run = back_up},
};

const struct op_table native_store = {ops, sizeof ops / sizeof *ops};
