#include "service/checkout.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "base/tree.h"
#include "service/checkout_int.h"
#include "store/meta.h"
#include "workspace/files.h"

enum {
    OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    NAME_SIZE = 64,
};

/* What begins so is being removed. */
static const char discarded[] = "gone-";

/* A workspace's layers. There while it has a chain or somebody uses it. */
struct shelf {
    struct checkouts *all;
    struct shelf *next; /* under all->lock, as is the next */
    size_t refs;        /* checkouts that are held, and calls */
    char workspace[ID_SIZE];
    pthread_mutex_t lock; /* held while layers are made; protects what is below */
    struct layer *top;    /* of the present chain; NULL: none. Holds a reference */
    int64_t used_us;      /* monotonic */
};

struct checkouts {
    int dir_fd;
    struct files *files;
    int64_t opened_us;    /* monotonic */
    pthread_mutex_t lock; /* protects the list; never taken with a shelf's */
    struct shelf *shelves;
};

static void layer_name(const struct layer *l, char ret[NAME_SIZE])
{
    (void)snprintf(ret, NAME_SIZE, "%llu-%llu", (unsigned long long)l->from,
                   (unsigned long long)l->to);
}

/* Removes a tree of that name, whatever is in it. */
static void remove_tree(int at, const char *name)
{
    struct err ignored = {0}; /* what stays is swept at the next start */
    scoped(fd_closep) int fd = openat(at, name, OPEN_DIR);
    if (fd >= 0)
        (void)tree_remove(fd, &ignored);
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

/* ---- the beginning: what an earlier server left ---- */

/* Says which start of the machine this is. */
static void boot_id(char ret[NAME_SIZE])
{
    size_t len = 0;
    struct err ignored = {0};
    scoped(fd_closep) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    memset(ret, 0, NAME_SIZE);
    if (fd >= 0)
        (void)fd_read_all(fd, ret, NAME_SIZE - 1, &len, &ignored);
    ret[strcspn(ret, "\n")] = '\0';
}

static void sweep(int dir_fd)
{
    struct dir d;
    int fd = openat(dir_fd, ".", OPEN_DIR);
    if (fd < 0)
        return;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));)
        remove_tree(dir_fd, entry->d_name);
    dir_done(&d);
}

/* Nothing in a layer was synced: what was written before the machine went down may be anything. Where there
 * is no room to say which boot it is, or less than all of it is said, the next server sweeps again. */
static int begin(int dir_fd, struct err *e)
{
    char now[NAME_SIZE], then[NAME_SIZE] = "";
    size_t len = 0;
    boot_id(now);
    scoped(fd_closep) int fd = openat(dir_fd, "boot", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return err_sys(e, errno, "open the checkouts");
    if (fd >= 0 && fd_read_all(fd, then, sizeof then - 1, &len, e))
        return err_wrap(e, "open the checkouts");
    if (*now && strcmp(now, then) == 0)
        return 0;
    (void)unlinkat(dir_fd, "boot", 0);
    sweep(dir_fd);
    scoped(fd_closep) int made =
        openat(dir_fd, "boot", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct err why = {0};
    if (made < 0)
        (void)err_sys(&why, errno, "open the checkouts");
    else
        (void)fd_write_all(made, now, strlen(now), &why);
    if (why.code && why.code != ERR_NO_SPACE) {
        *e = why;
        return -1;
    }
    return 0;
}

/* ---- layers ---- */

/* With shelf->lock held, as everything below that takes a shelf. */
static void layer_unref(const struct checkouts *c, struct shelf *shelf, struct layer *l)
{
    while (l && --l->refs == 0) {
        struct layer *below = l->below;
        char name[NAME_SIZE];
        layer_name(l, name);
        scoped(fd_closep) int at = openat(c->dir_fd, shelf->workspace, OPEN_DIR);
        if (at >= 0)
            remove_tree(at, name);
        (void)close(l->fd);
        free(l);
        l = below;
    }
}

/* A layer whose directory is there, on top of the chain. */
static int push(struct shelf *shelf, int ws_fd, uint64_t from, uint64_t to, struct err *e)
{
    char name[NAME_SIZE];
    struct layer *l = calloc(1, sizeof *l);
    if (!l)
        return err_set(e, ERR_NO_MEMORY, "check out");
    *l = (struct layer){.from = from, .to = to, .refs = 1, .below = from ? shelf->top : NULL};
    layer_name(l, name);
    l->fd = openat(ws_fd, name, OPEN_DIR);
    if (l->fd < 0) {
        (void)err_sys(e, errno, "open a checkout");
        free(l);
        return -1;
    }
    shelf->top = l; /* the chain's reference to what is below becomes the layer's */
    return 0;
}

/* The layer of an earlier server that begins at `from` and goes furthest; 0: none. */
static uint64_t find_next(int ws_fd, uint64_t from)
{
    struct dir d;
    uint64_t best = 0;
    int fd = openat(ws_fd, ".", OPEN_DIR);
    if (fd < 0)
        return 0;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));) {
        char *end = NULL, *last = NULL;
        uint64_t first = strtoull(entry->d_name, &end, 10);
        uint64_t to = *end == '-' ? strtoull(end + 1, &last, 10) : 0;
        if (last && *last == '\0' && first == from && to > from && to > best)
            best = to;
    }
    dir_done(&d);
    return best;
}

/* What an earlier server left of this workspace, up to its present revision. */
static void recall(struct shelf *shelf, int ws_fd, uint64_t head)
{
    struct err ignored = {0};
    uint64_t at = 0;
    for (uint64_t next; (next = find_next(ws_fd, at)) != 0 && next <= head; at = next)
        if (push(shelf, ws_fd, at, next, &ignored))
            return;
}

/* With c->lock held. */
static struct shelf *get_shelf(const struct checkouts *c, const char *workspace)
{
    struct shelf *s = c->shelves;
    while (s && strcmp(s->workspace, workspace) != 0)
        s = s->next;
    return s;
}

/* Its caller's to put back; NULL without memory. */
static struct shelf *find_shelf(struct checkouts *c, const char *workspace)
{
    pthread_mutex_lock(&c->lock);
    struct shelf *s = get_shelf(c, workspace);
    if (!s && (s = calloc(1, sizeof *s))) {
        s->all = c;
        s->used_us = clock_us();
        (void)snprintf(s->workspace, sizeof s->workspace, "%s", workspace);
        (void)pthread_mutex_init(&s->lock, NULL);
        s->next = c->shelves;
        c->shelves = s;
    }
    if (s)
        s->refs++;
    pthread_mutex_unlock(&c->lock);
    return s;
}

static void share_shelf(struct shelf *s)
{
    pthread_mutex_lock(&s->all->lock);
    s->refs++;
    pthread_mutex_unlock(&s->all->lock);
}

/* The last one who uses it forgets it, if there is nothing to remember. */
static void put_shelf(struct shelf *s)
{
    struct checkouts *c = s->all;
    pthread_mutex_lock(&c->lock);
    bool is_over = --s->refs == 0 && !s->top;
    for (struct shelf **at = &c->shelves; is_over && *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    pthread_mutex_unlock(&c->lock);
    if (!is_over)
        return;
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

size_t checkouts_count(struct checkouts *c)
{
    size_t count = 0;
    pthread_mutex_lock(&c->lock);
    for (const struct shelf *s = c->shelves; s; s = s->next)
        count++;
    pthread_mutex_unlock(&c->lock);
    return count;
}

/* ---- making a layer ---- */

/* Makes the layer from `from` to the workspace's revision under its final name. */
static int make_layer(struct checkouts *c, const struct workspace_row *ws, int ws_fd, uint64_t from,
                      const struct layer *old, struct err *e)
{
    static const char draft[] = "new";
    char name[NAME_SIZE];
    const struct layer as = {.from = from, .to = ws->rev};
    layer_name(&as, name);
    remove_tree(ws_fd, draft);
    if (mkdirat(ws_fd, draft, 0755))
        return err_sys(e, errno, "make a checkout");
    scoped(fd_closep) int fd = openat(ws_fd, draft, OPEN_DIR);
    if (fd < 0)
        return err_sys(e, errno, "open a checkout");
    const struct making m = {.files = c->files, .ws = ws, .from = from, .fd = fd, .old = old};
    if (checkout_fill(&m, e)) {
        remove_tree(ws_fd, draft);
        return -1;
    }
    remove_tree(ws_fd, name);
    return renameat(ws_fd, draft, ws_fd, name) ? err_sys(e, errno, "name a checkout") : 0;
}

/* ---- taking one ---- */

static size_t chain_length(const struct layer *top)
{
    size_t count = 0;
    for (; top; top = top->below)
        count++;
    return count;
}

static int bring_to_head(struct checkouts *c, struct shelf *shelf, const struct workspace_row *ws,
                         struct err *e)
{
    if (mkdirat(c->dir_fd, ws->id, 0755) && errno != EEXIST)
        return err_sys(e, errno, "make a checkout");
    scoped(fd_closep) int ws_fd = openat(c->dir_fd, ws->id, OPEN_DIR);
    if (ws_fd < 0)
        return err_sys(e, errno, "open a checkout");
    if (!shelf->top)
        recall(shelf, ws_fd, ws->rev);
    struct layer *old = shelf->top;
    if (old && old->to >= ws->rev)
        return 0;
    bool is_whole = !old || chain_length(old) >= CHECKOUT_LAYERS_MAX;
    if (make_layer(c, ws, ws_fd, is_whole ? 0 : old->to, old, e) ||
        push(shelf, ws_fd, is_whole ? 0 : old->to, ws->rev, e))
        return -1;
    if (is_whole)
        layer_unref(c, shelf, old);
    return 0;
}

int checkout_take(struct checkouts *c, const struct workspace_row *ws, struct checkout *ret,
                  struct err *e)
{
    struct shelf *shelf = find_shelf(c, ws->id);
    if (!shelf)
        return err_set(e, ERR_NO_MEMORY, "check out");
    *ret = (struct checkout){.shelf = shelf};
    pthread_mutex_lock(&shelf->lock);
    int failed = bring_to_head(c, shelf, ws, e);
    if (failed && e->code == ERR_NO_SPACE && shelf->top) {
        *e = (struct err){0}; /* what there was before is of use, too */
        failed = 0;
    }
    assert(failed || shelf->top);
    for (struct layer *l = failed ? NULL : shelf->top; l; l = l->below) {
        l->refs++;
        ret->fds[ret->count] = l->fd;
        ret->layers[ret->count++] = l;
    }
    if (!failed)
        ret->rev = shelf->top->to;
    shelf->used_us = clock_us();
    pthread_mutex_unlock(&shelf->lock);
    if (!failed)
        return 0;
    put_shelf(shelf);
    *ret = (struct checkout){0};
    return err_wrap(e, "check out the workspace");
}

void checkout_share(const struct checkout *from, struct checkout *ret)
{
    *ret = *from;
    if (!from->shelf)
        return;
    share_shelf(from->shelf);
    pthread_mutex_lock(&from->shelf->lock);
    for (size_t i = 0; i < from->count; i++)
        from->layers[i]->refs++;
    pthread_mutex_unlock(&from->shelf->lock);
}

void checkout_release(struct checkouts *c, struct checkout *checkout)
{
    struct shelf *shelf = checkout->shelf;
    if (!shelf)
        return;
    pthread_mutex_lock(&shelf->lock);
    for (size_t i = 0; i < checkout->count; i++)
        layer_unref(c, shelf, checkout->layers[i]);
    shelf->used_us = clock_us();
    pthread_mutex_unlock(&shelf->lock);
    put_shelf(shelf);
    *checkout = (struct checkout){0};
}

/* ---- the end ---- */

/* Lets go of the chain; its layers go when nobody has them mounted. */
static void drop_chain(struct checkouts *c, struct shelf *shelf)
{
    layer_unref(c, shelf, shelf->top);
    shelf->top = NULL;
}

/* Whether nobody has any of its layers mounted. One that is mounted would be found on the disk by the next
 * checkout, taken for a layer that nobody has, and be removed by those who still had it. */
static bool is_idle(const struct layer *l)
{
    for (; l; l = l->below)
        if (l->refs != 1)
            return false;
    return true;
}

static bool is_deleted(const struct checkouts *c, const char *workspace)
{
    struct workspace_row row;
    struct err e = {0};
    if (meta_workspace_get(files_meta(c->files), workspace, &row, &e))
        return e.code == ERR_NOT_FOUND;
    workspace_row_done(&row);
    return false;
}

/* The one after `s`, which is put back; NULL: the first. */
static struct shelf *next_shelf(struct checkouts *c, struct shelf *s)
{
    pthread_mutex_lock(&c->lock);
    struct shelf *next = s ? s->next : c->shelves;
    if (next)
        next->refs++;
    pthread_mutex_unlock(&c->lock);
    if (s)
        put_shelf(s);
    return next;
}

/* Of which nothing is remembered: takes it away under another name, so that it can be made again meanwhile. */
static void discard(struct checkouts *c, const char *workspace)
{
    char name[NAME_SIZE + sizeof discarded];
    (void)snprintf(name, sizeof name, "%s%.63s", discarded, workspace);
    remove_tree(c->dir_fd, name);
    pthread_mutex_lock(&c->lock);
    bool is_ours = !get_shelf(c, workspace) && renameat(c->dir_fd, workspace, c->dir_fd, name) == 0;
    pthread_mutex_unlock(&c->lock);
    if (is_ours)
        remove_tree(c->dir_fd, name);
}

static void tidy_disk(struct checkouts *c, int64_t unused_us)
{
    struct dir d;
    int fd = openat(c->dir_fd, ".", OPEN_DIR);
    if (fd < 0)
        return;                                           /* the next time, then */
    bool is_old = clock_us() - c->opened_us >= unused_us; /* nobody wanted them since the start */
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));) {
        if (strncmp(entry->d_name, discarded, strlen(discarded)) == 0)
            remove_tree(c->dir_fd, entry->d_name);
        else if (strcmp(entry->d_name, "boot") != 0 && (is_old || is_deleted(c, entry->d_name)))
            discard(c, entry->d_name);
    }
    dir_done(&d);
}

void checkouts_tidy(struct checkouts *c, int64_t unused_us)
{
    for (struct shelf *s = next_shelf(c, NULL); s; s = next_shelf(c, s)) {
        bool is_gone = is_deleted(c, s->workspace);
        pthread_mutex_lock(&s->lock);
        if (s->top && is_idle(s->top) && (is_gone || clock_us() - s->used_us >= unused_us))
            drop_chain(c, s);
        pthread_mutex_unlock(&s->lock);
    }
    tidy_disk(c, unused_us);
}

int checkouts_open(int dir_fd, struct files *files, struct checkouts **ret, struct err *e)
{
    if (begin(dir_fd, e))
        return -1;
    struct checkouts *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, ERR_NO_MEMORY, "open the checkouts");
    c->dir_fd = dir_fd;
    c->files = files;
    c->opened_us = clock_us();
    (void)pthread_mutex_init(&c->lock, NULL);
    *ret = c;
    return 0;
}

/* The directories stay for the next server. */
static void free_shelf(struct shelf *s)
{
    while (s->top) {
        struct layer *l = s->top;
        s->top = l->below;
        (void)close(l->fd);
        free(l);
    }
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

void checkouts_close(struct checkouts *c)
{
    if (!c)
        return;
    while (c->shelves) {
        struct shelf *s = c->shelves;
        c->shelves = s->next;
        free_shelf(s);
    }
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}
