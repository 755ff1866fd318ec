/* Forgetting, a bounded amount at a time. */
#include <stdio.h>

#include "store/audit.h"
#include "store/meta_int.h"

/* ?1: older than this, ?2: at most so many. Runs go before the sessions they belong to. */
static const struct {
    const char *session_runs, *sessions, *runs, *idems, *usages;
} sql = {
    .session_runs = "DELETE FROM runs WHERE id IN (SELECT r.id FROM sessions AS s"
                    " JOIN runs AS r ON r.session = s.id"
                    " WHERE s.closed > 0 AND s.closed < ?1 AND r.status = 2 LIMIT ?2)",
    .sessions = "DELETE FROM sessions WHERE id IN (SELECT s.id FROM sessions AS s"
                " WHERE s.closed > 0 AND s.closed < ?1"
                " AND NOT EXISTS (SELECT 1 FROM runs WHERE session = s.id) LIMIT ?2)",
    .runs = "DELETE FROM runs WHERE id IN (SELECT id FROM runs INDEXED BY runs_created"
            " WHERE created < ?1 AND status = 2 ORDER BY created LIMIT ?2)",
    .idems = "DELETE FROM idempotency WHERE (principal, idem_key) IN (SELECT principal, idem_key"
             " FROM idempotency INDEXED BY idempotency_created WHERE created < ?1 LIMIT ?2)",
    .usages = "DELETE FROM usage WHERE (key_id, day) IN (SELECT key_id, day FROM usage"
              " WHERE day < ?1 LIMIT ?2)",
};

static int step(struct db_conn *c, const char *text, int64_t before, uint64_t *gone, bool *has_more,
                struct err *e)
{
    if (before == 0)
        return 0;
    if (sql_run(c, text, SQL_WITH(SQL_INT(before), SQL_INT(PRUNE_STEP)), e))
        return -1;
    uint64_t count = sql_changes(c);
    *gone += count;
    *has_more |= count >= PRUNE_STEP;
    return 0;
}

struct pruning {
    const struct prune *what;
    struct pruned did;
};

static int tell_pruned(struct db_conn *c, const struct pruned *d, struct err *e)
{
    char detail[96];
    if (d->runs + d->sessions == 0)
        return 0;
    (void)snprintf(detail, sizeof detail, "{\"runs\":%llu,\"sessions\":%llu}",
                   (unsigned long long)d->runs, (unsigned long long)d->sessions);
    return audit_own(c, &(struct audit_entry){.event = "forgetRuns", .detail = detail}, e);
}

static int prune(struct db_conn *c, void *arg, struct err *e)
{
    struct pruning *p = arg;
    const struct prune *w = p->what;
    struct pruned *d = &p->did;
    *d = (struct pruned){0};
    if (step(c, sql.session_runs, w->closed_before_us, &d->runs, &d->has_more, e) ||
        step(c, sql.sessions, w->closed_before_us, &d->sessions, &d->has_more, e) ||
        step(c, sql.runs, w->runs_before_us, &d->runs, &d->has_more, e) ||
        step(c, sql.idems, w->idem_before_us, &d->idems, &d->has_more, e) ||
        step(c, sql.usages, w->usage_before_day, &d->usages, &d->has_more, e))
        return -1;
    return tell_pruned(c, d, e);
}

int meta_prune(struct meta *m, const struct prune *what, struct pruned *ret, struct err *e)
{
    struct pruning p = {.what = what};
    if (db_write(m->db, prune, &p, e))
        return -1;
    *ret = p.did;
    return 0;
}
