/* Whether a commit fits into its workspace. What is decided here is decided early, to spare everybody
 * the bytes; the transaction decides for good. */
#include <string.h>

#include "base/err.h"
#include "workspace/commit_int.h"
#include "workspace/files_int.h"

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* What the file at that path holds now. 1: *ret; 0: there is none; -1. */
static int head_of(struct commit *c, const char *path, struct content *ret, struct err *e)
{
    struct file_row row;
    if (meta_file_get(c->files->o.meta, c->row.workspace, path, &row, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    *ret = row.content;
    file_row_done(&row);
    return 1;
}

static int count_exactly(struct commit *c, const struct file_change *change, struct err *e)
{
    if (change->op != OP_PUT)
        return 0;
    struct content head;
    int found = head_of(c, change->path, &head, e);
    if (found < 0)
        return -1;
    bool is_same = found && head.size == change->content.size &&
                   memcmp(head.sha256, change->content.sha256, HASH_LEN) == 0;
    c->room.more_files += !found;
    if (!is_same)
        c->room.more_bytes = plus(c->room.more_bytes, change->content.size);
    return 0;
}

/* The bound does not fit: looks how it really is, in the workspace and in this commit. */
static int make_exact(struct commit *c, struct err *e)
{
    struct room *r = &c->room;
    struct workspace_row ws;
    if (meta_workspace_get(c->files->o.meta, c->row.workspace, &ws, e))
        return -1;
    r->files = ws.files;
    r->bytes = ws.kept_bytes;
    r->files_max = c->row.files_max = files_max_of(c->files, &ws);
    r->bytes_max = c->row.bytes_max = bytes_max_of(c->files, &ws);
    workspace_row_done(&ws);
    r->more_files = r->more_bytes = 0;
    r->is_exact = true;
    for (size_t i = 0; i < c->count; i++)
        if (count_exactly(c, &c->changes[i], e))
            return -1;
    return 0;
}

int room_take(struct commit *c, const struct file_change *change, struct err *e)
{
    if (c->room.is_exact)
        return count_exactly(c, change, e);
    c->room.more_files++;
    c->room.more_bytes = plus(c->room.more_bytes, change->content.size);
    return 0;
}

static bool bytes_fit(const struct room *r, uint64_t size)
{
    return r->bytes_max == 0 || plus(plus(r->bytes, r->more_bytes), size) <= r->bytes_max;
}

static bool files_fit(const struct commit *c, bool is_new)
{
    const struct room *r = &c->room;
    return r->files_max == 0 || c->has_other_ops ||
           plus(plus(r->files, r->more_files), is_new) <= r->files_max;
}

static int look_at_head(struct commit *c, struct err *e)
{
    struct putting *p = &c->putting;
    if (p->head != HEAD_UNKNOWN)
        return 0;
    struct content head = {0};
    int found = head_of(c, p->change.path, &head, e);
    if (found < 0)
        return -1;
    p->head = found ? HEAD_KNOWN : HEAD_NONE;
    p->head_size = head.size;
    return 0;
}

/* Whether it can still turn out to be what is there already, which takes no room. */
static bool may_be_same(const struct putting *p)
{
    return p->head == HEAD_KNOWN && p->written <= p->head_size &&
           (p->announced == 0 || p->announced == p->head_size);
}

static int check_quota(struct commit *c, uint64_t size, struct err *e)
{
    struct room *r = &c->room;
    if (bytes_fit(r, size) && files_fit(c, /* is_new= */ true))
        return 0;
    if ((!r->is_exact && make_exact(c, e)) || look_at_head(c, e))
        return -1;
    if (!files_fit(c, c->putting.head == HEAD_NONE))
        return err_set(
            e, ERR_QUOTA,
            "the workspace has room for %llu files, and that many are there; delete some",
            (unsigned long long)r->files_max);
    if (bytes_fit(r, size) || may_be_same(&c->putting))
        return 0;
    return err_set(e, ERR_QUOTA,
                   "the workspace has room for %llu bytes, versions and trash included, and %llu "
                   "are used; purge some",
                   (unsigned long long)r->bytes_max, (unsigned long long)r->bytes);
}

int room_check(struct commit *c, struct err *e)
{
    const struct putting *p = &c->putting;
    uint64_t size = p->announced > p->written ? p->announced : p->written;
    uint64_t file_max = c->files->o.file_max;
    if ((file_max && size > file_max) || size > CONTENT_SIZE_MAX)
        return err_set(e, ERR_TOO_LARGE, "a file may have %llu bytes",
                       (unsigned long long)(file_max ? file_max : CONTENT_SIZE_MAX));
    int failed = c->row.is_working_copy
                     ? files_check_room(c->files, ROOM_FOR_RESULTS, size - p->written, 0, e)
                     : files_check_space(c->files, e);
    return failed || check_quota(c, size, e) ? -1 : 0;
}
