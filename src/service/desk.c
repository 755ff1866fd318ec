/* desk.c -- the life of a working copy. */
#include "service/desk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/tree.h"
#include "service/desk_int.h"
#include "service/service_int.h"
#include "session/session.h"
#include "session/working.h"
#include "workspace/files.h"

enum {
    OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    NEWS_PAGE = 1000,
    BLOCK = 4096,
};
static const char awake[] = "awake";

/* That we may not is our own fault, not something a client could do anything about. */
static int fault(struct err *e)
{
    if (e->code == ERR_DENIED)
        e->code = ERR_INTERNAL;
    return -1;
}

/* ---- opening ---- */

static int open_dir(struct desk *d, struct err *e)
{
    int live_fd = d->service->o.live_fd;
    /* Without mounts a session comes by here on its way to `data`, which is closed to all others; with
     * them nobody comes past DATA. */
    d->is_new = mkdirat(live_fd, d->session, 0711) == 0;
    if (!d->is_new && errno != EEXIST)
        return err_sys(e, errno, "make the session's directory");
    d->dir_fd = openat(live_fd, d->session, OPEN_DIR);
    if (d->dir_fd < 0)
        return err_sys(e, errno, "open the session's directory");
    if (mkdirat(d->dir_fd, "data", 0700) && errno != EEXIST)
        return err_sys(e, errno, "make the session's directory");
    d->is_overlay = faccessat(d->dir_fd, "work", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    d->is_marked = faccessat(d->dir_fd, awake, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return 0;
}

static void set_name(struct desk *d, const char *session)
{
    size_t len = strlen(session);
    (void)snprintf(d->session, sizeof d->session, "%s", session);
    (void)snprintf(d->mark, sizeof d->mark, "session %s", session + (len > 8 ? len - 8 : 0));
}

int desk_open(const struct desk_options *options, struct desk **ret, struct err *e)
{
    struct desk *d = calloc(1, sizeof *d);
    if (!d)
        return err_set(e, ERR_NO_MEMORY, "open a working copy");
    d->service = options->service;
    d->undo_max = options->undo_max;
    d->dir_fd = -1;
    set_name(d, options->session);
    (void)snprintf(d->workspace, sizeof d->workspace, "%s", options->workspace);
    d->pen = options->pen;
    (void)pthread_mutex_init(&d->lock, NULL);
    if (open_dir(d, e)) {
        desk_close(d);
        return fault(e);
    }
    d->has_others = d->is_behind = !d->is_new; /* that is not written down */
    if (!d->is_new && desk_load_own(d, e)) {
        desk_close(d);
        return -1;
    }
    *ret = d;
    return 0;
}

void desk_close(struct desk *d)
{
    if (!d)
        return;
    working_close(d->working);
    checkout_release(d->service->checkouts, &d->checkout);
    for (size_t i = 0; i < d->own.count; i++) {
        free(d->own.items[i].path);
        free(d->own.items[i].aside);
    }
    free(d->own.items);
    desk_set_unsaved(d, NULL, 0);
    capture_done(&d->pending);
    undone_done(&d->before);
    for (size_t i = 0; i < d->undo_count; i++)
        undone_done(&d->undo[i]);
    free(d->undo);
    for (size_t i = 0; i < d->gone_count; i++)
        free(d->gone[i]);
    free(d->gone);
    fd_closep(&d->dir_fd);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}

void desk_remove(struct desk *d)
{
    struct err ignored = {0}; /* what stays makes the last line fail, and is swept later */
    pthread_mutex_lock(&d->lock);
    working_close(d->working);
    d->working = NULL;
    checkout_release(d->service->checkouts, &d->checkout);
    (void)tree_remove(d->dir_fd, &ignored);
    (void)unlinkat(d->service->o.live_fd, d->session, AT_REMOVEDIR);
    pthread_mutex_unlock(&d->lock);
}

bool desk_has_unsaved(struct desk *d)
{
    pthread_mutex_lock(&d->lock);
    bool has_unsaved = d->has_unsaved;
    pthread_mutex_unlock(&d->lock);
    return has_unsaved;
}

bool desk_was_left(int live_fd, const char *session)
{
    char path[ID_SIZE + sizeof awake + 1];
    (void)snprintf(path, sizeof path, "%s/%s", session, awake);
    return faccessat(live_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- layers ---- */

bool desk_has_kernel(struct session *session)
{
    struct session_info info;
    session_look(session, &info);
    return life_has_kernel(info.life);
}

bool desk_is_mounted(const struct desk *d, struct session *session)
{
    return d->is_overlay && desk_has_kernel(session);
}

static int open_working(struct desk *d, bool is_at_rest, struct err *e)
{
    const struct working_options options = {.dir_fd = d->dir_fd,
                                            .lower_fds = d->checkout.fds,
                                            .lower_count = d->checkout.count,
                                            .ignore = d->service->o.ignore,
                                            .file_max = d->service->o.file_max};
    struct working *opened;
    if (working_open(&options, &opened, e))
        return fault(e);
    working_close(d->working);
    d->working = opened;
    if (is_at_rest && working_tidy(d->working, e))
        return fault(e);
    d->is_known = d->is_known && !d->has_unsaved;
    return d->is_known && working_all_known(d->working, e) ? -1 : 0;
}

int desk_look_anew(struct desk *d, struct err *e)
{
    d->is_known = false;
    return open_working(d, /* is_at_rest= */ false, e);
}

int desk_mount(struct desk *d, const struct workspace_row *ws, struct err *e)
{
    if (!d->is_overlay)
        return d->working ? 0 : open_working(d, /* is_at_rest= */ false, e);
    if (d->working && d->checkout.count > 0 && d->checkout.rev == ws->rev)
        return 0;
    checkout_release(d->service->checkouts, &d->checkout);
    if (checkout_take(d->service->checkouts, ws, &d->checkout, e))
        return -1;
    return open_working(d, /* is_at_rest= */ true,
                        e); /* nobody can have written meanwhile: what was known still is */
}

/* ---- ready ---- */

/* Of a new copy; a plain one may become an overlay later (desk_thin.c). */
static int choose_kind(struct desk *d, const struct workspace_row *ws, struct err *e)
{
    if (!d->is_new || !desk_may_layer(d, ws))
        return 0;
    if (mkdirat(d->dir_fd, "work", 0700) && errno != EEXIST)
        return err_sys(e, errno, "make the session's directory");
    d->is_overlay = true;
    return 0;
}

static int begin_new(struct desk *d, const struct workspace_row *ws, struct err *e)
{
    if (d->pen.is_blind) {
        d->is_known = true;
        d->is_new = false;
        return desk_mount(d, ws, e);
    }
    if (!d->is_overlay && ws->rev > 0 && desk_fill(d, ws, e))
        return -1;
    d->is_known = true;
    if (desk_mount(d, ws, e))
        return -1;
    uint64_t rev = d->is_overlay ? d->checkout.rev : ws->rev;
    if (rev > 0 && meta_session_set_base(d->service->o.meta, d->session, rev, /* paths= */ NULL, 0,
                                         /* is_all= */ false, e))
        return -1;
    d->base = rev;
    d->is_new = false;
    return 0;
}

/* The run that was under way, or the one before. */
static void find_last_run(const struct desk *d, char ret[ID_SIZE])
{
    struct run_rows rows;
    struct err ignored = {0}; /* then it is not told */
    const struct run_filter filter = {.session = d->session, .is_brief = true};
    const struct page page = {.limit = 1};
    if (meta_run_list(d->service->o.meta, &filter, &page, &rows, &ignored))
        return;
    if (rows.count > 0)
        memcpy(ret, rows.items[0].id, ID_SIZE);
    run_rows_done(&rows);
}

/* What an earlier server, or one that could not write, left. */
static int recover(struct desk *d, struct err *e)
{
    struct author author = desk_author(d);
    if (!*author.run)
        find_last_run(d, author.run);
    struct capture found = {0};
    if (desk_commit(d, &author, COMMIT_RECOVERED, /* run= */ 0, &found, e))
        return err_wrap(e, "keep what was left");
    capture_done(&found);
    return 0;
}

static int mark_awake(struct desk *d, struct err *e)
{
    if (d->is_marked)
        return 0;
    scoped(fd_closep) int fd =
        openat(d->dir_fd, awake, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, errno, "mark the session");
    d->is_marked = true;
    return 0;
}

/* The copy costs more than it has to until the next time. */
static void thin(struct desk *d, const struct workspace_row *ws)
{
    struct err e = {0};
    if (desk_thin(d, ws, &e))
        log_line(d->service->o.log, LOG_WARNING, "a working copy could not be made smaller",
                 LOG_STR("session", d->session), LOG_STR("why", e.text));
}

/* The workspace has grown since the copy was made: what it has of others is in layers from now on. */
static int move_to_layers(struct desk *d, const struct workspace_row *ws, struct err *e)
{
    const struct author author = desk_author(d);
    if (d->is_overlay || !desk_may_layer(d, ws))
        return 0;
    if (desk_commit(d, &author, COMMIT_RUN, /* run= */ 0, NULL, e))
        return err_wrap(e, "keep what the session wrote");
    thin(d, ws);
    return desk_mount(d, ws, e);
}

static int make_ready(struct desk *d, struct session *session, const struct workspace_row *ws,
                      struct err *e)
{
    bool is_at_rest = !desk_has_kernel(session);
    if (is_at_rest && choose_kind(d, ws, e))
        return -1;
    if (d->is_new ? begin_new(d, ws, e) : (is_at_rest || !d->working) && desk_mount(d, ws, e))
        return -1;
    if (!d->is_known && recover(d, e))
        return -1;
    if (is_at_rest && move_to_layers(d, ws, e))
        return -1;
    bool is_old = d->base < ws->rev || d->is_behind ||
                  (is_at_rest && d->is_overlay && d->checkout.rev < ws->rev);
    return is_old && !d->pen.is_blind ? desk_catch_up(d, session, ws, /* is_all= */ false, e) : 0;
}

int desk_ready(struct desk *d, struct session *session, const struct jail_data **ret, struct err *e)
{
    struct workspace_row ws;
    if (files_workspace_known(d->service->o.files, d->workspace, &ws, e))
        return -1;
    pthread_mutex_lock(&d->lock);
    int failed = make_ready(d, session, &ws, e) || mark_awake(d, e);
    if (!failed)
        *ret = working_data(d->working);
    pthread_mutex_unlock(&d->lock);
    workspace_row_done(&ws);
    return failed ? -1 : 0;
}

/* Bytes of others, in blocks, that would have to be copied; stops when it is more than `enough`. */
static int count_news(const struct desk *d, uint64_t enough, uint64_t *ret, struct err *e)
{
    uint64_t since = d->base, after = since, bytes = 0;
    for (bool has_more = true; has_more && bytes <= enough;) {
        struct file_rows rows;
        if (meta_file_changes_after(d->service->o.meta, d->workspace, since, after, NEWS_PAGE,
                                    &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count; i++) {
            const struct file_row *f = &rows.items[i];
            bool is_news = f->kind == FILE_REGULAR && f->rev > desk_since(d, f->path);
            if (f->state == FILE_LIVE && is_news)
                bytes += (f->content.size + BLOCK - 1) / BLOCK * BLOCK;
            after = f->rev;
        }
        has_more = rows.has_more;
        file_rows_done(&rows);
    }
    *ret = bytes + d->behind_bytes;
    return 0;
}

/* Writing down what it has in memory must not cost more than the copies. */
bool desk_wants_layers(struct desk *d, struct session *session)
{
    struct workspace_row ws;
    struct session_info info;
    uint64_t bytes = 0;
    struct err ignored = {0}; /* then files are copied */
    session_look(session, &info);
    if (!life_has_kernel(info.life) || info.snapshots > 0 ||
        files_workspace_known(d->service->o.files, d->workspace, &ws, &ignored))
        return false;
    uint64_t enough =
        info.memory_bytes > DESK_PLAIN_BYTES ? info.memory_bytes : (uint64_t)DESK_PLAIN_BYTES;
    pthread_mutex_lock(&d->lock);
    bool is_so = (d->base < ws.rev || d->is_behind) && desk_may_layer(d, &ws) &&
                 count_news(d, enough, &bytes, &ignored) == 0 && bytes > 0 &&
                 d->copied_bytes + bytes > enough &&
                 files_check_room(d->service->o.files, ROOM_FOR_COPIES, bytes, 0, &ignored) == 0;
    if (is_so)
        d->copied_bytes = 0; /* if it cannot sleep, it is asked again after as much more */
    pthread_mutex_unlock(&d->lock);
    workspace_row_done(&ws);
    return is_so;
}

int desk_refresh(struct desk *d, struct session *session, struct err *e)
{
    struct workspace_row ws;
    if (desk_pen(d).is_blind)
        return err_set(
            e, ERR_DENIED,
            "this session was made by a key that may not read files (scope files:read): nothing "
            "is brought to it");
    if (files_workspace_known(d->service->o.files, d->workspace, &ws, e))
        return -1;
    pthread_mutex_lock(&d->lock);
    int failed =
        make_ready(d, session, &ws, e) || desk_catch_up(d, session, &ws, /* is_all= */ true, e);
    pthread_mutex_unlock(&d->lock);
    workspace_row_done(&ws);
    return failed ? -1 : 0;
}

/* Left by an earlier server, and nobody has looked at it since. */
static int look_at_leftovers(struct desk *d, struct err *e)
{
    struct workspace_row ws;
    if (d->working || !d->is_marked || d->is_new)
        return 0;
    if (files_workspace_known(d->service->o.files, d->workspace, &ws, e))
        return -1;
    int failed = desk_mount(d, &ws, e) || recover(d, e);
    workspace_row_done(&ws);
    return failed ? -1 : 0;
}

/* Not of a session that is closed, whose copy goes, nor when the server stops and others wait. */
static void rest_thin(struct desk *d, struct session *session)
{
    struct workspace_row ws;
    struct session_info info;
    struct err ignored = {0}; /* then it is done when it wakes */
    session_look(session, &info);
    if (d->is_new || info.life == LIFE_GONE || d->service->is_stopping ||
        files_workspace_known(d->service->o.files, d->workspace, &ws, &ignored))
        return;
    thin(d, &ws);
    workspace_row_done(&ws);
}

int desk_rest(struct desk *d, struct session *session, struct err *e)
{
    struct capture found = {0};
    pthread_mutex_lock(&d->lock);
    const struct author author = desk_author(d);
    int failed = desk_has_kernel(session) ? 0 : look_at_leftovers(d, e);
    if (!failed && d->working && !desk_has_kernel(session)) {
        failed = desk_commit(d, &author, COMMIT_RUN, /* run= */ 0, &found, e);
        capture_done(&found);
        desk_sync_undo(d);
        if (!failed)
            rest_thin(d, session);
        if (d->is_overlay) {
            working_close(d->working);
            d->working = NULL;
            checkout_release(d->service->checkouts, &d->checkout);
        }
        if (!failed && !d->has_unsaved && d->is_marked && unlinkat(d->dir_fd, awake, 0) == 0)
            d->is_marked = false;
    }
    pthread_mutex_unlock(&d->lock);
    return failed;
}

/* ---- branching ---- */

static int check_room_for_copy(const struct desk *d, struct err *e)
{
    uint64_t bytes, files;
    working_size(d->working, &bytes, &files);
    return files_check_room(d->service->o.files, ROOM_FOR_COPIES, bytes, files, e);
}

int desk_branch(struct desk *d, struct desk *to, uint64_t bytes_max, const struct jail_data **ret,
                struct err *e)
{
    struct workspace_row ws;
    if (files_workspace_known(d->service->o.files, d->workspace, &ws, e))
        return -1;
    pthread_mutex_lock(&d->lock);
    int failed = 0;
    to->is_overlay = d->is_overlay;
    to->is_new = false;
    to->base = d->base;
    to->has_others = d->has_others;
    to->is_behind = d->is_behind;
    for (size_t i = 0; i < d->own.count && !failed; i++)
        failed =
            desk_set_own(to, d->own.items[i].path, d->own.items[i].rev, d->own.items[i].aside, e);
    if (!failed && to->is_overlay && mkdirat(to->dir_fd, "work", 0700) && errno != EEXIST)
        failed = err_sys(e, errno, "make the session's directory");
    if (!failed && !d->working)
        failed = desk_mount(d, &ws, e);
    if (!failed && d->is_overlay)
        checkout_share(&d->checkout, &to->checkout);
    if (!failed)
        failed = check_room_for_copy(d, e) || open_working(to, /* is_at_rest= */ false, e) ||
                 working_copy(d->working, to->working, bytes_max, e) ||
                 (!d->has_unsaved && working_all_known(to->working, e)) || mark_awake(to, e);
    to->has_unsaved = d->has_unsaved;
    to->is_known = !d->has_unsaved; /* otherwise what is not saved has to be found in it, too */
    pthread_mutex_unlock(&d->lock);
    workspace_row_done(&ws);
    if (failed)
        return -1;
    *ret = working_data(to->working);
    return 0;
}

int desk_rename(struct desk *d, const char *session, struct err *e)
{
    int live_fd = d->service->o.live_fd;
    if (renameat(live_fd, d->session, live_fd, session))
        return err_sys(e, errno, "name the session's directory");
    pthread_mutex_lock(&d->lock);
    set_name(d, session);
    pthread_mutex_unlock(&d->lock);
    return 0;
}

int desk_branched(struct desk *d, struct desk *to, struct err *e)
{
    return meta_session_copy_base(d->service->o.meta, d->session, to->session, e);
}
