/* The webhooks that the courier has in memory. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "service/webhooks_int.h"
#include "store/audit.h"
#include "store/meta.h"

void hook_free(struct hook *k)
{
    webhook_row_done(&k->row);
    free(k->body);
    free(k);
}

static struct hook *find(struct webhooks *h, const char *id)
{
    for (struct hook *k = h->hooks; k; k = k->next)
        if (strcmp(k->row.id, id) == 0)
            return k;
    return NULL;
}

/* Takes the row over. What was delivered meanwhile may not be written down yet. */
static int take_row(struct webhooks *h, struct webhook_row *row, struct err *e)
{
    struct hook *k = find(h, row->id);
    if (!k) {
        k = calloc(1, sizeof *k);
        if (!k)
            return err_set(e, ERR_NO_MEMORY, "deliver events");
        k->next = h->hooks;
        h->hooks = k;
    }
    uint64_t seq = k->row.seq;
    webhook_row_done(&k->row);
    k->row = *row;
    *row = (struct webhook_row){0};
    if (seq > k->row.seq)
        k->row.seq = seq;
    k->is_seen = k->is_due = true;
    return 0;
}

static void drop_unseen(struct webhooks *h)
{
    for (struct hook **at = &h->hooks, *k; (k = *at);) {
        if (!k->is_seen && k->transfer)
            k->is_gone = true;
        if (k->is_seen || k->transfer) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        hook_free(k);
    }
}

int hooks_reload(struct webhooks *h, struct err *e)
{
    struct webhook_rows rows;
    h->at =
        audit_head(h->o.meta, e); /* all are looked at now; what comes later comes by the tail */
    if (*e->text || meta_settle(h->o.meta, e) ||
        meta_webhook_list(h->o.meta, /* workspace= */ NULL, &rows, e))
        return -1;
    for (struct hook *k = h->hooks; k; k = k->next)
        k->is_seen = false;
    int failed = 0;
    for (size_t i = 0; i < rows.count && !failed; i++)
        failed = take_row(h, &rows.items[i], e);
    webhook_rows_done(&rows);
    if (!failed)
        drop_unseen(h);
    return failed;
}

void hooks_mark(void *arg, const char *workspace)
{
    struct webhooks *h = arg;
    for (struct hook *k = h->hooks; k; k = k->next)
        if (strcmp(k->row.workspace, workspace) == 0)
            k->is_due = true;
}

void hooks_drop_gone(struct webhooks *h)
{
    for (struct hook **at = &h->hooks, *k; (k = *at);) {
        if (!k->is_gone || k->transfer) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        hook_free(k);
    }
}
