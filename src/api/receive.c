/* receive.c -- bytes that a client sends, as a version of a file. Nothing is kept in memory but one
 * piece; what is refused is refused before the body is read, as far as that can be known then. */
#include <stdlib.h>
#include <strings.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "http/exchange.h"

int read_request(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    return http_read(arg, to, size, ret_len, e);
}

static int copy_body(struct commit *commit, const struct receiving *r, struct err *e)
{
    scoped(freep) char *piece = malloc(TRANSFER_SIZE);
    if (!piece)
        return err_set(e, ERR_NO_MEMORY, "take a file");
    for (;;) {
        size_t len = 0;
        if (r->read(r->arg, piece, TRANSFER_SIZE, &len, e))
            return -1;
        if (len == 0)
            return 0;
        if (commit_write(commit, piece, len, e))
            return -1;
    }
}

/* Whether what has come is what was sent. */
static int check_hash(const struct file_change *change, struct str wanted, struct err *e)
{
    char hex[HASH_HEX_SIZE];
    if (!wanted.ptr)
        return 0;
    hash_hex(change->content.sha256, hex);
    if (wanted.len == HASH_HEX_SIZE - 1 && strncasecmp(wanted.ptr, hex, wanted.len) == 0)
        return 0;
    return err_set(e, ERR_INVALID, "what has come has the SHA-256 %s, not the announced one", hex);
}

int receive_file(struct call *c, const struct workspace_row *ws, const struct receiving *r,
                 struct err *e)
{
    const struct author author = call_author(c);
    scoped(commit_freep) struct commit *commit = NULL;
    if (lock_check(c->api->o.files, ws, r->path, &author, e) ||
        commit_new(c->api->o.files, ws, &author, COMMIT_UPLOAD, &commit, e) ||
        commit_put(commit, r->path, &r->how, r->size, e) || copy_body(commit, r, e) ||
        commit_end(commit, e) || check_hash(commit_change(commit, 0), r->sha256, e) ||
        (r->check && r->check(r->check_arg, e)) || commit_finish(commit, e))
        return -1;
    return answer_change(c, ws, commit_change(commit, 0), e);
}
