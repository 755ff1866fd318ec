/* extractor.h -- the text of documents, read in a jail of its own by extract.py.
 *
 * Documents are hostile: zip bombs, PDFs that want the parser, XML without end. Nothing of the server opens
 * one. A jail without network, with little memory, time and room, holds one document at a time and prints pieces
 * of text, which are checked here as anything from a stranger is. It is used for several documents of one
 * vault, never of two, and thrown away after EXTRACTOR_DOCS_MAX of them, and after each that went wrong.
 *
 *     extractor_open(&options, vault, &x, e)
 *     extractor_read(x, &ws, &content, "report.pdf", &text, e)
 *     text.state, text.reason, text.chunks
 *     extracted_done(&text)
 *     extractor_close(x)
 *
 * Of one thread, but for extractor_cancel.
 */
#ifndef SERVICE_EXTRACTOR_H
#define SERVICE_EXTRACTOR_H

#include <stdatomic.h>

#include "base/id.h"
#include "store/text_index.h"

struct content;
struct current;
struct err;
struct extractor;
struct files;
struct spawner;
struct workspace_row;

enum {
    EXTRACTOR_DOCS_MAX = 50,
    EXTRACTOR_WALL_MS = 40000,
    EXTRACTOR_MEMORY_MB = 512,
    EXTRACTOR_LINE_MAX = 64 << 10, /* bytes that it says about one piece */
};

struct extractor_options {
    struct spawner *spawner; /* all borrowed */
    struct current *current; /* the image to start from */
    struct files *files;
    int live_fd;         /* DATA/live */
    uint64_t file_max;   /* bytes of a document */
    bool can_use_images; /* as sessions do */
    atomic_bool *is_stopping;
};

struct extracted {
    enum doc_state state; /* DOC_READY, DOC_FAILED or DOC_SKIPPED */
    char reason[DOC_REASON_MAX + 1];
    struct text_chunk *chunks; /* with texts of their own */
    size_t count, room, bytes;
    bool is_over; /* it said how it ended */
};
void extracted_done(struct extracted *t);

/* Starts the jail. Fails like kernel_start. Blocks. */
int extractor_open(const struct extractor_options *options, const char *vault,
                   struct extractor **ret, struct err *e);
void extractor_close(struct extractor *x); /* NULL is fine. Blocks */

const char *extractor_vault(const struct extractor *x);
/* It has done its share, or something went wrong in it: close it. */
bool extractor_is_spent(const struct extractor *x);

/* Returns 0 whatever became of the document: *ret says. Fails when the server is at fault: no room on its
 * disk, no jail; try again later. `name` is only looked at for how it ends. Blocks. */
int extractor_read(struct extractor *x, const struct workspace_row *ws,
                   const struct content *content, const char *name, struct extracted *ret,
                   struct err *e);

/* Any thread; once *is_stopping is true. */
void extractor_cancel(struct extractor *x);

/* extract.py's one line, for its test: 0, or -1 when it is not as it should be. */
int extracted_line(struct extracted *t, const char *line, size_t len);

#endif
