/* run_reads.c -- what a kernel says a run has read: a stranger's word, made a list of paths. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "session/run.h"

void run_reads_done(struct run_reads *reads)
{
    for (size_t i = 0; i < reads->count; i++)
        free(reads->items[i].path);
    free(reads->items);
    *reads = (struct run_reads){0};
}

/* Relative, without empty parts, "." and "..", and without NUL. */
static bool is_path(const struct field *f)
{
    const char *at = (const char *)f->bytes, *end = at + f->len;
    if (f->len == 0 || f->len > READ_PATH_MAX || memchr(at, '\0', f->len))
        return false;
    while (at <= end) {
        const char *slash = at < end ? memchr(at, '/', (size_t)(end - at)) : NULL;
        size_t len = (size_t)((slash ? slash : end) - at);
        if (len == 0 || (len <= 2 && memcmp(at, "..", len) == 0))
            return false;
        at += len + 1;
    }
    return true;
}

static bool has_path(const struct run_reads *reads, const struct field *f)
{
    for (size_t i = 0; i < reads->count; i++)
        if (strncmp(reads->items[i].path, (const char *)f->bytes, f->len) == 0 &&
            reads->items[i].path[f->len] == '\0')
            return true;
    return false;
}

static int add(struct run_reads *reads, const struct field *f, struct err *e)
{
    if (reads->count % 64 == 0) {
        struct run_read *grown = realloc(reads->items, (reads->count + 64) * sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "keep what was read");
        reads->items = grown;
    }
    char *path = strndup((const char *)f->bytes, f->len);
    if (!path)
        return err_set(e, ERR_NO_MEMORY, "keep what was read");
    reads->items[reads->count++] = (struct run_read){path, f->tag == FIELD_GUESS};
    reads->bytes += f->len;
    return 0;
}

int run_reads_from_frame(const struct frame *frame, struct run_reads *reads, struct err *e)
{
    reads->is_told = true;
    for (struct field f = {0}; field_next(frame, &f);) {
        if (f.tag == FIELD_PARTIAL)
            reads->is_partial = true;
        if (f.tag != FIELD_PATH && f.tag != FIELD_GUESS)
            continue;
        if (!is_path(&f) || reads->count == READS_MAX || f.len > READS_BYTES_MAX - reads->bytes)
            reads->is_partial = true;
        else if (!has_path(reads, &f) && add(reads, &f, e))
            return -1;
    }
    return 0;
}
