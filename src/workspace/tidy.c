/* What time brings: the trash is emptied, versions are thinned, forgotten uploads go, and links that ended long ago. */
#include "base/err.h"
#include "store/meta_locks.h"
#include "workspace/files.h"
#include "workspace/files_int.h"
#include "workspace/shares.h"

enum {
    TIDY_STEP = 500,      /* rows that one transaction removes */
    TIDY_STEPS_MAX = 200, /* of one kind in one call; the rest comes with the next */
};

static int empty_trash_of(struct files *f, const char *workspace, int64_t before_us, size_t *steps,
                          struct err *e)
{
    uint64_t count = TIDY_STEP;
    for (; *steps > 0 && count == TIDY_STEP; (*steps)--)
        if (meta_tidy_trash(f->o.meta, workspace, before_us, TIDY_STEP, &count, e))
            return -1;
    return 0;
}

static int empty_trash(struct files *f, int64_t now_us, struct err *e)
{
    if (f->o.trash_days == 0)
        return 0;
    int64_t before_us = now_us - f->o.trash_days * DAY_US;
    size_t steps = TIDY_STEPS_MAX;
    struct page page = {.limit = PAGE_MAX};
    char cursor[CURSOR_SIZE];
    for (bool has_more = true; has_more;) {
        struct workspace_rows rows;
        if (meta_workspace_list(f->o.meta, /* owner= */ NULL, WORKSPACE_ANY, &page, &rows, e))
            return -1;
        int failed = 0;
        for (size_t i = 0; i < rows.count && !failed; i++) {
            size_t left = steps ? steps : 1; /* every workspace gets one, however full another is */
            failed = empty_trash_of(f, rows.items[i].id, before_us, &left, e);
            steps = steps ? left : 0;
        }
        has_more = rows.has_more;
        memcpy(cursor, rows.next, CURSOR_SIZE);
        page.cursor = cursor;
        workspace_rows_done(&rows);
        if (failed)
            return err_wrap(e, "empty the trash");
    }
    return 0;
}

static int thin(struct files *f, int64_t now_us, struct err *e)
{
    const struct thinning_rule *rule = &f->o.thinning;
    if (rule->keep_last == 0 && rule->keep_days == 0)
        return 0;
    const struct thinning thinning = {
        .keep_last = rule->keep_last,
        .older_than_us = rule->keep_days ? now_us - rule->keep_days * DAY_US : 0,
    };
    uint64_t count = TIDY_STEP;
    for (size_t i = 0; i < TIDY_STEPS_MAX && count == TIDY_STEP; i++)
        if (meta_thin(f->o.meta, &thinning, TIDY_STEP, &count, e))
            return err_wrap(e, "thin the versions");
    return 0;
}

int files_tidy(struct files *f, int64_t now_us, struct err *e)
{
    uint64_t ended;
    /* All are tried, whatever happens to the others; the last failure is told. */
    int failed = empty_trash(f, now_us, e);
    failed |= thin(f, now_us, e);
    failed |= meta_lock_sweep(f->o.meta, now_us, &ended, e); /* more than some come with the next */
    failed |= shares_tidy(f, now_us, e);
    if (has_uploads(f))
        failed |= uploads_tidy(f, now_us, e);
    return failed ? -1 : 0;
}
