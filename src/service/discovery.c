#include "service/discovery.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/fetch.h"
#include "json/read.h"

int discovery_url(const char *issuer, unsigned way, char ret[DISCOVERY_URL_SIZE], struct err *e)
{
    const char *slashes = strstr(issuer, "://");
    size_t origin = slashes ? (size_t)(slashes + 3 - issuer) : 0, len = strlen(issuer);
    origin += strcspn(issuer + origin, "/");
    while (len > origin && issuer[len - 1] == '/')
        len--;
    int written = way == 0 ? snprintf(ret, DISCOVERY_URL_SIZE,
                                      "%.*s/.well-known/openid-configuration", (int)len, issuer)
                           : snprintf(ret, DISCOVERY_URL_SIZE,
                                      "%.*s/.well-known/oauth-authorization-server%.*s",
                                      (int)origin, issuer, (int)(len - origin), issuer + origin);
    return written < DISCOVERY_URL_SIZE ? 0 : err_set(e, ERR_INVALID, "the issuer is too long");
}

/* An issuer that is asked in safety does not send us elsewhere without. */
static bool is_fit(const char *url, const char *issuer)
{
    bool is_safe = strncmp(url, "https://", 8) == 0;
    return is_safe || (strncmp(url, "http://", 7) == 0 && strncmp(issuer, "http://", 7) == 0);
}

int discovery_read(struct str text, const char *issuer, char ret[DISCOVERY_URL_SIZE], struct err *e)
{
    scoped(json_decrefp) json_t *document = NULL;
    if (json_read(text.ptr, text.len, &document, e))
        return -1;
    const char *name = json_string_value(json_object_get(document, "issuer"));
    const json_t *uri = json_object_get(document, "jwks_uri");
    const char *url = json_string_value(uri);
    if (!name || strcmp(name, issuer) != 0)
        return err_set(e, ERR_INVALID, "it describes another issuer than %.200s", issuer);
    if (!url || strlen(url) != json_string_length(uri) || strlen(url) >= DISCOVERY_URL_SIZE ||
        !is_fit(url, issuer))
        return err_set(e, ERR_INVALID, "it has no jwks_uri that could be used");
    memcpy(ret, url, strlen(url) + 1);
    return 0;
}

int discover_keys(const char *issuer, const atomic_bool *is_over, char ret[DISCOVERY_URL_SIZE],
                  struct err *e)
{
    char url[DISCOVERY_URL_SIZE];
    for (unsigned way = 0; way < DISCOVERY_WAYS; way++) {
        scoped(buf_done) struct buf text = BUF_INIT(DISCOVERY_BYTES_MAX);
        if (discovery_url(issuer, way, url, e))
            return -1;
        if (fetch_document(url, is_over, &text, e))
            continue;
        if (discovery_read((struct str){text.bytes ? text.bytes : "", text.len}, issuer, ret, e) ==
            0)
            return 0;
        (void)err_wrap(e, "%s", url);
    }
    return -1;
}
