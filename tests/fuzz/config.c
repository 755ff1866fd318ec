/* Fuzzes the configuration file: what is refused says why, what is taken is in range, and shown it
 * reads back as the same. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "daemon/config.h"
#include "daemon/config_int.h"

#include "fuzz.h"

enum { SHOWN_MAX = 1 << 20 };

static void hear(void *arg, enum config_tone tone, const char *text)
{
    assert(tone == CONFIG_PROBLEM && *text);
    *(int *)arg += 1;
}

static void is_in_range(const struct config *c, const struct config_key *k)
{
    const char *at = (const char *)c + k->at;
    uint32_t v;
    memcpy(&v, at, sizeof v);
    if (k->kind == KEY_NUMBER || k->kind == KEY_MB || k->kind == KEY_MILLI || k->kind == KEY_MODE)
        assert(v >= k->min && v <= k->max);
    struct config_list list;
    memcpy(&list, at, sizeof list);
    for (size_t i = 0; k->kind == KEY_LIST && i < list.count; i++)
        assert(*list.items[i] && utf8_is_valid(list.items[i], strlen(list.items[i])));
}

static void never(void *arg, const char *key, bool holds_now)
{
    (void)arg;
    (void)key;
    (void)holds_now;
    assert(false && "a configuration differs from itself");
}

static void reads_back(struct config *c)
{
    static const struct config_change_sink sink = {never, NULL};
    scoped(buf_done) struct buf shown = BUF_INIT(SHOWN_MAX);
    struct config again;
    struct err e = {0};
    /* What is secret is not shown. */
    int secret = config_key_find("server", "api_key");
    assert(config_key_set(c, &config_keys[secret], "", &e) == 0);
    config_show(c, &shown);
    assert(buf_check(&shown, &e) == 0);
    assert(config_parse(shown.bytes, shown.len, NULL, &again, &e) == 0);
    assert(config_carry(&again, c, &sink, &e) == 0);
    config_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct config c;
    struct err e = {0};
    int problems = 0;
    const struct config_sink sink = {hear, &problems};
    if (config_parse((const char *)bytes, len, &sink, &c, &e)) {
        assert(problems > 0 && e.code == ERR_INVALID && e.text[0]);
        return 0;
    }
    assert(problems == 0);
    for (size_t i = 0; i < config_key_count; i++)
        is_in_range(&c, &config_keys[i]);
    reads_back(&c);
    config_done(&c);
    return 0;
}
