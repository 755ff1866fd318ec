/* file_object.h -- workspaces, files and their versions as JSON, and where they are found.
 *
 * The names of the fields are contract: docs/api.md explains them. Nothing here fails by itself: ask
 * the buf at the end.
 */
#ifndef SERVICE_FILE_OBJECT_H
#define SERVICE_FILE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct author;
struct buf;
struct file_row;
struct json_writer;
struct version_row;
struct workspace_row;

enum { ETAG_SIZE = 96 };

/* Appends `text` as one or more segments of an address: everything but unreserved characters and '/'
 * is escaped. */
void url_path(struct buf *out, const char *text);

/* "/api/v1/workspaces/WS/files/PATH?version=N"; version 0: without it, the newest. */
void file_url(struct buf *out, const char *workspace, const char *path, uint64_t version);

/* "FILE_ID:VERSION", with its quotes. */
void file_etag(const char *file, uint64_t version, char ret[ETAG_SIZE]);

/* Where it is now; a trashed one has `deleted_at`. A directory without an id is one that others are in. */
void object_file_row(struct json_writer *w, const struct file_row *f);
/* The same as it was at that version. */
void object_file_at(struct json_writer *w, const struct file_row *f, const struct version_row *v);

/* `path` is where the file is now: it may have been moved since. */
void object_version(struct json_writer *w, const char *workspace, const char *path,
                    const struct version_row *v);

/* Members of the object that is open: files, bytes, kept_bytes, quota. A quota of 0 is the server's
 * default. */
void object_usage(struct json_writer *w, const struct workspace_row *ws);
void object_workspace(struct json_writer *w, const struct workspace_row *ws, const char *role,
                      bool is_default);

#endif
