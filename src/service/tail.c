#include "service/tail.h"

#include <stdbool.h>
#include <string.h>

#include "store/audit.h"

enum { PAGE = 200 };

int tail_read(struct meta *m, uint64_t *at, void (*put)(void *arg, const char *workspace),
              void *arg, struct err *e)
{
    bool has_more = true;
    while (has_more) {
        const struct audit_filter filter = {
            .after = *at, .is_forward = true, .is_events = true, .limit = PAGE};
        struct audit_rows rows;
        if (audit_list(m, &filter, &rows, e))
            return -1;
        const char *last = "";
        for (size_t i = 0; i < rows.count; i++) {
            const char *workspace = rows.items[i].workspace;
            if (workspace && *workspace && strcmp(workspace, last) != 0)
                put(arg, workspace);
            last = workspace ? workspace : "";
            *at = rows.items[i].seq;
        }
        if (rows.next > *at)
            *at = rows.next; /* also past what is no event */
        has_more = rows.has_more;
        audit_rows_done(&rows);
    }
    return 0;
}
