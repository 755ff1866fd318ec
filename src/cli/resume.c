#include "cli/resume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/hash.h"
#include "base/scope.h"
#include "cli/pick.h"
#include "cli/state_dir.h"
#include "json/read.h"
#include "json/write.h"

enum { NOTE_MAX = 4096, SWEPT_MAX = 1000 };

#define NOTE_DIR "transfers"

/* The path of the note. Each part ends with a NUL in the hash, so that no two keys are the same. */
static int note_path(const struct resume_key *key, char ret[PATH_MAX], struct err *e)
{
    const char *parts[] = {key->way, key->local, key->workspace, key->path};
    scoped(hash_done) struct hash h = {0};
    uint8_t digest[HASH_LEN];
    char hex[HASH_HEX_SIZE], name[HASH_HEX_SIZE + 32];
    if (hash_init(&h, e))
        return -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (hash_add(&h, parts[i], strlen(parts[i]) + 1, e))
            return -1;
    if (hash_end(&h, digest, e))
        return -1;
    hash_hex(digest, hex);
    (void)snprintf(name, sizeof name, NOTE_DIR "/%.40s.json", hex);
    return state_path(name, ret, e);
}

void resume_fingerprint(const struct stat *st, struct resume_note *note)
{
    note->size = (uint64_t)st->st_size;
    note->inode = st->st_ino;
    note->mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}

bool resume_is_same_file(const struct resume_note *a, const struct resume_note *b)
{
    return a->size == b->size && a->inode == b->inode && a->mtime_ns == b->mtime_ns;
}

static bool read_note(const char *path, struct resume_note *ret)
{
    char text[NOTE_MAX];
    struct err ignored = {0};
    scoped(json_decrefp) json_t *value = NULL;
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    size_t len;
    if (fd < 0 || fd_read_all(fd, text, sizeof text, &len, &ignored) ||
        json_read(text, len, &value, &ignored))
        return false;
    *ret = (struct resume_note){.size = pick_count(value, "size"),
                                .inode = pick_count(value, "inode"),
                                .mtime_ns = pick_count(value, "mtime_ns")};
    (void)snprintf(ret->upload, sizeof ret->upload, "%s", pick_text(value, "upload"));
    (void)snprintf(ret->etag, sizeof ret->etag, "%s", pick_text(value, "etag"));
    return *ret->upload || *ret->etag;
}

bool resume_load(const struct resume_key *key, struct resume_note *ret)
{
    char path[PATH_MAX];
    struct err ignored = {0};
    return note_path(key, path, &ignored) == 0 && read_note(path, ret);
}

static void put_note(const struct resume_key *key, const struct resume_note *note, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "way");
    jw_text(&w, key->way);
    jw_key(&w, "upload");
    jw_text(&w, note->upload);
    jw_key(&w, "etag");
    jw_text(&w, note->etag);
    jw_key(&w, "size");
    jw_u64(&w, note->size);
    jw_key(&w, "inode");
    jw_u64(&w, note->inode);
    jw_key(&w, "mtime_ns");
    jw_u64(&w, note->mtime_ns);
    jw_end_object(&w);
    jw_finish(&w);
}

/* Removes notes that nobody came back to. */
static void sweep(const char *note_file, int64_t now_us)
{
    char dir_path[PATH_MAX];
    (void)snprintf(dir_path, sizeof dir_path, "%s", note_file);
    *strrchr(dir_path, '/') = '\0';
    DIR *dir = opendir(dir_path);
    if (!dir)
        return;
    int64_t oldest_s = now_us / 1000000 - (int64_t)RESUME_DAYS * 86400;
    struct stat st;
    int looked_at = 0;
    for (struct dirent *entry; looked_at < SWEPT_MAX && (entry = readdir(dir)); looked_at++)
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_mtim.tv_sec < oldest_s)
            (void)unlinkat(dirfd(dir), entry->d_name, 0); /* the next time, then */
    (void)closedir(dir);
}

void resume_save(const struct resume_key *key, const struct resume_note *note, int64_t now_us)
{
    char path[PATH_MAX];
    struct err ignored = {0}; /* then it begins anew */
    scoped(buf_done) struct buf text = BUF_INIT(NOTE_MAX);
    if (note_path(key, path, &ignored))
        return;
    put_note(key, note, &text);
    scoped(fd_closep) int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || text.failed || fd_write_all(fd, text.bytes, text.len, &ignored))
        return;
    sweep(path, now_us);
}

void resume_forget(const struct resume_key *key)
{
    char path[PATH_MAX];
    struct err ignored = {0};
    if (note_path(key, path, &ignored) == 0)
        (void)unlink(path); /* it is swept some day */
}
