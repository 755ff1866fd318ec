#include "cli/mcp_bridge.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "cli/mcp_bridge_int.h"

enum {
    READ_BYTES = 64 << 10,
    POLL_MS = 1000,
    GRACE_MS = 500, /* that what is under way has at the end of the input */
    CONNECTIONS_KEPT = 16,
};

/* Signals that end us are as good as the end of the input. SIGPIPE is blocked rather than ignored: a
 * server that we start must not inherit that. */
static int take_signals(struct bridge *b, struct err *e)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (sigprocmask(SIG_BLOCK, &set, NULL))
        return err_sys(e, errno, "block signals");
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL))
        return err_sys(e, errno, "block signals");
    b->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return b->signal_fd < 0 ? err_sys(e, errno, "make a signalfd") : 0;
}

static void bridge_done(struct bridge *b)
{
    while (b->flights)
        flight_free(b->flights);
    if (b->multi)
        (void)curl_multi_cleanup(b->multi);
    if (b->signal_fd >= 0)
        (void)close(b->signal_fd);
    mcp_lines_done(&b->lines);
    buf_done(&b->out);
    free(b->initialize);
    explicit_bzero(b->address.key, sizeof b->address.key);
}

static int bridge_init(struct bridge *b, const struct mcp_bridge_options *o, struct err *e)
{
    *b = (struct bridge){.o = o,
                         .notes = notes_to_stderr(),
                         .lines = MCP_LINES(BRIDGE_LINE_MAX),
                         .out = BUF_INIT(BRIDGE_OUT_MAX),
                         .ends_us = CLOCK_NEVER,
                         .signal_fd = -1};
    if (take_signals(b, e))
        return -1;
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return err_set(e, ERR_INTERNAL, "start libcurl");
    b->multi = curl_multi_init();
    if (!b->multi)
        return err_set(e, ERR_NO_MEMORY, "make a client");
    (void)curl_multi_setopt(b->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT);
    return 0;
}

static void on_line(void *arg, const char *line, size_t len)
{
    bridge_take_line(arg, line, len);
}

static void on_long(void *arg)
{
    bridge_refuse_long(arg);
}

static void end_input(struct bridge *b)
{
    if (b->is_over)
        return;
    const struct mcp_lines_sink sink = {on_line, on_long, b};
    mcp_lines_end(&b->lines, &sink);
    b->is_over = true;
    b->ends_us = clock_us() + (int64_t)GRACE_MS * 1000;
}

static void take_input(struct bridge *b)
{
    char bytes[READ_BYTES];
    const struct mcp_lines_sink sink = {on_line, on_long, b};
    ssize_t n = read(b->o->in_fd, bytes, sizeof bytes);
    if (n > 0)
        mcp_lines_feed(&b->lines, bytes, (size_t)n, &sink);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        end_input(b);
}

/* Until something happens, or a flight is due. */
static int patience_ms(const struct bridge *b)
{
    int64_t due_us = clock_us() + (int64_t)POLL_MS * 1000;
    for (const struct flight *f = b->flights; f; f = f->next)
        if (f->state == FLIGHT_WAITING && f->due_us < due_us)
            due_us = f->due_us;
    return clock_poll_ms(due_us < b->ends_us ? due_us : b->ends_us);
}

/* Waits, and takes what the client and the system say. The network has its turn afterwards. */
static void wait_for_something(struct bridge *b, bool has_network)
{
    struct pollfd fds[] = {
        {b->is_over ? -1 : b->o->in_fd, POLLIN, 0},
        {b->is_over ? -1 : b->signal_fd, POLLIN, 0},
        {bridge_has_output(b) ? b->o->out_fd : -1, POLLOUT, 0},
    };
    enum { FDS = sizeof fds / sizeof *fds };
    int wait_ms = patience_ms(b);
    if (has_network) {
        struct curl_waitfd extra[FDS];
        unsigned count = 0;
        for (unsigned i = 0; i < FDS; i++)
            if (fds[i].fd >= 0)
                extra[count++] = (struct curl_waitfd){
                    .fd = fds[i].fd,
                    .events = fds[i].events == POLLIN ? CURL_WAIT_POLLIN : CURL_WAIT_POLLOUT};
        (void)curl_multi_poll(b->multi, extra, count, wait_ms, NULL);
        wait_ms = 0;
    }
    if (poll(fds, FDS, wait_ms) <= 0)
        return;
    if (fds[1].revents)
        end_input(b);
    else if (fds[0].revents)
        take_input(b);
}

static void look_at_network(struct bridge *b)
{
    int running, left;
    (void)curl_multi_perform(b->multi, &running);
    for (CURLMsg *m; (m = curl_multi_info_read(b->multi, &left));) {
        struct flight *f = NULL;
        if (m->msg != CURLMSG_DONE)
            continue;
        CURLcode result = m->data.result; /* the message goes with its handle */
        (void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &f);
        flight_ended(f, result);
    }
}

/* Whether a request of the client still waits for its answer. */
static bool is_busy(const struct bridge *b)
{
    return b->flight_count > 0;
}

/* A server that we started, and that has ended since, is our child. */
static void reap_servers(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void run(struct bridge *b)
{
    while (!b->is_unread) {
        reap_servers();
        bool is_full = b->out.len - b->out_at > BRIDGE_OUT_FULL;
        bridge_pump(b);
        if (!is_full)
            look_at_network(b);
        bridge_pump(b);
        bridge_flush(b);
        if (b->is_over && (clock_us() >= b->ends_us || (!is_busy(b) && !bridge_has_output(b))))
            return;
        wait_for_something(b, !is_full);
    }
}

int mcp_bridge_run(const struct mcp_bridge_options *options, struct err *e)
{
    scoped(bridge_done) struct bridge b;
    if (bridge_init(&b, options, e))
        return -1;
    run(&b);
    while (b.flights)
        flight_free(b.flights);
    bridge_session_end(&b);
    return 0;
}
