/* meta_members.h -- who belongs to a workspace besides its owner. Roles are numbers of workspace/'s. */
#ifndef STORE_META_MEMBERS_H
#define STORE_META_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "store/rows.h"

struct err;
struct meta;

struct member_row {
    char principal[ID_SIZE], added_by[ID_SIZE];
    const char *name; /* of the principal; only read */
    enum principal_kind kind;
    int role;
    int64_t created_us;
    void *owned;
};
struct member_rows {
    struct member_row *items;
    size_t count;
};
void member_rows_done(struct member_rows *l);

/* *ret is 0 when they are none. */
int meta_member_role(struct meta *m, const char *workspace, const char *principal, int *ret,
                     struct err *e);
/* Adds one, or gives another role; a lower one revokes the tickets they made, as removing them does.
 * ERR_NOT_FOUND without such a workspace or principal, ERR_CONFLICT for the
 * owner, ERR_LIMIT when there are `max` already. */
int meta_member_set(struct meta *m, const char *workspace, const struct member_row *row,
                    uint32_t max, struct err *e);
int meta_member_remove(struct meta *m, const char *workspace, const char *principal, struct err *e);
/* All of them, by when they came. */
int meta_member_list(struct meta *m, const char *workspace, struct member_rows *ret, struct err *e);

#endif
