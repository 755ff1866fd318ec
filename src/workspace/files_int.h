/* files_int.h -- the inside of files.h. */
#ifndef WORKSPACE_FILES_INT_H
#define WORKSPACE_FILES_INT_H

#include "workspace/files.h"
#include "workspace/locks_int.h"

#define DAY_US INT64_C(86400000000)

struct files {
    struct files_options o;
    struct line line; /* of those who wait for locks */
};

/* The quota that holds for the workspace; 0: none. */
static inline uint64_t files_max_of(const struct files *f, const struct workspace_row *ws)
{
    return ws->files_max ? ws->files_max : f->o.files_max;
}
static inline uint64_t bytes_max_of(const struct files *f, const struct workspace_row *ws)
{
    return ws->bytes_max ? ws->bytes_max : f->o.bytes_max;
}

static inline bool has_uploads(const struct files *f)
{
    return f->o.uploads_fd > 0;
}

static inline void files_tell_change(const struct files *f, const char *workspace)
{
    if (f->o.on_change)
        f->o.on_change(f->o.on_change_arg, workspace);
}

/* Removes uploads that nobody has touched for UPLOAD_DAYS, and files that no row names. */
int uploads_tidy(struct files *f, int64_t now_us, struct err *e);

#endif
