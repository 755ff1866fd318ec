#include "cli/session_pick.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/run_request.h"

/* Whether the session works in the workspace of that name or id. */
static int check_workspace(struct remote *r, const json_t *session, const char *word,
                           const char *workspace, struct err *e)
{
    scoped(json_decrefp) json_t *meant = NULL;
    if (!workspace)
        return 0;
    if (remote_get(r, &shelf_workspaces, workspace, &meant, e))
        return -1;
    if (strcmp(pick_text(session, "workspace_id"), pick_text(meant, "id")) == 0)
        return 0;
    return err_set(e, ERR_CONFLICT,
                   "the session '%.60s' works in another workspace than '%.60s'; leave out -w, or "
                   "take another session",
                   word, workspace);
}

static int make(struct remote *r, const char *word, const char *workspace, char ret[ID_SIZE],
                struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(4096);
    scoped(json_decrefp) json_t *made = NULL;
    session_request(word, workspace, /* limits= */ NULL, /* limits_given= */ 0, &body);
    if (remote_post(r, shelf_sessions.path, &body, &made, e))
        return -1;
    note(&r->notes, "made the session '%s'", word);
    (void)snprintf(ret, ID_SIZE, "%s", pick_text(made, "id"));
    return 0;
}

int session_pick(struct remote *r, const char *word, const char *workspace, char ret[ID_SIZE],
                 struct err *e)
{
    scoped(json_decrefp) json_t *session = NULL;
    struct err missing = {0};
    bool is_id = shelf_is_id(&shelf_sessions, word);
    if (remote_resolve(r, &shelf_sessions, word, ret, &missing) == 0) {
        if (!is_id && !workspace)
            return 0;
        if (remote_get(r, &shelf_sessions, ret, &session, e)) /* is it there? */
            return -1;
        return check_workspace(r, session, word, workspace, e);
    }
    if (missing.code != ERR_NOT_FOUND) {
        *e = missing;
        return -1;
    }
    if (strstr(missing.text, "did you mean"))
        note(&r->notes, "%s", missing.text);
    return make(r, word, workspace, ret, e);
}
