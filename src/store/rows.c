#include "store/rows.h"

#include <stdlib.h>

#define ROWS_DONE(type)                       \
    void type##_done(struct type *r)          \
    {                                         \
        free(r->owned);                       \
        *r = (struct type){0};                \
    }                                         \
    void type##s_done(struct type##s *l)      \
    {                                         \
        for (size_t i = 0; i < l->count; i++) \
            type##_done(&l->items[i]);        \
        free(l->items);                       \
        *l = (struct type##s){0};             \
    }

ROWS_DONE(principal_row)
ROWS_DONE(workspace_row)
ROWS_DONE(key_row)
ROWS_DONE(session_row)
ROWS_DONE(run_row)
ROWS_DONE(file_row)
ROWS_DONE(version_row)
ROWS_DONE(upload_row)

const char *const change_names[] = {
    [0] = "",
    [CHANGE_CREATED] = "created",
    [CHANGE_MODIFIED] = "modified",
    [CHANGE_DELETED] = "deleted",
    [CHANGE_RESTORED] = "restored",
    [CHANGE_MOVED] = "moved",
};
