/* writer.c -- makes versions of many sizes in a data directory and says which of them are safe.
 *
 *     writer DATA LOG COMMITS SEED [WORD...]
 *
 * Three threads commit to one workspace at the same time. After each commit_finish the head of LOG is
 * read (blocklog.py: how many requests the disk has seen by then) and one block of lines written:
 *
 *     version FILE VERSION CHANGE SIZE SHA256 PATH      one for each version; SIZE, SHA256 "-": none
 *     commit ENTRIES REV COUNT                          after those of the commit
 *     failed CODE                                       instead of all that, when it is patient
 *     stopped                                           once, when the store says that it has stopped
 *
 * Words: "alone", one thread; "patient", a commit that fails is told and the next one tried; "gc", alone,
 * and now and then what nobody needs is made and taken away again, packs repacked.
 *
 * "normal" is a mistake made on purpose, so that whoever looks at what is left after a crash can show
 * that it finds it: the database is opened with synchronous=NORMAL, whatever the store asks for.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/scope.h"
#include "opened.h"
#include "store/audit_seal.h"
#include "store/gc.h"
#include "workspace/acts.h"

enum {
    THREADS = 3,
    GARBAGE = 2 << 20, /* bytes at a time */
    FILES = 24,        /* of one thread */
    BIG_MAX = 3 << 20,
    PATH_SIZE = 96,
    CHANGES_MAX = 8,
    SEAL_EVERY = 8, /* commits between checkpoints of the audit */
};

struct slot { /* a path of ours and what is there */
    uint64_t size;
    char path[PATH_SIZE];
    char sha[HASH_HEX_SIZE];
    bool is_there;
};

struct worker {
    struct opened *o;
    uint64_t commits;
    struct dice dice;
    uint8_t *big; /* what the big file holds; it changes a little each time */
    size_t big_len;
    /* Of the commit that is being made: which slot each change is about. */
    size_t touched[CHANGES_MAX];
    size_t count;
    struct slot slots[FILES];
    struct err failed; /* ERR_NONE: not yet */
    int log_fd, index;
    unsigned moves;
    bool is_patient, has_gc, has_told;
    const struct audit_key *key; /* of the one that makes checkpoints; NULL: none does */
    int data_fd;
};

/* How many requests the disk has seen. */
static uint64_t entries_of(int log_fd)
{
    uint64_t head[3] = {0};
    if (log_fd < 0)
        return 0;
    ssize_t len = pread(log_fd, head, sizeof head, 0);
    return len == (ssize_t)sizeof head ? head[2] : 0;
}

static void hash_text(const void *bytes, size_t len, char ret[HASH_HEX_SIZE])
{
    struct err e = {0};
    uint8_t digest[HASH_LEN];
    scoped(hash_done) struct hash h = {0};
    if (hash_init(&h, &e) || hash_add(&h, bytes, len, &e) || hash_end(&h, digest, &e))
        die("hash", &e);
    hash_hex(digest, ret);
}

/* ---- changes ---- */

static bool is_touched(const struct worker *w, size_t slot)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->touched[i] == slot)
            return true;
    return false;
}

static void put(struct worker *w, struct commit *c, size_t slot, const void *bytes, size_t len)
{
    struct slot *s = &w->slots[slot];
    const struct how how = {0};
    int failed = commit_put(c, s->path, &how, len, &w->failed);
    for (size_t at = 0;
         !failed && at < len;) { /* in pieces of all sizes, as they come from a socket */
        size_t piece = 1 + (size_t)dice_below(&w->dice, 200000);
        if (piece > len - at)
            piece = len - at;
        failed = commit_write(c, (const uint8_t *)bytes + at, piece, &w->failed);
        at += piece;
    }
    if (!failed)
        failed = commit_end(c, &w->failed);
    w->touched[w->count++] = slot;
    if (failed)
        return;
    hash_text(bytes, len, s->sha);
    s->size = len;
    s->is_there = true;
}

static void put_small(struct worker *w, struct commit *c)
{
    size_t slot = 1 + (size_t)dice_below(&w->dice, FILES - 1);
    if (is_touched(w, slot))
        return;
    static const size_t most[] = {4, 100, 4096, 20000, 64 << 10, 300 << 10};
    size_t len = (size_t)dice_below(&w->dice, most[dice_below(&w->dice, 6)] + 1);
    scoped(freep) uint8_t *bytes = malloc(len + 1);
    if (!bytes)
        abort();
    dice_fill(&w->dice, dice_below(&w->dice, 2) == 0, bytes, len);
    put(w, c, slot, bytes, len);
}

/* The big file: some bytes more, somewhere. Most of its chunks are there already. */
static void put_big(struct worker *w, struct commit *c)
{
    if (is_touched(w, 0))
        return;
    size_t more = (size_t)dice_below(&w->dice, 120000);
    if (w->big_len + more > BIG_MAX)
        w->big_len = 200000 + (size_t)dice_below(&w->dice, 200000);
    size_t at = (size_t)dice_below(&w->dice, w->big_len);
    memmove(w->big + at + more, w->big + at, w->big_len - at);
    dice_fill(&w->dice, 0, w->big + at, more);
    w->big_len += more;
    put(w, c, 0, w->big, w->big_len);
}

static void delete_one(struct worker *w, struct commit *c)
{
    struct err e = {0};
    size_t slot = 1 + (size_t)dice_below(&w->dice, FILES - 1);
    struct slot *s = &w->slots[slot];
    const struct how how = {0};
    if (!s->is_there || is_touched(w, slot))
        return;
    if (commit_delete(c, s->path, &how, &e))
        w->failed = e;
    s->is_there = false;
    w->touched[w->count++] = slot;
}

static void move_one(struct worker *w, struct commit *c)
{
    struct err e = {0};
    size_t slot = 1 + (size_t)dice_below(&w->dice, FILES - 1);
    struct slot *s = &w->slots[slot];
    const struct how how = {0};
    if (!s->is_there || is_touched(w, slot))
        return;
    char to[PATH_SIZE];
    (void)snprintf(to, sizeof to, "t%d/moved-%u/f%zu.bin", w->index, ++w->moves, slot);
    if (commit_move(c, s->path, to, &how, &e))
        w->failed = e;
    memcpy(s->path, to, sizeof to);
    w->touched[w->count++] = slot;
}

/* The same content at another path of ours. */
static void copy_one(struct worker *w, struct commit *c)
{
    struct err e = {0};
    size_t from = (size_t)dice_below(&w->dice, FILES),
           to = 1 + (size_t)dice_below(&w->dice, FILES - 1);
    const struct how how = {.is_overwriting = true};
    struct slot *s = &w->slots[from], *t = &w->slots[to];
    if (from == to || !s->is_there || is_touched(w, from) || is_touched(w, to))
        return;
    if (commit_copy(c, s->path, t->path, &how, &e))
        w->failed = e;
    memcpy(t->sha, s->sha, sizeof t->sha);
    t->size = s->size;
    t->is_there = true;
    w->touched[w->count++] = to;
}

static void change(struct worker *w, struct commit *c)
{
    if (w->failed.code != ERR_NONE)
        return;
    /* When packs have stopped, the database may still take what brings no bytes. */
    switch (w->has_told ? 5 : dice_below(&w->dice, 12)) {
    case 0: delete_one(w, c); break;
    case 1: move_one(w, c); break;
    case 2: copy_one(w, c); break;
    case 3:
    case 4: put_big(w, c); break;
    default: put_small(w, c); break;
    }
}

/* ---- what is said of it ---- */

static void tell(struct worker *w, const struct commit *c, uint64_t entries)
{
    scoped(buf_done) struct buf out = BUF_INIT(64 << 10);
    size_t made = 0;
    for (size_t i = 0; i < commit_count(c); i++) {
        const struct file_change *f = commit_change(c, i);
        const struct slot *s = &w->slots[w->touched[i]];
        if (f->outcome == OUTCOME_SAME)
            continue;
        if (f->outcome != OUTCOME_DONE) {
            fprintf(stderr, "writer: change %zu: outcome %d\n", i, (int)f->outcome);
            exit(1);
        }
        bool is_gone = f->made == CHANGE_DELETED;
        buf_fmt(&out, "version %s %llu %s ", f->ret_file, (unsigned long long)f->ret_version,
                change_names[f->made]);
        if (is_gone)
            buf_str(&out, "- - ");
        else
            buf_fmt(&out, "%llu %s ", (unsigned long long)s->size, s->sha);
        buf_fmt(&out, "%s\n", s->path);
        made++;
    }
    buf_fmt(&out, "commit %llu %llu %zu\n", (unsigned long long)entries,
            (unsigned long long)commit_rev(c), made);
    struct err e = {0};
    if (buf_check(&out, &e) || fd_write_all(STDOUT_FILENO, out.bytes, out.len, &e))
        die("tell", &e);
}

/* Fails, after what it brought was written and synced. */
static void make_garbage(struct worker *w)
{
    struct err e = {0};
    const struct author author = opened_author(w->o);
    const struct how how = {
        .expect = EXPECT_VERSION, .expected_file = "file_none", .expected_version = 7};
    scoped(freep) uint8_t *bytes = malloc(GARBAGE);
    scoped(commit_freep) struct commit *c = NULL;
    if (!bytes)
        abort();
    dice_fill(&w->dice, 1, bytes, GARBAGE);
    if (commit_new(w->o->files, &w->o->ws, &author, COMMIT_UPLOAD, &c, &e) ||
        commit_put(c, "garbage", &how, GARBAGE, &e) || commit_write(c, bytes, GARBAGE, &e) ||
        commit_end(c, &e))
        die("garbage", &e);
    if (commit_finish(c, &e) == 0 || e.code != ERR_PRECONDITION)
        die("garbage was taken", &e);
}

static void collect(struct worker *w)
{
    struct err e = {0};
    struct gc_result result = {0};
    const struct gc_options options = {.contents = w->o->contents, .now_us = clock_wall_us()};
    if (gc_run(&options, &result, &e))
        die("gc", &e);
    fprintf(stderr, "gc: %llu packs removed, %llu copied, %llu bytes\n",
            (unsigned long long)result.packs_removed, (unsigned long long)result.packs_copied,
            (unsigned long long)result.bytes_freed);
}

static void fill(struct worker *w, struct commit *c)
{
    size_t wanted = dice_below(&w->dice, 3) ? 1 : 1 + (size_t)dice_below(&w->dice, CHANGES_MAX);
    w->count = 0;
    while (w->count == 0)
        for (size_t i = 0; i < wanted && w->count < CHANGES_MAX; i++)
            change(w, c);
}

/* Every other one as a request does it: its entry in the audit goes along. The others tell of themselves. */
static int finish(struct worker *w, struct commit *c, bool is_act)
{
    const struct audit_entry entry = {
        .event = "putFile", .principal = w->o->who.principal, .workspace = w->o->ws.id};
    struct act act = {0};
    if (is_act && act_begin(&act, opened_meta(w->o), &entry, &w->failed))
        return -1;
    int failed = commit_finish(c, &w->failed);
    act_end(&act, failed ? AUDIT_ERROR : AUDIT_OK, failed ? err_wire(w->failed.code) : NULL);
    return failed;
}

static void seal(struct worker *w)
{
    struct audit_checkpoint made;
    struct err e = {0};
    if (audit_seal(opened_meta(w->o), w->key, w->data_fd, clock_wall_us(), &made, &e))
        die("checkpoint", &e);
}

static void commit_once(struct worker *w)
{
    struct err e = {0};
    const struct author author = opened_author(w->o);
    scoped(commit_freep) struct commit *c = NULL;
    struct slot before[FILES];
    memcpy(before, w->slots, sizeof before);
    w->failed = (struct err){0};
    if (commit_new(w->o->files, &w->o->ws, &author, COMMIT_UPLOAD, &c, &e))
        die("commit_new", &e);
    fill(w, c);
    if (w->failed.code == ERR_NONE && finish(w, c, dice_below(&w->dice, 2) == 0) == 0) {
        tell(w, c, entries_of(w->log_fd));
        return;
    }
    if (!w->is_patient)
        die("commit", &w->failed);
    memcpy(w->slots, before, sizeof before);
    if (atomic_load(&w->o->stops) && !w->has_told) {
        w->has_told = true;
        printf("stopped\n");
    }
    printf("failed %s\n", err_wire(w->failed.code));
    (void)fflush(stdout);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (uint64_t i = 1; i <= w->commits; i++) {
        commit_once(w);
        if (w->key && i % SEAL_EVERY == 0)
            seal(w);
        if (w->has_gc && i % 3 == 0)
            make_garbage(w);
        if (w->has_gc && i % 10 == 0)
            collect(w);
    }
    return NULL;
}

static void begin_worker(struct worker *w, struct opened *o, int index, uint64_t seed)
{
    w->o = o;
    w->index = index;
    w->dice.state = seed * 1000 + (uint64_t)index;
    w->big = malloc(BIG_MAX);
    if (!w->big)
        abort();
    w->big_len = 500000;
    dice_fill(&w->dice, 0, w->big, w->big_len);
    for (size_t i = 0; i < FILES; i++)
        (void)snprintf(w->slots[i].path, PATH_SIZE, "t%d/%s/f%zu.bin", index, i % 3 ? "a" : "b/c",
                       i);
}

/* ---- the mistake ---- */

static int deny_synchronous(void *arg, int action, const char *name, const char *value,
                            const char *database, const char *trigger)
{
    (void)arg, (void)database, (void)trigger;
    bool is_it = action == SQLITE_PRAGMA && name && value && strcmp(name, "synchronous") == 0;
    return is_it ? SQLITE_IGNORE : SQLITE_OK;
}

static int be_normal(sqlite3 *db, char **ret_why, const struct sqlite3_api_routines *api)
{
    (void)ret_why, (void)api;
    int rc = sqlite3_exec(db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    return rc ? rc : sqlite3_set_authorizer(db, deny_synchronous, NULL);
}

static bool has_word(char **argv, const char *word)
{
    for (; *argv; argv++)
        if (strcmp(*argv, word) == 0)
            return true;
    return false;
}

static void run_workers(struct opened *o, int log_fd, int data_fd, uint64_t commits, uint64_t seed,
                        char **words)
{
    struct err e = {0};
    scoped(audit_key_freep) struct audit_key *key = NULL;
    bool is_patient = has_word(words, "patient");
    if (!is_patient && (audit_key_load(data_fd, /* makes= */ true, &key, &e) ||
                        audit_seal_begin(opened_meta(o), data_fd, &e)))
        die("audit", &e);
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    bool has_gc = has_word(words, "gc");
    int count = has_gc || has_word(words, "alone") ? 1 : THREADS;
    for (int i = 0; i < count; i++) {
        begin_worker(&workers[i], o, i, seed);
        workers[i].log_fd = log_fd;
        workers[i].commits = commits / (uint64_t)count;
        workers[i].is_patient = is_patient;
        workers[i].key = i == 0 ? key : NULL;
        workers[i].data_fd = data_fd;
        workers[i].has_gc = has_gc;
        if (pthread_create(&threads[i], NULL, work, &workers[i]))
            abort();
    }
    for (int i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
        free(workers[i].big);
    }
}

int main(int argc, char **argv)
{
    struct err e = {0};
    uint64_t commits, seed;
    if (argc < 5 || parse_u64(argv[3], 1, 1000000, &commits, &e) ||
        parse_u64(argv[4], 0, 1000000, &seed, &e)) {
        fprintf(stderr, "writer DATA LOG COMMITS SEED [WORD...]\n");
        return 2;
    }
    char **words = argv + 5;
    if (has_word(words, "normal") && sqlite3_auto_extension((void (*)(void))be_normal))
        return 2;
    struct opened o;
    if (opened_begin(&o, argv[1], &e))
        die("open", &e);
    int log_fd = open(argv[2], O_RDONLY | O_CLOEXEC);
    printf("start %llu\n", (unsigned long long)entries_of(log_fd));
    (void)fflush(stdout);
    int data_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    run_workers(&o, log_fd, data_fd, commits, seed, words);
    opened_end(&o);
    (void)close(data_fd);
    (void)close(log_fd);
    return 0;
}
