#include "agent/model_trouble.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "json/read.h"

enum { MASK_MAX = 4 << 20, SECRET_MIN = 8 };

const char *model_secret(const char *key)
{
    static const char *const words[] = {"not-needed",         "not-required", "no-key-required",
                                        "sk-no-key-required", "lm-studio",    "dummy-key",
                                        "placeholder",        "anything"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(key, words[i]) == 0)
            return "";
    return strlen(key) >= SECRET_MIN ? key : "";
}

void model_mask(struct str text, const char *key, struct buf *out)
{
    size_t key_len = strlen(key);
    while (text.len > 0) {
        const char *at = key_len ? memmem(text.ptr, text.len, key, key_len) : NULL;
        size_t part = at ? (size_t)(at - text.ptr) : text.len;
        buf_add(out, text.ptr, part);
        if (!at)
            return;
        buf_str(out, "***");
        text = (struct str){at + key_len, text.len - part - key_len};
    }
}

size_t model_key_begun(struct str text, const char *key)
{
    size_t most = *key ? strlen(key) - 1 : 0;
    for (size_t n = most < text.len ? most : text.len; n > 0; n--)
        if (memcmp(text.ptr + text.len - n, key, n) == 0)
            return n;
    return 0;
}

/* One line of at most size - 1 bytes, without the key. */
static void put_line(struct str text, const char *key, char *ret, size_t size)
{
    scoped(buf_done) struct buf masked = BUF_INIT(MASK_MAX), clean = BUF_INIT(3 * MASK_MAX);
    ret[0] = '\0';
    if (text.len > MASK_MAX / 4)
        text.len = MASK_MAX / 4;
    model_mask(text, key, &masked);
    utf8_clean(masked.bytes ? masked.bytes : "", masked.len, &clean);
    if (masked.failed || clean.failed || !clean.bytes)
        return;
    size_t len = clean.len < size ? clean.len : utf8_cut(clean.bytes, size - 1);
    for (size_t i = 0; i < len; i++)
        ret[i] = iscntrl((unsigned char)clean.bytes[i]) ? ' ' : clean.bytes[i];
    ret[len] = '\0';
}

static void put_value(const json_t *value, const char *key, char *ret, size_t size)
{
    ret[0] = '\0';
    if (json_is_string(value))
        put_line((struct str){json_string_value(value), json_string_length(value)}, key, ret, size);
    else if (json_is_integer(value))
        (void)snprintf(ret, size, "%lld", (long long)json_integer_value(value));
}

static const json_t *message_in(const json_t *root, const json_t *error)
{
    if (json_is_string(error))
        return error;
    if (json_is_object(error))
        return json_object_get(error, "message");
    const json_t *plain = json_object_get(root, "message");
    const json_t *detail = json_object_get(root, "detail");
    if (json_is_array(detail))
        detail = json_object_get(json_array_get(detail, 0), "msg");
    return plain ? plain : detail;
}

bool model_trouble_find(const struct json_t *root, const char *key, struct model_trouble *ret)
{
    *ret = (struct model_trouble){.status = 0};
    if (json_is_array(root))
        root = json_array_get(root, 0);
    const json_t *error = json_object_get(root, "error");
    if (!error || json_is_null(error))
        error = NULL;
    put_value(message_in(root, error), key, ret->message, sizeof ret->message);
    put_value(json_object_get(error, "code"), key, ret->code, sizeof ret->code);
    put_value(json_object_get(error, "type"), key, ret->type, sizeof ret->type);
    put_value(json_object_get(error, "param"), key, ret->param, sizeof ret->param);
    return error != NULL;
}

void model_trouble_read(struct str body, const char *key, struct model_trouble *ret)
{
    struct err ignored = {0};
    scoped(json_decrefp) json_t *root = NULL;
    *ret = (struct model_trouble){.status = 0};
    if (body.len == 0)
        return;
    if (json_read(body.ptr, body.len, &root, &ignored) == 0)
        (void)model_trouble_find(root, key, ret);
    else if (body.ptr[0] != '<') /* a page is nothing for people who asked a model */
        put_line(body, key, ret->message, sizeof ret->message);
}

static bool says(const struct model_trouble *t, const char *word)
{
    return strcasestr(t->message, word) != NULL;
}

bool model_trouble_is_tools(const struct model_trouble *t)
{
    static const char *const words[] = {"support", "require",       "unrecogni",  "unknown",
                                        "enable",  "not available", "not allowed"};
    if (t->status != 400 && t->status != 404 && t->status != 422 && t->status != 500 &&
        t->status != 501)
        return false;
    if (strcmp(t->param, "tools") == 0)
        return true;
    if (!says(t, "tool") || says(t, "parallel_tool_calls"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (says(t, words[i]))
            return true;
    return false;
}

bool model_trouble_names(const struct model_trouble *t, const char *param)
{
    bool is_word = strchr(param, '_') == NULL; /* that may stand anywhere in a sentence */
    return (t->status == 400 || t->status == 422) &&
           (strcmp(t->param, param) == 0 || (!is_word && says(t, param)));
}

bool model_trouble_passes(const struct model_trouble *t)
{
    if (strcmp(t->code, "insufficient_quota") == 0 || strcmp(t->type, "insufficient_quota") == 0)
        return false;
    return t->status == 0 || t->status == 408 || t->status == 409 || t->status == 429 ||
           t->status >= 500;
}

int model_trouble_say(const struct model_trouble *t, struct err *e)
{
    enum {
        SAID_MAX = 180
    }; /* there is room around it in a struct err, and no character is cut in two */
    const char *between = *t->message ? ": " : "";
    size_t len = strlen(t->message);
    char message[SAID_MAX + 1];
    if (len > SAID_MAX)
        len = utf8_cut(t->message, SAID_MAX);
    memcpy(message, t->message, len);
    message[len] = '\0';
    int s = t->status;
    if (s == 401 || s == 403) /* what it says may show the key */
        return err_set(e, ERR_UNAVAILABLE,
                       "the model's endpoint does not accept the key (%d); check model.key", s);
    if (s == 429)
        return err_set(e, ERR_LIMIT, "the model's endpoint asks for a pause (429)%s%s", between,
                       message);
    if (s >= 300 && s < 400)
        return err_set(e, ERR_UNAVAILABLE,
                       "the model's endpoint sends us elsewhere (%d); check model.url", s);
    if (s == 404 && !*t->message)
        return err_set(
            e, ERR_UNAVAILABLE,
            "the model's endpoint is not there (404); check model.url: it ends with /v1, as a rule");
    if (s >= 400 && s < 500 && s != 402 && s != 408 && s != 409)
        return err_set(e, ERR_INVALID, "the model's endpoint refuses (%d)%s%s", s, between,
                       message);
    if (s == 0)
        return err_set(e, ERR_UNAVAILABLE, "the model's endpoint fails%s%s", between, message);
    return err_set(e, ERR_UNAVAILABLE, "the model's endpoint fails (%d)%s%s", s, between, message);
}
