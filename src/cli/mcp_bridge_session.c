/* Sessions of the era of MCP that has them. */
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "cli/client_int.h"
#include "cli/mcp_bridge_int.h"
#include "cli/mcp_message.h"
#include "cli/pick.h"

enum { END_TIMEOUT_MS = 2000 };

static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

/* The flight's, in front of all others. NULL: no memory. */
static struct flight *push_own(struct bridge *b, enum flight_kind kind, const char *body)
{
    char *copy = strdup(body);
    struct flight *f = copy ? flight_new(b, kind, copy, strlen(copy)) : NULL;
    if (f) {
        f->is_barrier = true;
        flight_push(f);
    }
    return f;
}

void bridge_session_opened(struct flight *f, const struct mcp_message *answer)
{
    struct bridge *b = f->bridge;
    const json_t *result = json_object_get(answer->json, "result");
    if (!result) {
        if (f->kind == FLIGHT_REOPEN)
            bridge_session_failed(b, "the server made no new MCP session", "");
        return;
    }
    (void)snprintf(b->session, sizeof b->session, "%s", f->session);
    (void)snprintf(b->version, sizeof b->version, "%s", pick_text(result, "protocolVersion"));
    if (strpbrk(b->version, "\r\n"))
        b->version[0] = '\0';
    b->serial++;
    if (f->kind == FLIGHT_REOPEN) {
        struct flight *own = push_own(b, FLIGHT_OWN, initialized);
        if (own)
            own->is_initialized = true;
        note(&b->notes, "the server was started anew; a new MCP session goes on there");
    } else {
        free(b->initialize);
        b->initialize = strdup(f->body);
    }
}

static bool is_reopening(const struct bridge *b)
{
    for (const struct flight *f = b->flights; f; f = f->next)
        if (f->kind == FLIGHT_REOPEN)
            return true;
    return false;
}

void bridge_session_lost(struct flight *f)
{
    struct bridge *b = f->bridge;
    bool can_repeat = f->id && !f->is_cancelled && !f->is_resumed && !f->is_repeated;
    if (f->id && !f->is_cancelled && (!can_repeat || !b->initialize))
        bridge_put_error(b, f->id, MCP_NOT_CARRIED,
                         "the server was started anew while this was under way, and its answer is "
                         "lost; look at files and runs, then do it again");
    if (!can_repeat || !b->initialize) {
        flight_free(f);
        return;
    }
    f->is_repeated = true;
    f->state = FLIGHT_QUEUED;
    if (f->serial != b->serial || is_reopening(b))
        return; /* there is another session already, or there will be */
    if (!push_own(b, FLIGHT_REOPEN, b->initialize))
        bridge_session_failed(b, "out of memory", "try again");
}

void bridge_session_failed(struct bridge *b, const char *text, const char *advice)
{
    for (struct flight *f = b->flights, *next; f; f = next) {
        next = f->next;
        if (f->state != FLIGHT_QUEUED || !f->is_repeated || f->is_modern)
            continue;
        bridge_put_error(b, f->id, MCP_NOT_CARRIED,
                         "the server has forgotten this MCP session, and there is no new one: "
                         "%s%s%s; restart this MCP server in the client",
                         text, *advice ? "; " : "", advice);
        flight_free(f);
    }
}

void bridge_session_listen(struct bridge *b)
{
    if (!*b->session || b->is_over)
        return;
    for (struct flight *f = b->flights; f; f = f->next)
        if (f->kind == FLIGHT_LISTEN && f->serial == b->serial)
            return;
    (void)flight_new(b, FLIGHT_LISTEN, /* body= */ NULL, 0); /* without it there is less to hear */
}

static size_t ignore(char *bytes, size_t size, size_t count, void *arg)
{
    (void)bytes;
    (void)arg;
    return size * count;
}

void bridge_session_end(struct bridge *b)
{
    char url[ADDRESS_URL_MAX + CALL_PATH_MAX + 1], bearer[ADDRESS_KEY_MAX + 16];
    struct curl_slist *list = NULL;
    if (!*b->session || !b->is_reached)
        return;
    CURL *easy = curl_easy_init();
    (void)snprintf(url, sizeof url, "%s%s", b->address.url, b->path);
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", b->address.key);
    if (easy && transfer_add_header(&list, "Mcp-Session-Id", b->session) &&
        (!*b->version || transfer_add_header(&list, "MCP-Protocol-Version", b->version)) &&
        (!*b->address.key || transfer_add_header(&list, "Authorization", bearer))) {
        transfer_reach(easy, &b->address);
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)END_TIMEOUT_MS);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
        (void)curl_easy_perform(easy); /* otherwise the session ends when it is too old */
    }
    explicit_bzero(bearer, sizeof bearer);
    curl_slist_free_all(list);
    curl_easy_cleanup(easy);
}
