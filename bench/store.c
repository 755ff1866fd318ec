/* store.c -- measures the store in-process, in turns with what one would use otherwise.
 *
 *     bench-store commit DIR FILES SIZE ROUNDS     one durable commit of so many new files, each time
 *     bench-store list DIR ENTRIES ROUNDS          a page of 100 of so many
 *     bench-store keep DIR TREE...                 every file of each tree, one commit for each tree
 *
 * Prints "SERIES MICROSECONDS" for every sample; "keep" prints "bytes N" for what was read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/scope.h"
#include "opened.h"

/* A thousand files with a sync each take seconds: only a few times. */
enum { SLOW_FROM = 100, SLOW_ROUNDS = 4 };

enum { PATH_SIZE = 512, PIECE = 256 << 10, PAGE = 100, AT_ONCE = 10000 };

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench-store: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void sample(const char *series, int64_t begun_us)
{
    printf("%s %lld\n", series, (long long)(clock_us() - begun_us));
}

struct files_to_write {
    uint64_t count, size, round;
    uint8_t *bytes; /* of one; its first 16 make it another each time */
};

static const uint8_t *next_file(struct files_to_write *f, uint64_t index)
{
    const uint64_t mark[2] = {f->round, index};
    memcpy(f->bytes, mark, f->size < sizeof mark ? f->size : sizeof mark);
    return f->bytes;
}

/* ---- ours ---- */

static void put(struct commit *c, const char *path, const void *bytes, size_t len)
{
    struct err e = {0};
    const struct how how = {0};
    if (commit_put(c, path, &how, len, &e) || commit_write(c, bytes, len, &e) || commit_end(c, &e))
        die("put", &e);
}

static struct commit *new_commit(const struct opened *o)
{
    struct err e = {0};
    struct commit *c = NULL;
    const struct author author = opened_author(o);
    if (commit_new(o->files, &o->ws, &author, COMMIT_UPLOAD, &c, &e))
        die("commit_new", &e);
    return c;
}

static void finish(struct commit *c)
{
    struct err e = {0};
    if (commit_finish(c, &e))
        die("commit_finish", &e);
    commit_free(c);
}

static void commit_ours(const struct opened *o, struct files_to_write *f)
{
    struct commit *c = new_commit(o);
    for (uint64_t i = 0; i < f->count; i++) {
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof path, "dir-%llu/file-%llu.csv", (unsigned long long)(i / 100),
                       (unsigned long long)i);
        put(c, path, next_file(f, i), f->size);
    }
    finish(c);
}

/* ---- rows of SQLite ---- */

static void run_sql(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL)) {
        fprintf(stderr, "bench-store: %s: %s\n", sql, sqlite3_errmsg(db));
        exit(1);
    }
}

static sqlite3 *open_rows(const char *dir)
{
    char path[PATH_SIZE];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof path, "%s/rows.db", dir);
    if (sqlite3_open(path, &db))
        fail(path);
    run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                "CREATE TABLE version (id INTEGER PRIMARY KEY, path TEXT, sha256 BLOB, bytes BLOB);"
                "CREATE INDEX by_path ON version (path)");
    return db;
}

static void commit_rows(sqlite3 *db, struct files_to_write *f)
{
    struct err e = {0};
    sqlite3_stmt *insert = NULL;
    run_sql(db, "BEGIN IMMEDIATE");
    (void)sqlite3_prepare_v2(db, "INSERT INTO version (path, sha256, bytes) VALUES (?1, ?2, ?3)",
                             -1, &insert, NULL);
    for (uint64_t i = 0; i < f->count; i++) {
        char path[PATH_SIZE];
        uint8_t digest[HASH_LEN];
        const uint8_t *bytes = next_file(f, i);
        scoped(hash_done) struct hash h = {0};
        if (hash_init(&h, &e) || hash_add(&h, bytes, f->size, &e) || hash_end(&h, digest, &e))
            die("hash", &e);
        (void)snprintf(path, sizeof path, "dir-%llu/file-%llu.csv", (unsigned long long)(i / 100),
                       (unsigned long long)i);
        (void)sqlite3_bind_text(insert, 1, path, -1, SQLITE_STATIC);
        (void)sqlite3_bind_blob(insert, 2, digest, sizeof digest, SQLITE_STATIC);
        (void)sqlite3_bind_blob64(insert, 3, bytes, f->size, SQLITE_STATIC);
        if (sqlite3_step(insert) != SQLITE_DONE)
            fail("insert");
        (void)sqlite3_reset(insert);
    }
    (void)sqlite3_finalize(insert);
    run_sql(db, "COMMIT");
}

/* ---- files ---- */

static void commit_files(int dir_fd, struct files_to_write *f)
{
    for (uint64_t i = 0; i < f->count; i++) {
        char name[PATH_SIZE];
        (void)snprintf(name, sizeof name, "file-%llu", (unsigned long long)i);
        scoped(fd_closep) int fd =
            openat(dir_fd, "new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, next_file(f, i), f->size) != (ssize_t)f->size || fdatasync(fd) ||
            renameat(dir_fd, "new", dir_fd, name) || fsync(dir_fd))
            fail("write a file");
    }
}

/* What the disk takes for anything at all: 4 KiB more, and synced. */
static void append_once(int dir_fd)
{
    static const char page[4096];
    scoped(fd_closep) int fd =
        openat(dir_fd, "appended", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        fail("append");
    int64_t begun = clock_us();
    if (write(fd, page, sizeof page) != (ssize_t)sizeof page || fdatasync(fd))
        fail("append");
    sample("append", begun);
}

/* ---- one of each in turn ---- */

static void measure_commits(const char *dir, uint64_t count, uint64_t size, uint64_t rounds)
{
    char path[PATH_SIZE];
    struct err e = {0};
    struct opened o;
    (void)snprintf(path, sizeof path, "%s/data", dir);
    if (opened_begin(&o, path, &e))
        die("open", &e);
    sqlite3 *rows = open_rows(dir);
    (void)snprintf(path, sizeof path, "%s/files", dir);
    if (mkdir(path, 0755))
        fail(path);
    int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct files_to_write f = {.count = count, .size = size, .bytes = malloc(size + 16)};
    struct dice dice = {.state = 1};
    if (dir_fd < 0 || !f.bytes)
        fail(path);
    for (f.round = 0; f.round < rounds + 2; f.round++) {
        dice_fill(&dice, 1, f.bytes, size);
        bool is_warm = f.round >= 2;
        int64_t begun = clock_us();
        commit_ours(&o, &f);
        if (is_warm)
            sample("ours", begun);
        begun = clock_us();
        commit_rows(rows, &f);
        if (is_warm)
            sample("rows", begun);
        append_once(dir_fd);
        if (count >= SLOW_FROM && f.round > SLOW_ROUNDS)
            continue;
        begun = clock_us();
        commit_files(dir_fd, &f);
        if (is_warm)
            sample("files", begun);
    }
    free(f.bytes);
    (void)close(dir_fd);
    (void)sqlite3_close(rows);
    opened_end(&o);
}

/* ---- a list ---- */

static void fill(const struct opened *o, uint64_t entries)
{
    for (uint64_t made = 0; made < entries;) {
        struct commit *c = new_commit(o);
        for (uint64_t i = 0; i < AT_ONCE && made < entries; i++, made++) {
            char path[PATH_SIZE];
            (void)snprintf(path, sizeof path, "d%llu/e%llu/file-%llu.txt",
                           (unsigned long long)(made % 10), (unsigned long long)(made / 1000),
                           (unsigned long long)made);
            put(c, path, "x", made % 2);
        }
        finish(c);
    }
}

static void list_once(const struct opened *o, const char *series, bool is_flat, const char *prefix,
                      const char *after)
{
    struct err e = {0};
    const struct file_query query = {
        .prefix = prefix, .is_flat = is_flat, .after = after, .limit = PAGE};
    struct file_rows rows;
    char *next = NULL;
    int64_t begun = clock_us();
    if (meta_file_list(opened_meta(o), o->ws.id, &query, &rows, &next, &e))
        die("list", &e);
    sample(series, begun);
    if (rows.count < 1)
        fail("an empty list");
    file_rows_done(&rows);
    free(next);
}

static void measure_list(const char *dir, uint64_t entries, uint64_t rounds)
{
    struct err e = {0};
    struct opened o;
    if (opened_begin(&o, dir, &e))
        die("open", &e);
    int64_t begun = clock_us();
    fill(&o, entries);
    sample("fill", begun);
    struct dice dice = {.state = 1};
    for (uint64_t i = 0; i < rounds; i++) {
        char after[PATH_SIZE];
        uint64_t at = dice_below(&dice, entries - entries / 10);
        (void)snprintf(after, sizeof after, "d%llu/e%llu/file-%llu.txt",
                       (unsigned long long)(at % 9), (unsigned long long)(at / 1000),
                       (unsigned long long)at);
        list_once(&o, "list", false, "", after);
        list_once(&o, "list-flat", true, "d3/", NULL);
    }
    opened_end(&o);
}

/* ---- trees, one after the other ---- */

static struct keeping {
    struct commit *commit;
    size_t top_len;
    uint64_t bytes;
} keeping;

static int keep_file(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)where;
    struct err e = {0};
    const struct how how = {0};
    static uint8_t bytes[PIECE];
    if (kind != FTW_F)
        return 0;
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail(path);
    if (commit_put(keeping.commit, path + keeping.top_len, &how, (uint64_t)st->st_size, &e))
        die(path, &e);
    for (ssize_t len; (len = read(fd, bytes, sizeof bytes)) > 0;) {
        if (commit_write(keeping.commit, bytes, (size_t)len, &e))
            die(path, &e);
        keeping.bytes += (uint64_t)len;
    }
    if (commit_end(keeping.commit, &e))
        die(path, &e);
    return 0;
}

static void keep_trees(const char *dir, char **trees)
{
    struct err e = {0};
    struct opened o;
    if (opened_begin(&o, dir, &e))
        die("open", &e);
    int64_t begun = clock_us();
    for (; *trees; trees++) {
        keeping.commit = new_commit(&o);
        keeping.top_len = strlen(*trees) + 1;
        if (nftw(*trees, keep_file, 16, FTW_PHYS))
            fail(*trees);
        finish(keeping.commit);
    }
    sample("keep", begun);
    printf("bytes %llu\n", (unsigned long long)keeping.bytes);
    opened_end(&o);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    uint64_t n[3];
    const char *what = argc > 3 ? argv[1] : "";
    bool is_number = argc > 3 && strcmp(what, "keep") != 0;
    for (int i = 0; is_number && i < argc - 3 && i < 3; i++)
        if (parse_u64(argv[i + 3], 0, UINT32_MAX, &n[i], &e))
            die("arguments", &e);
    if (strcmp(what, "commit") == 0 && argc == 6)
        measure_commits(argv[2], n[0], n[1], n[2]);
    else if (strcmp(what, "list") == 0 && argc == 5)
        measure_list(argv[2], n[0], n[1]);
    else if (strcmp(what, "keep") == 0)
        keep_trees(argv[2], argv + 3);
    else
        return 2;
    return 0;
}
