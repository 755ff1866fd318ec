/* errors.c -- what somebody is told when it did not work: the body of an error answer. */
#include <stdio.h>
#include <string.h>

#include "api/api_int.h"
#include "base/clock.h"
#include "http/exchange.h"
#include "service/object.h"
#include "json/write.h"

enum { RETRY_S = 2 }; /* for whoever is refused because it is full, and nobody knows how long */

static void put_block(struct json_writer *w, const struct lock_block *block)
{
    jw_key(w, "lock");
    jw_object(w);
    jw_key(w, "id");
    jw_text(w, block->id);
    jw_key(w, "path");
    jw_text(w, block->path);
    jw_key(w, "tree");
    jw_bool(w, block->is_tree);
    jw_key(w, "shared");
    jw_bool(w, block->is_shared);
    jw_key(w, "holder");
    jw_text(w, block->holder);
    object_time(w, "expires_at", block->expires_us);
    jw_end_object(w);
}

/* `block`: the lock that was in the way; NULL: none was. */
static void write_body(struct buf *out, const struct err *e, const char *hint,
                       const char *request_id, const struct lock_block *block)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "error");
    jw_object(&w);
    jw_key(&w, "code");
    jw_text(&w, err_wire(e->code));
    jw_key(&w, "message");
    jw_text(&w, e->text);
    jw_key(&w, "hint");
    jw_text(&w, hint);
    jw_key(&w, "request_id");
    jw_text(&w, request_id);
    if (block)
        put_block(&w, block);
    jw_end_object(&w);
    jw_end_object(&w);
}

void write_error(struct buf *out, enum err_code code, const char *message, const char *hint,
                 const char *request_id)
{
    struct err e = {.code = code};
    (void)snprintf(e.text, sizeof e.text, "%s", message);
    write_body(out, &e, hint, request_id, /* block= */ NULL);
}

const char *hint_for(enum err_code code)
{
    switch (code) {
    case ERR_UNAUTHORIZED:
        return "Send a key: `Authorization: Bearer cik_...`. `cicada key create` makes one.";
    case ERR_DENIED: return "Use a key with the scope that is needed, or ask who runs this server.";
    case ERR_NOT_FOUND: return "List what there is, or look at /openapi.json for addresses.";
    case ERR_METHOD: return "See /openapi.json.";
    case ERR_INVALID: return "See /openapi.json for what this operation takes.";
    case ERR_BUSY: return "Wait for the run, cancel it, or use another session.";
    case ERR_LIMIT: return "Wait as long as Retry-After says, or use less.";
    case ERR_OVERLOADED: return "Try again after as many seconds as Retry-After says.";
    case ERR_TOO_LARGE: return "Send less at once.";
    case ERR_UNSUPPORTED: return "Send JSON: Content-Type: application/json.";
    case ERR_MISMATCH: return "Use a new Idempotency-Key for a new request.";
    case ERR_PRECONDITION: return "Read the file again, then repeat the change with its ETag.";
    case ERR_RANGE: return "Ask for less: Content-Range of this answer says how long the file is.";
    case ERR_QUOTA:
        return "Purge the trash or old versions, or ask who runs this server for a larger quota.";
    case ERR_LOCKED:
        return "Wait until the lock ends, send its token as Lock-Token, or ask an admin to break it.";
    case ERR_NO_SPACE: return "The server's disk is full: tell who runs it. Nothing was changed.";
    case ERR_INTERNAL:
    case ERR_PROTOCOL:
    case ERR_DAMAGED:
        return "This is a fault of the server; its log has more under the request id.";
    default: return NULL;
    }
}

bool is_fault(enum err_code code)
{
    return code == ERR_INTERNAL || code == ERR_PROTOCOL || code == ERR_DAMAGED;
}

const char *err_for_client(const struct err *e)
{
    const bool is_ours = e->code == ERR_INTERNAL || e->code == ERR_DAMAGED || e->code == ERR_NONE;
    return is_ours ? "something went wrong; the log of the server says more" : e->text;
}

static uint32_t seconds_until(int64_t wall_us)
{
    int64_t left_us = wall_us - clock_wall_us();
    return left_us > 0 ? (uint32_t)(left_us / 1000000 + 1) : 1;
}

/* Also of what was refused before its operation was known. */
static bool is_openai(const struct call *c)
{
    static const char *const prefixes[] = {"/v1/", "/openai/v1/"};
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(prefixes[i]);
        if (c->request->path.len >= len && memcmp(c->request->path.ptr, prefixes[i], len) == 0)
            return !c->op && c->api->o.openai && c->api->o.openai_tell;
    }
    return false;
}

/* A fault is ours, and its words are for the log. An endpoint that answers with nonsense is not: who asked it told all there is to
 * say, and for clients. */
static bool is_for_the_log(const struct call *c, const struct err *e)
{
    return is_fault(e->code) && !(e->code == ERR_PROTOCOL && c->told.is_whole);
}

void set_error(struct call *c, const struct err *e)
{
    c->status = err_http(e->code);
    if ((c->status == 429 || c->status == 503) && c->retry_after_s == 0)
        c->retry_after_s = RETRY_S;
    const struct lock_block *block =
        e->code == ERR_LOCKED && *c->pass.block.id ? &c->pass.block : NULL;
    if (block && c->retry_after_s == 0)
        c->retry_after_s = seconds_until(block->expires_us);
    buf_done(&c->out);
    const char *hint = c->hint ? c->hint : hint_for(e->code);
    struct err told = *e;
    if (is_for_the_log(c, e))
        (void)err_set(&told, e->code, "something went wrong");
    if (c->op && c->op->tell)
        c->op->tell(c, &told, hint);
    else if (is_openai(c))
        c->api->o.openai_tell(c, &told, hint);
    else
        write_body(&c->out, &told, hint, c->id, block);
}
