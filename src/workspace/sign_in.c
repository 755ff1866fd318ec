/* People who sign in: newcomers by an invitation, and those who come back. */
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

/* What somebody may who signed in: no more than a key needs that invites (api/native_tickets.c). */
enum { PERSON_SCOPES = SCOPE_RUN | SCOPE_FILES_READ | SCOPE_FILES_WRITE | SCOPE_SHARE };

void signed_in_done(struct signed_in *s)
{
    key_row_done(&s->key);
    explicit_bzero(s->secret, sizeof s->secret);
}

/* Small letters, digits and . _ - @ +: what people type alike everywhere. */
static int fold_login(const char *login, char ret[LOGIN_NAME_MAX + 1], struct err *e)
{
    size_t len = strlen(login);
    bool is_fine = len >= 1 && len <= LOGIN_NAME_MAX;
    for (size_t i = 0; is_fine && i < len; i++) {
        char c = login[i];
        ret[i] = (char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
        is_fine = (ret[i] >= 'a' && ret[i] <= 'z') || (c >= '0' && c <= '9') || strchr("._-@+", c);
    }
    if (!is_fine)
        return err_set(e, ERR_INVALID, "login: 1 to %d letters, digits, and . _ - @ +",
                       LOGIN_NAME_MAX);
    ret[len] = '\0';
    return 0;
}

static int check_password(struct str password, struct err *e)
{
    if (password.len < PASSWORD_BYTES_MIN || password.len > PASSWORD_BYTES_MAX)
        return err_set(e, ERR_INVALID, "password: %d to %d bytes", PASSWORD_BYTES_MIN,
                       PASSWORD_BYTES_MAX);
    return 0;
}

static int give_key(struct files *f, const char *principal, int64_t expires_s,
                    struct signed_in *ret, struct err *e)
{
    struct key_row row = {
        .name = "sign-in", .scopes = PERSON_SCOPES, .created_us = clock_wall_us()};
    row.expires_us = row.created_us + expires_s * 1000000;
    if (people_keys_end(f->o.people, principal, row.name, SIGN_IN_KEYS_MAX - 1, row.created_us, e))
        return -1;
    return people_key_issue(f->o.people, principal, &row, &ret->key, ret->secret, e);
}

/* ---- newcomers ---- */

static int make_person(struct files *f, const struct newcomer *n, const struct ticket_row *t,
                       const char *login, const char *hash, char ret_principal[ID_SIZE],
                       struct err *e)
{
    int64_t now_us = clock_wall_us();
    struct principal_row person = {
        .kind = PRINCIPAL_HUMAN, .name = n->name ? n->name : login, .created_us = now_us};
    struct workspace_row home = {.name = "default", .created_us = now_us};
    struct login_row row = {.name = login, .password = hash};
    if (check_text("name", str_of(person.name), e) || id_make("prn_", person.id, e) ||
        id_make("ws_", person.workspace, e))
        return -1;
    memcpy(home.id, person.workspace, ID_SIZE);
    memcpy(home.owner, person.id, ID_SIZE);
    memcpy(row.principal, person.id, ID_SIZE);
    const struct invite_use use = {.id = t->id,
                                   .fresh = &person,
                                   .workspace = &home,
                                   .login = &row,
                                   .principals_max = PEOPLE_PRINCIPALS_MAX,
                                   .members_max = MEMBERS_MAX,
                                   .now_us = now_us};
    if (meta_invite_use(f->o.meta, &use, e))
        return -1;
    memcpy(ret_principal, person.id, ID_SIZE);
    return 0;
}

int invite_accept(struct files *f, const struct newcomer *n, struct signed_in *ret,
                  char ret_workspace[ID_SIZE], struct err *e)
{
    scoped(ticket_row_done) struct ticket_row t = {0};
    char login[LOGIN_NAME_MAX + 1], hash[PASSWORD_HASH_SIZE], principal[ID_SIZE];
    if (ticket_open(f, TICKET_INVITE, n->token, &t, e) || fold_login(n->login, login, e) ||
        check_password(n->password, e) || passwords_hash(n->passwords, n->password, hash, e) ||
        make_person(f, n, &t, login, hash, principal, e) ||
        give_key(f, principal, SIGN_IN_EXPIRES_S, ret, e))
        return -1;
    memcpy(ret_workspace, t.workspace, ID_SIZE);
    return 0;
}

/* ---- those who come back ---- */

/* 0: the password is that of *ret. A name that is not there takes as long, and is told alike. */
static int try_login(struct files *f, const struct sign_in *a, struct login_row *ret,
                     int64_t *ret_wait_ms, struct err *e)
{
    char login[LOGIN_NAME_MAX + 1] = "";
    struct err ignored = {0};
    struct login_row row = {0};
    if (fold_login(a->login, login, &ignored) == 0 && meta_login_find(f->o.meta, login, &row, e) &&
        e->code != ERR_NOT_FOUND)
        return -1;
    const struct guess guess = {
        .hash = row.password, .of = login, .address = a->address, .text = a->password};
    if (passwords_try(a->passwords, &guess, ret_wait_ms, e)) {
        login_row_done(&row);
        return e->code == ERR_UNAUTHORIZED
                   ? err_set(e, ERR_UNAUTHORIZED, "the name or the password is wrong")
                   : -1;
    }
    *ret = row;
    return 0;
}

int sign_in(struct files *f, const struct sign_in *attempt, struct signed_in *ret,
            int64_t *ret_wait_ms, struct err *e)
{
    scoped(login_row_done) struct login_row row = {0};
    if (try_login(f, attempt, &row, ret_wait_ms, e))
        return -1;
    return give_key(f, row.principal, attempt->expires_s ? attempt->expires_s : SIGN_IN_EXPIRES_S,
                    ret, e);
}

int change_password(struct files *f, const struct who *who, const struct sign_in *old,
                    struct str fresh, int64_t *ret_wait_ms, struct err *e)
{
    scoped(login_row_done) struct login_row mine = {0}, row = {0};
    char hash[PASSWORD_HASH_SIZE];
    if (meta_login_of(f->o.meta, who->principal, &mine, e))
        return e->code == ERR_NOT_FOUND
                   ? err_set(e, ERR_NOT_FOUND, "you have no sign-in: it comes with an invitation")
                   : -1;
    struct sign_in again = *old;
    again.login = mine.name;
    if (check_password(fresh, e) || try_login(f, &again, &row, ret_wait_ms, e) ||
        passwords_hash(old->passwords, fresh, hash, e))
        return -1;
    return meta_login_set_password(f->o.meta, who->principal, hash, clock_wall_us(), e);
}
