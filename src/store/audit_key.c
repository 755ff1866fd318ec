/* The key that signs checkpoints, and checkpoints as text. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>
#include <openssl/evp.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "store/audit_int.h"
#include "store/audit_seal.h"
#include "json/read.h"
#include "json/write.h"

struct audit_key {
    EVP_PKEY *pair;
    uint8_t public[AUDIT_KEY_LEN];
};

/* ---- the file ---- */

static int make_seed(int data_fd, uint8_t ret[AUDIT_KEY_LEN], struct err *e)
{
    scoped(fd_closep) int fd =
        openat(data_fd, "audit.key", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, errno, "write audit.key");
    if (getrandom(ret, AUDIT_KEY_LEN, 0) != AUDIT_KEY_LEN)
        return err_sys(e, errno, "make audit.key");
    if (fd_write_all(fd, ret, AUDIT_KEY_LEN, e))
        return err_wrap(e, "write audit.key");
    return fsync(fd) || fsync(data_fd) ? err_sys(e, errno, "write audit.key") : 0;
}

/* One that a crash cut off has signed nothing yet: it is made anew. */
static int load_seed(int data_fd, bool makes, uint8_t ret[AUDIT_KEY_LEN], struct err *e)
{
    size_t len = 0;
    scoped(fd_closep) int fd = openat(data_fd, "audit.key", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return err_sys(e, errno, "read audit.key");
    if (fd >= 0 && fd_read_all(fd, ret, AUDIT_KEY_LEN, &len, e))
        return err_wrap(e, "read audit.key");
    if (len == AUDIT_KEY_LEN)
        return 0;
    return makes ? make_seed(data_fd, ret, e)
                 : err_set(e, ERR_NOT_FOUND, "there is no key of the audit");
}

int audit_key_load(int data_fd, bool makes, struct audit_key **ret, struct err *e)
{
    uint8_t seed[AUDIT_KEY_LEN];
    if (load_seed(data_fd, makes, seed, e))
        return -1;
    struct audit_key *k = calloc(1, sizeof *k);
    size_t len = AUDIT_KEY_LEN;
    if (k)
        k->pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
    explicit_bzero(seed, sizeof seed);
    if (!k || !k->pair || EVP_PKEY_get_raw_public_key(k->pair, k->public, &len) != 1) {
        audit_key_free(k);
        return err_set(e, ERR_NO_MEMORY, "load the key of the audit");
    }
    *ret = k;
    return 0;
}

void audit_key_free(struct audit_key *k)
{
    if (!k)
        return;
    EVP_PKEY_free(k->pair);
    free(k);
}

const uint8_t *audit_key_public(const struct audit_key *k)
{
    return k->public;
}

/* ---- signatures ---- */

enum { SIGNED_MAX = 256 };

static size_t what_is_signed(const struct audit_checkpoint *c, char ret[SIGNED_MAX])
{
    char hash[HASH_HEX_SIZE], time[AUDIT_TIME_SIZE];
    hash_hex(c->hash, hash);
    audit_time(c->at_us, time);
    return (size_t)snprintf(ret, SIGNED_MAX, "cicada audit checkpoint\n%" PRIu64 "\n%s\n%s\n",
                            c->seq, hash, time);
}

int audit_checkpoint_sign(const struct audit_key *k, struct audit_checkpoint *c, struct err *e)
{
    char text[SIGNED_MAX];
    size_t text_len = what_is_signed(c, text), len = AUDIT_SIGNATURE_LEN;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_done = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, k->pair) == 1 &&
                   EVP_DigestSign(ctx, c->signature, &len, (const uint8_t *)text, text_len) == 1;
    EVP_MD_CTX_free(ctx);
    memcpy(c->key, k->public, AUDIT_KEY_LEN);
    return is_done ? 0 : err_set(e, ERR_INTERNAL, "sign a checkpoint of the audit");
}

bool audit_checkpoint_is_signed(const struct audit_checkpoint *c)
{
    char text[SIGNED_MAX];
    size_t len = what_is_signed(c, text);
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, c->key, AUDIT_KEY_LEN);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_good =
        key && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
        EVP_DigestVerify(ctx, c->signature, AUDIT_SIGNATURE_LEN, (const uint8_t *)text, len) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    return is_good;
}

/* ---- as text ---- */

static void put_hex(struct json_writer *w, const char *key, const uint8_t *bytes, size_t len)
{
    char hex[2 * AUDIT_SIGNATURE_LEN + 1];
    for (size_t i = 0; i < len; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    jw_key(w, key);
    jw_str(w, hex, 2 * len);
}

void audit_checkpoint_print(const struct audit_checkpoint *c, struct buf *out)
{
    char time[AUDIT_TIME_SIZE];
    audit_time(c->at_us, time);
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "seq");
    jw_u64(&w, c->seq);
    put_hex(&w, "hash", c->hash, HASH_LEN);
    jw_key(&w, "time");
    jw_text(&w, time);
    put_hex(&w, "signature", c->signature, AUDIT_SIGNATURE_LEN);
    put_hex(&w, "key", c->key, AUDIT_KEY_LEN);
    jw_end_object(&w);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const json_t *from, const char *key, uint8_t *ret, size_t len)
{
    const char *hex = json_string_value(json_object_get(from, key));
    if (!hex || strlen(hex) != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* What audit_time writes, and nothing else. */
static bool read_time(const json_t *from, int64_t *ret)
{
    const char *text = json_string_value(json_object_get(from, "time"));
    struct tm utc = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &utc) : NULL;
    if (!rest || *rest != '.' || strlen(rest) != 8)
        return false;
    int64_t us = 0;
    for (int i = 1; i < 7; i++) {
        if (rest[i] < '0' || rest[i] > '9')
            return false;
        us = us * 10 + rest[i] - '0';
    }
    *ret = (int64_t)timegm(&utc) * 1000000 + us;
    char again[AUDIT_TIME_SIZE];
    audit_time(*ret, again);
    return strcmp(again, text) == 0;
}

int audit_checkpoint_parse(const char *text, size_t len, struct audit_checkpoint *ret,
                           struct err *e)
{
    json_t *o = NULL;
    struct audit_checkpoint c = {0};
    if (len > AUDIT_CHECKPOINT_MAX)
        return err_set(e, ERR_INVALID, "this is no checkpoint of the audit: it is too long");
    if (json_read(text, len, &o, e))
        return err_wrap(e, "this is no checkpoint of the audit");
    json_int_t seq = json_integer_value(json_object_get(o, "seq"));
    c.seq = seq > 0 ? (uint64_t)seq : 0;
    bool is_good = c.seq > 0 && read_hex(o, "hash", c.hash, HASH_LEN) && read_time(o, &c.at_us) &&
                   read_hex(o, "signature", c.signature, AUDIT_SIGNATURE_LEN) &&
                   read_hex(o, "key", c.key, AUDIT_KEY_LEN);
    json_decref(o);
    if (!is_good)
        return err_set(e, ERR_INVALID,
                       "this is no checkpoint of the audit: seq, hash, time, signature and key "
                       "are needed, as `cicada audit head` writes them");
    *ret = c;
    return 0;
}
