/* People whom somebody else vouches for: an issuer of tokens is a principal, its subjects are sub-principals. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "store/meta.h"
#include "workspace/people.h"
#include "workspace/people_int.h"

enum { SETTING_SIZE = HASH_HEX_SIZE + 8 };

static int setting_of(const char *url, char ret[SETTING_SIZE], struct err *e)
{
    uint8_t sha256[HASH_LEN];
    char hex[HASH_HEX_SIZE];
    if (secret_hash(str_of(url), sha256, e))
        return -1;
    hash_hex(sha256, hex);
    (void)snprintf(ret, SETTING_SIZE, "issuer_%s", hex);
    return 0;
}

/* The id is remembered before the row is made, so that a crash in between makes no second one. */
static int remember(struct people *p, const char *url, char ret[ID_SIZE], struct err *e)
{
    char setting[SETTING_SIZE];
    if (setting_of(url, setting, e))
        return -1;
    if (meta_setting_get(p->meta, setting, ret, e) == 0)
        return 0;
    return e->code != ERR_NOT_FOUND || id_make("prn_", ret, e) ||
                   meta_setting_set(p->meta, setting, ret, e)
               ? -1
               : 0;
}

int people_issuer(struct people *p, const char *url, int64_t now_us, char ret[ID_SIZE],
                  struct err *e)
{
    char name[PEOPLE_NAME_MAX + 1], id[ID_SIZE];
    struct principal_row row = {.kind = PRINCIPAL_AGENT, .name = name, .created_us = now_us};
    struct principal_row found;
    (void)snprintf(name, sizeof name, "%s", url);
    if (remember(p, url, id, e))
        return -1;
    if (meta_principal_get(p->meta, id, &found, e) == 0) {
        principal_row_done(&found);
    } else {
        memcpy(row.id, id, ID_SIZE);
        if (e->code != ERR_NOT_FOUND || principal_make(p, &row, PEOPLE_PRINCIPALS_MAX, e))
            return err_wrap(e, "the principal of the issuer");
    }
    memcpy(ret, id, ID_SIZE);
    return 0;
}

int people_subject(struct people *p, const char *issuer, const char *subject, const char *name,
                   int64_t now_us, struct who *ret, struct err *e)
{
    struct err ignored = {0};
    struct who maker = {0};
    struct principal_row row;
    if (check_text("sub", str_of(subject), e))
        return -1;
    if (!name || check_text("name", str_of(name), &ignored))
        name = subject;
    (void)snprintf(maker.principal, sizeof maker.principal, "%s", issuer);
    if (principal_child(p, &maker, subject, name, now_us, &row, e))
        return err_wrap(e, "somebody new");
    struct who who = {0};
    memcpy(who.principal, row.id, ID_SIZE);
    memcpy(who.workspace, row.workspace, ID_SIZE);
    memcpy(who.parent, row.parent, ID_SIZE);
    principal_row_done(&row);
    if (people_is_disabled(p, &who))
        return err_set(e, ERR_DENIED, "this account was disabled by an admin of this server");
    *ret = who;
    return 0;
}
