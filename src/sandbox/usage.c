#include "sandbox/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/walk.h"
#include "sandbox/held.h"
#include "sandbox/inodes.h"

enum { USAGE_ENTRIES_MAX = 1 << 22 }; /* of one walk: somebody adds entries as fast as we read */

struct tally {
    uint64_t bytes, files;
};

/* One look at the tree, and one at what processes hold. Each has a previous one, because what
 * vanished is told by comparing. */
struct usage {
    int data_fd;
    struct walk *walk;
    struct held held;
    pid_t init;
    uid_t as; /* 0: no other */

    int foreign_fd; /* a file that does not count; -1: none */
    uint64_t foreign_inode;

    bool is_in_tree; /* the walk is not through yet */
    uint32_t walked, hidden;
    struct tally tree;                   /* of the walk at hand */
    struct inodes tree_now, tree_before; /* regular files */

    bool is_holding;     /* a scan of the processes is under way, maybe since an earlier round */
    uint32_t held_steps; /* in this round */
    struct inodes held_now, held_before;
    bool is_held_hiding; /* as of the last complete scan */

    struct inodes ghosts; /* vanished while something was hidden */
    uint32_t hidden_at_start;
    struct tally start, last;
    int64_t spent_us, round_us;
};

static void count(struct tally *t, uint64_t bytes)
{
    t->bytes += bytes;
    t->files++;
}

static void begin_round(struct usage *u)
{
    struct stat st;
    walk_restart(u->walk);
    u->is_in_tree = true;
    u->walked = u->hidden = 0;
    u->held_steps = 0;
    u->tree = (struct tally){0};
    u->spent_us = 0;
    if (fstat(u->data_fd, &st) == 0)
        u->tree.bytes = (uint64_t)st.st_blocks * 512;
    if (!u->is_holding) {
        held_begin(&u->held, u->init);
        u->is_holding = true;
    }
}

static void look_at(struct usage *u, const struct walk_entry *entry)
{
    uint64_t bytes = entry->st.stx_blocks * 512;
    if (entry->error) {
        u->hidden++;
    } else if (entry->is_other_mount) {
        return;
    } else if (S_ISREG(entry->st.stx_mode)) {
        if (inodes_add(&u->tree_now, entry->st.stx_ino, bytes))
            count(&u->tree, bytes);
    } else {
        count(&u->tree, bytes);
        int failed = S_ISDIR(entry->st.stx_mode) ? walk_enter(u->walk) : 0;
        if (failed && failed != -ENOENT && failed != -ENOTDIR && failed != -ELOOP)
            u->hidden++;
    }
}

static void tree_step(struct usage *u)
{
    struct walk_entry entry;
    if (++u->walked > USAGE_ENTRIES_MAX || !walk_next(u->walk, &entry))
        u->is_in_tree = false;
    else
        look_at(u, &entry);
}

/* Open files that have a name are the tree's business, and those elsewhere are nobody's. But one
 * that the tree had shown before may grow in a directory it cannot be seen in any more. */
static bool is_of_session(const struct usage *u, const struct held_file *file)
{
    if (u->foreign_fd >= 0 && file->inode == u->foreign_inode)
        return false;
    return file->is_deleted || inodes_has(&u->tree_before, file->inode) ||
           inodes_has(&u->ghosts, file->inode);
}

static uint64_t bytes_of(const struct usage *u, const struct held_file *file)
{
    uint64_t known = inodes_bytes(&u->tree_before, file->inode);
    if (known < inodes_bytes(&u->held_before, file->inode))
        known = inodes_bytes(&u->held_before, file->inode);
    return file->is_bytes_known || file->bytes > known ? file->bytes : known;
}

static void held_done_with(struct usage *u)
{
    u->is_holding = false;
    u->is_held_hiding = held_in_flight(&u->held) > 0 || held_denied(&u->held) > 0;
}

static void held_slice(struct usage *u)
{
    struct held_file file;
    u->held_steps++;
    if (u->as != 0) { /* if it is not taken, we see less */
        (void)setfsgid(u->as);
        (void)setfsuid(u->as);
    }
    enum held_result result = held_step(&u->held, &file);
    if (u->as != 0) {
        (void)setfsuid(geteuid());
        (void)setfsgid(getegid());
    }
    switch (result) {
    case HELD_FILE:
        if (is_of_session(u, &file))
            (void)inodes_add(&u->held_now, file.inode, bytes_of(u, &file));
        break;
    case HELD_END: held_done_with(u); break;
    default: break;
    }
}

static void swap(struct inodes *a, struct inodes *b)
{
    struct inodes was = *a;
    *a = *b;
    *b = was;
}

static void haunt(struct usage *u, const struct inodes *from)
{
    for (size_t i = 0; i < from->cap; i++)
        if (from->slots[i].inode != 0)
            (void)inodes_add(&u->ghosts, from->slots[i].inode, from->slots[i].bytes);
}

static bool is_hiding(const struct usage *u)
{
    return u->hidden > u->hidden_at_start || walk_lost(u->walk) > 0 || u->is_held_hiding ||
           held_in_flight(&u->held) > 0;
}

/* What of `from` is in neither of the others. */
static void count_unseen(struct tally *t, const struct inodes *from, const struct inodes *seen,
                         const struct inodes *also_seen)
{
    for (size_t i = 0; i < from->cap; i++) {
        const struct inode_slot *slot = &from->slots[i];
        if (slot->inode != 0 && !inodes_has(seen, slot->inode) &&
            !(also_seen && inodes_has(also_seen, slot->inode)))
            count(t, slot->bytes);
    }
}

static void end_round(struct usage *u)
{
    if (is_hiding(u)) {
        haunt(u, &u->held_before);
        haunt(u, &u->tree_before);
    } else {
        inodes_clear(&u->ghosts);
    }
    if (!u->is_holding) {
        swap(&u->held_before, &u->held_now);
        inodes_clear(&u->held_now);
    }
    u->last = u->tree;
    count_unseen(&u->last, &u->held_before, &u->tree_now, /* also_seen= */ NULL);
    count_unseen(&u->last, &u->ghosts, &u->tree_now, &u->held_before);
    swap(&u->tree_before, &u->tree_now);
    inodes_clear(&u->tree_now);
}

bool usage_step(struct usage *u, uint32_t entries)
{
    int64_t begun_us = clock_us();
    bool is_round_over = false;
    for (; entries > 0 && !is_round_over; entries--) {
        if (u->is_in_tree)
            tree_step(u);
        else if (u->is_holding && u->held_steps < USAGE_HELD_SHARE)
            held_slice(u);
        else
            is_round_over = true;
    }
    u->spent_us += clock_us() - begun_us;
    if (is_round_over) {
        end_round(u);
        u->round_us = u->spent_us;
        begin_round(u);
    }
    return is_round_over;
}

void usage_restart(struct usage *u)
{
    inodes_clear(&u->tree_now);
    begin_round(u);
}

int usage_new(int data_fd, struct usage **ret, struct err *e)
{
    struct stat st;
    scoped(fd_closep) int fd = fcntl(data_fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "watch the data directory");
    struct usage *u = calloc(1, sizeof *u);
    if (!u)
        return err_set(e, ERR_NO_MEMORY, "watch the data directory");
    held_init(&u->held, st.st_dev);
    u->foreign_fd = -1;
    u->data_fd = take_fd(&fd);
    if (walk_new(u->data_fd, &u->walk, e)) {
        usage_free(u);
        return err_wrap(e, "watch the data directory");
    }
    begin_round(u);
    while (u->is_in_tree)
        tree_step(u);
    u->hidden_at_start = u->hidden;
    u->is_holding = false; /* nobody is there yet */
    end_round(u);
    u->start = u->last;
    begin_round(u);
    *ret = u;
    return 0;
}

void usage_free(struct usage *u)
{
    if (!u)
        return;
    walk_free(u->walk);
    held_done(&u->held);
    inodes_done(&u->tree_now);
    inodes_done(&u->tree_before);
    inodes_done(&u->held_now);
    inodes_done(&u->held_before);
    inodes_done(&u->ghosts);
    fd_closep(&u->foreign_fd);
    fd_closep(&u->data_fd);
    free(u);
}

void usage_set_init(struct usage *u, pid_t init, uid_t as)
{
    u->init = init;
    u->as = as;
    inodes_clear(&u->held_now);
    held_begin(&u->held, init);
    u->is_holding = true;
}

int usage_ignore(struct usage *u, int fd, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st))
        return err_sys(e, errno, "look at a file that does not count");
    if (st.st_dev != u->held.device)
        return 0; /* its number means another file here, and nobody counts it anyway */
    u->foreign_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (u->foreign_fd < 0)
        return err_sys(e, errno, "keep a file that does not count");
    u->foreign_inode = st.st_ino;
    return 0;
}

void usage_also(struct usage *u, dev_t device)
{
    u->held.also = device;
}

/* The round under way counts as soon as it has found more than the last one. */
static uint64_t grown(uint64_t start, uint64_t last, uint64_t now)
{
    uint64_t most = last > now ? last : now;
    return most > start ? most - start : 0;
}

void usage_grant(struct usage *u, uint64_t bytes, uint64_t files)
{
    u->start.bytes += bytes;
    u->start.files += files;
}

struct usage_total usage_total(const struct usage *u)
{
    return (struct usage_total){.bytes = grown(0, u->last.bytes, u->tree.bytes),
                                .files = grown(0, u->last.files, u->tree.files)};
}

uint64_t usage_disk(const struct usage *u)
{
    return grown(u->start.bytes, u->last.bytes, u->tree.bytes);
}

uint64_t usage_files(const struct usage *u)
{
    return grown(u->start.files, u->last.files, u->tree.files);
}

int64_t usage_round_us(const struct usage *u)
{
    return u->round_us;
}
