/* event.h -- an entry of the audit that tells of a change, as members of its workspace see it.
 *
 * The audit knows more than they may: addresses, programs, keys, refusals, who looked at what. An event is made
 * of what is listed here and nothing else:
 *
 *     {"seq", "type", "at", "principal", "via", "workspace_id", "object_id", "file_id", "path",
 *      "version", "rev", "session_id", "run_id", "detail"}
 *
 * Who may read a workspace sees what happens to its files, locks, members and itself, and whatever they did
 * themselves; the rest (sessions and runs of others, links, webhooks) is for its admins, as it is where
 * those are listed. `detail` of a change to files says what became of each; other details are for
 * admins and for who did it.
 */
#ifndef SERVICE_EVENT_H
#define SERVICE_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "store/audit.h"

struct buf;
struct err;

enum {
    EVENT_TYPES_MAX = 32,        /* patterns of a filter */
    EVENT_TYPE_LEN_MAX = 64,     /* of one */
    EVENT_TYPES_SIZE = 1024,     /* of all, with commas and the NUL */
    EVENT_BYTES_MAX = 256 << 10, /* of an event as JSON */
};

/* Whose eyes. */
struct event_reader {
    const char *principal;
    bool is_admin; /* of the workspace */
};

bool event_is_shown(const struct audit_row *row, const struct event_reader *reader);

/* Patterns of types, separated by commas: names, with * and ? for any characters and any one. "" is every
 * type. Fails with ERR_INVALID and what is wrong. */
int event_types_check(const char *types, struct err *e);
bool event_types_fit(const char *types, const char *type); /* of those that were checked */

/* Appends the event as one line. Fails with ERR_DAMAGED when the record is none. */
int event_write(const struct audit_row *row, const struct event_reader *reader, struct buf *out,
                struct err *e);

#endif
