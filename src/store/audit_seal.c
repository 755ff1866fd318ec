#include "store/audit_seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "store/audit_int.h"
#include "store/meta_int.h"

static const struct {
    const char *last, *newest, *insert;
} sql = {
    .last = "SELECT seq, at, hash, signature, key FROM checkpoints ORDER BY seq DESC LIMIT 1",
    .newest = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1",
    .insert = "INSERT INTO checkpoints (seq, at, hash, signature, key) VALUES (?1, ?2, ?3, ?4, ?5)",
};

static const char file_name[] = "audit.checkpoints";

int audit_checkpoint_read(const struct sql_rows *rows, struct audit_checkpoint *ret)
{
    struct str hash = sql_text(rows, 2), signature = sql_text(rows, 3), key = sql_text(rows, 4);
    *ret = (struct audit_checkpoint){.seq = (uint64_t)sql_int(rows, 0), .at_us = sql_int(rows, 1)};
    if (hash.len != HASH_LEN || signature.len != AUDIT_SIGNATURE_LEN || key.len != AUDIT_KEY_LEN)
        return -1; /* not one of ours: no signature fits it */
    memcpy(ret->hash, hash.ptr, HASH_LEN);
    memcpy(ret->signature, signature.ptr, AUDIT_SIGNATURE_LEN);
    memcpy(ret->key, key.ptr, AUDIT_KEY_LEN);
    return 0;
}

/* The newest checkpoint; seq 0: there is none. */
static int find_last(struct db_conn *c, struct audit_checkpoint *ret, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    *ret = (struct audit_checkpoint){0};
    if (sql_query(c, sql.last, SQL_NOTHING, &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got == 1)
        (void)audit_checkpoint_read(&rows, ret); /* whatever it is, the next comes after it */
    return got < 0 ? -1 : 0;
}

/* ---- the file ---- */

static int append(int data_fd, const struct audit_checkpoint *c, struct err *e)
{
    scoped(buf_done) struct buf line = BUF_INIT(AUDIT_CHECKPOINT_MAX);
    audit_checkpoint_print(c, &line);
    buf_str(&line, "\n");
    scoped(fd_closep) int fd =
        openat(data_fd, file_name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, errno, "write audit.checkpoints");
    if (buf_check(&line, e) || fd_write_all(fd, line.bytes, line.len, e))
        return err_wrap(e, "write audit.checkpoints");
    return fdatasync(fd) || fsync(data_fd) ? err_sys(e, errno, "write audit.checkpoints") : 0;
}

/* Cuts off what a crash left half, and reads the last line; seq 0: there is none. */
static int repair(int fd, struct audit_checkpoint *ret, struct err *e)
{
    char end[2 * AUDIT_CHECKPOINT_MAX];
    struct stat st;
    *ret = (struct audit_checkpoint){0};
    if (fstat(fd, &st))
        return err_sys(e, errno, "read audit.checkpoints");
    off_t from = st.st_size > (off_t)sizeof end ? st.st_size - (off_t)sizeof end : 0;
    ssize_t got = pread(fd, end, sizeof end, from);
    if (got < 0)
        return err_sys(e, errno, "read audit.checkpoints");
    size_t len = (size_t)got;
    while (len > 0 && end[len - 1] != '\n')
        len--;
    if (len < (size_t)got && ftruncate(fd, from + (off_t)len))
        return err_sys(e, errno, "put audit.checkpoints in order");
    if (len == 0)
        return 0;
    const char *before = memrchr(end, '\n', len - 1);
    const char *line = before ? before + 1 : end;
    struct err ignored = {0}; /* a line that says nothing: audit_verify tells */
    (void)audit_checkpoint_parse(line, (size_t)(end + len - 1 - line), ret, &ignored);
    return 0;
}

int audit_seal_begin(struct meta *m, int data_fd, struct err *e)
{
    struct audit_checkpoint row, line = {0};
    scoped(fd_closep) int fd = openat(data_fd, file_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return err_sys(e, errno, "read audit.checkpoints");
    if (fd >= 0 && repair(fd, &line, e))
        return -1;
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e) || find_last(c, &row, e))
        return -1;
    return row.seq > line.seq ? append(data_fd, &row, e) : 0;
}

/* ---- making one ---- */

struct sealing {
    const struct audit_key *key;
    int64_t now_us;
    struct audit_checkpoint made;
    bool is_new;
};

/* On the writer's thread: whatever it finds there is durable no later than what it writes. */
static int seal(struct db_conn *c, void *arg, struct err *e)
{
    struct sealing *s = arg;
    struct audit_checkpoint *k = &s->made;
    if (find_last(c, k, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.newest, SQL_NOTHING, &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got < 0)
        return -1;
    s->is_new = got && (uint64_t)sql_int(&rows, 0) > k->seq;
    if (!s->is_new)
        return k->seq ? 0 : err_set(e, ERR_NOT_FOUND, "the audit is empty");
    struct str hash = sql_text(&rows, 1);
    *k = (struct audit_checkpoint){.seq = (uint64_t)sql_int(&rows, 0), .at_us = s->now_us};
    if (hash.len != HASH_LEN)
        return err_set(e, ERR_DAMAGED, "the audit is damaged: check it with `cicada audit verify`");
    memcpy(k->hash, hash.ptr, HASH_LEN);
    if (audit_checkpoint_sign(s->key, k, e))
        return -1;
    return sql_run(
        c, sql.insert,
        SQL_WITH(SQL_INT((int64_t)k->seq), SQL_INT(k->at_us), SQL_BYTES(k->hash, HASH_LEN),
                 SQL_BYTES(k->signature, AUDIT_SIGNATURE_LEN), SQL_BYTES(k->key, AUDIT_KEY_LEN)),
        e);
}

int audit_seal(struct meta *m, const struct audit_key *key, int data_fd, int64_t now_us,
               struct audit_checkpoint *ret, struct err *e)
{
    struct sealing s = {.key = key, .now_us = now_us};
    struct db_rider *before = db_rider_set(NULL); /* nobody's act */
    int failed = db_write(m->db, seal, &s, e);
    (void)db_rider_set(before);
    if (failed || (s.is_new && append(data_fd, &s.made, e)))
        return -1;
    *ret = s.made;
    return 0;
}

int audit_sealed(struct meta *m, uint64_t *ret_seq, struct err *e)
{
    int64_t seq;
    if (meta_number(m, sql.last, SQL_NOTHING, &seq, e))
        return -1;
    *ret_seq = (uint64_t)seq;
    return 0;
}
