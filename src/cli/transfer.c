#include "cli/transfer.h"

#include <poll.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/client.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/stop.h"

enum {
    LOSSES_MAX = 6, /* tries in a row that move nothing */
    LOSS_MS = 200,  /* before the next; doubled with each */
};

static enum watch_verdict on_stop(void *arg)
{
    (void)arg;
    return WATCH_CANCELS_CALL;
}

struct haul haul_with(struct remote *remote, const char *workspace, struct stop *stop)
{
    return (struct haul){
        .remote = remote, .workspace = workspace, .stop = stop, .progress = progress_here()};
}

int haul_init(struct haul *h, struct remote *remote, const char *workspace, struct err *e)
{
    struct stop *stop = NULL;
    *h = haul_with(remote, workspace, /* stop= */ NULL);
    if (stop_new(&stop, e))
        return -1;
    h->stop = stop;
    h->owns_stop = true;
    client_watch(remote->client, &(struct watch){stop_fd(stop), on_stop, NULL});
    return 0;
}

void haul_done(struct haul *h)
{
    progress_clear(&h->progress);
    if (!h->owns_stop)
        return;
    if (h->remote->client)
        client_watch(h->remote->client, &(struct watch){.fd = -1});
    stop_free(h->stop);
    h->stop = NULL;
}

bool haul_try_again(struct haul *h, const struct err *e, unsigned *losses)
{
    if (e->code != ERR_UNAVAILABLE || stop_is_asked(h->stop) || ++*losses > LOSSES_MAX)
        return false;
    struct pollfd fd = {stop_fd(h->stop), POLLIN, 0};
    int64_t until_us = clock_us() + ((int64_t)LOSS_MS << *losses) * 1000 / 2;
    for (int wait_ms; (wait_ms = clock_poll_ms(until_us)) > 0;)
        if (poll(&fd, 1, wait_ms) > 0)
            return false;
    return true;
}

void haul_tell_rest(struct haul *h, const struct err *e)
{
    char at[SIZE_TEXT], size[SIZE_TEXT];
    progress_clear(&h->progress);
    if (!h->is_resumable || h->at == 0 || (e->code != ERR_GONE && e->code != ERR_UNAVAILABLE))
        return;
    note(&h->remote->notes, "%s of %s are kept; the same command goes on from there",
         size_text(h->at, at), size_text(h->size, size));
}

struct origin origin_of(const struct json_t *file)
{
    return (struct origin){.path = pick_text(file, "path"),
                           .sha256 = pick_text(file, "sha256"),
                           .etag = pick_text(file, "etag"),
                           .version = pick_count(file, "version"),
                           .size = pick_count(file, "size")};
}
