/* remote.h -- a command's way to the server: finding it, starting it, and things by their names.
 *
 * Wherever an id is accepted, so is a name. Ids begin with ses_, run_, key_, prn_ or ws_; every other word
 * is a name and is looked up.
 */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include <stdbool.h>

#include "base/id.h"
#include "cli/note.h"

struct client;
struct err;
struct json_t;

struct remote {
    struct notes notes;
    struct client *client; /* owned */
};

/* Finds the server and, if there is none, starts one. Fails with ERR_UNAVAILABLE, ERR_INVALID. May
 * fork: before any thread is made. Blocks. */
int remote_open(struct remote *r, struct err *e);

/* The same, but only where it is. */
struct address;
int remote_find(struct notes *notes, struct address *ret, struct err *e);
void remote_done(struct remote *r);

/* Tells the failure and what to do about it; returns the exit code. */
int remote_failure(struct remote *r, const struct err *e);

/* The same; with `is_json` also as {"error": {code, message, hint}} on standard output. */
int remote_failure_json(struct remote *r, const struct err *e, bool is_json);

/* What is kept under a name on a server: how to list it, and what its ids begin with. */
struct shelf {
    const char *path;   /* "/api/v1/sessions" */
    const char *prefix; /* "ses_" */
    const char *what;   /* "session" */
    const char *ls;     /* the command that lists it */
};
extern const struct shelf shelf_sessions, shelf_runs, shelf_keys, shelf_principals,
    shelf_workspaces;

bool shelf_is_id(const struct shelf *s, const char *word);

/* The id of what `word` names. Fails with ERR_NOT_FOUND, and with the name that was probably meant,
 * or with ERR_CONFLICT if several have it. Blocks. */
int remote_resolve(struct remote *r, const struct shelf *s, const char *word, char ret[ID_SIZE],
                   struct err *e);

/* All that the path lists, page after page, up to `max` things, as one array. `query` is "" or
 * "status=idle&..."; *ret_has_more says that there are others. The caller owns *ret. Blocks. */
int remote_list(struct remote *r, const char *path, const char *query, unsigned max,
                struct json_t **ret, bool *ret_has_more, struct err *e);

/* POST without content to PATH/ID[/ACTION]; and DELETE. The caller owns *ret. Block. */
int remote_act(struct remote *r, const struct shelf *s, const char *id, const char *action,
               struct json_t **ret, struct err *e);
int remote_get(struct remote *r, const struct shelf *s, const char *id, struct json_t **ret,
               struct err *e);
int remote_delete(struct remote *r, const struct shelf *s, const char *id, struct err *e);

/* POST of `body` (JSON) to `path`, with a key that makes a repetition harmless. */
struct buf;
int remote_post(struct remote *r, const char *path, const struct buf *body, struct json_t **ret,
                struct err *e);

#endif
