/* Coming in by a link: whether it works, its password, what it names. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "base/err.h"
#include "base/parse.h"
#include "workspace/files_int.h"
#include "workspace/passwords.h"
#include "workspace/paths.h"
#include "workspace/people_int.h"
#include "workspace/shares.h"

int shares_gone(struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "this link does not exist, or does not work any more");
}

void share_visit_done(struct share_visit *v)
{
    share_row_done(&v->share);
    workspace_row_done(&v->ws);
    *v = (struct share_visit){0};
}

/* ---- whether it works ---- */

static bool is_good(const struct share_row *r, int64_t now_us)
{
    return !r->revoked_us && (!r->expires_us || r->expires_us > now_us) &&
           (!r->max_downloads || r->downloads < r->max_downloads);
}

/* Its maker may still write: who may not share any more does not either through what they left. */
static int check_maker(struct files *f, const struct share_visit *v, struct err *e)
{
    struct who maker = {0};
    if (v->share.is_by_server)
        return 0;
    memcpy(maker.principal, v->share.made_by, sizeof maker.principal);
    return rights_check(f, &maker, &v->ws, RIGHT_WRITE, e);
}

static int look(struct files *f, const char *token, int64_t now_us, struct share_visit *v,
                struct err *e)
{
    uint8_t hash[HASH_LEN];
    if (secret_hash(str_of(token), hash, e) || meta_share_find(f->o.meta, hash, &v->share, e))
        return -1;
    if (!is_good(&v->share, now_us))
        return shares_gone(e);
    return files_workspace_known(f, v->share.workspace, &v->ws, e) || check_maker(f, v, e) ? -1 : 0;
}

int shares_enter(struct files *f, const char *token, int64_t now_us, struct share_visit *ret,
                 struct err *e)
{
    struct share_visit v = {0};
    if (!look(f, token, now_us, &v, e)) {
        *ret = v;
        return 0;
    }
    share_visit_done(&v);
    bool is_known = e->code == ERR_NOT_FOUND || e->code == ERR_DENIED;
    return is_known ? shares_gone(e) : -1;
}

/* ---- its password ---- */

int shares_unlock(struct passwords *p, const struct share_visit *v, const char *token,
                  const char *address, struct str text, int64_t *ret_wait_ms, struct err *e)
{
    uint8_t hash[HASH_LEN];
    char name[HASH_HEX_SIZE];
    if (secret_hash(str_of(token), hash, e))
        return -1;
    hash_hex(hash, name);
    const struct guess guess = {
        .hash = v ? v->share.password : NULL, .of = name, .address = address, .text = text};
    return passwords_try(p, &guess, ret_wait_ms, e);
}

static void pass_mac(const uint8_t key[SIGN_KEY_LEN], const struct share_row *share,
                     int64_t expires_s, uint8_t ret[crypto_auth_BYTES])
{
    char text[512];
    int len = snprintf(text, sizeof text, "cicada share 1\n%s\n%" PRId64 "\n%s", share->id,
                       expires_s, share->password ? share->password : "");
    _Static_assert((int)SIGN_KEY_LEN == (int)crypto_auth_KEYBYTES, "one key for both");
    crypto_auth(ret, (const uint8_t *)text, (unsigned long long)len, key);
}

void shares_pass_make(const uint8_t key[SIGN_KEY_LEN], const struct share_row *share, int64_t now_s,
                      char ret[SHARE_PASS_SIZE])
{
    uint8_t mac[crypto_auth_BYTES];
    char hex[2 * sizeof mac + 1];
    pass_mac(key, share, now_s + SHARE_PASS_S, mac);
    sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
    (void)snprintf(ret, SHARE_PASS_SIZE, "%" PRId64 ".%s", now_s + SHARE_PASS_S, hex);
}

bool shares_pass_check(const uint8_t key[SIGN_KEY_LEN], const struct share_row *share,
                       int64_t now_s, struct str pass)
{
    char text[SHARE_PASS_SIZE], right[SHARE_PASS_SIZE];
    uint64_t expires_s;
    struct err ignored = {0};
    if (!pass.ptr || pass.len >= sizeof text)
        return false;
    memcpy(text, pass.ptr, pass.len);
    text[pass.len] = '\0';
    char *dot = strchr(text, '.');
    if (!dot || strlen(text) != pass.len)
        return false;
    *dot = '\0';
    if (parse_u64(text, 0, INT64_MAX, &expires_s, &ignored) || (int64_t)expires_s <= now_s ||
        (int64_t)expires_s > now_s + SHARE_PASS_S)
        return false;
    shares_pass_make(key, share, (int64_t)expires_s - SHARE_PASS_S, right);
    return strlen(right) == pass.len && sodium_memcmp(right, pass.ptr, pass.len) == 0;
}

/* ---- what it names ---- */

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *shares_name(const struct share_visit *v)
{
    if (*v->share.path)
        return last_name(v->share.path);
    return v->ws.name && *v->ws.name ? v->ws.name : "files";
}

int shares_path(const struct share_row *share, const char *below, char ret[PATH_BYTES_MAX + 1],
                struct err *e)
{
    char clean[PATH_BYTES_MAX + 1] = "";
    size_t len = strlen(share->path);
    if (*below && path_wrong(below, clean))
        return shares_gone(e);
    /* path_clean takes "/mnt/data/" away, which means something else here. */
    if (*clean && strcmp(clean, below) != 0)
        return shares_gone(e);
    bool is_itself = !*clean || (!share->is_folder && strcmp(clean, last_name(share->path)) == 0);
    if (!is_itself && (!share->is_folder || len + (len > 0) + strlen(clean) > PATH_BYTES_MAX))
        return shares_gone(e);
    (void)snprintf(ret, PATH_BYTES_MAX + 1, "%.*s%s%.*s", (int)len, share->path,
                   !is_itself && len ? "/" : "", is_itself ? 0 : PATH_BYTES_MAX, clean);
    return 0;
}

int shares_stat(struct files *f, const struct share_visit *v, const char *path,
                struct version_row *ret, struct err *e)
{
    const struct share_row *s = &v->share;
    int failed = s->version ? meta_version_get(f->o.meta, s->file, s->version, ret, e)
                            : files_stat(f, &v->ws, path, 0, ret, e);
    return failed && e->code == ERR_NOT_FOUND ? shares_gone(e) : failed;
}
