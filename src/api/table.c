#include <string.h>

#include "api/op.h"
#include "base/err.h"
#include "base/str.h"
#include "http/exchange.h"

static const struct op_table *const tables[] = {
    &native_lineage,  &native_sessions, &native_runs,   &native_keys,     &native_workspaces,
    &native_files,    &native_edits,    &native_trash,  &native_uploads,  &native_archives,
    &native_blob,     &native_sign,     &native_store,  &native_other,    &native_members,
    &native_locks,    &native_shares,   &share_doors,   &native_tickets,  &native_usage,
    &join_doors,      &native_audit,    &native_events, &native_webhooks, &native_search,
    &native_displays, &native_ask,      &mcp_door,      &openai_door,     &well_known};
enum { TABLES = sizeof tables / sizeof *tables };

const char *const op_needs_names[] = {
    [NEEDS_NOT_SAID] = "",   [NEEDS_READ] = "read",   [NEEDS_WRITE] = "write",
    [NEEDS_ADMIN] = "admin", [NEEDS_OWN] = "own",     [NEEDS_NOTHING] = "nothing",
    [NEEDS_OWNER] = "owner", [NEEDS_NAMED] = "named", [NEEDS_SERVER] = "server",
};

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
static bool take_param(struct str piece, char *ret, size_t size)
{
    struct err ignored = {0};
    struct buf text = BUF_INIT(size - 1);
    bool is_fine = piece.len > 0 &&
                   http_decode(piece, /* is_form= */ false, &text, &ignored) == 0 &&
                   buf_check(&text, &ignored) == 0 && text.len > 0;
    if (is_fine)
        memcpy(ret, text.bytes, text.len + 1);
    buf_done(&text);
    return is_fine;
}

static bool is_rest(const char *pattern)
{
    size_t len = strcspn(pattern, "}");
    return len > 4 && memcmp(pattern + len - 3, "...", 3) == 0;
}

/* Whether the path has the shape of the pattern; its {pieces} go to `param` and `rest`. */
static bool fits(const char *pattern, struct str path, char param[OP_PARAMS_MAX][OP_PARAM_SIZE],
                 char rest[OP_REST_SIZE])
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
        struct str piece = {.ptr = path.ptr + at, .len = path.len - at};
        if (is_rest(pattern))
            return take_param(piece, rest, OP_REST_SIZE);
        while (at < path.len && path.ptr[at] != '/')
            at++;
        piece.len = (size_t)(path.ptr + at - piece.ptr);
        if (params >= OP_PARAMS_MAX || !take_param(piece, param[params++], OP_PARAM_SIZE))
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
        if (!fits(op->path, c->request->path, c->param, c->rest))
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
