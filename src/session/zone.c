#include "session/zone.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"

#define ZONES "/usr/share/zoneinfo"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- names */

/* Parts of letters, digits, '_', '+' and '-', with slashes between them: no dots, so no way out. */
static bool is_name(const char *tz)
{
    bool is_inside = false;
    for (; *tz; tz++) {
        bool is_slash = *tz == '/';
        if (is_slash ? !is_inside : !is_letter(*tz) && !is_digit(*tz) && !strchr("_+-", *tz))
            return false;
        is_inside = !is_slash;
    }
    return is_inside;
}

static bool is_in_database(const char *tz)
{
    char magic[4];
    scoped(fd_closep) int zones = open(ZONES, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (zones < 0)
        return strcmp(tz, "UTC") == 0; /* what the C library knows by itself */
    scoped(fd_closep) int fd = openat(zones, tz, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic &&
           memcmp(magic, "TZif", sizeof magic) == 0;
}

/* ---- rules: std offset [dst [offset] [,start[/time],end[/time]]] */

/* Each returns what follows, NULL if it is not there. */
static const char *skip_abbreviation(const char *at)
{
    const char *begin = at;
    if (*at == '<') {
        for (at++; is_letter(*at) || is_digit(*at) || *at == '+' || *at == '-'; at++) {
        }
        return *at == '>' && at - begin >= 4 ? at + 1 : NULL;
    }
    while (is_letter(*at))
        at++;
    return at - begin >= 3 ? at : NULL;
}

static const char *skip_number(const char *at, int most)
{
    int number = 0, digits = 0;
    for (; is_digit(*at) && digits < 3; at++, digits++)
        number = 10 * number + (*at - '0');
    return digits > 0 && number <= most ? at : NULL;
}

/* [+-]hh[:mm[:ss]] */
static const char *skip_time(const char *at, int hours_max)
{
    if (*at == '+' || *at == '-')
        at++;
    at = skip_number(at, hours_max);
    for (int i = 0; at && i < 2 && *at == ':'; i++)
        at = skip_number(at + 1, 59);
    return at;
}

/* Mm.w.d, Jn or n, and perhaps a time: RFC 8536 lets it have up to a week. */
static const char *skip_day(const char *at)
{
    static const int most[] = {12, 5, 6};
    if (*at == 'M') {
        for (size_t i = 0; at && i < sizeof most / sizeof *most; i++)
            at = i > 0 && *at != '.' ? NULL : skip_number(at + 1, most[i]);
    } else {
        at = skip_number(*at == 'J' ? at + 1 : at, 365);
    }
    return at && *at == '/' ? skip_time(at + 1, 167) : at;
}

bool zone_is_rule(const char *tz)
{
    const char *at = skip_abbreviation(tz);
    at = at ? skip_time(at, 24) : NULL;
    if (!at || !*at)
        return at;
    at = skip_abbreviation(at);
    if (at && *at && *at != ',')
        at = skip_time(at, 24);
    if (at && *at == ',')
        for (int i = 0; at && i < 2; i++)
            at = *at == ',' ? skip_day(at + 1) : NULL;
    return at && !*at;
}

int zone_check(const char *tz, struct err *e)
{
    size_t len = strnlen(tz, ZONE_SIZE);
    if (len == ZONE_SIZE)
        return err_set(e, ERR_INVALID, "the time zone has more than %d characters", ZONE_SIZE - 1);
    if (len == 0 || zone_is_rule(tz) || (is_name(tz) && is_in_database(tz)))
        return 0;
    return err_set(e, ERR_INVALID,
                   "there is no time zone of that name; write one like Europe/Berlin, UTC or "
                   "America/New_York");
}
