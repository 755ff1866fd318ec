/* outside.h -- whether the server may be made to connect to an address.
 *
 * Whoever sets a webhook chooses where this server connects to, and it may reach what they cannot: itself,
 * its neighbours, the metadata service of a cloud. So it connects to the public internet alone, and to
 * what its operator allows. A name says nothing about where it leads, and may lead elsewhere a moment
 * later: the check is made with the very address that is connected to.
 *
 * No I/O in here. A rule is an address ("10.1.2.3", "fd00::7"), a network ("10.1.0.0/16") or the name of a host
 * ("hooks.example.internal"), which stands for any address it leads to.
 */
#ifndef SERVICE_OUTSIDE_H
#define SERVICE_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct sockaddr;

struct outside {
    const char *const *allowed; /* rules; borrowed */
    size_t count;
};

/* ERR_INVALID when the text is no rule. */
int outside_rule_check(const char *text, struct err *e);

/* Whether the address is one of the public internet: not of this host, of a private network, of a link, shared
 * by a carrier, for documentation, multicast, reserved, or an IPv4 address in the clothes of IPv6. Other
 * families are not. */
bool outside_is_public(const struct sockaddr *address);

/* `host` is what the URL says, without brackets: a name or an address. */
bool outside_may(const struct outside *o, const char *host, const struct sockaddr *address);

/* Of what an URL says: an address is checked; the names that everywhere mean this very host are refused. Of
 * other names nothing is known yet: true. */
bool outside_may_name(const struct outside *o, const char *host);

/* Not where other services than those of the web listen: mail, shells, databases. */
bool outside_may_port(uint16_t port);

#endif
