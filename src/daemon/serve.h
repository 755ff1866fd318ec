/* serve.h -- the server, from its configuration to its last breath.
 *
 * Start order, and why: the configuration is read and the directories are made as whoever started
 * us; the sockets are bound (a port below 1024 may be wanted); the spawner is started, the only one
 * that keeps root; then this process becomes the service user for good, and only then opens what is
 * durable, starts threads and hears a client. The end is the same backwards: no new connections, no
 * new runs, what goes on has drain_s to end, sessions fall asleep, everything is closed.
 *
 * One thread listens (http/), one hears signals and the watchdog's clock, one keeps the image that
 * sessions start from current; the keeper (service/), the pool, the store have one each.
 */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include <stdbool.h>

struct config;
struct err;

struct serve_options {
    const char *spawn_path, *kernel_path, *load_path; /* the programs beside this one */
    const char *image_dir;       /* NULL: DATA/images; "off": no images, sessions start cold */
    const char *encoder_path;    /* weights of the sentence encoder; NULL: there are none */
    bool has_fixtures;           /* /mcp is for the conformance suite; only on this machine */
    const struct config *config; /* borrowed */
    /* Reads the configuration again, for SIGHUP. */
    int (*reload)(void *arg, struct config *ret, struct err *e);
    void *arg;
};

/* Returns 0 when it was told to stop and did. Fails with why it cannot start, in words for whoever
 * started it. One call per process: it takes signals and privileges of the process over. */
int serve(const struct serve_options *options, struct err *e);

#endif
