#include "daemon/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "ask/ask.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "base/scope.h"
#include "daemon/serve_int.h"
#include "http/exchange.h"
#include "http/server.h"
#include "mcp/mcp.h"
#include "openai/openai.h"
#include "service/service.h"
#include "service/shrink.h"
#include "session/current.h"
#include "session/images.h"
#include "session/pool.h"
#include "session/session.h"
#include "session/spawner.h"
#include "store/packs.h"
#include "store/store.h"
#include "workspace/passwords.h"
#include "workspace/people.h"
#include "workspace/rates.h"

/* The largest has room for a copy of a whole pack, so that gc always gets on. */
enum { BALLAST_MIN = 4 << 20, BALLAST_MAX = PACK_FULL + (16 << 20) };

/* ---- as whoever started us ---- */

/* All signals we hear come through a descriptor; they are blocked before the first thread. */
static int take_signals(struct server *s, struct err *e)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL))
        return err_sys(e, errno, "block signals");
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->signal_fd < 0 || s->stop_fd < 0)
        return err_sys(e, errno, "hear signals");
    return 0;
}

/* A connection is a descriptor, a kernel several. What a shell allows is for programs that still use
 * select(2), which none of ours does. */
static void raise_open_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files))
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files); /* without, fewer can be served; accepting knows */
}

static int make_directories(struct server *s, struct err *e)
{
    char path[PATH_MAX];
    const char *image_dir = s->o->image_dir;
    if (drop_find(s->config->server.user, &s->user, e) ||
        data_path(s->config->server.data, path, e) || data_open(path, &s->user, &s->data, e))
        return -1;
    if (image_dir && strcmp(image_dir, "off") == 0)
        return 0;
    if (image_dir) {
        (void)snprintf(s->image_path, sizeof s->image_path, "%s", image_dir);
        return 0;
    }
    scoped(fd_closep) int fd = -1;
    (void)snprintf(s->image_path, sizeof s->image_path, "%s/images", s->data.path);
    return data_dir(&s->data, "images", &s->user, &fd, e);
}

/* Where the unix socket lies; "" when there is none. */
static int choose_socket(struct server *s, struct err *e)
{
    const char *wanted = s->config->server.socket;
    char dir[PATH_MAX];
    if (!wanted || strcmp(wanted, "off") == 0)
        return 0;
    if (strcmp(wanted, "auto") != 0) {
        (void)snprintf(s->socket_text, sizeof s->socket_text, "unix:%s", wanted);
        return 0;
    }
    if (runtime_path(dir, e) || runtime_make(dir, &s->user, e))
        return -1;
    (void)snprintf(s->socket_text, sizeof s->socket_text, "unix:%s/cicada.sock", dir);
    return 0;
}

static void handle(void *arg, struct http_exchange *x)
{
    struct server *s = arg;
    api_handle(s->api, x);
}

static void refuse(void *arg, int status, const char *reason, struct buf *headers, struct buf *out)
{
    api_refuse(arg, status, reason, headers, out);
}

static const char *text_or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static int listen_everywhere(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    struct http_address addresses[ADDRESSES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < c->server.listen.count && count < ADDRESSES_MAX - 1; i++)
        addresses[count++] = (struct http_address){.text = c->server.listen.items[i],
                                                   .socket_mode = c->server.socket_mode};
    if (*s->socket_text)
        addresses[count++] =
            (struct http_address){.text = s->socket_text, .socket_mode = c->server.socket_mode};
    struct http_options options = {.addresses = addresses,
                                   .address_count = count,
                                   .limits = HTTP_LIMITS_DEFAULT,
                                   .tls_cert = text_or_null(c->server.tls_cert),
                                   .tls_key = text_or_null(c->server.tls_key),
                                   .handle = handle,
                                   .refuse = refuse,
                                   .arg = s};
    options.limits.workers_max = c->server.workers;
    options.limits.connections_max = c->server.connections;
    options.limits.per_address_max = c->server.connections_per_address;
    options.limits.drain_ms = (c->server.drain_s + 10) * 1000; /* runs end before requests do */
    if (http_server_open(&options, &s->http, e))
        return -1;
    /* So that socket_mode 0660 lets the service's group in, and the socket can be removed later. */
    if (*s->socket_text && s->user.is_change &&
        lchown(s->socket_text + strlen("unix:"), s->user.uid, s->user.gid))
        return err_sys(e, errno, "give the socket to %s", s->user.name);
    return 0;
}

/* The fixtures of the conformance suite are anybody's who can connect. */
static int check_fixtures(const struct server *s, struct err *e)
{
    static const char *const here[] = {"unix:", "127.", "[::1]:"};
    size_t count = s->config->server.listen.count + (*s->socket_text != '\0');
    for (size_t i = 0; s->o->has_fixtures && i < count; i++) {
        const char *address = http_server_address(s->http, i);
        bool is_here = false;
        for (size_t j = 0; j < sizeof here / sizeof *here; j++)
            is_here = is_here || strncmp(address, here[j], strlen(here[j])) == 0;
        if (!is_here)
            return err_set(e, ERR_INVALID,
                           "--conformance-fixtures asks for no key, so it listens on 127.0.0.1, "
                           "[::1] or a unix socket only, not on %.80s",
                           address);
    }
    return 0;
}

/* ---- as the service user ---- */

static void on_store_stop(void *arg, const char *why)
{
    struct server *s = arg;
    log_line(&s->log, LOG_ERROR, "the store has stopped", LOG_STR("why", why));
    s->has_disk_failed = true;
    server_stop(s, "the disk failed");
}

static void on_store_lost(void *arg, const char *why)
{
    struct server *s = arg;
    log_line(&s->log, LOG_ERROR, "a record could not be written", LOG_STR("why", why));
}

static void on_store_commit(void *arg)
{
    struct server *s = arg;
    bell_ring(&s->bell);
}

/* The first admin key, for whoever runs this server; 0600. */
static int keep_secret(struct server *s, const char *secret, struct err *e)
{
    scoped(fd_closep) int fd = openat(s->data.fd, "admin.key",
                                      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, errno, "write admin.key");
    if (fd_write_all(fd, secret, strlen(secret), e) || fd_write_all(fd, "\n", 1, e))
        return err_wrap(e, "write admin.key");
    return fsync(fd) ? err_sys(e, errno, "write admin.key") : 0;
}

/* How much is held for what removes something: a part of what is kept in reserve, beside it. */
static uint64_t ballast_of(uint64_t reserve)
{
    uint64_t part = reserve / 4;
    return reserve == 0         ? 0
           : part < BALLAST_MIN ? BALLAST_MIN
           : part > BALLAST_MAX ? BALLAST_MAX
                                : part;
}

static int open_people(struct server *s, struct err *e)
{
    uint64_t reserve = (uint64_t)s->config->store.reserve_mb << 20;
    const struct store_options store = {.dir = s->data.path,
                                        .ballast_bytes = ballast_of(reserve),
                                        .ballast_leave_bytes = reserve,
                                        .on_locked = clearing_sweep,
                                        .on_stop = on_store_stop,
                                        .on_lost = on_store_lost,
                                        .on_commit = on_store_commit,
                                        .arg = s};
    if (store_open(&store, &s->store, e))
        return -1;
    clearing_give(s);
    const struct people_options people = {.meta = store_meta(s->store),
                                          .admin_secret = text_or_null(s->config->server.api_key),
                                          .now_us = clock_wall_us()};
    if (people_open(&people, &s->people, e) ||
        rates_new(store_meta(s->store), &rates_system_clock, &s->rates, e) ||
        passwords_new(&rates_system_clock, &s->passwords, e))
        return -1;
    const char *secret = people_new_secret(s->people);
    return secret ? keep_secret(s, secret, e) : 0;
}

/* What sleeping sessions need lies with them, so that nothing is lost when somebody who wants room removes
 * what can be made again. */
static int open_kept(struct server *s, struct err *e)
{
    char path[PATH_MAX];
    struct err why = {0};
    const struct images_options kept = {
        .dir_path = path, .kernel_path = s->o->kernel_path, .load_path = s->o->load_path};
    if (!*s->image_path)
        return 0;
    if (snprintf(path, sizeof path, "%s/sleepers/images", s->data.path) >= PATH_MAX)
        return err_set(e, ERR_LIMIT, "the path of the data directory is too long");
    if (images_make_dir(path, &why) || images_open(&kept, &s->kept, &why)) {
        s->kept = NULL;
        log_line(&s->log, LOG_WARNING, "images are not kept for sleeping sessions",
                 LOG_STR("why", why.text));
    }
    return 0;
}

static int open_images(struct server *s, struct err *e)
{
    struct err why = {0};
    const struct images_options images = {
        .dir_path = s->image_path, .kernel_path = s->o->kernel_path, .load_path = s->o->load_path};
    if (*s->image_path && images_open(&images, &s->images, &why)) {
        s->images = NULL; /* sessions start cold, which is slower and nothing worse */
        log_line(&s->log, LOG_WARNING, "no images", LOG_STR("why", why.text));
    }
    return open_kept(s, e) || current_new(s->images, s->kept, &s->current, e) ? -1 : 0;
}

/* What it says to its users stands in the hint of their next run. */
static void on_not_woken(void *arg, const char *id, const char *why)
{
    struct server *s = arg;
    atomic_fetch_add(&s->not_woken, 1);
    log_line(&s->log, LOG_WARNING, "what was kept of a session cannot be used",
             LOG_STR("session", id), LOG_STR("why", why));
}

static int open_sessions(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    const struct pool_options pool = {.spawner = s->spawner,
                                      .current = s->current,
                                      .limits = config_limits(c),
                                      .count_min = c->sessions.pool_min,
                                      .count_max = c->sessions.pool_max};
    if (s->images && c->sessions.pool_max > 0 && pool_open(&pool, &s->pool, e))
        return -1;
    const struct sessions_options sessions = {.spawner = s->spawner,
                                              .current = s->current,
                                              .pool = s->pool,
                                              .dir_fd = s->data.sleepers_fd,
                                              .not_woken = {on_not_woken, s}};
    return sessions_open(&sessions, &s->sessions, e);
}

static const char *tier_name_of(const struct server *s)
{
    return tier_name(spawner_hello(s->spawner)->tier);
}

static int open_service(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    uint32_t cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t slots = config_run_slots(c, cores);
    const struct service_options options = {
        .engine = s->sessions,
        .pool = s->pool,
        .meta = store_meta(s->store),
        .people = s->people,
        .rates = s->rates,
        .log = &s->log,
        .files = s->files,
        .indexer = s->indexer,
        .live_fd = s->data.live_fd,
        .checkouts_fd = s->checkouts_fd,
        .has_overlay = spawner_hello(s->spawner)->failure[MECH_OVERLAY] == 0,
        .ignore = {(const char *const *)c->workspaces.ignore.items, c->workspaces.ignore.count},
        .file_max = (uint64_t)c->workspaces.file_max_gb << 30,
        .tier = tier_name_of(s),
        .limits = config_limits(c),
        .limits_max = config_limits_max(c),
        .idle_s = c->sessions.idle_s,
        .keep_s = c->sessions.keep_days * 86400,
        .runs_keep_s = c->runs.keep_days * 86400,
        .snapshots_max = c->sessions.snapshots_max,
        .queue_max = c->sessions.queue_max,
        .seats_max = c->sessions.per_principal_max,
        .awake_max = c->sessions.live_max,
        .slots = slots,
        .share_max = slots > 1 ? slots - (slots + 3) / 4 : 1, /* somebody else gets in, too */
        .waiting_max = c->runs.waiting_max,
        .threads_max = c->runs.background_max,
        .reserve_bytes = host - config_budget_bytes(c, host),
    };
    return service_open(&options, &s->service, e);
}

static bool is_ready(void *arg, const char **ret_why)
{
    const struct server *s = arg;
    if (s->is_stopping)
        *ret_why = "the server is stopping";
    return s->is_ready && !s->is_stopping;
}

/* That a browser can be given; "": none. */
static const char *first_address(const struct config *c)
{
    for (size_t i = 0; i < c->server.listen.count; i++)
        if (strncmp(c->server.listen.items[i], "unix:", 5) != 0)
            return c->server.listen.items[i];
    return "";
}

static int open_mcp(struct server *s, struct err *e)
{
    const struct mcp_options options = {.service = s->service,
                                        .events = s->events,
                                        .shrinker = s->shrinker,
                                        .state_key = s->sign_key,
                                        .calls_max = s->config->server.workers / 2,
                                        .has_fixtures = s->o->has_fixtures};
    return mcp_open(&options, &s->mcp, e);
}

static int open_api(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    const struct api_options options = {
        .service = s->service,
        .people = s->people,
        .rates = s->rates,
        .files = s->files,
        .upkeep = s->upkeep,
        .search = s->search,
        .events = s->events,
        .webhooks = s->webhooks,
        .auditor = s->auditor,
        .issuer = s->issuer,
        .log = &s->log,
        .metrics = s->metrics,
        .hosts = {(const char *const *)c->server.hosts.items, c->server.hosts.count},
        .origins = {(const char *const *)c->server.origins.items, c->server.origins.count},
        .body_max = c->limits.body_bytes,
        .passwords = s->passwords,
        .public_url = c->server.public_url,
        .listen = first_address(c),
        .mcp = mcp_handle,
        .mcp_arg = s->mcp,
        .mcp_is_open = s->o->has_fixtures,
        .openai = s->o->has_fixtures ? NULL : openai_handle, /* there, doors need no key */
        .openai_tell = openai_tell,
        .openai_arg = s->openai,
        .ask = ask_handle,
        .ask_arg = s->ask,
        .sign_key = s->sign_key,
        .spool_fd = s->data.tmp_fd,
        .local_uid = s->started_by,
        .is_ready = is_ready,
        .refresh = figures_refresh,
        .arg = s};
    return figures_new(s, &s->figures, e) || api_open(&options, &s->api, e) ? -1 : 0;
}

static void announce(struct server *s)
{
    const char *secret = people_new_secret(s->people);
    for (size_t i = 0; i < s->config->server.listen.count + (*s->socket_text != '\0'); i++)
        log_line(&s->log, LOG_INFO, "listening", LOG_STR("on", http_server_address(s->http, i)));
    log_line(&s->log, LOG_INFO, "ready", LOG_STR("data", s->data.path),
             LOG_STR("user", s->user.name), LOG_STR("tier", tier_name_of(s)));
    if (secret)
        log_line(&s->log, LOG_INFO, "made the admin key, shown once", LOG_STR("key", secret),
                 LOG_STR("kept_in", "admin.key in the data directory"));
    notify_ready(&s->notify, "listening on %s", http_server_address(s->http, 0));
}

/* ---- the whole of it ---- */

/* Without mounts a session comes by DATA and DATA/live on its way to its own directory, which is closed
 * to everybody else, as all others in DATA are. */
static int open_the_way(struct server *s, struct err *e)
{
    if (fchmod(s->data.fd, 0711) || fchmod(s->data.live_fd, 0711))
        return err_sys(e, errno, "open the data directory to sessions");
    log_line(&s->log, LOG_WARNING, "keeps the right to read all files",
             LOG_STR("why", "without namespaces the files of sessions belong to their users"));
    return 0;
}

static int prepare(struct server *s, struct err *e)
{
    raise_open_files();
    if (take_signals(s, e) || notify_open(&s->notify, e) || make_directories(s, e) ||
        choose_socket(s, e) || listen_everywhere(s, e) || check_fixtures(s, e) ||
        spawner_open_for(s->o->spawn_path, s->o->kernel_path, s->o->load_path,
                         s->user.is_change ? s->user.uid : 0, s->config->store.reserve_mb * MIB,
                         &s->spawner, e))
        return -1;
    data_reclaim(&s->data, &s->user);
    bool is_full = spawner_hello(s->spawner)->tier == TIER_FULL;
    if (!is_full && s->user.is_change && open_the_way(s, e))
        return -1;
    return drop_to(&s->user, is_full ? DROP_ALL : DROP_BUT_FILES, e);
}

static int build(struct server *s, struct err *e)
{
    if (metrics_new(&s->metrics, e) || open_people(s, e) || meanings_open(s, e) ||
        finding_prepare(s, e) || keeping_open(s, e) || telling_open(s, e) || vouching_open(s, e) ||
        open_images(s, e) || open_sessions(s, e) || open_service(s, e) || finding_open(s, e) ||
        shrinking_open(s, e) || open_mcp(s, e) || asking_open(s, e) || open_api(s, e) ||
        oven_start(s, e) || watch_start(s, e))
        return -1;
    s->is_ready = true;
    announce(s);
    clearing_tell(s);
    return 0;
}

static void tear_down(struct server *s)
{
    watch_end(s);
    oven_end(s);
    http_server_close(s->http);
    finding_stop(s);
    mcp_close(s->mcp); /* what it tells of may call operations until then */
    api_close(s->api);
    figures_free(s->figures);
    shrinker_close(s->shrinker);
    service_close(s->service);
    asking_close(s);
    sessions_close(s->sessions);
    pool_close(s->pool);
    current_free(s->current);
    images_close(s->kept);
    images_close(s->images);
    vouching_close(s);
    telling_close(s);
    keeping_close(s);
    finding_close(s);
    meanings_close(s);
    passwords_free(s->passwords);
    rates_free(s->rates);
    people_close(s->people);
    store_close(s->store);
    metrics_free(s->metrics);
    spawner_close(s->spawner);
    data_close(&s->data);
    notify_close(&s->notify);
    fd_closep(&s->signal_fd);
    fd_closep(&s->stop_fd);
    (void)pthread_cond_destroy(&s->wake);
    (void)pthread_mutex_destroy(&s->lock);
}

int serve(const struct serve_options *options, struct err *e)
{
    pthread_condattr_t attr;
    /* Many threads that come and go: with an arena for each, what they freed would stay scattered. */
    (void)mallopt(M_ARENA_MAX, 4);
    struct server *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "start the server");
    s->o = options;
    s->config = options->config;
    s->started_by = geteuid();
    s->signal_fd = s->stop_fd = s->packs_fd = s->uploads_fd = s->checkouts_fd = -1;
    s->data = DATA_NONE;
    s->bell = (struct bell)BELL_INIT;
    s->notify = NOTIFY_NONE;
    (void)pthread_mutex_init(&s->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    log_init(&s->log, STDERR_FILENO, (enum log_format)s->config->server.log_format,
             (enum log_level)s->config->server.log_level);
    int failed = prepare(s, e) || build(s, e);
    if (failed && e->code == ERR_NO_SPACE)
        clearing_tell(s);
    failed = failed || http_server_run(s->http, s->stop_fd, e);
    if (!failed)
        server_stop(s, "the listener ended");
    if (!failed && s->is_maimed)
        failed =
            err_set(e, ERR_UNAVAILABLE, "the spawner died; the server has to be started again");
    if (!failed && s->has_disk_failed)
        failed = err_set(e, ERR_UNAVAILABLE,
                         "the disk failed; the server has to be started again, and then reads what "
                         "is really there");
    tear_down(s);
    free(s);
    return failed ? -1 : 0;
}
