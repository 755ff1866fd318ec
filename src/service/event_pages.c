/* Pages of events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/events_int.h"
#include "workspace/files.h"

enum { ROWS_MIN = 16, ROWS_MAX = 200, LOOK_MAX = 20000 }; /* entries read at once; for one page */

void event_notes_free(struct event_note *first)
{
    for (struct event_note *n = first, *next; n; n = next) {
        next = n->next;
        free(n);
    }
}

void event_page_done(struct event_page *p)
{
    event_notes_free(p->first);
    p->first = NULL;
}

int events_may(struct events *ev, const struct who *who, const char *workspace,
               struct event_reader *ret, struct err *e)
{
    scoped(workspace_row_done) struct workspace_row ws = {0};
    enum role role = ROLE_NONE;
    if (files_workspace_known(ev->o.files, workspace, &ws, e) ||
        rights_role(ev->o.files, who, &ws, &role, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    *ret = (struct event_reader){.principal = who->principal, .is_admin = role >= ROLE_ADMIN};
    return role >= ROLE_VIEWER;
}

static int make_note(const struct audit_row *row, const struct event_reader *reader,
                     struct event_note **ret, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(EVENT_BYTES_MAX);
    if (event_write(row, reader, &text, e))
        return -1;
    struct event_note *n = malloc(sizeof *n + text.len + 1);
    if (!n)
        return err_set(e, ERR_NO_MEMORY, "read events");
    *n = (struct event_note){.seq = row->seq, .len = text.len};
    (void)snprintf(n->type, sizeof n->type, "%s", row->event);
    memcpy(n->text, text.bytes, text.len + 1);
    *ret = n;
    return 0;
}

struct gathering {
    const struct event_reader *reader;
    const struct event_ask *ask;
    size_t bytes_max, bytes, count;
    struct event_note **last;
};

/* Takes what fits of the rows. True when there is no room for another. */
static int gather(struct gathering *g, const struct audit_rows *rows, struct event_page *p,
                  bool *ret_is_full, struct err *e)
{
    *ret_is_full = false;
    for (size_t i = 0; i < rows->count; i++) {
        const struct audit_row *row = &rows->items[i];
        if (event_is_shown(row, g->reader) && event_types_fit(g->ask->types, row->event)) {
            if (g->count == g->ask->limit || (g->count && g->bytes >= g->bytes_max)) {
                *ret_is_full = true;
                return 0;
            }
            if (make_note(row, g->reader, g->last, e))
                return -1;
            g->bytes += (*g->last)->len;
            g->last = &(*g->last)->next;
            g->count++;
        }
        p->next = row->seq;
    }
    return 0;
}

static uint32_t rows_for(uint32_t limit)
{
    return limit < ROWS_MIN ? ROWS_MIN : limit < ROWS_MAX ? limit + 1 : ROWS_MAX;
}

void event_rows_done(struct event_rows *r)
{
    audit_rows_done(&r->rows);
    *r = (struct event_rows){0};
}

/* The entries after `after`, in *rows: read, unless they are there already. */
static int read_rows(struct meta *m, const struct event_ask *ask, uint64_t after,
                     struct event_rows *rows, struct err *e)
{
    const struct audit_filter filter = {.workspace = ask->workspace,
                                        .after = after,
                                        .is_forward = true,
                                        .is_events = true,
                                        .limit = rows_for(ask->limit)};
    if (strcmp(rows->workspace, ask->workspace) == 0 && rows->after == after &&
        rows->limit == filter.limit)
        return 0;
    event_rows_done(rows);
    if (audit_list(m, &filter, &rows->rows, e))
        return -1;
    (void)snprintf(rows->workspace, sizeof rows->workspace, "%s", ask->workspace);
    rows->after = after;
    rows->limit = filter.limit;
    return 0;
}

int events_collect(struct meta *m, struct event_rows *rows, const struct event_reader *reader,
                   const struct event_ask *ask, size_t bytes_max, struct event_page *ret,
                   struct err *e)
{
    struct event_page p = {.next = ask->since};
    struct gathering g = {.reader = reader, .ask = ask, .bytes_max = bytes_max, .last = &p.first};
    bool is_full = false, has_more = true;
    for (size_t looked = 0; has_more && !is_full && looked < LOOK_MAX;
         looked += rows_for(ask->limit)) {
        if (read_rows(m, ask, p.next, rows, e) || gather(&g, &rows->rows, &p, &is_full, e)) {
            event_page_done(&p);
            return -1;
        }
        has_more = rows->rows.has_more;
        if (!is_full && has_more && rows->rows.next > p.next)
            p.next = rows->rows.next;
    }
    p.has_more = is_full || has_more;
    *ret = p;
    return 0;
}

int events_page(struct events *ev, const struct who *who, const struct event_ask *ask,
                struct event_page *ret, struct err *e)
{
    struct event_reader reader;
    int may = events_may(ev, who, ask->workspace, &reader, e);
    if (may < 0)
        return -1;
    if (!may)
        return err_set(e, ERR_NOT_FOUND, "there is no workspace %.64s", ask->workspace);
    scoped(event_rows_done) struct event_rows rows = {0};
    return events_collect(ev->o.meta, &rows, &reader, ask, SIZE_MAX, ret, e);
}

int events_newest(struct events *ev, uint64_t *ret, struct err *e)
{
    struct err why = {0};
    uint64_t head = audit_head(ev->o.meta, &why);
    if (why.text[0]) {
        *e = why;
        return -1;
    }
    *ret = head;
    return 0;
}
