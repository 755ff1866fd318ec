/* figures.c -- metrics whose numbers are kept where the work is done, brought together for
 * /metrics. */
#include <stdlib.h>

#include "agent/model.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "daemon/serve_int.h"
#include "http/server.h"
#include "service/service.h"
#include "session/pool.h"
#include "session/run.h"
#include "store/db.h"
#include "store/meta.h"
#include "store/store.h"
#include "workspace/upkeep.h"

static const char *const ends[END_COUNT] = {
    "ok", "error", "timeout", "memory", "output_limit", "disk", "cancelled", "crashed", "killed"};
static const char *const pool_states[] = {"ready", "wanted"};
static const char *const pool_events[] = {"taken", "missed", "made", "died"};
static const char *const results[] = {"answered", "failed"};
static const char *const token_kinds[] = {"input", "output"};
static const char *const places[] = {"images", "sleepers", "checkouts", "live", "uploads", "tmp"};
_Static_assert(sizeof places / sizeof *places == PLACE_COUNT, "one name for each place");
static const char *const moves[] = {"sleep", "wake"};

enum figure {
    RUNS,
    RUN_SECONDS,
    RUNNING,
    WAITING,
    AWAKE,
    MOVES,
    NOT_WOKEN,
    REFUSED,
    POOL,
    POOL_EVENTS,
    CONNECTIONS,
    PARKED,
    WORKERS,
    MEMORY,
    COMMITS,
    WAL,
    PACK_BYTES,
    FILES,
    KEPT_BYTES,
    DISK_FREE,
    PLACES,
    INODES_FREE,
    DISK_FULL,
    BALLAST,
    SCRUBBED,
    DAMAGED,
    SWEPT,
    FREED,
    QUESTIONS,
    TRIES,
    TOKENS,
    FIGURES
};

struct figures {
    struct metric *m[FIGURES];
};

static const struct metric_spec specs[FIGURES] = {
    [RUNS] = {.name = "cicada_runs_total",
              .help = "Runs, by how they ended.",
              .kind = METRIC_COUNTER,
              .labels = {METRIC_LABEL("end", ends)}},
    [RUN_SECONDS] = {.name = "cicada_run_seconds_total",
                     .help = "Time runs took.",
                     .kind = METRIC_COUNTER,
                     .places = 6},
    [RUNNING] = {.name = "cicada_runs_running", .help = "Runs that go on.", .kind = METRIC_GAUGE},
    [WAITING] = {.name = "cicada_runs_waiting",
                 .help = "Runs that wait for a slot or for room to be awake.",
                 .kind = METRIC_GAUGE},
    [AWAKE] = {.name = "cicada_sessions_awake",
               .help = "Sessions with a kernel.",
               .kind = METRIC_GAUGE},
    [MOVES] = {.name = "cicada_session_moves_total",
               .help = "Sessions put to sleep and woken.",
               .kind = METRIC_COUNTER,
               .labels = {METRIC_LABEL("move", moves)}},
    [NOT_WOKEN] = {.name = "cicada_sessions_not_woken_total",
                   .help = "Sleeping sessions, and snapshots, whose file could not be used.",
                   .kind = METRIC_COUNTER},
    [REFUSED] = {.name = "cicada_refused_total",
                 .help = "Requests refused because no more sessions could be awake.",
                 .kind = METRIC_COUNTER},
    [POOL] = {.name = "cicada_pool_kernels",
              .help = "Kernels that wait for a session.",
              .kind = METRIC_GAUGE,
              .labels = {METRIC_LABEL("state", pool_states)}},
    [POOL_EVENTS] = {.name = "cicada_pool_events_total",
                     .help = "What happened to the pool.",
                     .kind = METRIC_COUNTER,
                     .labels = {METRIC_LABEL("event", pool_events)}},
    [CONNECTIONS] = {.name = "cicada_connections",
                     .help = "Open connections.",
                     .kind = METRIC_GAUGE},
    [PARKED] = {.name = "cicada_streams",
                .help = "Event streams that are followed.",
                .kind = METRIC_GAUGE},
    [WORKERS] = {.name = "cicada_workers_busy",
                 .help = "Threads that answer requests.",
                 .kind = METRIC_GAUGE},
    [MEMORY] = {.name = "cicada_host_memory_available_bytes",
                .help = "Memory this host could still give.",
                .kind = METRIC_GAUGE},
    [COMMITS] = {.name = "cicada_store_commits_total",
                 .help = "Transactions of the store.",
                 .kind = METRIC_COUNTER},
    [WAL] = {.name = "cicada_store_log_bytes",
             .help = "Length of the store's write-ahead log.",
             .kind = METRIC_GAUGE},
    [PACK_BYTES] = {.name = "cicada_store_pack_bytes",
                    .help = "What the contents of all files take on disk.",
                    .kind = METRIC_GAUGE},
    [FILES] = {.name = "cicada_store_files",
               .help = "Files in all workspaces.",
               .kind = METRIC_GAUGE},
    [KEPT_BYTES] = {.name = "cicada_store_kept_bytes",
                    .help = "Bytes of all versions that are kept.",
                    .kind = METRIC_GAUGE},
    [DISK_FREE] = {.name = "cicada_store_disk_free_bytes",
                   .help = "Room left on the disk of the store.",
                   .kind = METRIC_GAUGE},
    [PLACES] = {.name = "cicada_place_bytes",
                .help = "What directories beside the store take on disk, when last measured.",
                .kind = METRIC_GAUGE,
                .labels = {METRIC_LABEL("place", places)}},
    [INODES_FREE] = {.name = "cicada_store_inodes_free",
                     .help = "Files that could still be made there; 0 where they are not counted.",
                     .kind = METRIC_GAUGE},
    [DISK_FULL] = {.name = "cicada_store_disk_full",
                   .help = "1 while less is free than the reserve, so that uploads are refused.",
                   .kind = METRIC_GAUGE},
    [BALLAST] = {.name = "cicada_store_ballast_bytes",
                 .help = "Room held for what removes something; given up when the disk is full.",
                 .kind = METRIC_GAUGE},
    [SCRUBBED] = {.name = "cicada_store_scrubbed_bytes_total",
                  .help = "Bytes of packs read again to check them.",
                  .kind = METRIC_COUNTER},
    [DAMAGED] = {.name = "cicada_store_damaged_total",
                 .help = "Damaged records found by that.",
                 .kind = METRIC_COUNTER},
    [SWEPT] = {.name = "cicada_store_swept_total",
               .help = "Chunks removed because no version needs them.",
               .kind = METRIC_COUNTER},
    [FREED] = {.name = "cicada_store_freed_bytes_total",
               .help = "Room made on the disk by that.",
               .kind = METRIC_COUNTER},
    [QUESTIONS] = {.name = "cicada_model_questions_total",
                   .help = "Questions to the model, by what came of them.",
                   .kind = METRIC_COUNTER,
                   .labels = {METRIC_LABEL("result", results)}},
    [TRIES] = {.name = "cicada_model_requests_total",
               .help = "Requests to its endpoint, those that were repeated included.",
               .kind = METRIC_COUNTER},
    [TOKENS] = {.name = "cicada_model_tokens_total",
                .help = "Tokens that questions and answers took, as the endpoint says.",
                .kind = METRIC_COUNTER,
                .labels = {METRIC_LABEL("kind", token_kinds)}},
};

int figures_new(struct server *s, struct figures **ret, struct err *e)
{
    struct figures *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(e, ERR_NO_MEMORY, "count");
    for (size_t i = 0; i < FIGURES; i++)
        if (metrics_add(s->metrics, &specs[i], &f->m[i], e)) {
            free(f);
            return -1;
        }
    *ret = f;
    return 0;
}

void figures_free(struct figures *f)
{
    free(f);
}

static void set(struct figures *f, enum figure which, uint64_t v)
{
    metric_set(f->m[which], METRIC_AT(), (int64_t)v);
}

static void refresh_service(struct server *s)
{
    struct figures *f = s->figures;
    struct service_info info;
    service_look(s->service, &info);
    for (unsigned i = 0; i < END_COUNT; i++)
        metric_set(f->m[RUNS], METRIC_AT(i), (int64_t)info.runs[i]);
    set(f, RUN_SECONDS, info.run_us);
    set(f, RUNNING, info.running);
    set(f, WAITING, info.waiting);
    set(f, AWAKE, info.awake);
    metric_set(f->m[MOVES], METRIC_AT(0), (int64_t)info.sleeps);
    metric_set(f->m[MOVES], METRIC_AT(1), (int64_t)info.wakes);
    set(f, NOT_WOKEN, atomic_load(&s->not_woken));
    set(f, REFUSED, info.refused);
}

static void refresh_model(struct server *s)
{
    struct figures *f = s->figures;
    struct model_info info = {0};
    if (s->model)
        model_look(s->model, &info);
    metric_set(f->m[QUESTIONS], METRIC_AT(0), (int64_t)info.answered);
    metric_set(f->m[QUESTIONS], METRIC_AT(1), (int64_t)info.failed);
    metric_set(f->m[TRIES], METRIC_AT(), (int64_t)info.tries);
    metric_set(f->m[TOKENS], METRIC_AT(0), (int64_t)info.input);
    metric_set(f->m[TOKENS], METRIC_AT(1), (int64_t)info.output);
}

static void refresh_pool(struct server *s)
{
    struct figures *f = s->figures;
    struct pool_info info = {0};
    if (s->pool)
        pool_look(s->pool, &info);
    metric_set(f->m[POOL], METRIC_AT(0), (int64_t)info.ready);
    metric_set(f->m[POOL], METRIC_AT(1), (int64_t)info.wanted);
    const uint64_t events[] = {info.taken, info.missed, info.made, info.died};
    for (unsigned i = 0; i < sizeof events / sizeof *events; i++)
        metric_set(f->m[POOL_EVENTS], METRIC_AT(i), (int64_t)events[i]);
}

static void refresh_store(struct server *s)
{
    struct upkeep_stats stats;
    struct err e = {0};
    if (upkeep_look(s->upkeep, &stats, &e))
        return; /* the figures stay as they were */
    set(s->figures, PACK_BYTES, stats.pack_bytes);
    set(s->figures, FILES, stats.files);
    set(s->figures, KEPT_BYTES, stats.kept_bytes);
    set(s->figures, DISK_FREE, stats.disk_free);
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        metric_set(s->figures->m[PLACES], METRIC_AT(i), (int64_t)stats.places[i]);
    set(s->figures, INODES_FREE, stats.inodes_free == UINT64_MAX ? 0 : stats.inodes_free);
    set(s->figures, DISK_FULL, stats.is_full);
    set(s->figures, BALLAST, stats.ballast_bytes);
    set(s->figures, SCRUBBED, stats.scrub.bytes);
    set(s->figures, DAMAGED, stats.scrub.damaged);
    set(s->figures, SWEPT, stats.swept);
    set(s->figures, FREED, stats.bytes_freed);
}

void figures_refresh(void *server)
{
    struct server *s = server;
    struct http_server_info http;
    struct db_stats db;
    refresh_service(s);
    refresh_pool(s);
    refresh_model(s);
    http_server_look(s->http, &http);
    set(s->figures, CONNECTIONS, http.connections);
    set(s->figures, PARKED, http.parked);
    set(s->figures, WORKERS, http.workers_busy);
    set(s->figures, MEMORY, memory_available());
    meta_stats(store_meta(s->store), &db);
    set(s->figures, COMMITS, db.commits);
    set(s->figures, WAL, db.wal_bytes);
    refresh_store(s);
}
