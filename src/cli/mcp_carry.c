/* Which message goes on its way, and what becomes of it. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "cli/answer.h"
#include "cli/mcp_bridge_int.h"
#include "cli/mcp_message.h"
#include "cli/pick.h"
#include "json/read.h"

enum {
    RETRY_MS = 100,         /* before a broken stream is gone on with; doubled each time */
    LISTEN_MS = 1000,       /* before the stream of what is unasked is opened again */
    RETRY_AFTER_MAX_S = 10, /* that a server which is full is waited for at a time */
};

static const char restart_advice[] =
    "whether it was done is not known: look at files and runs before doing it again";

/* ---- endings ---- */

/* Nothing more comes of it; a request is answered with that. */
static void fail(struct flight *f, const char *text, const char *advice)
{
    struct bridge *b = f->bridge;
    const char *between = *advice ? "; " : "";
    if (f->id && !f->is_cancelled)
        bridge_put_error(b, f->id, MCP_NOT_CARRIED, "%s%s%s", text, between, advice);
    else if (f->kind != FLIGHT_LISTEN && !f->is_cancelled)
        note_problem(&b->notes, "%s%s%s", text, between, advice);
    if (f->kind == FLIGHT_REOPEN)
        bridge_session_failed(b, text, advice);
    flight_free(f);
}

static void wait_ms(struct flight *f, unsigned ms)
{
    f->state = FLIGHT_WAITING;
    f->due_us = clock_us() + (int64_t)ms * 1000;
}

/* The stream ended or broke before the answer came: the server keeps the rest for a while. */
static void go_on(struct flight *f, const char *why)
{
    bool can_resume = f->id && !f->is_modern && *f->last_id;
    if (!can_resume || f->tries >= BRIDGE_TRIES_MAX) {
        fail(f, why, restart_advice);
        return;
    }
    f->is_resumed = true;
    unsigned pause_ms = f->events.retry_ms ? f->events.retry_ms : (unsigned)RETRY_MS << f->tries;
    f->tries++;
    wait_ms(f, pause_ms);
}

/* The stream of what is unasked has ended: it is opened again for as long as the server is there. */
static void listen_on(struct flight *f, bool was_open)
{
    f->tries = was_open ? 0 : f->tries + 1;
    if (f->tries >= BRIDGE_TRIES_MAX || f->bridge->is_over) {
        flight_free(f);
        return;
    }
    unsigned ms = f->events.retry_ms ? f->events.retry_ms : (unsigned)LISTEN_MS;
    wait_ms(f, ms << f->tries);
}

/* A refusal that is a message itself: with the id of the request, whatever the server knew of it. */
static bool pass_on_refusal(struct flight *f)
{
    scoped(mcp_message_done) struct mcp_message m = {0};
    scoped(freep) char *text = NULL;
    struct err ignored = {0};
    int code;
    if (mcp_message_read(f->answer.bytes ? f->answer.bytes : "", f->answer.len, &m, &code,
                         &ignored) ||
        m.kind != MCP_RESPONSE ||
        !json_is_integer(json_object_get(json_object_get(m.json, "error"), "code")))
        return false;
    if (json_object_set(m.json, "id", f->id) || !(text = json_dumps(m.json, JSON_COMPACT)))
        return false;
    bridge_put(f->bridge, text, strlen(text));
    return true;
}

static void refused(struct flight *f)
{
    char hint[ANSWER_HINT_SIZE];
    struct err e = {0};
    if (f->id && !f->is_cancelled && pass_on_refusal(f)) {
        flight_free(f);
        return;
    }
    (void)answer_refusal(f->status, f->answer.bytes, f->answer.len, hint, &e);
    fail(f, e.text, hint);
}

/* Of the era with sessions: the server has forgotten ours. An unknown method is something else. */
static bool is_session_gone(const struct flight *f)
{
    scoped(mcp_message_done) struct mcp_message m = {0};
    struct err ignored = {0};
    int code;
    if (f->status != 404 || f->is_modern || f->is_initialize || !*f->bridge->session)
        return false;
    if (mcp_message_read(f->answer.bytes ? f->answer.bytes : "", f->answer.len, &m, &code,
                         &ignored))
        return true;
    return json_integer_value(json_object_get(json_object_get(m.json, "error"), "code")) != -32601;
}

static void not_accepted(struct flight *f)
{
    if (is_session_gone(f)) {
        bridge_session_lost(f);
    } else if (f->kind == FLIGHT_LISTEN) {
        flight_free(f); /* it has nothing to say */
    } else if ((f->status == 429 || f->status == 503) && f->tries < BRIDGE_TRIES_MAX) {
        unsigned wait_s = f->retry_s ? f->retry_s : 1;
        f->tries++;
        wait_ms(f, 1000 * (wait_s < RETRY_AFTER_MAX_S ? wait_s : RETRY_AFTER_MAX_S));
    } else {
        refused(f);
    }
}

/* Answered with success, and to its end. */
static void accepted(struct flight *f)
{
    struct bridge *b = f->bridge;
    struct err e = {0};
    if (f->kind == FLIGHT_LISTEN) {
        listen_on(f, /* was_open= */ true);
        return;
    }
    if (!f->is_events && f->answer.len > 0 &&
        flight_message(f, f->answer.bytes, f->answer.len, &e)) {
        fail(f, e.text, restart_advice);
        return;
    }
    bool owes = f->id || f->kind == FLIGHT_REOPEN;
    if (owes && !f->is_answered && !f->is_cancelled) {
        go_on(f, "the server ended its answer before the result");
        return;
    }
    if (f->is_initialized)
        bridge_session_listen(b);
    flight_free(f);
}

/* The server is not there. One of the user's own may just have ended because nobody used it: another is
 * started, once. */
static void not_connected(struct flight *f)
{
    struct bridge *b = f->bridge;
    char text[ADDRESS_URL_MAX + CURL_ERROR_SIZE + 64];
    if (f->kind == FLIGHT_LISTEN) {
        flight_free(f);
    } else if (!b->address.is_named && !f->is_repeated) {
        f->is_repeated = true;
        f->state = FLIGHT_QUEUED;
        b->is_reached = false;
    } else {
        (void)snprintf(text, sizeof text, "cannot reach %s: %s",
                       b->address.kind == ADDRESS_SOCKET ? "the server's socket" : b->address.url,
                       f->curl_text);
        fail(f, text,
             "is it running? `cicada serve` starts one; CICADA_URL and CICADA_SOCKET in the "
             "environment of `cicada mcp` say where it is");
    }
}

static void broken(struct flight *f, CURLcode result)
{
    char text[CURL_ERROR_SIZE + 64];
    const char *why = *f->curl_text ? f->curl_text : curl_easy_strerror(result);
    (void)snprintf(text, sizeof text, "the connection to the server broke: %s", why);
    if (f->kind == FLIGHT_LISTEN)
        listen_on(f, /* was_open= */ false);
    else if (f->is_answered || f->is_cancelled)
        flight_free(f);
    else
        go_on(f, text);
}

void flight_ended(struct flight *f, CURLcode result)
{
    (void)curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &f->status);
    flight_close(f);
    if (result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST)
        not_connected(f);
    else if (result != CURLE_OK)
        broken(f, result);
    else if (f->status < 200 || f->status > 299)
        not_accepted(f);
    else
        accepted(f);
}

/* ---- messages of the server ---- */

int flight_message(struct flight *f, const char *text, size_t len, struct err *e)
{
    scoped(mcp_message_done) struct mcp_message m = {0};
    struct err why = {0};
    int code;
    bool is_known = len <= JSON_READ_SIZE_MAX; /* what is larger can only be a result */
    if (is_known && mcp_message_read(text, len, &m, &code, &why))
        return err_set(e, ERR_PROTOCOL, "the server sent what is no message: %s", why.text);
    if ((f->kind == FLIGHT_MESSAGE || f->kind == FLIGHT_LISTEN) && !f->is_answered &&
        !f->is_cancelled)
        bridge_put(f->bridge, text, len);
    if (f->kind == FLIGHT_LISTEN || (is_known && m.kind != MCP_RESPONSE))
        return 0;
    f->is_answered = true;
    if (f->is_initialize || f->kind == FLIGHT_REOPEN)
        bridge_session_opened(f, &m);
    return 0;
}

/* ---- beginnings ---- */

/* False when nothing behind it may begin yet. */
static bool begin(struct flight *f)
{
    struct bridge *b = f->bridge;
    bool is_barrier = f->is_barrier;
    struct err e = {0};
    if ((!b->is_reached && bridge_reach(b, &e)) || flight_launch(f, &e))
        fail(f, e.text, e.code == ERR_UNAVAILABLE ? "`cicada doctor` says what is missing" : "");
    return !is_barrier;
}

void bridge_pump(struct bridge *b)
{
    int64_t now_us = clock_us();
    bool is_all_sent = true;
    for (struct flight *f = b->flights, *next; f; f = next) {
        next = f->next;
        if (f->state == FLIGHT_RUNNING || (f->state == FLIGHT_WAITING && f->due_us > now_us)) {
            is_all_sent = is_all_sent && flight_is_sent(f);
            if (f->is_barrier)
                return;
        } else if ((f->is_barrier && !is_all_sent) || !begin(f)) {
            return;
        }
    }
}
