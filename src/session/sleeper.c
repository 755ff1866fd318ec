#include "session/sleeper.h"

#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/scope.h"
#include "wire/jail.h"

enum {
    AT_LIMITS = 128,
    AT_SESSION = AT_LIMITS + 6 * 8 + 5 * 4,
    SESSION_LEN = 64,
    AT_ZONE = AT_SESSION + SESSION_LEN,
    AT_ZEROS = AT_ZONE + ZONE_SIZE,
    AT_HASH = SLEEPER_HEAD - HASH_LEN,
    FLAG_RESEED = 1,
};

static const char magic[8] = {'C', 'I', 'C', 'A', 'S', 'L', 'P', '1'};

void sleeper_done(struct sleeper *s)
{
    names_done(&s->lost);
}

static int hash_head(const uint8_t *head, const void *names, size_t names_len,
                     uint8_t ret[HASH_LEN], struct err *e)
{
    scoped(hash_done) struct hash h = {0};
    return hash_init(&h, e) || hash_add(&h, head, AT_HASH, e) ||
                   hash_add(&h, names, names_len, e) || hash_end(&h, ret, e)
               ? -1
               : 0;
}

static void put_limits(uint8_t *at, const struct limits *l)
{
    const uint64_t wide[] = {l->memory_bytes, l->disk_bytes,   l->file_bytes,
                             l->tmp_bytes,    l->output_bytes, l->drain_bytes};
    const uint32_t narrow[] = {l->cpu_milli, l->pids, l->files, l->open_files, l->wall_ms};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++, at += 8)
        put_u64(at, wide[i]);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++, at += 4)
        put_u32(at, narrow[i]);
}

static struct limits get_limits(const uint8_t *at)
{
    const uint8_t *narrow = at + 6 * 8;
    return (struct limits){.memory_bytes = get_u64(at),
                           .disk_bytes = get_u64(at + 8),
                           .file_bytes = get_u64(at + 16),
                           .tmp_bytes = get_u64(at + 24),
                           .output_bytes = get_u64(at + 32),
                           .drain_bytes = get_u64(at + 40),
                           .cpu_milli = get_u32(narrow),
                           .pids = get_u32(narrow + 4),
                           .files = get_u32(narrow + 8),
                           .open_files = get_u32(narrow + 12),
                           .wall_ms = get_u32(narrow + 16)};
}

int sleeper_put(const struct sleeper *s, struct buf *out, struct err *e)
{
    uint8_t head[SLEEPER_HEAD] = {0};
    scoped(buf_done) struct buf names = BUF_INIT(SLEEPER_NAMES_MAX);
    for (size_t i = 0; i < s->lost.count; i++)
        buf_add(&names, s->lost.list[i], strlen(s->lost.list[i]) + 1);
    memcpy(head, magic, sizeof magic);
    put_u32(head + 8, SLEEPER_VERSION);
    put_u32(head + 12, (uint32_t)s->kind);
    put_u32(head + 16, s->reseeds ? FLAG_RESEED : 0);
    put_u32(head + 20, s->snapshots);
    put_u64(head + 24, (uint64_t)s->created_wall_us);
    put_u64(head + 32, s->generation);
    put_u64(head + 40, s->runs);
    put_u64(head + 48, s->body_len);
    put_u32(head + 56, (uint32_t)names.len);
    memcpy(head + 64, s->body_sha256, HASH_LEN);
    memcpy(head + 96, s->image, HASH_LEN);
    put_limits(head + AT_LIMITS, &s->limits);
    memcpy(head + AT_SESSION, s->session_id, strnlen(s->session_id, SESSION_LEN));
    memcpy(head + AT_ZONE, s->tz, strnlen(s->tz, ZONE_SIZE - 1));
    if (buf_check(&names, e) || hash_head(head, names.bytes, names.len, head + AT_HASH, e))
        return -1;
    buf_add(out, head, sizeof head);
    buf_add(out, names.bytes, names.len);
    return buf_check(out, e);
}

static int damaged(struct err *e, const char *what)
{
    return err_set(e, ERR_DAMAGED, "the file of the sleeping session is damaged: %s", what);
}

bool sleeper_is_id(const char *id, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!((id[i] >= 'a' && id[i] <= 'z') || (id[i] >= '0' && id[i] <= '9') || id[i] == '_'))
            return false;
    return len > 0 && len < ID_SIZE;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Text of that many bytes at most, and NULs behind it. */
static bool is_padded(const uint8_t *at, size_t size)
{
    size_t len = strnlen((const char *)at, size);
    for (size_t i = 0; i < len; i++)
        if (at[i] <= ' ' || at[i] > '~')
            return false;
    return len < size && is_zero(at + len, size - len);
}

/* Everything that is wrong with a head beside its hash; NULL if nothing is. */
static const char *find_fault(const uint8_t *head, uint64_t file_len)
{
    struct err ignored = {0};
    const char *id = (const char *)head + AT_SESSION;
    size_t id_len = strnlen(id, SESSION_LEN);
    uint32_t kind = get_u32(head + 12), names_len = get_u32(head + 56);
    uint64_t body_len = get_u64(head + 48);
    struct limits limits = get_limits(head + AT_LIMITS);
    if (kind != SLEEPER_DELTA && kind != SLEEPER_VARIABLES)
        return "its kind is unknown";
    if (get_u32(head + 16) > FLAG_RESEED || get_u32(head + 60) != 0 ||
        !is_zero(head + AT_ZEROS, AT_HASH - AT_ZEROS) || get_u64(head + 24) > INT64_MAX)
        return "a field is out of range";
    if (kind == SLEEPER_VARIABLES && !is_zero(head + 96, HASH_LEN))
        return "variables do not sleep under an image";
    if (!sleeper_is_id(id, id_len) || !is_zero(head + AT_SESSION + id_len, SESSION_LEN - id_len))
        return "it names no session";
    if (!is_padded(head + AT_ZONE, ZONE_SIZE))
        return "it names no time zone";
    if (limits_check(&limits, &ignored))
        return "its limits are out of range";
    if (names_len > SLEEPER_NAMES_MAX || file_len < (uint64_t)SLEEPER_HEAD + names_len ||
        body_len != file_len - SLEEPER_HEAD - names_len)
        return "it has another length than it says";
    return NULL;
}

static int get_names(const char *at, size_t len, struct names *ret, struct err *e)
{
    while (len > 0) {
        size_t one = strnlen(at, len);
        if (one == len || one > NAMES_LEN_MAX || ret->count == NAMES_MAX)
            return damaged(e, "its names are malformed");
        if (names_add(ret, at, one, e))
            return -1;
        at += one + 1;
        len -= one + 1;
    }
    return 0;
}

int sleeper_get(const uint8_t *bytes, size_t len, uint64_t file_len, struct sleeper *ret,
                struct err *e)
{
    uint8_t digest[HASH_LEN];
    if (len < SLEEPER_HEAD || memcmp(bytes, magic, sizeof magic) != 0)
        return damaged(e, "it is no such file");
    if (get_u32(bytes + 8) != SLEEPER_VERSION)
        return err_set(e, ERR_UNAVAILABLE,
                       "the session was put to sleep by another version of cicada");
    const char *fault = find_fault(bytes, file_len);
    if (fault)
        return damaged(e, fault);
    size_t names_len = get_u32(bytes + 56);
    if (len - SLEEPER_HEAD < names_len)
        return damaged(e, "it is cut off");
    if (hash_head(bytes, bytes + SLEEPER_HEAD, names_len, digest, e))
        return -1;
    if (memcmp(digest, bytes + AT_HASH, HASH_LEN) != 0)
        return damaged(e, "the hash of its head is wrong");
    struct sleeper s = {.kind = get_u32(bytes + 12),
                        .reseeds = get_u32(bytes + 16) & FLAG_RESEED,
                        .snapshots = get_u32(bytes + 20),
                        .created_wall_us = (int64_t)get_u64(bytes + 24),
                        .generation = get_u64(bytes + 32),
                        .runs = get_u64(bytes + 40),
                        .body_len = get_u64(bytes + 48),
                        .limits = get_limits(bytes + AT_LIMITS)};
    memcpy(s.body_sha256, bytes + 64, HASH_LEN);
    memcpy(s.image, bytes + 96, HASH_LEN);
    memcpy(s.session_id, bytes + AT_SESSION, SESSION_LEN);
    memcpy(s.tz, bytes + AT_ZONE, ZONE_SIZE);
    if (get_names((const char *)bytes + SLEEPER_HEAD, names_len, &s.lost, e)) {
        sleeper_done(&s);
        return -1;
    }
    *ret = s;
    return 0;
}
