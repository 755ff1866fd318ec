/* A request passed on as it is, and its answer passed back as it comes. */
#include <string.h>

#include "agent/model_int.h"
#include "agent/model_trouble.h"
#include "base/err.h"
#include "base/scope.h"

struct forward {
    struct model *m;
    const struct model_pipe *pipe;
    int status;
    char type[128];
    struct buf
        held; /* of a refusal, all; otherwise the end of what came, if the key begins like it */
};

static int on_head(void *arg, int status, const char *type)
{
    struct forward *f = arg;
    size_t len = strlen(type) < sizeof f->type ? strlen(type) : 0;
    f->status = status;
    memcpy(f->type, type, len);
    f->type[len] = '\0';
    return status == 200 ? f->pipe->begin(f->pipe->arg, status, f->type) : 0;
}

static int pass(struct forward *f, struct str bytes)
{
    return bytes.len ? f->pipe->bytes(f->pipe->arg, bytes) : 0;
}

/* All that is held but its last `keep` bytes goes on, without the key. */
static int pass_held(struct forward *f, size_t keep)
{
    scoped(buf_done) struct buf masked = BUF_INIT(MODEL_BODY_MAX);
    scoped(buf_done) struct buf rest = BUF_INIT(f->held.max);
    size_t len = f->held.len - keep;
    if (f->held.len == 0)
        return 0;
    model_mask((struct str){f->held.bytes, len}, model_secret(f->m->key), &masked);
    buf_add(&rest, f->held.bytes + len, keep);
    buf_done(&f->held);
    f->held = rest;
    rest = BUF_INIT(0);
    return masked.failed || f->held.failed ? -1 : pass(f, (struct str){masked.bytes, masked.len});
}

static int on_bytes(void *arg, struct str bytes)
{
    struct forward *f = arg;
    size_t room = f->held.max - f->held.len;
    buf_add(&f->held, bytes.ptr, bytes.len < room ? bytes.len : room);
    if (f->status != 200)
        return 0;
    return pass_held(
        f, model_key_begun((struct str){f->held.bytes, f->held.len}, model_secret(f->m->key)));
}

/* About our key or our address, which are no business of whoever asked; or nothing that HTTP knows, and nobody could pass it on. */
static bool is_ours(int status)
{
    return status == 401 || status == 403 || (status >= 300 && status < 400) || status > 599;
}

/* A refusal: passed on too, unless it is ours. */
static int tell(struct forward *f, struct err *e)
{
    struct model_trouble t = {.status = f->status};
    if (is_ours(f->status))
        return model_trouble_say(&t, e);
    if (f->pipe->begin(f->pipe->arg, f->status, f->type) || pass_held(f, 0))
        return err_set(e, ERR_GONE, "nobody wants the model's answer any more");
    return 0;
}

int model_forward(struct model *m, const char *path, struct str body, const struct model_pipe *pipe,
                  struct halt *halt, struct err *e)
{
    scoped(freep) char *url = NULL;
    scoped(line_closep) struct line *l = NULL;
    struct forward f = {.m = m, .pipe = pipe, .held = BUF_INIT(MODEL_ERROR_MAX)};
    const struct line_sink sink = {.head = on_head, .bytes = on_bytes, .arg = &f};
    struct line_end end;
    if (model_address(m, path, &url, e) || !(l = lines_get(&m->lines, e)))
        return -1;
    const struct line_request r = {.url = url,
                                   .headers = m->headers,
                                   .body = body,
                                   .silence_ms = m->timeout_ms,
                                   .whole_ms = m->whole_ms};
    line_perform(l, &r, &sink, halt, &end);
    lines_give(&m->lines, take(l));
    int failed = 0;
    if (end.how != LINE_COMPLETE)
        failed = model_silence(m, &end, e);
    else if (f.status != 200)
        failed = tell(&f, e);
    else if (pass_held(&f, 0))
        failed = err_set(e, ERR_GONE, "nobody wants the model's answer any more");
    buf_done(&f.held);
    return failed;
}
