/* repeat_fill.c -- what a workspace had before some runs, put where they are repeated: code may look at what is there without
 * reading it. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "service/repeat.h"
#include "service/reproduce_int.h"
#include "store/meta.h"

/* What is being put, and how much it is by now. */
struct filling {
    struct place *place;
    struct commit *commit;
    int64_t before_us;
    bool is_near; /* the contents need not be written again */
    uint64_t bytes;
    size_t count;
    bool is_whole;
};

static int add_content(struct filling *f, const char *path, const struct content *content,
                       struct err *e)
{
    bool is_too_much = f->count >= REPEAT_COPY_MAX ||
                       (!f->is_near && f->bytes + content->size > REPEAT_COPY_BYTES);
    if (is_too_much) {
        f->is_whole = false;
        return 0;
    }
    f->count++;
    f->bytes += content->size;
    return place_add(f->place, f->commit, path, content, /* is_own= */ false, e);
}

/* The newest version from before; of the newest hundred. */
static int add_earlier(struct filling *f, const struct file_row *file, struct err *e)
{
    const struct page page = {.limit = PAGE_MAX};
    struct version_rows rows;
    int failed = 0;
    if (meta_version_list(f->place->service->o.meta, file->id, &page, &rows, e))
        return -1;
    for (size_t i = 0; i < rows.count; i++) {
        const struct version_row *v = &rows.items[i];
        if (v->created_us >= f->before_us)
            continue;
        if (v->change != CHANGE_DELETED)
            failed = add_content(f, v->path, &v->content, e);
        break;
    }
    version_rows_done(&rows);
    return failed;
}

static int add_file(struct filling *f, const struct file_row *file, struct err *e)
{
    if (file->created_us >= f->before_us)
        return 0;
    if (file->kind == FILE_DIR)
        return commit_mkdir(f->commit, file->path, e);
    return file->changed_us < f->before_us ? add_content(f, file->path, &file->content, e)
                                           : add_earlier(f, file, e);
}

static int add_all(struct filling *f, struct err *e)
{
    scoped(freep) char *after = NULL;
    do {
        const struct file_query query = {
            .prefix = "", .state = FILE_LIVE, .after = after, .limit = PAGE_MAX};
        struct file_rows rows;
        char *next = NULL;
        int failed = 0;
        if (meta_file_list(f->place->service->o.meta, f->place->wishes->ws->id, &query, &rows,
                           &next, e))
            return -1;
        for (size_t i = 0; i < rows.count && !failed; i++)
            failed = add_file(f, &rows.items[i], e);
        file_rows_done(&rows);
        free(after);
        after = next;
        if (failed)
            return -1;
    } while (after && f->is_whole);
    f->is_whole = f->is_whole && !after;
    return 0;
}

int place_fill(struct place *p, int64_t before_us, bool *ret_is_whole, struct err *e)
{
    scoped(commit_freep) struct commit *c = NULL;
    if (place_begin(p, &c, e))
        return -1;
    struct filling f = {.place = p,
                        .commit = c,
                        .before_us = before_us,
                        .is_near = strcmp(p->ws.vault, p->wishes->ws->vault) == 0,
                        .is_whole = true};
    struct err why = {0}; /* without room for all of it, what was read has to do */
    int failed = add_all(&f, &why) || (commit_count(c) > 0 && commit_finish(c, &why));
    if (failed && why.code != ERR_QUOTA && why.code != ERR_NO_SPACE && why.code != ERR_BUSY) {
        *e = why;
        return err_wrap(e, "copy the workspace");
    }
    *ret_is_whole = f.is_whole && !failed;
    return 0;
}
