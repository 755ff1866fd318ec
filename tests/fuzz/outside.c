/* Fuzzes what decides where a webhook may lead: rules, hosts and URLs as anybody may write them.
 *
 * Three texts with NULs between them: a rule, a host, an URL.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/err.h"
#include "service/outside.h"
#include "service/transfer.h"

#include "fuzz.h"

enum { TEXT_MAX = 4096 };

static const struct outside nothing = {0};

/* The next text; what is missing is "". */
static const char *next(char **at, const char *end)
{
    const char *text = *at;
    if (*at < end)
        *at += strlen(*at) + 1;
    return text < end ? text : "";
}

/* What is an address is public, or no rule is needed to refuse it. */
static void a_host_that_is_let_through_is_public(const char *host)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    bool may = outside_may_name(&nothing, host);
    if (inet_pton(AF_INET, host, &four.sin_addr) == 1)
        assert(may == outside_is_public((const struct sockaddr *)&four));
    else if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1)
        assert(may == outside_is_public((const struct sockaddr *)&six));
}

static void a_rule_never_takes_away(const char *rule, const char *host)
{
    struct err e = {0};
    const char *const rules[] = {rule};
    const struct outside one = {rules, 1};
    if (outside_rule_check(rule, &e))
        return;
    if (outside_may_name(&nothing, host))
        assert(outside_may_name(&one, host));
}

static void an_url_that_is_taken_is_of_the_web(const char *url)
{
    struct err e = {0};
    if (transfer_check_url(&nothing, url, &e)) {
        assert(e.code == ERR_INVALID);
        return;
    }
    assert(strlen(url) <= TRANSFER_URL_MAX);
    assert(strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0 ||
           strncasecmp(url, "http:", 5) == 0 || strncasecmp(url, "https:", 6) == 0);
    const char *rest = strchr(url, ':') + 1;
    size_t slashes = strspn(rest, "/\\");
    assert(!memchr(rest + slashes, '@', strcspn(rest + slashes, "/?#\\")));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char text[TEXT_MAX + 1];
    if (len > TEXT_MAX)
        return 0;
    if (len)
        memcpy(text, bytes, len);
    text[len] = '\0';
    char *at = text;
    const char *rule = next(&at, text + len), *host = next(&at, text + len),
               *url = next(&at, text + len);
    a_host_that_is_let_through_is_public(host);
    a_rule_never_takes_away(rule, host);
    an_url_that_is_taken_is_of_the_web(url);
    return 0;
}
