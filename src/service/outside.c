#include "service/outside.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/parse.h"

/* ---- networks ---- */

struct network {
    int family;
    unsigned bits;
    uint8_t address[16];
};

static bool is_in(const struct network *n, int family, const uint8_t *address)
{
    unsigned whole = n->bits / 8, rest = n->bits % 8;
    if (n->family != family || memcmp(n->address, address, whole) != 0)
        return false;
    return rest == 0 || (uint8_t)(n->address[whole] ^ address[whole]) >> (8 - rest) == 0;
}

#define FOUR(bits_, ...) \
    {                    \
        AF_INET, bits_,  \
        {                \
            __VA_ARGS__  \
        }                \
    }
#define SIX(bits_, ...)  \
    {                    \
        AF_INET6, bits_, \
        {                \
            __VA_ARGS__  \
        }                \
    }

/* IANA's registries of special purpose addresses, with what is not public of them, and the address under which
 * Azure's virtual machines find their host. */
static const struct network refused[] = {
    FOUR(8, 0),                 /* this network */
    FOUR(8, 10),                /* private */
    FOUR(10, 100, 64),          /* shared by carriers */
    FOUR(8, 127),               /* this host */
    FOUR(16, 169, 254),         /* of a link; metadata */
    FOUR(12, 172, 16),          /* private */
    FOUR(24, 192, 0, 0),        /* protocols; metadata */
    FOUR(24, 192, 0, 2),        /* documentation */
    FOUR(24, 192, 88, 99),      /* relays of 6to4 */
    FOUR(16, 192, 168),         /* private */
    FOUR(15, 198, 18),          /* benchmarks */
    FOUR(24, 198, 51, 100),     /* documentation */
    FOUR(24, 203, 0, 113),      /* documentation */
    FOUR(32, 168, 63, 129, 16), /* metadata */
    FOUR(4, 224),               /* multicast */
    FOUR(4, 240),               /* reserved, broadcast */

    SIX(23, 0x20, 0x01, 0x00),       /* protocols: Teredo, benchmarks, ORCHID */
    SIX(32, 0x20, 0x01, 0x0d, 0xb8), /* documentation */
    SIX(16, 0x20, 0x02),             /* 6to4: IPv4 inside */
    SIX(20, 0x3f, 0xff, 0x00),       /* documentation */
};

/* All other space of IPv6 is this host's, a link's, a site's, translated IPv4, multicast or nobody's yet. */
static const struct network global_six = SIX(3, 0x20);

bool outside_is_public(const struct sockaddr *address)
{
    const uint8_t *bytes;
    if (address->sa_family == AF_INET)
        bytes = (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    else if (address->sa_family == AF_INET6)
        bytes = (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    else
        return false;
    if (address->sa_family == AF_INET6 && !is_in(&global_six, AF_INET6, bytes))
        return false;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (is_in(&refused[i], address->sa_family, bytes))
            return false;
    return true;
}

/* ---- rules ---- */

enum { RULE_MAX = 253 }; /* of a name in the DNS */

/* "10.0.0.0/8". False: it is none. */
static bool parse_network(const char *text, struct network *ret)
{
    char address[INET6_ADDRSTRLEN];
    size_t len = strcspn(text, "/");
    struct network n = {.family = AF_INET, .bits = 32};
    if (len >= sizeof address)
        return false;
    memcpy(address, text, len);
    address[len] = '\0';
    if (inet_pton(AF_INET, address, n.address) != 1) {
        n.family = AF_INET6;
        n.bits = 128;
        if (inet_pton(AF_INET6, address, n.address) != 1)
            return false;
    }
    if (text[len] == '/') {
        struct err ignored = {0};
        uint64_t bits;
        if (parse_u64(text + len + 1, 0, n.bits, &bits, &ignored))
            return false;
        n.bits = (unsigned)bits;
    }
    *ret = n;
    return true;
}

static bool is_name(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || len > RULE_MAX || text[0] == '.' || text[0] == '-' || strstr(text, ".."))
        return false;
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-' && *p != '_')
            return false;
    return strspn(text, "0123456789.") != len; /* that would be an address gone wrong */
}

int outside_rule_check(const char *text, struct err *e)
{
    struct network n;
    if (parse_network(text, &n) || is_name(text))
        return 0;
    return err_set(e, ERR_INVALID,
                   "'%.60s' is not an address, a network such as 10.0.0.0/8 or the name of a host",
                   text);
}

static bool fits(const char *rule, const char *host, const struct sockaddr *address)
{
    struct network n;
    if (!parse_network(rule, &n))
        return strcasecmp(rule, host) == 0;
    if (address->sa_family == AF_INET)
        return is_in(&n, AF_INET,
                     (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr);
    if (address->sa_family == AF_INET6)
        return is_in(
            &n, AF_INET6,
            (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return false;
}

bool outside_may(const struct outside *o, const char *host, const struct sockaddr *address)
{
    if (outside_is_public(address))
        return true;
    if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
        return false;
    for (size_t i = 0; i < o->count; i++)
        if (fits(o->allowed[i], host, address))
            return true;
    return false;
}

static bool is_local_name(const char *host)
{
    size_t len = strlen(host);
    while (len > 0 && host[len - 1] == '.')
        len--;
    static const char local[] = "localhost";
    size_t tail = sizeof local - 1;
    return len >= tail && strncasecmp(host + len - tail, local, tail) == 0 &&
           (len == tail || host[len - tail - 1] == '.' || host[len - tail - 1] == '-');
}

bool outside_may_name(const struct outside *o, const char *host)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, host, &four.sin_addr) == 1)
        return outside_may(o, host, (const struct sockaddr *)&four);
    if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1)
        return outside_may(o, host, (const struct sockaddr *)&six);
    if (!is_local_name(host))
        return true;
    for (size_t i = 0; i < o->count; i++)
        if (strcasecmp(o->allowed[i], host) == 0)
            return true;
    /* Where this host itself may be connected to, its name may be used for it. */
    (void)inet_pton(AF_INET, "127.0.0.1", &four.sin_addr);
    return outside_may(o, host, (const struct sockaddr *)&four);
}

/* ---- ports ---- */

bool outside_may_port(uint16_t port)
{
    /* Those that browsers refuse too (fetch.spec.whatwg.org), and databases and the like on their usual ones. */
    static const uint16_t closed[] = {
        0,    1,    7,    9,    11,   13,   15,    17,    19,   20,   21,   22,   23,   25,   37,
        42,   43,   53,   69,   77,   79,   87,    95,    101,  102,  103,  104,  109,  110,  111,
        113,  115,  117,  119,  123,  135,  137,   138,   139,  143,  161,  179,  389,  427,  445,
        465,  512,  513,  514,  515,  526,  530,   531,   532,  540,  548,  554,  556,  563,  587,
        601,  636,  873,  989,  990,  993,  995,   1433,  1521, 1719, 1720, 1723, 2049, 2375, 2376,
        2379, 2380, 3306, 3389, 3659, 4045, 4190,  5060,  5061, 5432, 5900, 6000, 6379, 6566, 6665,
        6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211, 27017};
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (closed[i] == port)
            return false;
    return true;
}
