/* Reading a pack record by record, without payloads. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/packs_int.h"

enum { WINDOW = 64 << 10, FOOTER_MAX = 256 << 20 };

struct walk {
    int fd;
    uint64_t pack, len;
    uint8_t *window; /* WINDOW bytes of the file from window_at on, window_len are there */
    uint64_t window_at;
    size_t window_len;
    uint8_t *footer; /* NULL: not looked for yet, or none */
    size_t footer_len, footer_count;
    bool has_looked;
};

static int read_at(struct walk *w, uint64_t offset, uint8_t *to, size_t len, size_t *ret,
                   struct err *e)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(w->fd, to + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_sys(e, errno, "read pack %" PRIu64, w->pack);
            e->code = ERR_DAMAGED;
            return -1;
        }
        if (n == 0)
            break;
        done += (size_t)n;
    }
    *ret = done;
    return 0;
}

/* `len` bytes at `offset`, borrowed until the next call; NULL behind the end or after a failure. Many
 * small records are read at once; where they are long, not much more than the header is. */
static const uint8_t *look(struct walk *w, uint64_t offset, size_t len, bool is_near, struct err *e)
{
    uint64_t window_end = w->window_at + w->window_len;
    if (offset < w->window_at || offset + len > window_end) {
        if (read_at(w, offset, w->window, is_near ? WINDOW : 4096, &w->window_len, e))
            return NULL;
        w->window_at = offset;
        if (w->window_len < len)
            return NULL;
    }
    return w->window + (offset - w->window_at);
}

/* The footer, if the pack ends with a sound one. */
static int look_for_footer(struct walk *w, struct err *e)
{
    uint8_t tail[FOOTER_TAIL];
    size_t got = 0;
    w->has_looked = true;
    if (w->len < FOOTER_TAIL)
        return 0;
    if (read_at(w, w->len - FOOTER_TAIL, tail, sizeof tail, &got, e))
        return -1;
    size_t len = got == sizeof tail ? footer_tail_decode(tail) : 0;
    if (len == 0 || len > w->len || len > FOOTER_MAX)
        return 0;
    scoped(freep) uint8_t *footer = malloc(len);
    if (!footer)
        return err_set(e, ERR_NO_MEMORY, "read the footer of a pack");
    if (read_at(w, w->len - len, footer, len, &got, e))
        return -1;
    if (got != len || !footer_decode(footer, len, w->len - len, &w->footer_count))
        return 0;
    w->footer = take(footer);
    w->footer_len = len;
    return 0;
}

/* Behind a place where no record begins: the next one that the footer knows, or its own beginning. */
static uint64_t next_known(const struct walk *w, uint64_t offset)
{
    uint64_t best = w->len - w->footer_len;
    for (size_t i = 0; i < w->footer_count; i++) {
        struct chunk_row row;
        footer_entry(w->footer, i, &row);
        if (row.offset > offset && row.offset < best)
            best = row.offset;
    }
    return best;
}

/* The record at `offset`: 1, 0 when there is none, -1. */
static int read_record(struct walk *w, uint64_t offset, bool is_near, struct chunk_row *ret,
                       struct err *e)
{
    struct err trouble = {0};
    struct record r;
    const uint8_t *head = look(w, offset, RECORD_HEAD, is_near, &trouble);
    if (!head && trouble.code) {
        *e = trouble;
        return -1;
    }
    if (!head || !record_decode(head, &r) || w->len - offset < (uint64_t)RECORD_HEAD + r.stored_len)
        return 0;
    *ret = (struct chunk_row){.kind = r.kind,
                              .pack = w->pack,
                              .offset = offset,
                              .stored_len = r.stored_len,
                              .raw_len = r.raw_len,
                              .flags = r.flags};
    memcpy(ret->sha256, r.sha256, HASH_LEN);
    if (r.kind == CHUNK_RECIPE) {
        const uint8_t *key = look(w, offset + RECORD_HEAD, HASH_LEN, is_near, &trouble);
        if (!key) {
            *e = trouble;
            return trouble.code ? -1 : 0;
        }
        memcpy(ret->sha256, key, HASH_LEN);
    }
    return 1;
}

/* No record at `*offset`: goes on where the footer says, or says that this is the end. */
static int step_over(struct walk *w, uint64_t *offset, struct pack_walked *walked, bool *ret_end,
                     struct err *e)
{
    if (!w->has_looked && look_for_footer(w, e))
        return -1;
    uint64_t footer_at = w->len - w->footer_len;
    *ret_end = !w->footer || *offset >= footer_at;
    walked->is_sealed = w->footer && *offset == footer_at;
    if (*ret_end)
        return 0;
    walked->damaged++;
    *offset = next_known(w, *offset);
    if (*offset == footer_at) {
        *ret_end = true;
        walked->is_sealed = true;
    }
    return 0;
}

static int walk_all(struct walk *w, pack_visit *visit, void *arg, struct pack_walked *ret,
                    struct err *e)
{
    struct pack_walked walked = {0};
    bool is_near = true;
    for (uint64_t offset = 0; offset < w->len;) {
        struct chunk_row row;
        int found = read_record(w, offset, is_near, &row, e);
        if (found < 0)
            return -1;
        if (found) {
            if (visit && visit(arg, &row, e))
                return -1;
            walked.records++;
            is_near = row.stored_len < WINDOW / 4;
            offset += (uint64_t)RECORD_HEAD + row.stored_len;
            walked.end = offset;
            continue;
        }
        bool is_end = false;
        if (step_over(w, &offset, &walked, &is_end, e))
            return -1;
        if (is_end)
            break;
    }
    *ret = walked;
    return 0;
}

int pack_walk_fd(int fd, uint64_t number, pack_visit *visit, void *arg, struct pack_walked *ret,
                 struct err *e)
{
    struct stat st;
    if (fstat(fd, &st))
        return err_sys(e, errno, "look at pack %" PRIu64, number);
    struct walk w = {.fd = fd, .pack = number, .len = (uint64_t)st.st_size};
    w.window = malloc(WINDOW);
    if (!w.window)
        return err_set(e, ERR_NO_MEMORY, "walk through a pack");
    int failed = walk_all(&w, visit, arg, ret, e);
    free(w.window);
    free(w.footer);
    return failed;
}

int packs_walk(struct packs *p, const char *vault, uint64_t pack, pack_visit *visit, void *arg,
               struct pack_walked *ret, struct err *e)
{
    scoped(fd_closep) int fd = -1;
    if (pack_open_read(p, vault, pack, &fd, e))
        return -1;
    return pack_walk_fd(fd, pack, visit, arg, ret, e);
}
