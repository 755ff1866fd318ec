/* archive_out.h -- files of a workspace as one archive, made while it is being sent.
 *
 *     archive_export(files, &ws, "plots/", ARCHIVE_ZIP, &sink, e)
 *
 * Files come in the order of their paths, under the paths they have in the workspace, with the time of
 * their last change; directories that were made as such are there too. Names are UTF-8, files may be
 * larger than 4 GiB (zip64). Nothing is written to disk and no file is held in memory. Whoever changes the
 * workspace meanwhile is seen or not, file by file; each file is whole.
 *
 * Any number of threads. Blocks on disk and in the sink.
 */
#ifndef WORKSPACE_ARCHIVE_OUT_H
#define WORKSPACE_ARCHIVE_OUT_H

#include "workspace/files.h"

enum archive_format { ARCHIVE_ZIP, ARCHIVE_TAR, ARCHIVE_TAR_GZ };

struct archive_sink {
    int (*put)(void *arg, const void *bytes, size_t len, struct err *e);
    void *arg;
};

/* `prefix` "": everything; "plots/": what is in that directory; bytewise. Fails with what the sink or the
 * store fails with; what was put by then is no whole archive. */
int archive_export(struct files *f, const struct workspace_row *ws, const char *prefix,
                   enum archive_format format, const struct archive_sink *sink, struct err *e);
/* What is in the folder `dir` ("": everything), under paths that begin there: nothing tells where the
 * folder lies. */
int archive_export_folder(struct files *f, const struct workspace_row *ws, const char *dir,
                          enum archive_format format, const struct archive_sink *sink,
                          struct err *e);

#endif
