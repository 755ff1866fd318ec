#include "wire/jail.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"

/* The first four bytes of each message tell them apart and change with the format. */
enum {
    MAGIC_HELLO = 0x314c4843,   /* "CHL1" */
    MAGIC_SPEC = 0x33505343,    /* "CSP3" */
    MAGIC_REQUEST = 0x33515243, /* "CRQ3" */
    MAGIC_EVENT = 0x32564543,   /* "CEV2" */
};

/* Everything below sys.path of Debian's Python that upgrades change. */
const struct jail_library jail_libraries[JAIL_LIBRARIES] = {
    {"python3", "/usr/lib/python3"},
    {"python3.11", "/usr/lib/python3.11"},
    {"local", "/usr/local/lib/python3.11"},
};

static int check_head(const uint8_t *bytes, size_t len, size_t size, uint32_t magic,
                      const char *what, struct err *e)
{
    if (len != size || get_u32(bytes) != magic)
        return err_set(e, ERR_PROTOCOL, "not a %s of this version", what);
    return 0;
}

void jail_hello_put(const struct jail_hello *hello, uint8_t bytes[JAIL_HELLO_SIZE])
{
    put_u32(bytes, MAGIC_HELLO);
    put_u32(bytes + 4, (uint32_t)hello->tier);
    put_u32(bytes + 8, hello->landlock_abi);
    put_u32(bytes + 12, hello->cgroup);
    for (size_t i = 0; i < MECH_COUNT; i++)
        put_u32(bytes + 16 + 4 * i, (uint32_t)hello->failure[i]);
}

int jail_hello_get(const uint8_t *bytes, size_t len, struct jail_hello *ret, struct err *e)
{
    if (check_head(bytes, len, JAIL_HELLO_SIZE, MAGIC_HELLO, "greeting", e))
        return -1;
    struct jail_hello hello = {.landlock_abi = get_u32(bytes + 8), .cgroup = get_u32(bytes + 12)};
    uint32_t tier = get_u32(bytes + 4);
    if (tier > TIER_CONTAINER_USER || hello.cgroup > 2)
        return err_set(e, ERR_PROTOCOL, "greeting names tier %u, cgroup %u", tier, hello.cgroup);
    hello.tier = tier;
    for (size_t i = 0; i < MECH_COUNT; i++)
        hello.failure[i] = (int32_t)get_u32(bytes + 16 + 4 * i);
    *ret = hello;
    return 0;
}

void jail_spec_put(const struct jail_spec *spec, uint8_t bytes[JAIL_SPEC_SIZE])
{
    const struct limits *l = &spec->limits;
    const uint64_t wide[] = {l->memory_bytes, l->disk_bytes,   l->file_bytes,
                             l->tmp_bytes,    l->output_bytes, l->drain_bytes};
    const uint32_t narrow[] = {l->cpu_milli,  l->pids,    l->files,
                               l->open_files, l->wall_ms, spec->lower_count};
    uint8_t *at = bytes;
    put_u32(at, MAGIC_SPEC);
    at[4] = (uint8_t)spec->start;
    at[5] = spec->has_data;
    at[6] = spec->has_delta;
    at[7] = spec->has_libraries;
    at += 8;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++, at += 8)
        put_u64(at, wide[i]);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++, at += 4)
        put_u32(at, narrow[i]);
    assert(at == bytes + JAIL_SPEC_SIZE);
}

/* What can be started how. A delta is a session's own memory, so whoever wakes from it is hostile
 * at once; a parked jail, whose pid 1 still has privileges, is not for it. */
static bool is_possible(const struct jail_spec *spec)
{
    if (spec->has_libraries && !spec->has_delta)
        return false;
    if (spec->lower_count > JAIL_LOWERS_MAX || (spec->lower_count > 0 && !spec->has_data))
        return false;
    switch (spec->start) {
    case JAIL_COLD: return !spec->has_delta;
    case JAIL_IMAGE: return spec->has_data || !spec->has_delta;
    case JAIL_BAKE: return spec->has_data && !spec->has_delta && spec->lower_count == 0;
    }
    return false;
}

int jail_spec_get(const uint8_t *bytes, size_t len, struct jail_spec *ret, struct err *e)
{
    if (check_head(bytes, len, JAIL_SPEC_SIZE, MAGIC_SPEC, "jail request", e))
        return -1;
    const uint8_t *wide = bytes + 8, *narrow = wide + 6 * 8;
    struct jail_spec spec = {.start = bytes[4],
                             .has_data = bytes[5],
                             .has_delta = bytes[6],
                             .has_libraries = bytes[7],
                             .lower_count = get_u32(narrow + 20)};
    if (bytes[5] > 1 || bytes[6] > 1 || bytes[7] > 1 || !is_possible(&spec))
        return err_set(e, ERR_PROTOCOL,
                       "jail request: start %u, data %u, delta %u, libraries %u, lowers %u",
                       bytes[4], bytes[5], bytes[6], bytes[7], spec.lower_count);
    struct limits l = {.memory_bytes = get_u64(wide),
                       .disk_bytes = get_u64(wide + 8),
                       .file_bytes = get_u64(wide + 16),
                       .tmp_bytes = get_u64(wide + 24),
                       .output_bytes = get_u64(wide + 32),
                       .drain_bytes = get_u64(wide + 40),
                       .cpu_milli = get_u32(narrow),
                       .pids = get_u32(narrow + 4),
                       .files = get_u32(narrow + 8),
                       .open_files = get_u32(narrow + 12),
                       .wall_ms = get_u32(narrow + 16)};
    if (limits_check(&l, e)) {
        e->code = ERR_PROTOCOL;
        return err_wrap(e, "jail request");
    }
    spec.limits = l;
    *ret = spec;
    return 0;
}

size_t jail_data_fds(const struct jail_data *data, int fds[JAIL_DATA_FDS])
{
    assert(data->lower_count <= JAIL_LOWERS_MAX);
    fds[0] = data->dir_fd;
    if (data->lower_count == 0)
        return 1;
    fds[1] = data->work_fd;
    for (size_t i = 0; i < data->lower_count; i++)
        fds[2 + i] = data->lower_fds[i];
    return 2 + data->lower_count;
}

struct jail_data jail_data_from(const int *fds, size_t lower_count)
{
    assert(lower_count <= JAIL_LOWERS_MAX);
    struct jail_data data = {.dir_fd = fds[0], .work_fd = -1, .lower_count = lower_count};
    if (lower_count > 0)
        data.work_fd = fds[1];
    for (size_t i = 0; i < lower_count; i++)
        data.lower_fds[i] = fds[2 + i];
    return data;
}

size_t jail_spec_fds(const struct jail_spec *spec, int which[JAIL_FDS])
{
    size_t count = 0;
    for (int i = JAIL_FD_HANDLE; i < JAIL_FDS; i++) {
        bool is_lower = i >= JAIL_FD_LOWER && i < JAIL_FD_LOWER + JAIL_LOWERS_MAX;
        bool is_there = (i != JAIL_FD_DATA || spec->has_data) &&
                        (i != JAIL_FD_WORK || spec->lower_count > 0) &&
                        (!is_lower || (uint32_t)(i - JAIL_FD_LOWER) < spec->lower_count) &&
                        (i != JAIL_FD_IMAGE || spec->start != JAIL_COLD) &&
                        (i != JAIL_FD_DELTA || spec->has_delta) &&
                        (i != JAIL_FD_LIBRARIES || spec->has_libraries);
        if (is_there)
            which[count++] = i;
    }
    return count;
}

void jail_request_put(const struct jail_request *request, uint8_t bytes[JAIL_REQUEST_SIZE])
{
    put_u32(bytes, MAGIC_REQUEST);
    put_u32(bytes + 4, (uint32_t)request->kind);
    put_u32(bytes + 8, (uint32_t)request->pid);
    put_u32(bytes + 12, request->lower_count);
}

int jail_request_get(const uint8_t *bytes, size_t len, struct jail_request *ret, struct err *e)
{
    if (check_head(bytes, len, JAIL_REQUEST_SIZE, MAGIC_REQUEST, "request", e))
        return -1;
    uint32_t kind = get_u32(bytes + 4), pid = get_u32(bytes + 8), lowers = get_u32(bytes + 12);
    if (kind < JAIL_INTERRUPT || kind > JAIL_MARK)
        return err_set(e, ERR_PROTOCOL, "request of kind %u", kind);
    bool has_pid = kind == JAIL_COPY || kind == JAIL_SWITCH;
    if (pid > INT32_MAX || has_pid != (pid > 0))
        return err_set(e, ERR_PROTOCOL, "request of kind %u for process %u", kind, pid);
    if (lowers > (kind == JAIL_ATTACH ? JAIL_LOWERS_MAX : 0))
        return err_set(e, ERR_PROTOCOL, "request of kind %u with %u layers", kind, lowers);
    *ret = (struct jail_request){.kind = kind, .pid = (int32_t)pid, .lower_count = lowers};
    return 0;
}

void jail_event_put(const struct jail_event *event, uint8_t bytes[JAIL_EVENT_SIZE])
{
    put_u32(bytes, MAGIC_EVENT);
    put_u32(bytes + 4, (uint32_t)event->kind);
    put_u32(bytes + 8, (uint32_t)event->cause);
    put_u32(bytes + 12, (uint32_t)event->status);
    put_u64(bytes + 16, event->cpu_us);
    put_u64(bytes + 24, event->memory_peak);
    put_u64(bytes + 32, event->memory_now);
    put_u64(bytes + 40, event->disk_bytes);
    put_u64(bytes + 48, event->disk_files);
    put_u32(bytes + 56, event->brought_put);
    put_u32(bytes + 60, event->brought_removed);
    put_u32(bytes + 64, event->brought_failed);
    put_u32(bytes + 68, (uint32_t)event->brought_errno);
    memcpy(bytes + 72, event->step, sizeof event->step);
}

int jail_event_get(const uint8_t *bytes, size_t len, struct jail_event *ret, struct err *e)
{
    if (check_head(bytes, len, JAIL_EVENT_SIZE, MAGIC_EVENT, "event", e))
        return -1;
    uint32_t kind = get_u32(bytes + 4), cause = get_u32(bytes + 8);
    if (kind < JAIL_STARTED || kind > JAIL_FULL || cause > JAIL_KILLED)
        return err_set(e, ERR_PROTOCOL, "event of kind %u, cause %u", kind, cause);
    if (kind == JAIL_ENDED && cause == 0)
        return err_set(e, ERR_PROTOCOL, "end without a cause");
    *ret = (struct jail_event){.kind = kind,
                               .cause = cause,
                               .status = (int32_t)get_u32(bytes + 12),
                               .cpu_us = get_u64(bytes + 16),
                               .memory_peak = get_u64(bytes + 24),
                               .memory_now = get_u64(bytes + 32),
                               .disk_bytes = get_u64(bytes + 40),
                               .disk_files = get_u64(bytes + 48),
                               .brought_put = get_u32(bytes + 56),
                               .brought_removed = get_u32(bytes + 60),
                               .brought_failed = get_u32(bytes + 64),
                               .brought_errno = (int32_t)get_u32(bytes + 68)};
    memcpy(ret->step, bytes + 72, sizeof ret->step);
    ret->step[sizeof ret->step - 1] = '\0';
    return 0;
}

int limits_check(const struct limits *limits, struct err *e)
{
    const struct limits min = LIMITS_MIN, max = LIMITS_MAX;
    /* clang-format off */
    const struct { const char *name; uint64_t v, min, max; } rows[] = {
        {"memory",     limits->memory_bytes, min.memory_bytes, max.memory_bytes},
        {"disk",       limits->disk_bytes,   min.disk_bytes,   max.disk_bytes},
        {"file size",  limits->file_bytes,   min.file_bytes,   max.file_bytes},
        {"tmp",        limits->tmp_bytes,    min.tmp_bytes,    max.tmp_bytes},
        {"output",     limits->output_bytes, min.output_bytes, max.output_bytes},
        {"drain",      limits->drain_bytes,  min.drain_bytes,  max.drain_bytes},
        {"cpu",        limits->cpu_milli,    min.cpu_milli,    max.cpu_milli},
        {"pids",       limits->pids,         min.pids,         max.pids},
        {"files",      limits->files,        min.files,        max.files},
        {"open files", limits->open_files,   min.open_files,   max.open_files},
        {"wall time",  limits->wall_ms,      min.wall_ms,      max.wall_ms},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].v < rows[i].min || rows[i].v > rows[i].max)
            return err_set(e, ERR_INVALID, "the %s limit %llu is not between %llu and %llu",
                           rows[i].name, (unsigned long long)rows[i].v,
                           (unsigned long long)rows[i].min, (unsigned long long)rows[i].max);
    return 0;
}

const char *tier_name(enum tier tier)
{
    static const char *const names[] = {"none", "full", "container-root", "container-user"};
    assert(tier <= TIER_CONTAINER_USER);
    return names[tier];
}
