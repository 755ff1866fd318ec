/* `cicada sessions create`. */
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/sessions_int.h"
#include "cli/words.h"
#include "wire/limits.h"
#include "json/write.h"

enum {
    OPT_MEMORY = VERB_OWN,
    OPT_CPU,
    OPT_DISK,
    OPT_PIDS,
    OPT_IDLE,
    OPT_SNAPSHOTS,
    OPT_TZ,
};

enum { BODY_MAX = 8192 };

/* clang-format off */
const struct option session_create_options[] = {
    {OPT_MEMORY, 0, "memory", "SIZE", "memory limit in MiB, or with a suffix"},
    {OPT_CPU, 0, "cpu", "CORES", "cores, such as 0.5 or 2"},
    {OPT_DISK, 0, "disk", "SIZE", "what /mnt/data may grow by, in MiB or with a suffix"},
    {OPT_PIDS, 0, "pids", "N", "processes and threads"},
    {OPT_IDLE, 0, "idle", "DURATION", "sleep when idle for so long, such as 60s or 10m"},
    {OPT_SNAPSHOTS, 0, "snapshots", "K", "remember the last K runs for rollback"},
    {OPT_TZ, 0, "tz", "ZONE", "time zone of the code, such as Europe/Berlin"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};
/* clang-format on */

static int put_mib(struct json_writer *w, const struct verb_input *in, int id, const char *name,
                   const char *key, struct err *e)
{
    uint64_t bytes;
    if (!in->values[id])
        return 0;
    if (parse_size(in->values[id], MIB, &bytes, e))
        return err_wrap(e, "--%s", name);
    jw_key(w, key);
    jw_decimal(w, bytes / MIB * 1000 + bytes % MIB * 1000 / MIB, 3);
    return 0;
}

static int put_limits(struct json_writer *w, const struct verb_input *in, struct err *e)
{
    unsigned long long pids;
    uint64_t milli;
    if (!in->values[OPT_MEMORY] && !in->values[OPT_DISK] && !in->values[OPT_CPU] &&
        !in->values[OPT_PIDS])
        return 0;
    jw_key(w, "limits");
    jw_object(w);
    if (put_mib(w, in, OPT_MEMORY, "memory", "memory_mb", e) ||
        put_mib(w, in, OPT_DISK, "disk", "disk_mb", e) ||
        verb_number(in, OPT_PIDS, "pids", 1, UINT32_MAX, 0, &pids, e))
        return -1;
    if (in->values[OPT_CPU]) {
        if (parse_milli(in->values[OPT_CPU], &milli, e))
            return err_wrap(e, "--cpu");
        jw_key(w, "cpu");
        jw_decimal(w, milli, 3);
    }
    if (pids) {
        jw_key(w, "pids");
        jw_u64(w, pids);
    }
    jw_end_object(w);
    return 0;
}

static int put_session(const struct verb_input *in, struct buf *body, struct err *e)
{
    struct json_writer w = JSON_WRITER(body);
    unsigned long long snapshots;
    uint64_t idle_s;
    jw_object(&w);
    if (in->operand_count > 0) {
        jw_key(&w, "name");
        jw_text(&w, in->operands[0]);
    }
    if (in->values[VERB_WORKSPACE]) {
        jw_key(&w, "workspace");
        jw_text(&w, in->values[VERB_WORKSPACE]);
    }
    if (put_limits(&w, in, e) ||
        verb_number(in, OPT_SNAPSHOTS, "snapshots", 0, 1000, 0, &snapshots, e))
        return -1;
    if (in->values[OPT_IDLE]) {
        if (parse_duration(in->values[OPT_IDLE], &idle_s, e))
            return err_wrap(e, "--idle");
        jw_key(&w, "idle_s");
        jw_u64(&w, idle_s);
    }
    if (in->values[OPT_SNAPSHOTS]) {
        jw_key(&w, "snapshots");
        jw_u64(&w, snapshots);
    }
    if (in->values[OPT_TZ]) {
        jw_key(&w, "tz");
        jw_text(&w, in->values[OPT_TZ]);
    }
    jw_end_object(&w);
    jw_finish(&w);
    return buf_check(body, e);
}

int session_create(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *made = NULL;
    if (put_session(in, &body, e) || remote_post(r, shelf_sessions.path, &body, &made, e))
        return -1;
    return verb_print_new(in, made);
}
