/* meta_files_fixture.h -- for tests of meta_files.h: changes in few words. */
#ifndef STORE_META_FILES_FIXTURE_H
#define STORE_META_FILES_FIXTURE_H

#include "store/meta_files.h"
#include "store/meta_fixture.h"

/* A content of that size that no other letter has. */
static inline struct content a_content(char letter, uint64_t size)
{
    struct content c = {.size = size};
    memset(c.sha256, letter, HASH_LEN);
    return c;
}

static inline struct file_change a_put(const char *path, char letter, uint64_t size)
{
    return (struct file_change){.op = OP_PUT, .path = path, .content = a_content(letter, size)};
}

static inline struct file_change a_change(enum change_op op, const char *path, const char *to)
{
    return (struct file_change){.op = op, .path = path, .to = to};
}

static inline struct commit_row a_commit(int64_t now_us)
{
    struct commit_row k = {.kind = COMMIT_UPLOAD, .created_us = now_us};
    set_id(k.workspace, "ws_a");
    set_id(k.author.principal, "prn_a");
    return k;
}

static inline uint64_t commit_ok(struct meta *m, struct file_change *changes, size_t count)
{
    struct commit_row k = a_commit(100);
    uint64_t rev = 0;
    OK(meta_commit_set(m, &k, changes, count, /* chunks= */ NULL, &rev, e));
    return rev;
}

static inline void commit_fails(struct meta *m, enum err_code code, struct file_change change)
{
    struct commit_row k = a_commit(100);
    uint64_t rev = 7777;
    FAILS(code, meta_commit_set(m, &k, &change, 1, /* chunks= */ NULL, &rev, e));
    assert_int_equal(rev, 7777);
}

/* One change, which has to come out so. */
static inline struct file_change make(struct meta *m, enum outcome outcome,
                                      struct file_change change)
{
    commit_ok(m, &change, 1);
    assert_int_equal(change.outcome, outcome);
    return change;
}

static inline struct file_change put(struct meta *m, const char *path, char letter, uint64_t size)
{
    return make(m, OUTCOME_DONE, a_put(path, letter, size));
}

/* "a.txt b/c ...": the paths of a list; a directory of a flat one ends in '/'. */
static inline void assert_listed(struct meta *m, const struct file_query *query, const char *wanted)
{
    char got[16384] = "";
    struct file_query q = *query;
    char *next = NULL, *before = NULL;
    do {
        struct file_rows rows;
        OK(meta_file_list(m, "ws_a", &q, &rows, &next, e));
        assert_true(rows.count <= q.limit);
        assert_int_equal(rows.has_more, next != NULL);
        for (size_t i = 0; i < rows.count; i++) {
            size_t len = strlen(got);
            (void)snprintf(got + len, sizeof got - len, "%s%s%s", len ? " " : "",
                           rows.items[i].path, rows.items[i].kind == FILE_DIR ? "/" : "");
        }
        file_rows_done(&rows);
        free(before);
        before = next;
        q.after = next;
    } while (next);
    assert_string_equal(got, wanted);
}

static inline void assert_live(struct meta *m, const char *path, char letter, uint64_t version)
{
    struct file_row f;
    OK(meta_file_get(m, "ws_a", path, &f, e));
    assert_int_equal(f.content.sha256[5], letter);
    assert_int_equal(f.version, version);
    file_row_done(&f);
}

static inline void assert_gone(struct meta *m, const char *path)
{
    struct file_row f;
    FAILS(ERR_NOT_FOUND, meta_file_get(m, "ws_a", path, &f, e));
}

static inline void assert_usage(struct meta *m, uint64_t files, uint64_t bytes, uint64_t kept)
{
    struct workspace_row w;
    OK(meta_workspace_get(m, "ws_a", &w, e));
    assert_int_equal(w.files, files);
    assert_int_equal(w.bytes, bytes);
    assert_int_equal(w.kept_bytes, kept);
    workspace_row_done(&w);
    OK(meta_check_files(m, e));
}

#endif
