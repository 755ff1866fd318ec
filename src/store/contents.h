/* contents.h -- what files hold: bytes by their hash, each kept once.
 *
 * A content is known by its SHA-256 and its size. It is cut into chunks (cdc.h: where to cut depends
 * on the bytes, so an insertion moves no other cut), each of which is compressed if that helps and
 * appended to a pack (packs.h). A *vault* is the scope within which equal chunks are kept once: the
 * principal who made the workspace. Nothing is shared or can be noticed across vaults.
 *
 *     struct batch *b;
 *     batch_new(contents, vault, &b, e)
 *     batch_begin(b, size_or_0, e); batch_write(b, bytes, len, e) ...; batch_end(b, &content, e)
 *     batch_sync(b, e)                    all of it is on disk: fdatasync, of the directory too
 *     meta_commit(m, &commit, changes, n, b, e)       rows of chunks and versions, one transaction
 *     batch_free(b)
 *
 * **Order of durability**: bytes, then batch_sync, then the transaction that names them, then the
 * answer. A batch that is freed without a commit leaves garbage in a pack, which gc finds.
 *
 * **Failure.** A failed fdatasync stops the store for good (contents_options.on_stop, once): nobody
 * knows what is on the disk then, and asking again would be told a lie. Every later batch fails with
 * ERR_UNAVAILABLE; reading goes on. A full disk fails the batch with ERR_NO_SPACE and nothing else.
 *
 * Any number of threads; a batch and a reader belong to one at a time. All block on disk.
 */
#ifndef STORE_CONTENTS_H
#define STORE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "store/rows.h"

struct batch;
struct contents;
struct content_reader;
struct err;
struct meta;
struct packs;

enum {
    CHUNK_WHOLE_MAX = 256 << 10, /* a content up to this size is one chunk */
    CHUNK_MIN = 16 << 10,
    CHUNK_AVERAGE = 64 << 10,
    CHUNK_MAX = 512 << 10,
};
#define CONTENT_SIZE_MAX ((uint64_t)1 << 40)
#define CHUNK_LARGE_FROM ((uint64_t)1 << 30) /* announced size from which cuts are 1 MiB apart */

struct contents_options {
    struct packs *packs; /* both borrowed */
    struct meta *meta;
    void (*on_stop)(void *arg, const char *why); /* any thread; may be NULL */
    void *arg;
};

int contents_open(const struct contents_options *options, struct contents **ret, struct err *e);
void contents_close(struct contents *c);
bool contents_is_stopped(struct contents *c);

/* ---- writing ---- */

int batch_new(struct contents *c, const char *vault, struct batch **ret, struct err *e);
void batch_free(struct batch *b); /* NULL is fine */
static inline void batch_freep(struct batch **b)
{
    batch_free(*b);
}

/* One content after the other. `size` is a guess, 0: not known. */
int batch_begin(struct batch *b, uint64_t size, struct err *e);
int batch_write(struct batch *b, const void *bytes, size_t len, struct err *e);
int batch_end(struct batch *b, struct content *ret, struct err *e);
void batch_drop(struct batch *b); /* forgets the one that was begun; others stay */

/* A content that the vault has already: for copies and restored versions, which write nothing. The
 * transaction makes sure that it is still there. Fails with ERR_NOT_FOUND. */
int batch_reuse(struct batch *b, const struct content *content, struct err *e);

int batch_sync(struct batch *b, struct err *e);

uint64_t batch_stored(const struct batch *b); /* bytes appended to packs so far */

/* What the transaction has to write down, and what it has to find; borrowed. */
void batch_chunks(const struct batch *b, struct chunk_set *ret);

/* ---- reading ---- */

/* Fails with ERR_NOT_FOUND when the vault has no such content. */
int content_open(struct contents *c, const char *vault, const struct content *content,
                 struct content_reader **ret, struct err *e);
void content_close(struct content_reader *r); /* NULL is fine */
static inline void content_closep(struct content_reader **r)
{
    content_close(*r);
}

/* Reads from `offset` on; *ret_len 0 is the end. Every chunk's hash is checked: ERR_DAMAGED when what
 * is on the disk is not what was written. */
int content_read(struct content_reader *r, uint64_t offset, void *to, size_t size, size_t *ret_len,
                 struct err *e);

#endif
