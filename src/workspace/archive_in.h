/* archive_in.h -- an archive becomes files of a workspace, in one commit, while it is being received.
 *
 *     archive_import(files, &ws, &author, "data", &source, &report, &commit, e)
 *
 * zip, tar, tar.gz and tar.zst; which it is, is seen from its first bytes. Either everything that can be
 * taken is, or nothing. What cannot be (links, devices, absolute names, "..", names that paths.h refuses)
 * is left out and listed with the reason.
 *
 * Archives are hostile: at most IMPORT_FILES_MAX files and IMPORT_ENTRIES_MAX entries of any kind;
 * unpacked no more than IMPORT_RATIO_MAX times what was read, beyond the first IMPORT_FREE_LEN bytes;
 * files and the whole within what files and workspaces may hold. Past a limit the import fails:
 * ERR_TOO_LARGE, ERR_QUOTA. Protected by a password, cut off or no archive at all: ERR_INVALID.
 *
 * A zip is read from its front, as it comes, so what only its directory at the end says is not known: a
 * symbolic link in it becomes a file that holds its target.
 *
 * Any number of threads. Blocks on disk and in the source.
 */
#ifndef WORKSPACE_ARCHIVE_IN_H
#define WORKSPACE_ARCHIVE_IN_H

#include "workspace/files.h"

enum {
    IMPORT_FILES_MAX = 10000,
    IMPORT_ENTRIES_MAX = 20000,
    IMPORT_RATIO_MAX = 100,
    IMPORT_FREE_LEN = 1 << 20,
    IMPORT_SKIPPED_MAX = 100, /* that are listed; others are counted */
};

struct archive_source { /* *ret_len 0 is the end */
    int (*read)(void *arg, void *to, size_t size, size_t *ret_len, struct err *e);
    void *arg;
};

struct import_report {
    uint64_t files, bytes;
    struct import_skipped {
        char *name; /* as far as it is text, cut to some 200 bytes */
        const char
            *reason; /* the rest of a sentence about the name, or the entry: "it is a link" */
    } * skipped;     /* the caller ends it with import_report_done */
    size_t skipped_count;
    uint64_t skipped_more; /* that are not listed */
};

void import_report_done(struct import_report *r);

/* To the directory `to`; "": to the top. *ret_commit is finished; the caller frees it. Empty archives
 * make an empty commit. */
int archive_import(struct files *f, const struct workspace_row *ws, const struct author *author,
                   const char *to, const struct archive_source *source,
                   struct import_report *ret_report, struct commit **ret_commit, struct err *e);

#endif
