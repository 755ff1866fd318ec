/* checker.c -- opens a data directory as a server would after a crash and looks whether all is there.
 *
 *     checker DATA < lines of writer.c
 *
 * Says one line for everything that is wrong, "lost ..." for what was acknowledged and is not there,
 * "bad ..." for what does not fit together, and exits with 1 then:
 *
 *   - every version on its input is there, with its path, kind, size and bytes;
 *   - every other version that is there can be read too, and its bytes are what its hash says;
 *   - a commit is there with all of its versions, or not at all;
 *   - the workspace's counters are the sums of what is in it, and fsck is silent;
 *   - every commit has its entry in the audit, no entry tells of one that is not there, and the chain with
 *     its checkpoints is whole;
 *   - the database is sound (integrity_check, foreign_key_check);
 *   - the store takes another commit, and has it after it was closed and opened again.
 */
#include <fcntl.h>
#include <search.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/scope.h"
#include "opened.h"
#include "store/audit_seal.h"
#include "store/fsck.h"

enum { LINE_SIZE = 4096, REVS_MAX = 100000 };

struct check {
    struct opened o;
    int wrong;
    void *verified;            /* a tree of contents that were read */
    uint64_t rev;              /* the last one that was acknowledged */
    uint32_t found[REVS_MAX];  /* versions of each revision */
    uint32_t wanted[REVS_MAX]; /* the same, for those that were acknowledged; 0: not known */
    uint64_t files, bytes;
};

static void wrong(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void wrong(struct check *c, const char *format, ...)
{
    va_list more;
    va_start(more, format);
    (void)vprintf(format, more);
    va_end(more);
    (void)putchar('\n');
    c->wrong++;
}

/* ---- contents ---- */

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct content));
}

/* Reads a content once. */
static void verify(struct check *c, const struct content *content, const char *what)
{
    struct err e = {0};
    struct content *key = calloc(1, sizeof *key); /* all of it, for memcmp */
    if (!key)
        abort();
    memcpy(key->sha256, content->sha256, HASH_LEN);
    key->size = content->size;
    void *at = tsearch(key, &c->verified, compare);
    if (*(struct content **)at != key) {
        free(key);
        return;
    }
    if (opened_verify(&c->o, c->o.ws.vault, content, &e))
        wrong(c, "bad %s: %s: %s", what, err_wire(e.code), e.text);
}

/* ---- what was acknowledged ---- */

static void check_version(struct check *c, char *words[6])
{
    struct err e = {0};
    uint64_t number = 0, size = 0;
    struct version_row v;
    if (parse_u64(words[1], 1, UINT64_MAX, &number, &e) ||
        (*words[3] != '-' && parse_u64(words[3], 0, UINT64_MAX, &size, &e)))
        die("input", &e);
    if (meta_version_get(opened_meta(&c->o), words[0], number, &v, &e)) {
        wrong(c, "lost %s %s: %s: %s", words[5], words[1], err_wire(e.code), e.text);
        return;
    }
    char sha[HASH_HEX_SIZE];
    hash_hex(v.content.sha256, sha);
    if (strcmp(v.path, words[5]) != 0)
        wrong(c, "lost %s: its path is %s", words[5], v.path);
    if (strcmp(change_names[v.change], words[2]) != 0)
        wrong(c, "lost %s: %s, not %s", words[5], change_names[v.change], words[2]);
    if (*words[3] != '-') {
        if (v.content.size != size || strcmp(sha, words[4]) != 0)
            wrong(c, "lost %s: another content", words[5]);
        verify(c, &v.content, words[5]);
    }
    version_row_done(&v);
}

static void check_acknowledged(struct check *c)
{
    static char line[LINE_SIZE];
    struct err e = {0};
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        char *words[7] = {NULL}, *at = line;
        size_t count = 0;
        while (count < 7 && (words[count] = strsep(&at, " ")))
            count++;
        if (count == 7 && strcmp(words[0], "version") == 0) {
            check_version(c, words + 1);
        } else if (count == 4 && strcmp(words[0], "commit") == 0) {
            uint64_t rev, made;
            if (parse_u64(words[2], 0, REVS_MAX - 1, &rev, &e) ||
                parse_u64(words[3], 0, UINT32_MAX, &made, &e))
                die("input", &e);
            c->wanted[rev] = (uint32_t)made;
            if (rev > c->rev)
                c->rev = rev;
        } else {
            fprintf(stderr, "checker: input: %s\n", line);
            exit(2);
        }
    }
}

/* ---- everything ---- */

static void check_versions(struct check *c, const struct file_row *file)
{
    struct err e = {0};
    char cursor[CURSOR_SIZE] = "";
    uint64_t newest = 0;
    for (bool has_more = true; has_more;) {
        struct page page = {.limit = PAGE_MAX, .cursor = *cursor ? cursor : NULL};
        struct version_rows rows;
        if (meta_version_list(opened_meta(&c->o), file->id, &page, &rows, &e)) {
            wrong(c, "bad %s: versions: %s", file->path, e.text);
            return;
        }
        for (size_t i = 0; i < rows.count; i++) {
            const struct version_row *v = &rows.items[i];
            if (v->version > newest)
                newest = v->version;
            if (v->rev < REVS_MAX)
                c->found[v->rev]++;
            if (v->change != CHANGE_DELETED && file->kind == FILE_REGULAR)
                verify(c, &v->content, v->path);
        }
        has_more = rows.has_more;
        memcpy(cursor, rows.next, sizeof cursor);
        version_rows_done(&rows);
    }
    if (newest != file->version)
        wrong(c, "bad %s: version %llu, but its last is %llu", file->path,
              (unsigned long long)file->version, (unsigned long long)newest);
}

static void check_files(struct check *c, enum file_state state)
{
    struct err e = {0};
    char *after = NULL;
    do {
        struct file_query query = {.prefix = "", .state = state, .after = after, .limit = PAGE_MAX};
        struct file_rows rows;
        char *next = NULL;
        if (meta_file_list(opened_meta(&c->o), c->o.ws.id, &query, &rows, &next, &e)) {
            wrong(c, "bad list: %s", e.text);
            break;
        }
        for (size_t i = 0; i < rows.count; i++) {
            const struct file_row *f = &rows.items[i];
            if (state == FILE_LIVE) {
                c->files++;
                c->bytes += f->content.size;
            }
            check_versions(c, f);
        }
        file_rows_done(&rows);
        free(after);
        after = next;
    } while (after);
    free(after);
}

static void check_sums(struct check *c)
{
    struct err e = {0};
    struct workspace_row w;
    if (opened_look(&c->o, &w, &e)) {
        wrong(c, "lost the workspace: %s", e.text);
        return;
    }
    if (w.rev < c->rev)
        wrong(c, "lost revision %llu: it is %llu", (unsigned long long)c->rev,
              (unsigned long long)w.rev);
    if (w.files != c->files || w.bytes != c->bytes)
        wrong(c, "bad counters: %llu files, %llu bytes; they are %llu, %llu",
              (unsigned long long)w.files, (unsigned long long)w.bytes,
              (unsigned long long)c->files, (unsigned long long)c->bytes);
    for (uint64_t rev = 1; rev < REVS_MAX; rev++) {
        if (c->wanted[rev] && c->found[rev] != c->wanted[rev])
            wrong(c, "lost: revision %llu has %u of %u versions", (unsigned long long)rev,
                  c->found[rev], c->wanted[rev]);
        if (c->found[rev] && rev > w.rev)
            wrong(c, "bad: versions of revision %llu, which is not there", (unsigned long long)rev);
    }
    workspace_row_done(&w);
}

/* ---- the store's own opinion ---- */

static void tell(void *arg, const char *what)
{
    wrong(arg, "bad: fsck: %s", what);
}

static void check_fsck(struct check *c)
{
    struct err e = {0};
    struct fsck_result result;
    const struct fsck_options options = {
        .contents = c->o.contents, .packs = c->o.packs, .tell = tell, .arg = c};
    if (fsck_run(&options, &result, &e))
        wrong(c, "bad: fsck: %s", e.text);
}

/* ---- the audit ---- */

static void check_audit(struct check *c, const char *dir)
{
    struct err e = {0}, none = {0};
    scoped(audit_key_freep) struct audit_key *key = NULL;
    scoped(fd_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)audit_key_load(fd, /* makes= */ false, &key, &none); /* perhaps it was never made */
    const struct audit_check check = {.data_fd = fd, .key = key ? audit_key_public(key) : NULL};
    struct audit_verdict v;
    if (audit_verify(opened_meta(&c->o), &check, &v, &e))
        wrong(c, "bad audit: %s", e.text);
    else if (!v.is_intact)
        wrong(c, "bad audit: entry %llu: %s", (unsigned long long)v.bad_seq, v.what);
}

/* Both ways; each row that comes out is wrong. */
#define TOLD                                                                                 \
    "WITH told AS MATERIALIZED (SELECT seq, workspace, json_extract(record, '$.rev') AS rev" \
    " FROM audit WHERE json_extract(record, '$.rev') IS NOT NULL),"                          \
    " made AS MATERIALIZED (SELECT w.id AS workspace, c.rev AS rev FROM commits AS c"        \
    " JOIN workspaces AS w ON w.number = c.workspace) "
static const char commits_and_entries[] =
    TOLD "SELECT 'revision ' || m.rev || ' has ' || count(t.seq) || ' entries in the audit'"
         " FROM made AS m LEFT JOIN told AS t ON t.workspace = m.workspace AND t.rev = m.rev"
         " GROUP BY m.workspace, m.rev HAVING count(t.seq) <> 1;" TOLD
         "SELECT 'entry ' || t.seq || ' tells of revision ' || t.rev || ', which is not there'"
         " FROM told AS t LEFT JOIN made AS m ON t.workspace = m.workspace AND t.rev = m.rev"
         " WHERE m.rev IS NULL";

/* ---- the database itself ---- */

static int no_row(void *arg, int count, char **values, char **names)
{
    (void)names;
    if (count < 1 || !values[0] || strcmp(values[0], "ok") != 0)
        wrong(arg, "bad database: %s", count > 0 && values[0] ? values[0] : "?");
    return 0;
}

static void check_database(struct check *c, const char *dir)
{
    char path[LINE_SIZE];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof path, "%s/meta.db", dir);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) ||
        sqlite3_exec(db, "PRAGMA integrity_check; PRAGMA foreign_key_check", no_row, c, NULL) ||
        sqlite3_exec(db, commits_and_entries, no_row, c, NULL))
        wrong(c, "bad database: %s", sqlite3_errmsg(db));
    (void)sqlite3_close(db);
}

/* ---- life goes on ---- */

static const char later[] = "written after the crash";

static int commit_later(struct check *c, struct err *e)
{
    const struct author author = opened_author(&c->o);
    const struct how how = {0};
    scoped(commit_freep) struct commit *made = NULL;
    if (commit_new(c->o.files, &c->o.ws, &author, COMMIT_UPLOAD, &made, e) ||
        commit_put(made, "later.txt", &how, sizeof later, e) ||
        commit_write(made, later, sizeof later, e) || commit_end(made, e))
        return -1;
    return commit_finish(made, e);
}

static int read_later(struct check *c, struct err *e)
{
    struct version_row v;
    if (files_stat(c->o.files, &c->o.ws, "later.txt", 0, &v, e))
        return -1;
    int rc = opened_verify(&c->o, c->o.ws.vault, &v.content, e);
    version_row_done(&v);
    return rc;
}

static void check_later(struct check *c, const char *dir)
{
    struct err e = {0};
    if (commit_later(c, &e)) {
        wrong(c, "bad: no commit after the crash: %s", e.text);
        return;
    }
    opened_end(&c->o);
    if (opened_begin(&c->o, dir, &e) || read_later(c, &e))
        wrong(c, "bad: a commit after the crash is gone: %s", e.text);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "checker DATA\n");
        return 2;
    }
    static struct check c;
    struct err e = {0};
    if (opened_begin(&c.o, argv[1], &e)) {
        printf("lost all: cannot be opened: %s: %s\n", err_wire(e.code), e.text);
        return 1;
    }
    check_acknowledged(&c);
    check_files(&c, FILE_LIVE);
    check_files(&c, FILE_TRASHED);
    check_sums(&c);
    check_fsck(&c);
    check_audit(&c, argv[1]);
    check_later(&c, argv[1]);
    opened_end(&c.o);
    check_database(&c, argv[1]);
    tdestroy(c.verified, free);
    return c.wrong > 0;
}
