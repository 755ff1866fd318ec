/* zone.h -- which time zones a session can have.
 *
 *     Europe/Berlin, UTC, EST5EDT           a name the zone database knows: the host's, which is what a
 *                                           jail sees in /usr/share/zoneinfo
 *     CET-1CEST,M3.5.0,M10.5.0/3, <+07>-7   a rule as POSIX writes it in TZ
 *
 * The C library takes anything else for UTC without a word, which is why it is looked at here.
 */
#ifndef SESSION_ZONE_H
#define SESSION_ZONE_H

#include <stdbool.h>

struct err;

enum { ZONE_SIZE = 64 }; /* with the NUL at its end */

/* 0 for "" (UTC) and those above. Fails with ERR_INVALID and what to write instead. Looks at the
 * disk. */
int zone_check(const char *tz, struct err *e);

/* True for a rule as POSIX writes it. No I/O. */
bool zone_is_rule(const char *tz);

#endif
