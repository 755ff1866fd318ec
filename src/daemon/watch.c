/* watch.c -- the thread that hears signals: SIGTERM and SIGINT end the server, SIGHUP reads its
 * configuration again. It also feeds systemd's watchdog, ends a server that nobody uses when it
 * was started for one user's commands, and one whose spawner has died: the server could not start
 * another, because it has given up the rights for that. Whoever started it does. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ask/flight.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "daemon/serve_int.h"
#include "http/server.h"
#include "mcp/mcp.h"
#include "service/service.h"
#include "service/shrink.h"
#include "session/spawner.h"
#include "store/meta.h"
#include "store/store.h"
#include "workspace/locks.h"
#include "workspace/upkeep.h"

enum {
    IDLE_LOOK_MS = 1000,
    MAIMED_DRAIN_MS =
        3000, /* for what goes on when the spawner has died: its runs end by themselves */
};

struct watch {
    struct server *server;
    uint64_t requests; /* when last looked */
    int64_t idle_from_us;
    uint64_t rounds; /* of the listener, when the watchdog was fed */
    int64_t fed_us;
};

void server_stop(struct server *s, const char *why)
{
    if (atomic_exchange(&s->is_stopping, true))
        return;
    log_line(&s->log, LOG_INFO, "stopping", LOG_STR("why", why));
    notify_stopping(&s->notify);
    if (s->flights)
        flights_drain(s->flights);      /* before the listener sends their clients away */
    (void)eventfd_write(s->stop_fd, 1); /* a new eventfd takes it */
}

static void note_change(void *arg, const char *key, bool holds_now)
{
    struct server *s = arg;
    log_line(&s->log, LOG_INFO, "configuration changed", LOG_STR("key", key),
             LOG_BOOL("holds_now", holds_now));
}

/* What can change while it runs: the level of the log and the certificate. */
static void reload(struct server *s)
{
    struct config fresh;
    struct err e = {0};
    notify_reloading(&s->notify);
    if (s->o->reload(s->o->arg, &fresh, &e)) {
        log_line(&s->log, LOG_ERROR, "reload failed", LOG_STR("why", e.text));
    } else {
        const struct config_change_sink sink = {.put = note_change, .arg = s};
        if (config_carry(&fresh, s->config, &sink, &e) == 0)
            log_set_level(&s->log, (enum log_level)fresh.server.log_level);
        if (s->config->server.tls_cert && *s->config->server.tls_cert &&
            http_server_reload(s->http, &e))
            log_line(&s->log, LOG_ERROR, "certificate not reloaded", LOG_STR("why", e.text));
        config_done(&fresh);
        log_line(&s->log, LOG_INFO, "reloaded");
    }
    notify_ready(&s->notify, "listening on %s", http_server_address(s->http, 0));
}

static void hear(struct server *s)
{
    struct signalfd_siginfo info;
    while (read(s->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            reload(s);
        else
            server_stop(s, info.ssi_signo == SIGINT ? "interrupted" : "told to");
    }
}

/* Nobody has asked anything, nothing runs: then a server of a single user ends by itself. */
static void look_idle(struct watch *w)
{
    struct server *s = w->server;
    struct http_server_info http;
    struct service_info service;
    uint32_t idle_s = s->config->server.idle_exit_s;
    int64_t now_us = clock_us();
    http_server_look(s->http, &http);
    service_look(s->service, &service);
    if (http.requests != w->requests || http.parked > 0 || service.running > 0 ||
        flights_going(s->flights) > 0) {
        w->requests = http.requests;
        w->idle_from_us = now_us;
    } else if (now_us - w->idle_from_us >= (int64_t)idle_s * 1000000) {
        server_stop(s, "nobody used it");
    }
}

static void mourn(struct server *s)
{
    atomic_store(&s->is_maimed, true);
    http_server_set_drain(s->http, MAIMED_DRAIN_MS);
    log_line(&s->log, LOG_ERROR, "the spawner died: nothing can be run any more");
    server_stop(s, "the spawner died");
}

/* Only while the listener comes round: a server that answers nobody is not alive. */
static void feed(struct watch *w)
{
    struct server *s = w->server;
    int64_t now_us = clock_us();
    if (notify_watchdog_ms(&s->notify) < 0 ||
        now_us - w->fed_us < (int64_t)notify_watchdog_ms(&s->notify) * 500)
        return; /* it was asked a moment ago, and may not have had time */
    uint64_t rounds = http_server_rounds(s->http);
    if (rounds == w->rounds)
        return;
    w->rounds = rounds;
    w->fed_us = now_us;
    notify_watchdog(&s->notify);
}

static int next_wait(const struct watch *w)
{
    int watchdog_ms = notify_watchdog_ms(&w->server->notify);
    if (w->server->config->server.idle_exit_s == 0)
        return watchdog_ms;
    return watchdog_ms > 0 && watchdog_ms < IDLE_LOOK_MS ? watchdog_ms : IDLE_LOOK_MS;
}

static void *watch(void *arg)
{
    struct server *s = arg;
    struct watch w = {.server = s, .idle_from_us = clock_us()};
    scoped(fd_closep) int spawner_fd = (int)syscall(SYS_pidfd_open, spawner_pid(s->spawner), 0);
    struct pollfd fds[3] = {{.fd = s->signal_fd, .events = POLLIN},
                            {.fd = s->stop_fd, .events = POLLIN},
                            {.fd = spawner_fd, .events = POLLIN}};
    while (!s->is_stopping) {
        int got = poll(fds, 3, next_wait(&w));
        if (got > 0 && fds[0].revents)
            hear(s);
        if (got > 0 && fds[2].revents)
            mourn(s);
        feed(&w);
        if (s->config->server.idle_exit_s && !s->is_stopping)
            look_idle(&w);
    }
    upkeep_stop(s->upkeep); /* or a request for it would be waited for */
    locks_stop(s->files);   /* likewise */
    mcp_stop(s->mcp);       /* and so would a client that is asked something */
    /* The listener drains meanwhile; all wait for the same runs. */
    int64_t drain_us = s->is_maimed ? (int64_t)MAIMED_DRAIN_MS * 1000
                                    : (int64_t)s->config->server.drain_s * 1000000;
    int64_t begun_us = clock_us();
    asking_stop(s, (uint32_t)(drain_us / 1000));
    int64_t left_us = begun_us + drain_us - clock_us();
    service_stop(s->service, left_us > 0 ? (uint32_t)(left_us / 1000) : 0);
    shrinker_stop(s->shrinker); /* what they made goes out as it is */
    return NULL;
}

int watch_start(struct server *s, struct err *e)
{
    int why = pthread_create(&s->watcher, NULL, watch, s);
    if (why)
        return err_sys(e, why, "start a thread");
    s->has_watcher = true;
    return 0;
}

void watch_end(struct server *s)
{
    if (!s->has_watcher)
        return;
    server_stop(s, "ended");
    (void)pthread_join(s->watcher, NULL);
    s->has_watcher = false;
}
