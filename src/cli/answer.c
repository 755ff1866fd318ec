#include "cli/answer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/exit.h"
#include "cli/pick.h"
#include "json/read.h"

enum { RETRY_S_MAX = 3600 };

/* Our code for the one on the wire; ERR_NONE: a newer server knows more codes than we do. */
static enum err_code code_by_name(const char *wire)
{
    for (int code = ERR_NONE + 1; code < ERR_COUNT; code++)
        if (strcmp(err_wire((enum err_code)code), wire) == 0)
            return (enum err_code)code;
    return ERR_NONE;
}

static enum err_code code_by_status(long status)
{
    switch (status) {
    case 401: return ERR_UNAUTHORIZED;
    case 403: return ERR_DENIED;
    case 404: return ERR_NOT_FOUND;
    case 409: return ERR_CONFLICT;
    case 413: return ERR_TOO_LARGE;
    case 429: return ERR_LIMIT;
    case 502:
    case 503:
    case 504: return ERR_UNAVAILABLE;
    default: break;
    }
    if (status >= 400 && status < 500)
        return ERR_INVALID;
    return status >= 500 ? ERR_INTERNAL : ERR_PROTOCOL;
}

static const char *hint_for(enum err_code code)
{
    switch (code) {
    case ERR_UNAUTHORIZED: return "set CICADA_API_KEY to a key of this server";
    case ERR_DENIED: return "the key lacks a scope; `cicada key ls` shows what each may do";
    default: return "";
    }
}

int answer_refusal(long status, const char *body, size_t len, char hint[ANSWER_HINT_SIZE],
                   struct err *e)
{
    struct err ignored = {0};
    scoped(json_decrefp) json_t *whole = NULL;
    if (len == 0 || json_read(body, len, &whole, &ignored))
        whole = NULL;
    const json_t *error = json_object_get(whole, "error");
    const char *message = pick_text(error, "message");
    enum err_code code = code_by_name(pick_text(error, "code"));
    if (code == ERR_NONE)
        code = code_by_status(status);
    const char *told = pick_text(error, "hint");
    (void)snprintf(hint, ANSWER_HINT_SIZE, "%s", *told ? told : hint_for(code));
    if (*message)
        return err_set(e, code, "%s", message);
    if (status < 400)
        return err_set(e, code,
                       "the server answered with status %ld and nothing we understand; is "
                       "that a cicada server?",
                       status);
    return err_set(e, code, "the server answered with status %ld and did not say why", status);
}

unsigned answer_retry_s(const char *header_value)
{
    struct err ignored = {0};
    uint64_t seconds;
    if (parse_u64(header_value, 1, RETRY_S_MAX, &seconds, &ignored))
        return 1;
    return (unsigned)seconds;
}

int answer_exit_code(const struct err *e)
{
    switch (e->code) {
    case ERR_UNAUTHORIZED:
    case ERR_DENIED: return EXIT_DENIED;
    case ERR_INVALID:
    case ERR_NOT_FOUND:
    case ERR_TOO_LARGE:
    case ERR_MISMATCH: return EXIT_USAGE;
    case ERR_LOCKED: return EXIT_LOCKED;
    case ERR_GONE: return EXIT_CANCELLED;
    default: return EXIT_NO_JAIL;
    }
}
