/* route.c -- from an address below /v1 to what answers it. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/syntax.h"
#include "openai/openai_int.h"

static const struct oa_table *const tables[] = {
    &oa_containers, &oa_container_files, &oa_files,  &oa_uploads,
    &oa_responses,  &oa_conversations,   &oa_models, &oa_chat,
};
enum { TABLES = sizeof tables / sizeof *tables };

/* ---- which ---- */

static bool take_prefix(struct str *path, const char *prefix)
{
    size_t len = strlen(prefix);
    if (path->len < len || memcmp(path->ptr, prefix, len) != 0)
        return false;
    *path = str_from(*path, len);
    return true;
}

static struct str address_of(const struct call *c)
{
    struct str path = c->request->path;
    if (!take_prefix(&path, "/v1/"))
        (void)take_prefix(&path, "/openai/v1/");
    if (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    return path;
}

/* Takes what is before the next '/'. */
static struct str next_piece(struct str *path)
{
    size_t len = str_find(*path, '/');
    struct str piece = str_upto(*path, len);
    *path = len < path->len ? str_from(*path, len + 1) : STR_NONE;
    return piece;
}

/* One that is too long, broken or empty is none. */
static bool decode_piece(struct str piece, char ret[OP_PARAM_SIZE])
{
    struct err ignored = {0};
    scoped(buf_done) struct buf text = BUF_INIT(OP_PARAM_SIZE - 1);
    if (piece.len == 0 || http_decode(piece, /* is_form= */ false, &text, &ignored))
        return false;
    memcpy(ret, text.bytes, text.len + 1);
    return true;
}

static bool fits(const char *pattern, struct str path, char piece[OA_PIECES_MAX][OP_PARAM_SIZE])
{
    struct str want = str_of(pattern);
    size_t count = 0;
    while (want.len > 0 && path.len > 0) {
        struct str name = next_piece(&want), part = next_piece(&path);
        if (name.ptr[0] == '{') {
            if (count >= OA_PIECES_MAX || !decode_piece(part, piece[count++]))
                return false;
        } else if (name.len != part.len || memcmp(name.ptr, part.ptr, name.len) != 0) {
            return false;
        }
    }
    return want.len == 0 && path.len == 0;
}

static int not_allowed(struct oa_call *o, const struct buf *allow, struct err *e)
{
    const struct http_request *r = o->c->request;
    http_add_header(o->c->x, "Allow", "%s", allow->bytes);
    return oa_fail(o, e, ERR_METHOD, NULL, "method_not_supported",
                   "Not allowed to %.*s on %.*s. This address takes %s.", (int)r->method.len,
                   r->method.ptr, (int)(r->path.len < 100 ? r->path.len : 100), r->path.ptr,
                   allow->bytes);
}

static int find(struct oa_call *o, struct err *e)
{
    const struct http_request *r = o->c->request;
    scoped(buf_done) struct buf allow = BUF_INIT(128);
    bool is_head = str_is(r->method, "HEAD");
    for (size_t i = 0; i < TABLES; i++)
        for (size_t j = 0; j < tables[i]->count; j++) {
            const struct oa_op *op = &tables[i]->ops[j];
            if (!fits(op->path, address_of(o->c), o->piece))
                continue;
            if (str_is(r->method, op->method) || (is_head && strcmp(op->method, "GET") == 0)) {
                o->op = op;
                return 0;
            }
            buf_fmt(&allow, "%s%s", allow.len ? ", " : "", op->method);
        }
    if (allow.len > 0)
        return not_allowed(o, &allow, e);
    return oa_fail(o, e, ERR_NOT_FOUND, NULL, "unknown_url", "Invalid URL (%.*s %.*s)",
                   (int)r->method.len, r->method.ptr, (int)(r->path.len < 180 ? r->path.len : 180),
                   r->path.ptr);
}

/* ---- and there ---- */

static int run(struct oa_call *o, struct err *e)
{
    if (!*o->c->who.principal)
        return err_set(e, ERR_UNAUTHORIZED, "this needs a key");
    if (find(o, e) || (o->op->scope && call_scope(o->c, o->op->scope, e)))
        return -1;
    return o->op->run(o, e);
}

int openai_handle(void *openai, struct call *c, struct err *e)
{
    struct oa_call o = {.oa = openai, .c = c, .body = BUF_INIT(OA_BODY_MAX)};
    c->told.begun_us = clock_us();
    http_add_header(c->x, "openai-version", OA_VERSION);
    int failed = run(&o, e);
    if (!c->is_answered && !c->is_parked)
        http_add_header(c->x, "openai-processing-ms", "%" PRId64,
                        (clock_us() - c->told.begun_us) / 1000);
    json_decref(o.json);
    buf_done(&o.body);
    caller_free(o.caller);
    return failed;
}

int openai_open(const struct openai_options *options, struct openai **ret, struct err *e)
{
    struct openai *oa = calloc(1, sizeof *oa);
    if (!oa)
        return err_set(e, ERR_NO_MEMORY, "open the OpenAI API");
    oa->o = *options;
    for (size_t i = 0; i < OA_CONVERSATION_LOCKS; i++) /* which cannot fail in glibc */
        (void)pthread_mutex_init(&oa->conversations[i], NULL);
    (void)pthread_mutex_init(&oa->lock, NULL);
    *ret = oa;
    return 0;
}

void openai_close(struct openai *oa)
{
    if (!oa)
        return;
    for (size_t i = 0; i < OA_CONVERSATION_LOCKS; i++)
        (void)pthread_mutex_destroy(&oa->conversations[i]);
    (void)pthread_mutex_destroy(&oa->lock);
    free(oa);
}
