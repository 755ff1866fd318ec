#include "service/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "service/may.h"
#include "service/seat.h"
#include "service/service.h"
#include "wire/jail.h"
#include "wire/limits.h"
#include "json/read.h"
#include "json/write.h"

/* One limit: how a wish becomes a value. */
struct rule {
    const char *name;
    int64_t wish;
    uint64_t unit;     /* of the wish */
    unsigned thousand; /* the wish is in thousandths: shown as such */
    uint64_t min, max;
    uint64_t *value;
};

static int apply(const struct rule *r, struct err *e)
{
    if (r->wish == 0)
        return 0;
    uint64_t value;
    if (r->wish > 0 && !__builtin_mul_overflow((uint64_t)r->wish, r->unit, &value) &&
        value >= r->min && value <= r->max) {
        *r->value = value;
        return 0;
    }
    double scale = (double)r->unit * r->thousand;
    return err_set(e, ERR_INVALID, "limits.%s: it can be %g to %g here", r->name,
                   (double)r->min / scale, (double)r->max / scale);
}

int options_limits(const struct service_options *o, const struct limit_wishes *wishes,
                   unsigned memory_max_mb, struct limits *ret, struct err *e)
{
    const struct limits least = LIMITS_MIN, *most = &o->limits_max;
    uint64_t memory_max = most->memory_bytes;
    if (memory_max_mb && memory_max > memory_max_mb * MIB)
        memory_max = memory_max_mb * MIB;
    struct limits l = o->limits;
    if (l.memory_bytes > memory_max)
        l.memory_bytes = memory_max;
    uint64_t cpu = l.cpu_milli, wall = l.wall_ms, pids = l.pids;
    const struct rule rules[] = {
        {"memory_mb", wishes->memory_mb, MIB, 1, least.memory_bytes, memory_max, &l.memory_bytes},
        {"cpu", wishes->cpu, 1, 1000, least.cpu_milli, most->cpu_milli, &cpu},
        {"wall_s", wishes->wall_s, 1, 1000, least.wall_ms, most->wall_ms, &wall},
        {"pids", wishes->pids, 1, 1, least.pids, most->pids, &pids},
        {"output_bytes", wishes->output_bytes, 1, 1, least.output_bytes, most->output_bytes,
         &l.output_bytes},
        {"disk_mb", wishes->disk_mb, MIB, 1, least.disk_bytes, most->disk_bytes, &l.disk_bytes},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (apply(&rules[i], e))
            return -1;
    l.cpu_milli = (uint32_t)cpu;
    l.wall_ms = (uint32_t)wall;
    l.pids = (uint32_t)pids;
    if (wishes->disk_mb > 0)
        l.file_bytes = l.disk_bytes; /* one file may be all of it */
    *ret = l;
    return 0;
}

static const char *const names[] = {"memory_bytes", "disk_bytes",  "file_bytes", "tmp_bytes",
                                    "output_bytes", "drain_bytes", "cpu_milli",  "pids",
                                    "files",        "open_files",  "wall_ms"};
enum { COUNT = sizeof names / sizeof *names };

static void spread(const struct limits *l, uint64_t v[COUNT])
{
    const uint64_t all[COUNT] = {l->memory_bytes, l->disk_bytes,  l->file_bytes, l->tmp_bytes,
                                 l->output_bytes, l->drain_bytes, l->cpu_milli,  l->pids,
                                 l->files,        l->open_files,  l->wall_ms};
    memcpy(v, all, sizeof all);
}

static void gather(const uint64_t v[COUNT], struct limits *l)
{
    *l = (struct limits){.memory_bytes = v[0],
                         .disk_bytes = v[1],
                         .file_bytes = v[2],
                         .tmp_bytes = v[3],
                         .output_bytes = v[4],
                         .drain_bytes = v[5],
                         .cpu_milli = (uint32_t)v[6],
                         .pids = (uint32_t)v[7],
                         .files = (uint32_t)v[8],
                         .open_files = (uint32_t)v[9],
                         .wall_ms = (uint32_t)v[10]};
}

static void write_pen(struct json_writer *w, const struct pen *pen)
{
    jw_key(w, "pen");
    jw_object(w);
    jw_key(w, "principal");
    jw_text(w, pen->principal);
    jw_key(w, "admin");
    jw_bool(w, pen->is_admin);
    jw_key(w, "writes");
    jw_bool(w, pen->can_write);
    jw_key(w, "reads");
    jw_bool(w, !pen->is_blind);
    jw_end_object(w);
}

void options_write(const struct limits *l, const struct pen *pen, struct buf *out)
{
    uint64_t v[COUNT];
    struct json_writer w = JSON_WRITER(out);
    spread(l, v);
    jw_object(&w);
    for (size_t i = 0; i < COUNT; i++) {
        jw_key(&w, names[i]);
        jw_u64(&w, v[i]);
    }
    write_pen(&w, pen);
    jw_end_object(&w);
}

static void read_pen(const json_t *o, struct pen *ret)
{
    const json_t *is = json_object_get(o, "pen");
    const char *principal = json_string_value(json_object_get(is, "principal"));
    *ret = (struct pen){.is_admin = true, .can_write = true};
    if (!principal)
        return;
    (void)snprintf(ret->principal, sizeof ret->principal, "%s", principal);
    ret->is_admin = json_is_true(json_object_get(is, "admin"));
    ret->can_write = json_is_true(json_object_get(is, "writes"));
    ret->is_blind = !json_is_true(json_object_get(is, "reads"));
}

void options_read(const char *text, struct limits *ret, struct pen *ret_pen)
{
    struct err ignored = {0};
    json_t *o = NULL;
    uint64_t v[COUNT];
    struct limits l = LIMITS_DEFAULT;
    spread(&l, v);
    read_pen(NULL, ret_pen);
    if (text && json_read(text, strlen(text), &o, &ignored) == 0) {
        for (size_t i = 0; i < COUNT; i++) {
            const json_t *value = json_object_get(o, names[i]);
            if (json_is_integer(value) && json_integer_value(value) > 0)
                v[i] = (uint64_t)json_integer_value(value);
        }
        read_pen(o, ret_pen);
        json_decref(o);
    }
    gather(v, &l);
    *ret = l;
    if (limits_check(ret, &ignored))
        *ret = LIMITS_DEFAULT;
}
