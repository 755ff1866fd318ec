#include "spawn/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "spawn/host.h"
#include "spawn/jail.h"

enum {
    EVENTS_AT_ONCE = 64,
    AGAIN_US = 5000, /* until a jail that is starting or ending is looked after again */
    LOOKS_US = 2000, /* looking at what jails use takes about that long at a time */
    LOOKS_REST = 1,  /* and pauses for so many times what it took */
};

struct loop {
    struct host host;
    int sock; /* -1: the engine has hung up */
    struct jail *jails;
    uint32_t next_slot;
    int64_t rest_us; /* no looks before */
    bool is_slot_used[HOST_SLOTS];
};

/* FAILED, to whoever waits for a greeting or a jail. */
static void say_why(int sock, const char *why)
{
    struct jail_event event = {.kind = JAIL_FAILED};
    uint8_t bytes[JAIL_EVENT_SIZE];
    snprintf(event.step, sizeof event.step, "%.127s", why);
    jail_event_put(&event, bytes);
    (void)send(sock, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int take_slot(struct loop *l, uint32_t *ret)
{
    if (l->host.spare.is_there) { /* which is taken already */
        *ret = l->host.spare.slot;
        return 0;
    }
    for (uint32_t i = 0; i < HOST_SLOTS; i++) {
        uint32_t slot = (l->next_slot + i) % HOST_SLOTS;
        if (!l->is_slot_used[slot]) {
            l->is_slot_used[slot] = true;
            l->next_slot = slot + 1;
            *ret = slot;
            return 0;
        }
    }
    return -1;
}

/* Says why over the handle, if there is one. */
static void refuse(const int *fds, size_t count, const char *why)
{
    if (count > JAIL_FD_HANDLE)
        say_why(fds[JAIL_FD_HANDLE], why);
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

static void hang_up(struct loop *l)
{
    (void)epoll_ctl(l->host.epoll_fd, EPOLL_CTL_DEL, l->sock, NULL);
    (void)close(l->sock);
    l->sock = -1;
    for (struct jail *j = l->jails; j; j = j->next)
        jail_kill(j, JAIL_KILLED);
}

static void on_engine(struct loop *l)
{
    uint8_t bytes[JAIL_SPEC_SIZE];
    int got[JAIL_FDS], which[JAIL_FDS], fds[JAIL_FDS];
    size_t len = 0, count = 0;
    struct jail_spec spec;
    struct err e = {0};
    uint32_t slot;
    if (fd_recv(l->sock, bytes, sizeof bytes, &len, got, JAIL_FDS, &count, &e)) {
        /* A request whose descriptors we had no room for is lost; the others live on. */
        if (e.code != ERR_PROTOCOL && e.code != ERR_UNAVAILABLE)
            hang_up(l);
        return;
    }
    if (len == 0) {
        hang_up(l);
        return;
    }
    if (jail_spec_get(bytes, len, &spec, &e) || count != jail_spec_fds(&spec, which)) {
        refuse(got, count, "not a request of this version");
        return;
    }
    if (take_slot(l, &slot)) {
        refuse(got, count, "too many jails at a time");
        return;
    }
    for (size_t i = 0; i < JAIL_FDS; i++)
        fds[i] = -1;
    for (size_t i = 0; i < count; i++)
        fds[which[i]] = got[i];
    struct jail *j = jail_start(&l->host, slot, &spec, fds);
    spare_done(&l->host.spare); /* what it did not need */
    if (!j) {
        l->is_slot_used[slot] = false;
        return;
    }
    j->next = l->jails;
    l->jails = j;
}

static void dispatch(struct loop *l, const struct jail_watch *watch)
{
    if (!watch) {
        on_engine(l);
        return;
    }
    struct jail *j = watch->jail;
    if (j->life == LIFE_SWEPT)
        return;
    switch (watch->source) {
    case SOURCE_HANDLE: jail_on_handle(j); break;
    case SOURCE_REPORT: jail_on_report(j); break;
    case SOURCE_ATTACH: jail_on_attach(j); break;
    case SOURCE_INIT: jail_reap(j); break;
    case SOURCE_OLD: jail_go_on_switching(j); break;
    case SOURCE_OOM: jail_on_oom(j); break;
    case SOURCE_BRING: jail_on_bring(j); break;
    case SOURCE_COUNT: break;
    }
}

/* The living jail whose look is due first; NULL if none is due. */
static struct jail *next_due(struct loop *l, int64_t now_us)
{
    struct jail *first = NULL;
    for (struct jail *j = l->jails; j; j = j->next)
        if (j->life == LIFE_LIVE && jail_look_due(j) <= now_us &&
            (!first || jail_look_due(j) < jail_look_due(first)))
            first = j;
    return first;
}

/* Looks at what the jails use, for a while, then not for a longer while: requests and events come
 * first however many jails there are. An alarm of a disk does not wait. */
static void look_around(struct loop *l)
{
    int64_t begun_us = clock_us(), now_us = begun_us;
    struct jail *j;
    while (now_us - begun_us < LOOKS_US && (j = next_due(l, now_us)) &&
           (jail_look_due(j) == 0 || begun_us >= l->rest_us)) {
        jail_look(j);
        now_us = clock_us();
    }
    if (now_us == begun_us)
        return;
    l->rest_us = now_us + LOOKS_REST * (now_us - begun_us);
}

/* When a living jail needs to be looked after next. */
static int64_t when_due(const struct loop *l, const struct jail *j)
{
    int64_t look_us = jail_look_due(j);
    if (look_us > 0 && look_us < l->rest_us)
        look_us = l->rest_us;
    if (j->bringing.until_us < look_us)
        look_us = j->bringing.until_us;
    return j->old_fd >= 0 && j->switch_us < look_us ? j->switch_us : look_us;
}

/* Frees what has ended, looks at what lives. Returns when to come back at the latest. */
static int64_t tend(struct loop *l)
{
    int64_t next_us = reserve_look(&l->host.reserve, clock_us());
    look_around(l);
    int64_t now_us = clock_us();
    for (struct jail **at = &l->jails; *at;) {
        struct jail *j = *at;
        int64_t due_us = now_us + AGAIN_US;
        if (j->old_fd >= 0 && j->switch_us <= now_us)
            jail_go_on_switching(j);
        if (j->bringing.until_us <= now_us)
            jail_on_bring(j);
        if (j->life == LIFE_LIVE)
            due_us = when_due(l, j);
        else if (j->life == LIFE_DYING)
            jail_reap(j); /* its event may have failed to be watched; costs one call */
        if (j->life == LIFE_SWEPT) {
            struct jail *after = j->next;
            uint32_t slot = j->slot;
            if (jail_free(j)) {
                l->is_slot_used[slot] = false;
                *at = after;
                continue;
            }
        }
        if (due_us < next_us)
            next_us = due_us;
        at = &j->next;
    }
    return next_us;
}

/* Nobody waits for anything: time to make what the next jail will need. */
static void get_ahead(struct loop *l)
{
    uint32_t slot;
    if (l->sock >= 0 && !l->host.spare.is_there && l->host.habit.is_known && !take_slot(l, &slot))
        spare_make(&l->host, slot);
}

/* Waits for events; before it sleeps it gets ahead. */
static int await(struct loop *l, struct epoll_event *events, int64_t deadline_us)
{
    int n = epoll_wait(l->host.epoll_fd, events, EVENTS_AT_ONCE, 0);
    if (n != 0)
        return n;
    get_ahead(l);
    return epoll_wait(l->host.epoll_fd, events, EVENTS_AT_ONCE, clock_poll_ms(deadline_us));
}

static int serve(struct loop *l, struct err *e)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    l->host.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l->host.epoll_fd < 0 || epoll_ctl(l->host.epoll_fd, EPOLL_CTL_ADD, l->sock, &event))
        return err_sys(e, errno, "watch the engine");
    for (;;) {
        struct epoll_event events[EVENTS_AT_ONCE];
        int64_t next_us = tend(l); /* may free the last jail, after which no event would come */
        if (l->sock < 0 && !l->jails)
            return 0;
        int n = await(l, events, next_us);
        if (n < 0 && errno != EINTR)
            return err_sys(e, errno, "wait");
        /* A jail is freed only in tend, so every pointer in this batch is good. */
        for (int i = 0; i < n; i++)
            dispatch(l, events[i].data.ptr);
    }
}

static int greet(const struct loop *l, struct err *e)
{
    uint8_t bytes[JAIL_HELLO_SIZE];
    jail_hello_put(&l->host.hello, bytes);
    return fd_send(l->sock, bytes, sizeof bytes, NULL, 0, e);
}

int spawn_serve(int sock, const struct spawn_options *options, struct err *e)
{
    struct loop *l = calloc(1, sizeof *l);
    if (!l)
        return err_set(e, ERR_NO_MEMORY, "start");
    l->sock = sock;
    int failed = host_open(options, &l->host, e);
    if (failed) {
        say_why(sock, e->text);
        free(l);
        return -1;
    }
    failed = greet(l, e);
    if (!failed && l->host.hello.tier != TIER_NONE)
        failed = serve(l, e);
    host_close(&l->host);
    free(l);
    return failed;
}
