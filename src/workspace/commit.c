/* A commit: changes are collected, bytes are stored as they come, and commit_finish makes it so. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/commit_int.h"
#include "workspace/files_int.h"
#include "workspace/paths.h"

int commit_new(struct files *f, const struct workspace_row *ws, const struct author *author,
               enum commit_kind kind, struct commit **ret, struct err *e)
{
    struct commit *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, ERR_NO_MEMORY, "begin a commit");
    c->files = f;
    c->row = (struct commit_row){.kind = kind,
                                 .author = *author,
                                 .files_max = files_max_of(f, ws),
                                 .bytes_max = bytes_max_of(f, ws)};
    memcpy(c->row.workspace, ws->id, ID_SIZE);
    memcpy(c->vault, ws->vault, ID_SIZE);
    c->room = (struct room){.files_max = c->row.files_max,
                            .bytes_max = c->row.bytes_max,
                            .files = ws->files,
                            .bytes = ws->kept_bytes};
    *ret = c;
    return 0;
}

void change_done(struct file_change *change)
{
    free((char *)change->path);
    free((char *)change->to);
    free((char *)change->mark);
    free(change->ret_path);
    free(change->ret_why);
    *change = (struct file_change){0};
}

static void putting_done(struct commit *c)
{
    change_done(&c->putting.change);
    c->putting = (struct putting){0};
}

void commit_free(struct commit *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++)
        change_done(&c->changes[i]);
    putting_done(c);
    free(c->changes);
    free(c->origins);
    batch_free(c->batch);
    free(c);
}

void commit_is_working_copy(struct commit *c)
{
    c->row.is_working_copy = true;
}

int commit_batch(struct commit *c, struct err *e)
{
    return c->batch ? 0 : batch_new(c->files->o.contents, c->vault, &c->batch, e);
}

size_t commit_count(const struct commit *c)
{
    return c->count;
}

const struct file_change *commit_change(const struct commit *c, size_t index)
{
    assert(index < c->count);
    return &c->changes[index];
}

uint64_t commit_rev(const struct commit *c)
{
    assert(c->is_finished);
    return c->rev;
}

/* ---- the list of changes ---- */

static int make_room(struct commit *c, struct err *e)
{
    if (c->count < c->cap)
        return 0;
    if (c->count >= COMMIT_CHANGES_MAX)
        return err_set(e, ERR_LIMIT, "more than %d changes at once", COMMIT_CHANGES_MAX);
    size_t cap = c->cap ? 2 * c->cap : 4;
    struct file_change *changes = realloc(c->changes, cap * sizeof *changes);
    if (changes)
        c->changes = changes;
    struct origin *origins = realloc(c->origins, cap * sizeof *origins);
    if (origins)
        c->origins = origins;
    if (!changes || !origins)
        return err_set(e, ERR_NO_MEMORY, "remember a change");
    c->cap = cap;
    return 0;
}

int commit_add(struct commit *c, struct file_change *change, const struct origin *origin,
               struct err *e)
{
    if (make_room(c, e)) {
        change_done(change);
        return -1;
    }
    c->changes[c->count] = *change;
    c->origins[c->count++] = *origin;
    *change = (struct file_change){0};
    return 0;
}

/* A copy of a clean path, the caller's. */
static int copy_path(const char *path, const char **ret, struct err *e)
{
    char clean[PATH_BYTES_MAX + 1];
    if (path_clean(path, clean, e))
        return -1;
    *ret = strdup(clean);
    return *ret ? 0 : err_set(e, ERR_NO_MEMORY, "remember a path");
}

static int set_expectation(struct file_change *change, const struct how *how, struct err *e)
{
    if (!how)
        return 0;
    change->expect = how->expect;
    change->since = how->since;
    change->is_lenient = how->is_lenient;
    change->is_overwriting = how->is_overwriting;
    if (how->expected_file) {
        if (strlen(how->expected_file) >= ID_SIZE)
            return err_set(e, ERR_PRECONDITION, "that version is not the present one");
        memcpy(change->expected_file, how->expected_file, strlen(how->expected_file));
        change->expected_version = how->expected_version;
    }
    if (how->mark && !(change->mark = strdup(how->mark)))
        return err_set(e, ERR_NO_MEMORY, "remember a name");
    return 0;
}

int change_fill(struct file_change *ret, enum change_op op, const char *path, const char *to,
                const struct how *how, struct err *e)
{
    *ret = (struct file_change){.op = op};
    if (copy_path(path, &ret->path, e) || (to && copy_path(to, &ret->to, e)) ||
        set_expectation(ret, how, e)) {
        change_done(ret);
        return -1;
    }
    return 0;
}

/* ---- files ---- */

int commit_put(struct commit *c, const char *path, const struct how *how, uint64_t size,
               struct err *e)
{
    struct putting *p = &c->putting;
    assert(!p->is_on && !c->is_finished);
    if (change_fill(&p->change, OP_PUT, path, /* to= */ NULL, how, e))
        return -1;
    p->announced = size == UINT64_MAX ? 0 : size;
    p->origin = (struct origin){.kind = ORIGIN_WRITTEN, .size = p->announced};
    if (room_check(c, e) || commit_batch(c, e) || batch_begin(c->batch, p->announced, e)) {
        putting_done(c);
        return -1;
    }
    p->is_on = true;
    return 0;
}

int commit_write(struct commit *c, const void *bytes, size_t len, struct err *e)
{
    struct putting *p = &c->putting;
    assert(p->is_on);
    if (__builtin_add_overflow(p->written, len, &p->written))
        return err_set(e, ERR_TOO_LARGE, "a file of that size does not exist");
    return room_check(c, e) || batch_write(c->batch, bytes, len, e) ? -1 : 0;
}

int commit_end(struct commit *c, struct err *e)
{
    struct putting *p = &c->putting;
    assert(p->is_on);
    if (batch_end(c->batch, &p->change.content, e))
        return -1;
    p->is_ended = true;
    if (room_take(c, &p->change, e) || commit_add(c, &p->change, &p->origin, e))
        return -1;
    putting_done(c);
    return 0;
}

void commit_drop(struct commit *c)
{
    assert(!c->is_finished);
    if (c->putting.is_on) {
        if (!c->putting.is_ended)
            batch_drop(c->batch);
        putting_done(c);
        return;
    }
    if (c->count == 0 || c->changes[c->count - 1].op != OP_PUT)
        return;
    change_done(&c->changes[--c->count]);
    /* What it took may be counted for nothing now: the next check that fails looks again. */
    c->room.is_exact = false;
}

int commit_put_source(struct commit *c, const char *path, const struct how *how, uint64_t size,
                      const struct file_source *source, struct err *e)
{
    enum { PIECE = 256 << 10 };
    scoped(freep) char *piece = malloc(PIECE);
    if (!piece)
        return err_set(e, ERR_NO_MEMORY, "store a file");
    if (commit_put(c, path, how, size, e))
        return -1;
    c->putting.origin.kind = ORIGIN_SOURCE;
    c->putting.origin.source = *source;
    int failed = 0;
    for (size_t len = 1; len > 0 && !failed;)
        failed = source->read(source->arg, c->putting.written, piece, PIECE, &len, e) ||
                 (len > 0 && commit_write(c, piece, len, e));
    if (!failed && !commit_end(c, e))
        return 0;
    commit_drop(c);
    return -1;
}

int commit_put_content(struct commit *c, const char *path, const struct how *how,
                       const struct content *content, struct err *e)
{
    struct putting *p = &c->putting;
    assert(!p->is_on && !c->is_finished);
    if (change_fill(&p->change, OP_PUT, path, /* to= */ NULL, how, e))
        return -1;
    p->announced = content->size;
    p->change.content = *content;
    const struct origin origin = {.kind = ORIGIN_REUSED};
    int failed = room_check(c, e) || commit_batch(c, e) || batch_reuse(c->batch, content, e) ||
                 room_take(c, &p->change, e) || commit_add(c, &p->change, &origin, e);
    putting_done(c);
    return failed ? -1 : 0;
}
