/* Invitations and claims. */
#include "workspace/tickets.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/meta.h"
#include "workspace/files_int.h"
#include "workspace/members.h"
#include "workspace/passwords.h"
#include "workspace/people_int.h"
#include "workspace/tickets_int.h"

/* ---- making ---- */

static int plan(const struct who *who, const struct workspace_row *ws, enum ticket_kind kind,
                const struct ticket_wishes *w, struct ticket_row *row, struct err *e)
{
    int64_t expires_s = kind == TICKET_CLAIM ? CLAIM_EXPIRES_S
                        : w->expires_s       ? w->expires_s
                                             : INVITE_EXPIRES_S;
    *row = (struct ticket_row){.kind = kind,
                               .role = kind == TICKET_INVITE ? w->role : ROLE_OWNER,
                               .name = w->name ? w->name : "",
                               .created_us = clock_wall_us()};
    row->expires_us = row->created_us + expires_s * 1000000;
    memcpy(row->workspace, ws->id, ID_SIZE);
    memcpy(row->made_by, who->principal, ID_SIZE);
    const struct key_limits *l = &who->limits;
    if (kind == TICKET_INVITE && (l->sessions || l->runs_per_minute || l->cpu_s_per_day ||
                                  l->memory_mb || l->runs_per_month || l->cpu_s_per_month))
        return err_set(e, ERR_DENIED,
                       "your key has limits, and who is invited would have none: use another key");
    if (kind == TICKET_INVITE && (w->role < ROLE_VIEWER || w->role > ROLE_ADMIN))
        return err_set(e, ERR_INVALID, "role: viewer, editor or admin");
    return *row->name ? check_text("name", str_of(row->name), e) : 0;
}

static int check_claimable(struct files *f, const struct workspace_row *ws, struct err *e)
{
    struct principal_row owner;
    if (meta_principal_get(f->o.meta, ws->owner, &owner, e))
        return -1;
    bool is_default = strcmp(owner.workspace, ws->id) == 0;
    principal_row_done(&owner);
    return is_default ? err_set(e, ERR_CONFLICT,
                                "a default workspace cannot be given away: make another, and copy "
                                "the files there")
                      : 0;
}

int tickets_create(struct files *f, const struct who *who, const struct workspace_row *ws,
                   enum ticket_kind kind, const struct ticket_wishes *wishes,
                   struct ticket_row *ret, char ret_token[TICKET_TOKEN_SIZE], struct err *e)
{
    bool is_claim = kind == TICKET_CLAIM;
    struct ticket_row row;
    char token[ID_SIZE];
    if (plan(who, ws, kind, wishes, &row, e) || (is_claim && check_claimable(f, ws, e)) ||
        id_make(is_claim ? "clm_" : "inv_", row.id, e) ||
        id_make_long(is_claim ? "ccl_" : "civ_", SECRET_RANDOM_LEN, token, e) ||
        secret_hash(str_of(token), row.sha256, e) ||
        meta_ticket_insert(f->o.meta, &row, is_claim ? CLAIMS_OPEN_MAX : INVITES_OPEN_MAX, e) ||
        meta_ticket_find(f->o.meta, kind, row.sha256, ret, e))
        return -1;
    memcpy(ret_token, token, TICKET_TOKEN_SIZE);
    explicit_bzero(token, sizeof token);
    return 0;
}

int tickets_list(struct files *f, const struct workspace_row *ws, enum ticket_kind kind,
                 const struct page *page, struct ticket_rows *ret, struct err *e)
{
    return meta_ticket_list(f->o.meta, ws->id, kind, page, ret, e);
}

int tickets_revoke(struct files *f, const struct workspace_row *ws, enum ticket_kind kind,
                   const char *id, struct err *e)
{
    return meta_ticket_revoke(f->o.meta, ws->id, kind, id, clock_wall_us(), e);
}

/* ---- using ---- */

int ticket_open(struct files *f, enum ticket_kind kind, const char *token, struct ticket_row *ret,
                struct err *e)
{
    uint8_t sha256[HASH_LEN];
    struct ticket_row row;
    if (secret_hash(str_of(token), sha256, e))
        return -1;
    int failed = meta_ticket_find(f->o.meta, kind, sha256, &row, e);
    if (failed && e->code != ERR_NOT_FOUND)
        return -1;
    bool is_open = !failed && !row.used_us && !row.revoked_us && row.expires_us > clock_wall_us();
    if (is_open) {
        *ret = row;
        return 0;
    }
    if (!failed)
        ticket_row_done(&row);
    return err_set(e, ERR_NOT_FOUND, "this link was used, was revoked, or has expired");
}

void invitation_done(struct invitation *i)
{
    free(i->workspace);
    free(i->inviter);
    *i = (struct invitation){0};
}

int invite_look(struct files *f, const char *token, struct invitation *ret, struct err *e)
{
    scoped(ticket_row_done) struct ticket_row t = {0};
    scoped(workspace_row_done) struct workspace_row ws = {0};
    scoped(principal_row_done) struct principal_row inviter = {0};
    if (ticket_open(f, TICKET_INVITE, token, &t, e) ||
        meta_workspace_get(f->o.meta, t.workspace, &ws, e) ||
        meta_principal_get(f->o.meta, t.made_by, &inviter, e))
        return -1;
    struct invitation i = {.workspace = strdup(ws.name ? ws.name : ws.id),
                           .inviter = strdup(inviter.name ? inviter.name : ""),
                           .role = role_names[t.role - 1],
                           .expires_us = t.expires_us};
    if (!i.workspace || !i.inviter) {
        invitation_done(&i);
        return err_set(e, ERR_NO_MEMORY, "look at an invitation");
    }
    *ret = i;
    return 0;
}

int invite_join(struct files *f, const struct who *who, const char *token,
                struct workspace_row *ret, struct err *e)
{
    scoped(ticket_row_done) struct ticket_row t = {0};
    if (ticket_open(f, TICKET_INVITE, token, &t, e))
        return -1;
    const struct invite_use use = {.id = t.id,
                                   .principal = who->principal,
                                   .members_max = MEMBERS_MAX,
                                   .now_us = clock_wall_us()};
    if (meta_invite_use(f->o.meta, &use, e))
        return -1;
    return meta_workspace_get(f->o.meta, t.workspace, ret, e);
}

int claim_take(struct files *f, const struct who *who, const char *token, struct workspace_row *ret,
               struct err *e)
{
    scoped(ticket_row_done) struct ticket_row t = {0};
    if (ticket_open(f, TICKET_CLAIM, token, &t, e))
        return -1;
    const struct claim_use use = {.id = t.id,
                                  .principal = who->principal,
                                  .admin_role = ROLE_ADMIN,
                                  .workspaces_max = WORKSPACES_MAX,
                                  .now_us = clock_wall_us()};
    if (meta_claim_use(f->o.meta, &use, e))
        return -1;
    return meta_workspace_get(f->o.meta, t.workspace, ret, e);
}
