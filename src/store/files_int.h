/* files_int.h -- rows of files and versions out of queries; shared by the files that read them. */
#ifndef STORE_FILES_INT_H
#define STORE_FILES_INT_H

#include "store/meta_files.h"
#include "store/meta_int.h"

/* Columns of a file `f` in workspace `w` with commit `k`, in the order of file_kind_of.read. */
#define FILE_COLUMNS                                                                     \
    "f.id, w.id, f.path, f.kind, f.state, f.version, f.rev, f.sha256, f.size, f.change," \
    " k.principal, k.key_id, k.session, k.run, f.created, f.changed, f.number"
#define FILE_AUTHOR " LEFT JOIN commits AS k ON k.workspace = f.workspace AND k.rev = f.rev"
/* And of a version `v` of the file `f`. */
#define VERSION_COLUMNS                                                                             \
    "f.id, v.version, v.rev, v.path, v.sha256, v.size, v.change, k.principal, k.key_id, k.session," \
    " k.run, v.pinned, v.created"
#define VERSION_AUTHOR " LEFT JOIN commits AS k ON k.workspace = v.workspace AND k.rev = v.rev"

extern const struct row_kind file_rows_kind, version_rows_kind;

void author_read(const struct sql_rows *rows, int column, struct author *ret);
void content_read_column(const struct sql_rows *rows, int column, struct content *ret);

/* A list of files that grows. */
struct file_list {
    struct file_row *items;
    size_t count, cap;
};
int file_list_add(struct file_list *l, struct file_row *row, struct err *e); /* takes it */
void file_list_done(struct file_list *l);

/* A row of which nothing but the path (copied) and what is in *row is known. */
int file_row_named(struct file_row *row, const char *path, size_t len, struct err *e);

#endif
