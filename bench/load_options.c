#include "load.h"

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/parse.h"

static uint64_t number(const char *text, uint64_t max)
{
    struct err e = {0};
    uint64_t value = 0;
    if (parse_u64(text, 0, max, &value, &e))
        errx(2, "%s", e.text);
    return value;
}

static void take_address(struct load_options *o, char *text)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&o->address;
    struct sockaddr_in *in = (struct sockaddr_in *)&o->address;
    char *colon = strrchr(text, ':');
    if (strncmp(text, "unix:", 5) == 0) {
        un->sun_family = AF_UNIX;
        (void)snprintf(un->sun_path, sizeof un->sun_path, "%s", text + 5);
        o->address_len = sizeof *un;
        return;
    }
    if (!colon)
        errx(2, "not HOST:PORT: %s", text);
    *colon = '\0';
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)number(colon + 1, 65535));
    if (inet_pton(AF_INET, text, &in->sin_addr) != 1)
        errx(2, "not an IPv4 address: %s", text);
    o->address_len = sizeof *in;
}

static void take_option(struct load_options *o, int name, char *value)
{
    switch (name) {
    case 'X': o->method = value; break;
    case 'p': o->path = value; break;
    case 'H': buf_fmt(&o->headers, "%s\r\n", value); break;
    case 'd': o->body = value; break;
    case 'z': o->zeros = number(value, UINT64_MAX / 2); break;
    case 's': o->status = (int)number(value, 599); break;
    case 'e': o->expected = value; break;
    case 'c': o->connections = number(value, 100000); break;
    case 'n': o->count = number(value, UINT64_MAX / 2); break;
    case 't': o->seconds = number(value, 86400); break;
    case 'w': o->warmup = number(value, 1000000); break;
    case 'i': o->pause_us = number(value, 60000000); break;
    case 'f': o->is_fresh = true; break;
    default: errx(2, "see the head of bench/load.c for what may be said");
    }
}

void load_options_read(struct load_options *ret, int argc, char **argv)
{
    struct load_options *o = ret;
    int name;
    *o = (struct load_options){.method = "GET",
                               .path = "/",
                               .status = 200,
                               .connections = 1,
                               .count = 1000,
                               .headers = BUF_INIT(1 << 20)};
    while ((name = getopt(argc, argv, "X:p:H:d:z:s:e:c:n:t:w:i:f")) != -1)
        take_option(o, name, optarg);
    if (optind + 1 != argc || !o->connections || (o->pause_us && o->connections > 1))
        take_option(o, '?', NULL);
    take_address(o, argv[optind]);
}
