/* What comes from the client: each line becomes a flight, or is answered at once. */
#include <string.h>

#include "base/scope.h"
#include "cli/mcp_bridge_int.h"
#include "cli/mcp_message.h"
#include "cli/pick.h"

void bridge_refuse_long(struct bridge *b)
{
    bridge_put_error(b, /* id= */ NULL, MCP_NO_MESSAGE,
                     "a message is larger than %d MiB and was not read; bring large files with "
                     "transfer_url instead",
                     BRIDGE_LINE_MAX >> 20);
}

/* The request of the client that is under way under this id; NULL: there is none. */
static struct flight *find(struct bridge *b, const json_t *id)
{
    for (struct flight *f = b->flights; f; f = f->next)
        if (f->kind == FLIGHT_MESSAGE && f->id && json_equal(f->id, id))
            return f;
    return NULL;
}

/* True if the message was a cancellation and need not be sent. In the stateless era closing is how a
 * request is cancelled; what has not been sent yet need not be cancelled elsewhere. */
static bool is_cancelled_here(struct bridge *b, const struct mcp_message *m)
{
    const json_t *id = mcp_message_cancels(m);
    struct flight *f = id ? find(b, id) : NULL;
    if (!id)
        return false;
    if (!f)
        return !*b->session;
    f->is_cancelled = true;
    if (!f->is_modern && f->state != FLIGHT_QUEUED)
        return false;
    flight_free(f);
    return true;
}

static bool is_full(const struct bridge *b, size_t len)
{
    return b->flight_count >= BRIDGE_FLIGHTS_MAX || len > BRIDGE_FLIGHT_BYTES_MAX - b->flight_bytes;
}

static void repeat_in_headers(struct flight *f, const struct mcp_message *m)
{
    mcp_header(&f->headers, "MCP-Protocol-Version", m->version);
    buf_str(&f->headers, "\n");
    if (m->method) {
        mcp_header(&f->headers, "Mcp-Method", m->method);
        buf_str(&f->headers, "\n");
    }
    if (m->name) {
        mcp_header(&f->headers, "Mcp-Name", m->name);
        buf_str(&f->headers, "\n");
    }
}

static void add_flight(struct bridge *b, const struct mcp_message *m, const char *line, size_t len)
{
    char *body = malloc(len + 1);
    struct flight *f = body ? flight_new(b, FLIGHT_MESSAGE, body, len) : NULL;
    if (!f) {
        bridge_put_error(b, m->id, MCP_NOT_CARRIED, "out of memory; try again");
        return;
    }
    memcpy(body, line, len + 1);
    f->id = m->kind == MCP_REQUEST ? json_incref(m->id) : NULL;
    f->is_modern = m->version != NULL;
    f->is_initialize = f->id && !f->is_modern && strcmp(m->method, "initialize") == 0;
    f->is_initialized = m->kind == MCP_NOTIFICATION && !f->is_modern &&
                        strcmp(m->method, "notifications/initialized") == 0;
    f->is_barrier = m->kind == MCP_NOTIFICATION || f->is_initialize;
    if (f->is_modern)
        repeat_in_headers(f, m);
}

void bridge_take_line(struct bridge *b, const char *line, size_t len)
{
    scoped(mcp_message_done) struct mcp_message m = {0};
    struct err e = {0};
    int code;
    if (mcp_message_read(line, len, &m, &code, &e)) {
        bridge_put_error(b, m.id, code, "%s", e.text);
        return;
    }
    if (is_cancelled_here(b, &m))
        return;
    if (m.kind == MCP_REQUEST && is_full(b, len)) {
        bridge_put_error(b, m.id, MCP_NOT_CARRIED,
                         "too much is under way already (at most %d requests, %d MiB); wait for "
                         "answers, then try again",
                         BRIDGE_FLIGHTS_MAX, BRIDGE_FLIGHT_BYTES_MAX >> 20);
        return;
    }
    add_flight(b, &m, line, len);
}
