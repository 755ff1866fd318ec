/* file_source.h -- a file as text, piece by piece, as far as somebody wants to read it.
 *
 *     scoped(source_done) struct file_source s = SOURCE(m, &facts);
 *     for (struct str piece; !enough;) {
 *         if (source_next(&s, &piece, e))
 *             return -1;
 *         if (s.is_over) ...                      that was the last
 *     }
 *
 * Only what is asked for is fetched, in pieces that grow, and never more than FILE_SCAN_MAX bytes
 * (is_given_up). The version is the one the facts are of, whatever others do meanwhile.
 */
#ifndef MCP_FILE_SOURCE_H
#define MCP_FILE_SOURCE_H

#include "base/buf.h"
#include "base/str.h"
#include "mcp/file_common.h"
#include "mcp/file_decode.h"

struct file_source {
    struct mcp_call *m;
    const struct file_facts *f;
    uint64_t at;   /* bytes that were read */
    uint64_t most; /* that may be; 0: FILE_SCAN_MAX */
    size_t piece;  /* to read next */
    struct decoder decoder;
    struct buf text;  /* the piece, decoded */
    bool is_over;     /* the file has ended */
    bool is_given_up; /* it has not, but no more is read */
};

#define SOURCE(m_, facts) \
    ((struct file_source){.m = (m_), .f = (facts), .text = BUF_INIT(4 * (size_t)FILE_PIECE_MAX)})

void source_done(struct file_source *s);

/* The next piece, which lives until the next call. Of a binary file (s->decoder.encoding) it is as it
 * stands there. Fails with ERR_GONE when the client has cancelled. Blocks on disk. */
int source_next(struct file_source *s, struct str *ret, struct err *e);

#endif
