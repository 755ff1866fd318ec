#include "sandbox/held.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/scope.h"

static const char deleted_mark[] = " (deleted)";

static bool counts_on(const struct held *h, dev_t device)
{
    return device == h->device || device == h->also;
}

void held_init(struct held *h, dev_t device)
{
    *h = (struct held){.device = device, .also = device, .maps = -1};
    dir_init(&h->tasks, -1);
    dir_init(&h->fds, -1);
}

static void close_all(struct held *h)
{
    dir_done(&h->tasks);
    dir_done(&h->fds);
    if (h->maps >= 0)
        (void)close(h->maps);
    h->maps = -1;
}

void held_done(struct held *h)
{
    close_all(h);
    procs_done(&h->procs);
}

void held_begin(struct held *h, pid_t init)
{
    close_all(h);
    procs_begin(&h->procs, init);
    h->stage = HELD_PROCESSES;
    h->in_flight = 0;
    h->denied = 0;
}

/* Threads mostly share their table of descriptors and always their memory. The leader may have
 * exited before them and shows neither, so it is not the leader that others are compared with. */
static bool is_like(pid_t model, pid_t tid, int what)
{
    return model != 0 && syscall(SYS_kcmp, model, tid, what, 0, 0) == 0;
}

static enum held_result next_process(struct held *h)
{
    if (!procs_next(&h->procs, &h->pid))
        return HELD_END;
    int fd = proc_open(h->pid, "task");
    if (fd >= 0) {
        dir_init(&h->tasks, fd);
        h->files_model = h->memory_model = 0;
        h->stage = HELD_TASKS;
    }
    return HELD_NOTHING;
}

static int open_of_thread(struct held *h, const char *what)
{
    char name[48];
    snprintf(name, sizeof name, "task/%d/%s", (int)h->tid, what);
    int fd = proc_open(h->pid, name);
    if (fd < 0 && (errno == EACCES || errno == EPERM) && h->pid != h->procs.init)
        h->denied++; /* init is ours, closes itself to everybody, and holds nothing */
    return fd;
}

static void begin_maps(struct held *h)
{
    h->stage = HELD_TASKS;
    if (is_like(h->memory_model, h->tid, KCMP_VM))
        return;
    h->maps = open_of_thread(h, "maps");
    if (h->maps < 0)
        return;
    h->memory_model = h->tid;
    h->chunk_at = h->chunk_len = 0;
    h->line_len = 0;
    h->stage = HELD_MAPS;
}

static enum held_result next_task(struct held *h)
{
    const struct dirent64 *entry = dir_next(&h->tasks);
    if (!entry) {
        dir_done(&h->tasks);
        h->stage = HELD_PROCESSES;
        return HELD_NOTHING;
    }
    h->tid = proc_number(entry->d_name);
    procs_add_children(&h->procs, h->pid, h->tid);
    int fd = is_like(h->files_model, h->tid, KCMP_FILES) ? -1 : open_of_thread(h, "fd");
    if (fd < 0) {
        begin_maps(h);
    } else {
        h->files_model = h->tid;
        dir_init(&h->fds, fd);
        h->stage = HELD_FDS;
    }
    return HELD_NOTHING;
}

static bool is_ours(const struct held *h, const struct stat *st)
{
    return S_ISREG(st->st_mode) && counts_on(h, st->st_dev);
}

static struct held_file file_of(const struct stat *st)
{
    return (struct held_file){
        .inode = st->st_ino,
        .bytes = (uint64_t)st->st_blocks * 512,
        .is_deleted = st->st_nlink == 0,
        .is_bytes_known = true,
    };
}

/* Adds the descriptors that were sent to a socket and not yet received. */
static void count_in_flight(struct held *h, const char *number)
{
    char name[80], text[1024];
    snprintf(name, sizeof name, "task/%d/fdinfo/%.10s", (int)h->tid, number);
    unsigned count = 0;
    if (!proc_read(h->pid, name, text, sizeof text))
        return;
    const char *found = strstr(text, "scm_fds:");
    if (found && sscanf(found, "scm_fds: %u", &count) == 1)
        h->in_flight += count;
}

static enum held_result next_fd(struct held *h, struct held_file *ret)
{
    const struct dirent64 *entry = dir_next(&h->fds);
    if (!entry) {
        dir_done(&h->fds);
        begin_maps(h);
        return HELD_NOTHING;
    }
    struct stat st; /* of what the descriptor is, wherever that may be: nothing is opened */
    if (fstatat(h->fds.fd, entry->d_name, &st, 0) != 0)
        return HELD_NOTHING;
    if (S_ISSOCK(st.st_mode))
        count_in_flight(h, entry->d_name);
    if (!is_ours(h, &st))
        return HELD_NOTHING;
    *ret = file_of(&st);
    return HELD_FILE;
}

/* Takes the line apart. True when it is a mapping of a deleted file that may be ours. */
static bool is_deleted_mapping(const struct held *h, struct held_file *ret, char range[48])
{
    unsigned long from, to, offset, inode;
    unsigned major_number, minor_number;
    const size_t mark_len = sizeof deleted_mark - 1;
    if (h->line_len < mark_len)
        return false;
    for (size_t i = 0; i < mark_len; i++)
        if (h->tail[(h->line_len - mark_len + i) % sizeof h->tail] != deleted_mark[i])
            return false;
    if (sscanf(h->head, "%lx-%lx %*4s %lx %x:%x %lu", &from, &to, &offset, &major_number,
               &minor_number, &inode) != 6)
        return false;
    snprintf(range, 48, "%lx-%lx", from, to);
    bool is_here = counts_on(h, makedev(major_number, minor_number)) && inode != 0;
    *ret = (struct held_file){
        .inode = is_here ? inode : 0, .bytes = to - from + offset, .is_deleted = true};
    return true;
}

/* map_files knows the file itself, but only lets the privileged look. */
static enum held_result mapped_file(struct held *h, struct held_file *ret)
{
    char range[48], path[96];
    struct stat st;
    if (!is_deleted_mapping(h, ret, range))
        return HELD_NOTHING;
    snprintf(path, sizeof path, "/proc/%d/map_files/%s", (int)h->pid, range);
    if (stat(path, &st) == 0) {
        *ret = file_of(&st);
        return is_ours(h, &st) ? HELD_FILE : HELD_NOTHING;
    }
    return ret->inode != 0 ? HELD_FILE : HELD_NOTHING;
}

static bool read_maps(struct held *h)
{
    ssize_t n;
    do
        n = read(h->maps, h->chunk, sizeof h->chunk);
    while (n < 0 && errno == EINTR);
    h->chunk_at = 0;
    h->chunk_len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* Goes on to the end of a line or of what was read. True at the end of a line. */
static bool next_line(struct held *h)
{
    while (h->chunk_at < h->chunk_len) {
        char c = h->chunk[h->chunk_at++];
        if (c == '\n')
            return true;
        if (h->line_len < sizeof h->head - 1) {
            h->head[h->line_len] = c;
            h->head[h->line_len + 1] = '\0';
        }
        h->tail[h->line_len++ % sizeof h->tail] = c;
    }
    return false;
}

static enum held_result next_maps(struct held *h, struct held_file *ret)
{
    if (h->chunk_at == h->chunk_len && !read_maps(h)) {
        (void)close(h->maps);
        h->maps = -1;
        h->stage = HELD_TASKS;
        return HELD_NOTHING;
    }
    while (next_line(h)) {
        enum held_result result = mapped_file(h, ret);
        h->line_len = 0;
        if (result == HELD_FILE)
            return result;
    }
    return HELD_NOTHING;
}

enum held_result held_step(struct held *h, struct held_file *ret)
{
    switch (h->stage) {
    case HELD_TASKS: return next_task(h);
    case HELD_FDS: return next_fd(h, ret);
    case HELD_MAPS: return next_maps(h, ret);
    default: return next_process(h);
    }
}

uint32_t held_in_flight(const struct held *h)
{
    return h->in_flight;
}

uint32_t held_denied(const struct held *h)
{
    return h->denied;
}
