#include "cli/session_pick.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/run_request.h"

int session_pick(struct remote *r, const char *word, char ret[ID_SIZE], struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(4096);
    scoped(json_decrefp) json_t *made = NULL;
    struct err missing = {0};
    if (shelf_is_id(&shelf_sessions, word)) {
        (void)snprintf(ret, ID_SIZE, "%s", word);
        return remote_get(r, &shelf_sessions, word, /* ret= */ NULL, e); /* is it there? */
    }
    if (remote_resolve(r, &shelf_sessions, word, ret, &missing) == 0)
        return 0;
    if (missing.code != ERR_NOT_FOUND) {
        *e = missing;
        return -1;
    }
    session_request(word, /* limits= */ NULL, /* limits_given= */ 0, &body);
    if (remote_post(r, shelf_sessions.path, &body, &made, e))
        return -1;
    if (strstr(missing.text, "did you mean"))
        note(&r->notes, "%s", missing.text);
    note(&r->notes, "made the session '%s'", word);
    (void)snprintf(ret, ID_SIZE, "%s", pick_text(made, "id"));
    return 0;
}
