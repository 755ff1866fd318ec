#include "workspace/usage.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "workspace/files_int.h"

void usage_report_done(struct usage_report *r)
{
    usage_lines_done(&r->keys);
    usage_lines_done(&r->workspaces);
}

static int digits(const char *text, int count, int64_t *ret)
{
    *ret = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        *ret = *ret * 10 + (text[i] - '0');
    }
    return 0;
}

static int read_month(const char *text, struct month *ret, struct err *e)
{
    int64_t year, number;
    if (strlen(text) != 7 || text[4] != '-' || digits(text, 4, &year) ||
        digits(text + 5, 2, &number) || year < 1970 || number < 1 || number > 12)
        return err_set(e, ERR_INVALID, "month: write it like 2026-01");
    *ret = clock_month((int)year, (int)number);
    return 0;
}

int usage_report(struct files *f, const struct who *who, const char *principal, const char *month,
                 int64_t now_us, struct usage_report *ret, struct err *e)
{
    struct usage_report r = {0};
    struct month m = clock_month_of(now_us / DAY_US);
    if (principal && !who_owns(who, principal))
        return err_set(e, ERR_NOT_FOUND, "there is no principal %.64s", principal);
    if (!principal && !who->is_admin)
        principal = who->principal;
    if (month && read_month(month, &m, e))
        return -1;
    (void)snprintf(r.month, sizeof r.month, "%04d-%02d", m.year % 10000, m.number % 100);
    if (meta_settle(f->o.meta, e) ||
        meta_usage_report(f->o.meta, USAGE_KEYS, principal, m.first, m.next, &r.keys, e) ||
        meta_usage_report(f->o.meta, USAGE_WORKSPACES, principal, m.first, m.next, &r.workspaces,
                          e)) {
        usage_report_done(&r);
        return -1;
    }
    *ret = r;
    return 0;
}

int usage_set_quota(struct files *f, const char *principal, uint64_t bytes_max, struct err *e)
{
    return meta_principal_quota(f->o.meta, principal, bytes_max, e);
}
