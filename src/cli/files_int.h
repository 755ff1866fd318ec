/* files_int.h -- inside `cicada files`: what its verbs share.
 *
 * A word is cleaned (fileref.h) before it goes anywhere. The workspace is named in the address, by id,
 * by name or as "default": the server knows which one is meant.
 */
#ifndef CLI_FILES_INT_H
#define CLI_FILES_INT_H

#include "cli/fileref.h"
#include "cli/verbs.h"

/* Options of the verbs of `files`, by number; each verb has its own table. */
enum {
    FILES_LONG = VERB_OWN,
    FILES_ALL, /* hidden ones too */
    FILES_DEEP,
    FILES_BY_TIME,
    FILES_BY_SIZE,
    FILES_REVERSED,
    FILES_LIMIT,
    FILES_OUT,
    FILES_TO,
    FILES_VERSION,
    FILES_FORCE,
    FILES_LATEST,
};

enum { FILES_LIST_MAX = 100000, FILES_BODY_MAX = 16384 };

extern const struct option files_ls_options[], files_get_options[], files_put_options[],
    files_cat_options[], files_rm_options[], files_mv_options[], files_cp_options[],
    files_history_options[], files_diff_options[], files_restore_options[], files_trash_options[],
    files_mkdir_options[], files_why_options[], files_reproduce_options[];

int files_ls(struct remote *r, const struct verb_input *in, struct err *e);
int files_get(struct remote *r, const struct verb_input *in, struct err *e);
int files_put(struct remote *r, const struct verb_input *in, struct err *e);
int files_cat(struct remote *r, const struct verb_input *in, struct err *e);
int files_rm(struct remote *r, const struct verb_input *in, struct err *e);
int files_mv(struct remote *r, const struct verb_input *in, struct err *e);
int files_cp(struct remote *r, const struct verb_input *in, struct err *e);
int files_history(struct remote *r, const struct verb_input *in, struct err *e);
int verb_file_diff(struct remote *r, const struct verb_input *in, struct err *e);
int files_restore(struct remote *r, const struct verb_input *in, struct err *e);
int files_trash(struct remote *r, const struct verb_input *in, struct err *e);
int files_why(struct remote *r, const struct verb_input *in, struct err *e);
int files_reproduce(struct remote *r, const struct verb_input *in, struct err *e);
int files_mkdir(struct remote *r, const struct verb_input *in, struct err *e);

/* The one that was named, or the default one. */
const char *verb_workspace(const struct verb_input *in);

/* The " -w NAME" that a command in a message needs; "" for the default workspace. */
const char *files_flag(const struct verb_input *in, char space[96]);

/* The version given with --version; 0: none was. */
int files_version(const struct verb_input *in, unsigned long long *ret, struct err *e);

/* The file object of a path; `version` 0: the newest. The caller owns *ret. */
int verb_file_stat(struct remote *r, const char *workspace, const char *path,
                   unsigned long long version, struct json_t **ret, struct err *e);

/* POST of `body` to a door of the workspace. `ret` may be NULL. */
int files_post(struct remote *r, const char *workspace, const char *door, const struct buf *body,
               struct json_t **ret, struct err *e);

/* What the workspace lists: `prefix` "" or "plots/"; `glob` may be NULL; otherwise as remote_list. */
struct files_query {
    const char *prefix, *glob;
    bool is_deep;
    unsigned max;
};
int files_list(struct remote *r, const char *workspace, const struct files_query *query,
               struct json_t **ret, bool *ret_has_more, struct err *e);

/* What a word of a command means. */
enum meaning { MEANS_FILE, MEANS_DIRECTORY, MEANS_PATTERN };
struct found {
    enum meaning meaning;
    struct json_t *files; /* file objects, no directories; owned */
    size_t base_len;      /* bytes of each path before what is its name elsewhere */
};
void found_done(struct found *f);

/* A path that exists is meant literally, even if it looks like a pattern; below a directory, all is
 * found. Fails with ERR_NOT_FOUND when nothing is. */
int files_find(struct remote *r, const char *workspace, const char *word, struct found *ret,
               struct err *e);

bool file_is_directory(const struct json_t *file);

#endif
