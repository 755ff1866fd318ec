#include "workspace/files.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/disk.h"
#include "workspace/files_fixture.h"

/* ---- the store, made to fail ---- */

static struct {
    atomic_int busy; /* so many times meta_commit says ERR_BUSY first */
    bool is_bad;     /* batch_sync fails */
    atomic_int commits;
    int meta_fails_after; /* lookups of files; 0: never */
} wrong;

int __real_meta_commit(struct meta *m, const struct commit_row *commit, struct file_change *changes,
                       size_t count, const struct batch *batch, uint64_t *ret_rev, struct err *e);
int __wrap_meta_commit(struct meta *m, const struct commit_row *commit, struct file_change *changes,
                       size_t count, const struct batch *batch, uint64_t *ret_rev, struct err *e);
int __real_meta_file_get(struct meta *m, const char *workspace, const char *path,
                         struct file_row *ret, struct err *e);
int __wrap_meta_file_get(struct meta *m, const char *workspace, const char *path,
                         struct file_row *ret, struct err *e);
int __real_batch_sync(struct batch *b, struct err *e);
int __wrap_batch_sync(struct batch *b, struct err *e);

int __wrap_meta_commit(struct meta *m, const struct commit_row *commit, struct file_change *changes,
                       size_t count, const struct batch *batch, uint64_t *ret_rev, struct err *e)
{
    wrong.commits++;
    if (wrong.busy > 0) {
        wrong.busy--;
        return err_set(e, ERR_BUSY, "gc was there");
    }
    return __real_meta_commit(m, commit, changes, count, batch, ret_rev, e);
}

int __wrap_meta_file_get(struct meta *m, const char *workspace, const char *path,
                         struct file_row *ret, struct err *e)
{
    if (wrong.meta_fails_after > 0 && --wrong.meta_fails_after == 0)
        return err_set(e, ERR_OVERLOADED, "too many readers");
    return __real_meta_file_get(m, workspace, path, ret, e);
}

int __wrap_batch_sync(struct batch *b, struct err *e)
{
    return wrong.is_bad ? err_set(e, ERR_NO_SPACE, "full") : __real_batch_sync(b, e);
}

static int setup(void **state)
{
    wrong.busy = wrong.commits = wrong.meta_fails_after = 0;
    wrong.is_bad = false;
    return fixture_setup(state);
}

/* ---- putting and reading ---- */

static void what_was_put_is_there_after_a_restart(void **state)
{
    (void)state;
    put("a.txt", "one");
    put("/mnt/data/d/b.txt", "two");
    put("a.txt", "three");
    fixture_again();
    holds("a.txt", "three");
    holds("d/b.txt", "two");
    scoped(freep) char *first = content_of("a.txt", 1);
    assert_string_equal(first, "one");
    assert_int_equal(fx.ws.files, 2);
    assert_int_equal(fx.ws.rev, 3);
}

static void a_commit_is_all_or_nothing(void **state)
{
    (void)state;
    put("there.txt", "x");
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    const struct how absent = {.expect = EXPECT_ABSENT};
    OK(add_bytes(c, "new.txt", NULL, "1", 1, e));
    OK(add_bytes(c, "there.txt", &absent, "2", 1, e));
    FAILS(ERR_PRECONDITION, commit_finish(c, e));
    is_gone("new.txt");
    holds("there.txt", "x");
}

static void changes_tell_what_became_of_them(void **state)
{
    (void)state;
    put("a", "1");
    put("b", "2");
    put("c", "3");
    scoped(commit_freep) struct commit *c = begin(COMMIT_EDIT);
    const struct how over = {.is_overwriting = true};
    OK(add_bytes(c, "a", NULL, "1", 1, e));
    OK(commit_move(c, "b", "moved/b", NULL, e));
    OK(commit_copy(c, "c", "a", &over, e));
    OK(commit_delete(c, "c", NULL, e));
    OK(commit_mkdir(c, "empty", e));
    assert_int_equal(commit_count(c), 5);
    OK(commit_finish(c, e));
    assert_int_equal(commit_change(c, 0)->outcome, OUTCOME_SAME);
    assert_int_equal(commit_change(c, 1)->made, CHANGE_MOVED);
    assert_int_equal(commit_change(c, 3)->made, CHANGE_DELETED);
    look_again();
    assert_int_equal(commit_rev(c), fx.ws.rev);
    holds("a", "3");
    holds("moved/b", "2");
    is_gone("b");
    is_gone("c");
}

static void a_dropped_file_was_never_put(void **state)
{
    (void)state;
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    OK(add_bytes(c, "a", NULL, "1", 1, e));
    OK(add_bytes(c, "b", NULL, "2", 1, e));
    commit_drop(c); /* b, which was ended */
    OK(commit_put(c, "c", NULL, 0, e));
    OK(commit_write(c, "3", 1, e));
    commit_drop(c); /* c, which was not */
    OK(add_bytes(c, "d", NULL, "4", 1, e));
    assert_int_equal(commit_count(c), 2);
    OK(commit_finish(c, e));
    holds("a", "1");
    holds("d", "4");
    is_gone("b");
    is_gone("c");
}

static void an_empty_commit_writes_nothing(void **state)
{
    (void)state;
    put("a", "1");
    look_again();
    int before = wrong.commits;
    scoped(commit_freep) struct commit *c = begin(COMMIT_RUN);
    OK(commit_finish(c, e));
    assert_int_equal(commit_rev(c), fx.ws.rev);
    assert_int_equal(wrong.commits, before);
}

static void a_commit_that_is_not_finished_has_not_happened(void **state)
{
    (void)state;
    struct commit *c = begin(COMMIT_UPLOAD);
    OK(add_bytes(c, "a", NULL, "1", 1, e));
    OK(commit_put(c, "b", NULL, 10, e));
    OK(commit_write(c, "12", 2, e));
    commit_free(c);
    commit_free(NULL);
    is_gone("a");
    wrong.is_bad = true;
    c = begin(COMMIT_UPLOAD);
    OK(add_bytes(c, "a", NULL, "1", 1, e));
    FAILS(ERR_NO_SPACE, commit_finish(c, e));
    commit_free(c);
    wrong.is_bad = false;
    is_gone("a");
}

static void paths_are_checked_at_every_door(void **state)
{
    (void)state;
    scoped(commit_freep) struct commit *c = begin(COMMIT_EDIT);
    struct version_row row;
    const struct content nothing = {.size = 0};
    FAILS(ERR_INVALID, commit_put(c, "../a", NULL, 0, e));
    FAILS(ERR_INVALID, commit_put_content(c, "a//b", NULL, &nothing, e));
    FAILS(ERR_INVALID, commit_delete(c, "", NULL, e));
    FAILS(ERR_INVALID, commit_move(c, "a", "b/../c", NULL, e));
    FAILS(ERR_INVALID, commit_move(c, "a", "a/b", NULL, e));
    FAILS(ERR_INVALID, commit_copy(c, "a\n", "b", NULL, e));
    FAILS(ERR_INVALID, commit_mkdir(c, ".", e));
    FAILS(ERR_INVALID, commit_restore(c, "/", 1, NULL, e));
    FAILS(ERR_INVALID, files_stat(fx.files, &fx.ws, "..", 0, &row, e));
    assert_int_equal(commit_count(c), 0);
}

static void a_content_is_used_again_without_its_bytes(void **state)
{
    (void)state;
    put("a", "the bytes");
    struct version_row row;
    OK(files_stat(fx.files, &fx.ws, "a", 0, &row, e));
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    struct content unknown = row.content;
    unknown.sha256[0] ^= 1;
    OK(commit_put_content(c, "b", NULL, &row.content, e));
    FAILS(ERR_NOT_FOUND, commit_put_content(c, "c", NULL, &unknown, e));
    OK(commit_finish(c, e));
    version_row_done(&row);
    holds("b", "the bytes");
}

/* ---- the trash, versions ---- */

static void deleted_files_are_found_by_version_and_come_back(void **state)
{
    (void)state;
    put("a[1].txt", "1");
    put("a[1].txt", "2");
    struct file_change deleted;
    scoped(commit_freep) struct commit *c = begin(COMMIT_EDIT);
    OK(commit_delete(c, "a[1].txt", NULL, e));
    OK(commit_finish(c, e));
    deleted = *commit_change(c, 0);
    is_gone("a[1].txt");
    scoped(freep) char *first = content_of("a[1].txt", 1);
    assert_string_equal(first, "1");
    struct version_row row;
    FAILS(ERR_NOT_FOUND, files_stat(fx.files, &fx.ws, "a[1].txt", 9, &row, e));
    FAILS(ERR_NOT_FOUND, files_stat(fx.files, &fx.ws, "b", 1, &row, e));

    scoped(commit_freep) struct commit *back = begin(COMMIT_EDIT);
    FAILS(ERR_NOT_FOUND, commit_untrash(back, "file_x", NULL, NULL, e));
    OK(commit_untrash(back, deleted.ret_file, NULL, NULL, e));
    OK(commit_finish(back, e));
    holds("a[1].txt", "2");
    scoped(commit_freep) struct commit *restored = begin(COMMIT_EDIT);
    FAILS(ERR_NOT_FOUND, commit_untrash(restored, deleted.ret_file, NULL, NULL, e)); /* it lives */
    OK(commit_restore(restored, "a[1].txt", 1, NULL, e));
    OK(commit_finish(restored, e));
    holds("a[1].txt", "1");
}

static void the_trash_of_another_workspace_is_not_there(void **state)
{
    (void)state;
    put("a", "1");
    scoped(commit_freep) struct commit *c = begin(COMMIT_EDIT);
    OK(commit_delete(c, "a", NULL, e));
    OK(commit_finish(c, e));
    struct workspace_row other;
    OK(files_workspace_create(fx.files, &fx.who, "other", &other, e));
    scoped(commit_freep) struct commit *thief = NULL;
    OK(commit_new(fx.files, &other, &fx.author, COMMIT_EDIT, &thief, e));
    FAILS(ERR_NOT_FOUND, commit_untrash(thief, commit_change(c, 0)->ret_file, "a", NULL, e));
    workspace_row_done(&other);
}

static void two_versions_can_be_compared(void **state)
{
    (void)state;
    put("a", "1\n2\n");
    put("a", "1\n3\n");
    struct version_row from, to;
    OK(files_stat(fx.files, &fx.ws, "a", 1, &from, e));
    OK(files_stat(fx.files, &fx.ws, "a", 2, &to, e));
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    enum diff_outcome outcome;
    OK(files_diff(fx.files, &fx.ws, &from, &to, &out, &outcome, e));
    assert_int_equal(outcome, DIFF_DIFFERENT);
    assert_string_equal(out.bytes, "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n");
    version_row_done(&from);
    version_row_done(&to);
}

/* ---- quota and room ---- */

static void quota(uint64_t files, uint64_t bytes)
{
    const struct workspace_change change = {.files_max = files, .bytes_max = bytes};
    OK(files_workspace_change(fx.files, &fx.who, &fx.ws, &change, e));
    look_again();
}

static void exactly_the_quota_fits_and_one_more_does_not(void **state)
{
    (void)state;
    quota(0, 10);
    put("a", "12345");
    look_again();
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    FAILS(ERR_QUOTA, commit_put(c, "b", NULL, 6, e)); /* announced */
    OK(commit_put(c, "b", NULL, 0, e));               /* not announced: */
    OK(commit_write(c, "12345", 5, e));               /* so far it fits, */
    FAILS(ERR_QUOTA, commit_write(c, "6", 1, e));     /* and now it does not */
    commit_drop(c);
    OK(add_bytes(c, "b", NULL, "12345", 5, e));
    FAILS(ERR_QUOTA, commit_put(c, "c", NULL, 1, e)); /* b counts already */
    OK(commit_finish(c, e));
    look_again();
    assert_int_equal(fx.ws.kept_bytes, 10);
}

static void what_is_there_already_takes_no_room(void **state)
{
    (void)state;
    quota(1, 10);
    put("a", "1234567890");
    look_again();
    struct file_change change = {0};
    OK(put_how("a", NULL, "1234567890", &change, e));
    assert_int_equal(change.outcome, OUTCOME_SAME);
    FAILS(ERR_QUOTA, put_how("a", NULL, "123456789x", &change, e));
    FAILS(ERR_QUOTA, put_how("a", NULL, "1", &change, e)); /* another version is kept beside it */
    FAILS(ERR_QUOTA, put_how("b", NULL, "", &change, e));  /* one file is all */

    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    OK(add_bytes(c, "a", NULL, "1234567890", 10,
                 e)); /* counts for nothing in the same commit too */
    FAILS(ERR_QUOTA, commit_put(c, "a", NULL, 1, e));
    OK(commit_finish(c, e));
}

/* Whichever lookup fails, what was put before stays, and what failed can be dropped. */
static void a_lookup_that_fails_costs_one_file(void **state)
{
    (void)state;
    quota(0, 10);
    for (int at = 1; at <= 3; at++) {
        scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
        OK(add_bytes(c, "kept", NULL, "123456", 6, e));
        wrong.meta_fails_after = at;
        struct err failure = {0};
        int failed = add_bytes(c, "b", NULL, "12345", 5, &failure);
        assert_int_equal(failed, -1);
        assert_int_equal(failure.code, at < 3 ? ERR_OVERLOADED : ERR_QUOTA);
        wrong.meta_fails_after = 0;
        assert_int_equal(commit_count(c), 1);
        assert_string_equal(commit_change(c, 0)->path, "kept");
        wrong.meta_fails_after = 1; /* counting exactly asks at the end too */
        assert_int_equal(add_bytes(c, "c", NULL, "1", 1, &failure), -1);
        wrong.meta_fails_after = 0;
        assert_int_equal(commit_count(c), 1);
        OK(add_bytes(c, "c", NULL, "1", 1, e));
        assert_int_equal(commit_count(c), 2);
    }
}

static void room_that_was_made_meanwhile_is_seen(void **state)
{
    (void)state;
    quota(0, 10);
    put("a", "1234567890");
    look_again();
    struct commit *c = begin(COMMIT_UPLOAD); /* thinks that the workspace is full */
    const struct workspace_change more = {.files_max = 0, .bytes_max = 20};
    OK(files_workspace_change(fx.files, &fx.who, &fx.ws, &more, e));
    OK(add_bytes(c, "b", NULL, "12345", 5, e));
    OK(commit_finish(c, e));
    commit_free(c);
}

static void the_files_of_a_workspace_are_counted(void **state)
{
    (void)state;
    quota(2, 0);
    put("a", "1");
    look_again();
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    OK(add_bytes(c, "a", NULL, "2", 1, e)); /* no new one */
    OK(add_bytes(c, "b", NULL, "2", 1, e));
    FAILS(ERR_QUOTA, commit_put(c, "c", NULL, 1, e));
    OK(commit_finish(c, e));
    /* What is deleted in the same commit makes room: the transaction decides. */
    look_again();
    scoped(commit_freep) struct commit *d = begin(COMMIT_EDIT);
    OK(commit_delete(d, "a", NULL, e));
    OK(add_bytes(d, "c", NULL, "3", 1, e));
    OK(commit_finish(d, e));
    holds("c", "3");
}

static void the_servers_quota_holds_where_a_workspace_has_none(void **state)
{
    (void)state;
    fx.options.bytes_max = 3;
    fx.options.file_max = 5;
    fixture_again();
    struct file_change change = {0};
    FAILS(ERR_QUOTA, put_how("a", NULL, "1234", &change, e));
    FAILS(ERR_TOO_LARGE, put_how("a", NULL, "123456", &change, e));
    quota(0, 100);
    OK(put_how("a", NULL, "12345", &change, e));
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    OK(commit_put(c, "b", NULL, UINT64_MAX, e));
    FAILS(ERR_TOO_LARGE, commit_write(c, "123456", 6, e));
}

static void below_the_reserve_nothing_is_taken(void **state)
{
    (void)state;
    fx.options.space_fd = fx.scratch.fd;
    fx.options.reserve_bytes = 1;
    fixture_again();
    put("a", "1");
    OK(files_check_space(fx.files, e));
    fx.options.reserve_bytes = UINT64_MAX;
    fixture_again();
    struct file_change change = {0};
    FAILS(ERR_NO_SPACE, put_how("a", NULL, "2", &change, e));
    FAILS(ERR_NO_SPACE, files_check_space(fx.files, e));
    holds("a", "1"); /* reading goes on, */
    scoped(commit_freep) struct commit *c = begin(COMMIT_EDIT);
    OK(commit_delete(c, "a", NULL, e)); /* and so does deleting */
    OK(commit_finish(c, e));
}

static void what_runs_wrote_may_use_the_reserve_but_for_the_last_quarter(void **state)
{
    (void)state;
    struct disk_room room;
    fx.options.space_fd = fx.scratch.fd;
    OK(disk_look(fx.scratch.fd, 0, &room, e));
    fx.options.reserve_bytes = room.free_bytes * 3;
    fixture_again();
    FAILS(ERR_NO_SPACE, files_check_space(fx.files, e));
    FAILS(ERR_NO_SPACE, files_check_room(fx.files, ROOM_FOR_COPIES, 1, 0, e));
    OK(files_check_room(fx.files, ROOM_FOR_RESULTS, 0, 0, e));
    OK(files_check_room(fx.files, ROOM_FOR_RUNS, 0, 0, e));
    FAILS(ERR_NO_SPACE, files_check_room(fx.files, ROOM_FOR_RESULTS, room.free_bytes, 0, e));
    scoped(commit_freep) struct commit *c = begin(COMMIT_RUN);
    commit_is_working_copy(c);
    const struct how how = {0};
    OK(commit_put(c, "a", &how, 1, e));
    OK(commit_write(c, "1", 1, e));
    OK(commit_end(c, e));
    FAILS(ERR_NO_SPACE, commit_put(c, "b", &how, room.free_bytes, e)); /* which is certain by now */
}

static void where_no_result_fits_any_more_code_runs_all_the_same(void **state)
{
    (void)state;
    struct disk_room room;
    fx.options.space_fd = fx.scratch.fd;
    OK(disk_look(fx.scratch.fd, 0, &room, e));
    fx.options.reserve_bytes = room.free_bytes * 6;
    fixture_again();
    FAILS(ERR_NO_SPACE, files_check_room(fx.files, ROOM_FOR_RESULTS, 0, 0, e));
    OK(files_check_room(fx.files, ROOM_FOR_RUNS, 0, 0, e));
    fx.options.reserve_bytes = room.free_bytes * 9;
    fixture_again();
    FAILS(ERR_NO_SPACE, files_check_room(fx.files, ROOM_FOR_RUNS, 0, 0, e));
}

/* ---- gc in between ---- */

static int read_twice(void *arg, uint64_t offset, void *to, size_t size, size_t *ret_len,
                      struct err *e)
{
    const char *text = arg;
    size_t left = strlen(text) - (size_t)offset;
    (void)e;
    *ret_len = left < size ? left : size;
    memcpy(to, text + offset, *ret_len);
    return 0;
}

static void what_can_be_read_again_is_stored_again_when_gc_took_it(void **state)
{
    (void)state;
    put("a", "1");
    struct version_row row;
    OK(files_stat(fx.files, &fx.ws, "a", 0, &row, e));
    char text[] = "from a source";
    const struct file_source source = {.read = read_twice, .arg = text};
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    OK(commit_put_source(c, "b", NULL, 0, &source, e));
    OK(commit_put_content(c, "c", NULL, &row.content, e));
    OK(commit_mkdir(c, "d", e));
    wrong.busy = 2;
    OK(commit_finish(c, e));
    version_row_done(&row);
    holds("b", "from a source");
    holds("c", "1");
}

static void it_is_not_tried_for_ever(void **state)
{
    (void)state;
    char text[] = "from a source";
    const struct file_source source = {.read = read_twice, .arg = text};
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    OK(commit_put_source(c, "b", NULL, sizeof text - 1, &source, e));
    wrong.busy = 100;
    FAILS(ERR_BUSY, commit_finish(c, e));
    assert_int_equal(wrong.commits, 3);
}

static void what_was_written_has_to_be_sent_again(void **state)
{
    (void)state;
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    OK(add_bytes(c, "a", NULL, "1", 1, e));
    wrong.busy = 1;
    FAILS(ERR_BUSY, commit_finish(c, e));
    is_gone("a");
    put("a", "1");
}

/* ---- two at once ---- */

enum { ROUNDS = 150 };

static struct {
    pthread_barrier_t start, end;
    char file[ID_SIZE];
    uint64_t version;
    atomic_int won, lost;
} race;

static void *racer(void *arg)
{
    const char *name = arg;
    for (int i = 0; i < ROUNDS; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%s %d", name, i);
        pthread_barrier_wait(&race.start);
        const struct how how = {
            .expect = EXPECT_VERSION, .expected_file = race.file, .expected_version = race.version};
        struct err e = {0};
        if (put_how("contested", &how, text, NULL, &e) == 0)
            atomic_fetch_add(&race.won, 1);
        else if (e.code == ERR_PRECONDITION)
            atomic_fetch_add(&race.lost, 1);
        pthread_barrier_wait(&race.end);
    }
    return NULL;
}

static void of_two_who_expect_the_same_version_one_wins(void **state)
{
    (void)state;
    struct file_change change = {0};
    OK(put_how("contested", NULL, "at first", &change, e));
    memcpy(race.file, change.ret_file, ID_SIZE);
    race.version = change.ret_version;
    atomic_store(&race.won, 0);
    atomic_store(&race.lost, 0);
    pthread_barrier_init(&race.start, NULL, 3);
    pthread_barrier_init(&race.end, NULL, 3);
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, racer, "one"), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, racer, "two"), 0);
    int wrong_rounds = 0;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&race.start);
        pthread_barrier_wait(&race.end);
        wrong_rounds += atomic_load(&race.won) != i + 1 || atomic_load(&race.lost) != i + 1;
        race.version++;
    }
    (void)pthread_join(threads[0], NULL);
    (void)pthread_join(threads[1], NULL);
    pthread_barrier_destroy(&race.start);
    pthread_barrier_destroy(&race.end);
    assert_int_equal(wrong_rounds, 0);
    struct version_row row;
    OK(files_stat(fx.files, &fx.ws, "contested", 0, &row, e));
    assert_int_equal(row.version, change.ret_version + ROUNDS);
    version_row_done(&row);
}

/* ---- what time brings ---- */

static void the_trash_is_emptied_and_versions_are_thinned_as_configured(void **state)
{
    (void)state;
    for (char text[] = "1"; text[0] <= '5'; text[0]++)
        put("a", text);
    put("gone", "1");
    scoped(commit_freep) struct commit *c = begin(COMMIT_EDIT);
    OK(commit_delete(c, "gone", NULL, e));
    OK(commit_finish(c, e));
    const int64_t day_us = 86400 * INT64_C(1000000);
    OK(files_tidy(fx.files, clock_wall_us() + 1000 * day_us, e)); /* nothing is configured */
    free(content_of("gone", 1));
    free(content_of("a", 1));

    fx.options.trash_days = 30;
    fx.options.thinning.keep_last = 2;
    fx.options.thinning.keep_days = 10;
    fixture_again();
    OK(files_tidy(fx.files, clock_wall_us() + 5 * day_us, e));
    free(content_of("gone", 1));
    free(content_of("a", 1));
    OK(files_tidy(fx.files, clock_wall_us() + 31 * day_us, e));
    struct version_row row;
    FAILS(ERR_NOT_FOUND, files_stat(fx.files, &fx.ws, "gone", 1, &row, e));
    FAILS(ERR_NOT_FOUND, files_stat(fx.files, &fx.ws, "a", 1, &row, e));
    holds("a", "5");
    free(content_of("a", 4));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
    const struct CMUnitTest all[] = {
        TEST(what_was_put_is_there_after_a_restart),
        TEST(a_commit_is_all_or_nothing),
        TEST(changes_tell_what_became_of_them),
        TEST(a_dropped_file_was_never_put),
        TEST(an_empty_commit_writes_nothing),
        TEST(a_commit_that_is_not_finished_has_not_happened),
        TEST(paths_are_checked_at_every_door),
        TEST(a_content_is_used_again_without_its_bytes),
        TEST(deleted_files_are_found_by_version_and_come_back),
        TEST(the_trash_of_another_workspace_is_not_there),
        TEST(two_versions_can_be_compared),
        TEST(exactly_the_quota_fits_and_one_more_does_not),
        TEST(what_is_there_already_takes_no_room),
        TEST(a_lookup_that_fails_costs_one_file),
        TEST(room_that_was_made_meanwhile_is_seen),
        TEST(the_files_of_a_workspace_are_counted),
        TEST(the_servers_quota_holds_where_a_workspace_has_none),
        TEST(below_the_reserve_nothing_is_taken),
        TEST(what_runs_wrote_may_use_the_reserve_but_for_the_last_quarter),
        TEST(where_no_result_fits_any_more_code_runs_all_the_same),
        TEST(what_can_be_read_again_is_stored_again_when_gc_took_it),
        TEST(it_is_not_tried_for_ever),
        TEST(what_was_written_has_to_be_sent_again),
        TEST(of_two_who_expect_the_same_version_one_wins),
        TEST(the_trash_is_emptied_and_versions_are_thinned_as_configured),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
