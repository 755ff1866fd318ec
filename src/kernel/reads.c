#include "kernel/reads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernel/control.h"

#define DATA_DIR "/mnt/data"

enum {
    SLOTS = 2048, /* a power of two, twice READS_MAX */
    SPINS = 100,
    TRIES = 300, /* those after the spins are NAP_NS apart: some 30 ms in all */
    NAP_NS = 50000,
    WORDS_MAX = 4096, /* that are looked up in one run */
};

enum what { NOTED_READ = 1, NOTED_GUESS, NOTED_WRITTEN };

struct entry {
    uint32_t hash, at, len; /* in `text` */
    enum what what;
};

/* Empty while nobody notes anything: a session started from an image pays for each page it touches. */
static struct {
    atomic_bool is_on, is_partial;
    atomic_flag is_held; /* guards what is below */
    struct entry *entries;
    uint16_t *slots; /* index of an entry, from 1 */
    char *text;
    size_t count, text_len, text_cap, words;
    bool is_placed; /* it is known where the files are */
    char *home;     /* beside /mnt/data; NULL: nowhere */
    size_t home_len;
    long child_faults;
} reads = {.is_held = ATOMIC_FLAG_INIT};

/* Whoever holds it may have been put aside by a busy machine: it needs the processor to go on. */
static bool hold(void)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    for (int i = 0; i < TRIES; i++) {
        if (!atomic_flag_test_and_set_explicit(&reads.is_held, memory_order_acquire))
            return true;
        if (i >= SPINS)
            (void)nanosleep(&nap, NULL);
    }
    atomic_store(&reads.is_partial, true);
    return false;
}

static void let_go(void)
{
    atomic_flag_clear_explicit(&reads.is_held, memory_order_release);
}

/* ---- where a path leads ---- */

void reads_forget_place(void)
{
    free(reads.home);
    reads.home = NULL;
    reads.home_len = 0;
    reads.is_placed = false;
}

/* Takes "." and ".." and double slashes out of an absolute path, in place. Links are not followed. */
static size_t straighten(char *path)
{
    size_t to = 0;
    for (char *at = path; *at;) {
        size_t len = strcspn(at, "/");
        if (len == 2 && at[0] == '.' && at[1] == '.') {
            while (to > 0 && path[--to] != '/') {
            }
        } else if (len > 0 && !(len == 1 && at[0] == '.')) {
            memmove(path + to + 1, at, len);
            path[to] = '/';
            to += len + 1;
        }
        at += len;
        at += *at == '/';
    }
    path[to] = '\0';
    return to;
}

/* What is below `folder`; NULL: it is not. */
static const char *below(const char *path, const char *folder, size_t len)
{
    bool is_inside =
        len > 1 && strncmp(path, folder, len) == 0 && path[len] == '/' && path[len + 1];
    return is_inside ? path + len + 1 : NULL;
}

__attribute__((noinline)) static void find_home(void)
{
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof cwd))
        return;
    bool is_usual = strcmp(cwd, DATA_DIR) == 0 || below(cwd, DATA_DIR, sizeof DATA_DIR - 1);
    reads.home = is_usual ? NULL : strdup(cwd);
    reads.home_len = reads.home ? strlen(reads.home) : 0;
    reads.is_placed = is_usual || reads.home;
}

/* The directory that a path is seen from, with a slash behind it. Its length; 0: it is not known. */
static size_t put_folder(int dir_fd, const char *cwd, char *to, size_t size)
{
    char link[64];
    ssize_t len = 0;
    if (dir_fd != AT_FDCWD) {
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", dir_fd);
        len = readlink(link, to, size);
    } else if (cwd && *cwd == '/') {
        len = snprintf(to, size, "%s", cwd);
    } else if (getcwd(to, size)) {
        len = (ssize_t)strlen(to);
        if (cwd)
            len += snprintf(to + len, size - (size_t)len, "/%s", cwd);
    }
    if (len <= 0 || (size_t)len >= size || *to != '/')
        return 0;
    to[len] = '/';
    return (size_t)len + 1;
}

/* The path below the session's directory; NULL: it leads elsewhere. `full` has 2 * PATH_MAX bytes. */
static const char *resolve(int dir_fd, const char *cwd, const char *path, char *full)
{
    size_t len = strnlen(path, PATH_MAX), at = 0;
    if (len == 0 || len >= PATH_MAX)
        return NULL;
    if (*path != '/' && !(at = put_folder(dir_fd, cwd, full, PATH_MAX)))
        return NULL;
    memcpy(full + at, path, len + 1);
    (void)straighten(full);
    const char *inside = below(full, DATA_DIR, sizeof DATA_DIR - 1);
    return inside || !reads.home ? inside : below(full, reads.home, reads.home_len);
}

/* ---- the list ---- */

static bool make_room(size_t len)
{
    if (!reads.entries) {
        reads.entries = malloc(READS_MAX * sizeof *reads.entries);
        reads.slots = calloc(SLOTS, sizeof *reads.slots);
    }
    if (!reads.entries || !reads.slots || reads.count == READS_MAX ||
        len > READS_BYTES_MAX - reads.text_len)
        return false;
    if (len <= reads.text_cap - reads.text_len)
        return true;
    size_t cap = 2 * (reads.text_len + len);
    char *grown = realloc(reads.text, cap);
    if (grown) {
        reads.text = grown;
        reads.text_cap = cap;
    }
    return grown != NULL;
}

static void note(const char *path, enum what what)
{
    size_t len = strlen(path), slot;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)path[i]) * 16777619u;
    for (slot = hash % SLOTS; reads.slots && reads.slots[slot]; slot = (slot + 1) % SLOTS) {
        struct entry *known = &reads.entries[reads.slots[slot] - 1];
        if (known->hash != hash || known->len != len ||
            memcmp(reads.text + known->at, path, len) != 0)
            continue;
        if (known->what == NOTED_GUESS && what == NOTED_READ)
            known->what = NOTED_READ;
        return;
    }
    if (len > READ_PATH_MAX || !make_room(len)) {
        atomic_store(&reads.is_partial, true);
        return;
    }
    memcpy(reads.text + reads.text_len, path, len);
    reads.entries[reads.count++] =
        (struct entry){hash, (uint32_t)reads.text_len, (uint32_t)len, what};
    reads.slots[slot] = (uint16_t)reads.count;
    reads.text_len += len;
}

static bool is_watching(void)
{
    return atomic_load_explicit(&reads.is_on, memory_order_relaxed) && control_is_ours();
}

static enum what what_of(int flags)
{
    bool is_new = (flags & O_TRUNC) || ((flags & O_CREAT) && (flags & O_EXCL));
    return is_new ? NOTED_WRITTEN : NOTED_READ;
}

/* Apart from who calls it, so that its stack is touched only when it is needed. */
__attribute__((noinline)) static void note_open(int dir_fd, const char *path, int flags)
{
    char full[2 * PATH_MAX];
    int before = errno;
    const char *inside = resolve(dir_fd, /* cwd= */ NULL, path, full);
    if (inside && hold()) {
        note(inside, what_of(flags));
        let_go();
    }
    errno = before;
}

void reads_open(int dir_fd, const char *path, int flags)
{
    bool is_file = !(flags & (O_DIRECTORY | O_PATH)); /* O_TMPFILE has O_DIRECTORY in it */
    if (path && is_file && is_watching())
        note_open(dir_fd, path, flags);
}

void reads_rename(const char *from, const char *to)
{
    reads_open(AT_FDCWD, from, O_RDONLY);
    reads_open(AT_FDCWD, to, O_WRONLY | O_TRUNC);
}

void reads_partial(void)
{
    if (is_watching())
        atomic_store(&reads.is_partial, true);
}

/* ---- what others may read ---- */

static void guess(const char *word, size_t len, const char *cwd, bool is_written)
{
    char path[READ_PATH_MAX + 16], full[2 * PATH_MAX];
    struct stat st;
    if (len == 0 || len >= sizeof path || reads.words >= WORDS_MAX)
        return;
    memcpy(path, word, len);
    path[len] = '\0';
    const char *inside = resolve(AT_FDCWD, cwd, path, full);
    if (!inside)
        return;
    reads.words++;
    if (stat(full, &st) == 0 && S_ISREG(st.st_mode))
        note(inside, is_written ? NOTED_WRITTEN : NOTED_GUESS);
}

void reads_words(const char *text, size_t len, const char *cwd)
{
    static const char ends[] = " \t\r\n\"'`|&;<>()[]{}=,$:";
    int before = errno;
    if (!is_watching() || !hold())
        return;
    for (size_t at = 0; at < len;) {
        size_t begin = at;
        bool is_written = false;
        for (; begin < len && (text[begin] == '\0' || strchr(ends, text[begin])); begin++)
            if (text[begin] == '>') /* ">>" goes on with what is there */
                is_written = begin == 0 || text[begin - 1] != '>';
        size_t end = begin;
        while (end < len && text[end] && !strchr(ends, text[end]))
            end++;
        guess(text + begin, end - begin, cwd, is_written);
        at = end;
    }
    let_go();
    errno = before;
}

/* ---- a run ---- */

/* Grows when a child that was waited for has done anything at all. */
static long child_faults(void)
{
    struct rusage used;
    return getrusage(RUSAGE_CHILDREN, &used) ? 0 : used.ru_minflt;
}

void reads_begin(void)
{
    if (!reads.is_placed)
        find_home();
    reads.child_faults = child_faults();
    atomic_store(&reads.is_partial, false);
    atomic_store(&reads.is_on, true);
}

static void empty(void)
{
    free(reads.entries);
    free(reads.slots);
    free(reads.text);
    reads.entries = NULL;
    reads.slots = NULL;
    reads.text = NULL;
    reads.count = reads.text_len = reads.text_cap = reads.words = 0;
}

void reads_end(struct buf *out)
{
    bool is_held = hold();
    atomic_store(&reads.is_on, false);
    bool is_partial = atomic_load(&reads.is_partial) || child_faults() != reads.child_faults;
    size_t count = is_held ? reads.count : 0;
    size_t mark = frame_begin(out, FRAME_READS);
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &reads.entries[i];
        if (entry->what != NOTED_WRITTEN)
            field_put(out, entry->what == NOTED_READ ? FIELD_PATH : FIELD_GUESS,
                      reads.text + entry->at, entry->len);
    }
    if (is_partial)
        field_put_u32(out, FIELD_PARTIAL, 1);
    frame_end(out, mark);
    if (is_held) {
        empty();
        let_go();
    }
}
