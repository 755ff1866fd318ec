#include <string.h>

#include "api/op.h"
#include "base/err.h"
#include "base/str.h"
#include "http/exchange.h"

enum { TABLES = 4 };
static const struct op_table *const tables[TABLES] = {&native_sessions, &native_runs, &native_keys,
                                                      &native_other};

const struct op *op_at(size_t index)
{
    for (size_t i = 0; i < TABLES; i++) {
        if (index < tables[i]->count)
            return &tables[i]->ops[index];
        index -= tables[i]->count;
    }
    return NULL;
}

/* Decodes one piece of the path. One that is too long, broken or empty fits nothing. */
static bool take_param(struct str piece, char ret[OP_PARAM_SIZE])
{
    struct err ignored = {0};
    struct buf text = BUF_INIT(OP_PARAM_SIZE - 1);
    bool is_fine = piece.len > 0 &&
                   http_decode(piece, /* is_form= */ false, &text, &ignored) == 0 &&
                   buf_check(&text, &ignored) == 0 && text.len > 0;
    if (is_fine)
        memcpy(ret, text.bytes, text.len + 1);
    buf_done(&text);
    return is_fine;
}

/* Whether the path has the shape of the pattern; its {pieces} go to `param`. */
static bool fits(const char *pattern, struct str path, char param[OP_PARAMS_MAX][OP_PARAM_SIZE])
{
    size_t at = 0, params = 0;
    while (*pattern) {
        if (*pattern != '{') {
            if (at >= path.len || path.ptr[at] != *pattern)
                return false;
            at++;
            pattern++;
            continue;
        }
        struct str piece = {.ptr = path.ptr + at};
        while (at < path.len && path.ptr[at] != '/')
            at++;
        piece.len = (size_t)(path.ptr + at - piece.ptr);
        if (params >= OP_PARAMS_MAX || !take_param(piece, param[params++]))
            return false;
        pattern = strchr(pattern, '}') + 1;
    }
    return at == path.len;
}

static void allow_method(struct buf *allow, const char *method)
{
    if (allow->len > 0)
        buf_str(allow, ", ");
    buf_str(allow, method);
    if (strcmp(method, "GET") == 0)
        buf_str(allow, ", HEAD");
}

int op_find(struct call *c, struct buf *allow, struct err *e)
{
    struct str method = c->request->method;
    if (str_is(method, "HEAD"))
        method = str_of("GET");
    const struct op *op;
    for (size_t i = 0; (op = op_at(i)); i++) {
        if (!fits(op->path, c->request->path, c->param))
            continue;
        if (str_is(method, op->method)) {
            c->op = op;
            return 0;
        }
        allow_method(allow, op->method);
    }
    if (allow->len > 0)
        return err_set(e, ERR_METHOD, "this address takes %s", allow->bytes);
    return err_set(e, ERR_NOT_FOUND, "there is nothing at this address");
}
