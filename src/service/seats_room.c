/* seats_room.c -- sessions of containers give way to each other.
 *
 * Doors make one for every conversation, and nobody closes them. When their owner has as many sessions as allowed,
 * the one that nobody used for longest ends, as it would after sessions.keep_days: its files stay, its variables
 * do not, and the next run in that container says so. Not on a full disk, if there may be files in its copy that
 * could not be kept: those would go with it.
 */
#include "base/err.h"
#include "service/desk.h"
#include "service/seat.h"
#include "service/service_int.h"
#include "workspace/files.h"

enum { TRIES = 8 }; /* that may be busy */

bool seats_may_end(struct service *s, const char *session)
{
    return !files_is_full(s->o.files) || !desk_was_left(s->o.live_fd, session);
}

static bool is_container(struct service *s, const char *workspace)
{
    struct workspace_row ws;
    struct err ignored = {0};
    if (files_workspace_known(s->o.files, workspace, &ws, &ignored))
        return false;
    bool is = ws.kind == WORKSPACE_CONTAINER;
    workspace_row_done(&ws);
    return is;
}

static bool close_one(struct service *s, const struct who *who, const char *id)
{
    struct seat *seat = NULL;
    struct err ignored = {0};
    if (seat_find(s, who, id, &seat, &ignored))
        return false;
    bool is_closed = turn_count(&seat->turn) == 0 && seats_may_end(s, id) &&
                     seat_close(seat, "made room", &ignored) == 0;
    seat_unref(seat);
    return is_closed;
}

bool seats_make_room(struct service *s, const struct who *who, const struct session_row *row)
{
    struct session_rows rows;
    struct err ignored = {0};
    bool is_made = false;
    if (!is_container(s, row->workspace) ||
        meta_session_list_unused(s->o.meta, row->principal, WORKSPACE_CONTAINER, TRIES, &rows,
                                 &ignored))
        return false;
    for (size_t i = 0; i < rows.count && !is_made; i++)
        is_made = close_one(s, who, rows.items[i].id);
    session_rows_done(&rows);
    return is_made;
}
