#include "cli/words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/closest.h"
#include "base/err.h"
#include "base/parse.h"

static const char *const scopes[] = {"run", "files:read", "files:write", "share", "audit", "admin"};
enum { SCOPES = sizeof scopes / sizeof *scopes, DAY_S = 86400 };

int parse_duration(const char *text, uint64_t *ret_s, struct err *e)
{
    static const struct {
        char letter;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', DAY_S}, {'w', 7 * DAY_S}};
    char digits[24];
    uint64_t unit = 1, n;
    struct err ignored = {0};
    size_t len = strlen(text);
    for (size_t i = 0; len > 0 && i < sizeof units / sizeof *units; i++)
        if (text[len - 1] == units[i].letter) {
            unit = units[i].seconds;
            len--;
            break;
        }
    (void)snprintf(digits, sizeof digits, "%.*s", (int)(len < 20 ? len : 20), text);
    if (parse_u64(digits, 1, (uint64_t)36525 * DAY_S / unit, &n, &ignored))
        return err_set(e, ERR_INVALID, "'%.40s' is no duration such as 90s, 15m, 12h or 30d", text);
    *ret_s = n * unit;
    return 0;
}

static const char *known_scope(const char *word)
{
    for (int i = 0; i < SCOPES; i++)
        if (strcmp(scopes[i], word) == 0)
            return scopes[i];
    return NULL;
}

static int one_scope(const char *word, unsigned *seen, const char **ret, struct err *e)
{
    const char *scope = known_scope(word), *meant = closest_name(word, scopes, SCOPES);
    if (!scope && meant)
        return err_set(e, ERR_INVALID, "there is no scope '%.40s'; did you mean '%s'?", word,
                       meant);
    if (!scope)
        return err_set(e, ERR_INVALID,
                       "there is no scope '%.40s'; they are run, files:read, files:write, share, "
                       "audit and admin",
                       word);
    for (int i = 0; i < SCOPES; i++)
        if (scopes[i] == scope) {
            if (*seen & 1U << i)
                return err_set(e, ERR_INVALID, "the scope '%s' is there twice", scope);
            *seen |= 1U << i;
        }
    *ret = scope;
    return 0;
}

int parse_scopes(const char *text, void (*put)(void *arg, const char *scope), void *arg,
                 struct err *e)
{
    unsigned seen = 0;
    for (const char *at = text;;) {
        char word[64];
        const char *scope = NULL;
        size_t len = strcspn(at, ",");
        (void)snprintf(word, sizeof word, "%.*s", (int)(len < 60 ? len : 60), at);
        if (one_scope(word, &seen, &scope, e))
            return -1;
        put(arg, scope);
        if (!at[len])
            return 0;
        at += len + 1;
    }
}

int64_t moment_us(const char *text)
{
    struct tm utc = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    if (!rest)
        return -1;
    int64_t us = (int64_t)timegm(&utc) * 1000000, unit = 100000;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
            us += (*rest - '0') * unit;
    return strcmp(rest, "Z") == 0 || strcmp(rest, "+00:00") == 0 ? us : -1;
}

const char *ago_text(const char *moment, int64_t now_us, char space[AGO_TEXT])
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{DAY_S, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    int64_t at_us = moment_us(moment);
    if (at_us < 0)
        return "-";
    int64_t away_s = (now_us - at_us) / 1000000;
    bool is_ahead = away_s < 0;
    away_s = is_ahead ? -away_s : away_s;
    size_t i = 0;
    while (i < 3 && away_s < units[i].seconds)
        i++;
    (void)snprintf(space, AGO_TEXT, is_ahead ? "in %lld %s" : "%lld %s ago",
                   (long long)(away_s / units[i].seconds), units[i].unit);
    return away_s == 0 ? "now" : space;
}

const char *time_text(double ms, char space[TIME_TEXT])
{
    long long seconds = (long long)(ms / 1000 + 0.5);
    if (ms < 999.5)
        (void)snprintf(space, TIME_TEXT, ms < 10 ? "%.1f ms" : "%.0f ms", ms);
    else if (seconds < 60)
        (void)snprintf(space, TIME_TEXT, "%.1f s", ms / 1000);
    else if (seconds < 3600)
        (void)snprintf(space, TIME_TEXT, "%lld min %lld s", seconds / 60, seconds % 60);
    else
        (void)snprintf(space, TIME_TEXT, "%lld h %lld min", seconds / 3600, seconds / 60 % 60);
    return space;
}
