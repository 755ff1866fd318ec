/* What config.h promises. $CICADA_SOURCE is the root of the tree, for what documents the keys. */
#include "daemon/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "daemon/config_int.h"

/* Everything that was told, one line each. */
struct heard {
    char text[4096];
    int problems, remarks;
};

static void hear(void *arg, enum config_tone tone, const char *text)
{
    struct heard *h = arg;
    size_t len = strlen(h->text);
    (void)snprintf(h->text + len, sizeof h->text - len, "%s\n", text);
    *(tone == CONFIG_PROBLEM ? &h->problems : &h->remarks) += 1;
}

static struct config parsed(const char *text)
{
    struct config c;
    struct err e = {0};
    if (config_parse(text, strlen(text), NULL, &c, &e))
        fail_msg("%s", e.text);
    return c;
}

/* The text is wrong; all that is told of it is `expected`. */
static void assert_told(const char *text, const char *expected)
{
    struct config c;
    struct err e = {0};
    struct heard h = {0};
    struct config_sink sink = {hear, &h};
    assert_int_equal(config_parse(text, strlen(text), &sink, &c, &e), -1);
    assert_string_equal(h.text, expected);
    assert_memory_equal(h.text, e.text, strlen(e.text)); /* the first problem is the failure */
    assert_int_equal(e.code, ERR_INVALID);
}

static struct config loaded(const struct config_inputs *in)
{
    struct config c;
    struct err e = {0};
    if (config_load(in, NULL, &c, &e))
        fail_msg("%s", e.text);
    return c;
}

static int key_number(const char *section, const char *name)
{
    int key = config_key_find(section, name);
    assert_true(key >= 0);
    return key;
}

static void nothing_said_is_the_default(void **state)
{
    (void)state;
    scoped(config_done) struct config c = parsed("");
    assert_int_equal(c.server.listen.count, 1);
    assert_string_equal(c.server.listen.items[0], "127.0.0.1:8700");
    assert_string_equal(c.server.socket, "auto");
    assert_int_equal(c.server.socket_mode, 0600);
    assert_int_equal(c.server.log_level, LOG_INFO);
    assert_int_equal(c.server.origins.count, 0);
    assert_int_equal(c.sessions.cpu_milli, 1000);
    assert_int_equal(c.sessions.wall_max_s, 600);
    assert_int_equal(c.sessions.keep_days, 30);
    assert_int_equal(c.limits.body_bytes, 32 << 20);
    for (size_t i = 0; i < config_key_count; i++)
        assert_int_equal(c.origins[i].source, CONFIG_DEFAULT);
}

static void every_kind_of_value_is_understood(void **state)
{
    (void)state;
    scoped(config_done) struct config c =
        parsed("# a comment\n; another\n\n[server]\r\n"
               "listen = 0.0.0.0:80, [::1]:8700 unix:/Run/X.sock\n"
               "  10.0.0.1:81   ; goes on, with a comment\n"
               "\t# and a comment of its own\n"
               "\t10.0.0.2:82\n"
               "socket: off\n"
               "socket_mode=660 ; said otherwise\n"
               "log_format = json\n"
               "log_level = debug\n"
               "hosts = Cicada.Example.ORG\n"
               "origins = https://App.example.org:444 http://[::1]:3000\n"
               "    workers = 8\n" /* indented, but a key */
               "[sessions]\n"
               "memory_mb = 2G\n"
               "cpu = 1.25\n"
               "output_bytes = 64k\n"
               "[server]\n" /* again */
               "data = /srv/cicada data\n");
    assert_int_equal(c.server.listen.count, 5);
    assert_string_equal(c.server.listen.items[1], "[::1]:8700");
    assert_string_equal(c.server.listen.items[2], "unix:/Run/X.sock");
    assert_string_equal(c.server.listen.items[3], "10.0.0.1:81");
    assert_string_equal(c.server.listen.items[4], "10.0.0.2:82");
    assert_string_equal(c.server.socket, "off");
    assert_int_equal(c.server.socket_mode, 0660);
    assert_int_equal(c.server.log_format, LOG_JSON);
    assert_int_equal(c.server.log_level, LOG_DEBUG);
    assert_string_equal(c.server.hosts.items[0], "cicada.example.org");
    assert_string_equal(c.server.origins.items[0], "https://app.example.org:444");
    assert_string_equal(c.server.origins.items[1], "http://[::1]:3000");
    assert_int_equal(c.server.workers, 8);
    assert_int_equal(c.sessions.memory_mb, 2048);
    assert_int_equal(c.sessions.cpu_milli, 1250);
    assert_int_equal(c.sessions.output_bytes, 64 << 10);
    assert_string_equal(c.server.data, "/srv/cicada data");
    int listen = key_number("server", "listen");
    assert_int_equal(c.origins[listen].source, CONFIG_FILE);
    assert_int_equal(c.origins[listen].line, 5);
}

static void what_is_unknown_is_refused_with_what_was_meant(void **state)
{
    (void)state;
    assert_told("[server]\nlistn = 1\n",
                "text:2: there is no key 'listn' in [server]; did you mean 'listen'?\n");
    assert_told("[server]\nmemory_max_mb = 1\n",
                "text:2: there is no key 'memory_max_mb' in [server]; [sessions] has one\n");
    assert_told("[server]\nquux = 1\n", "text:2: there is no key 'quux' in [server]\n");
    assert_told("[sesions]\nidle_s = 1\npids = 2\n",
                "text:2: there is no section [sesions]; did you mean [sessions]?\n");
    assert_told("[quuxes]\nurl = x\n", "text:2: there is no section [quuxes]\n");
    assert_told("workers = 2\n", "text:1: a key before the first [section]\n");
    assert_told("[server]\nWorkers = 2\n",
                "text:2: there is no key 'Workers' in [server]; did you mean 'workers'?\n");
}

static void a_value_out_of_range_says_the_range(void **state)
{
    (void)state;
    static const struct {
        const char *line, *why;
    } rows[] = {
        {"[server]\nworkers = 1", "server.workers: 1 is not in the range 2 to 4096"},
        {"[server]\nworkers = 4097", "server.workers: 4097 is not in the range 2 to 4096"},
        {"[server]\nworkers = many", "server.workers: 'many' is not a whole number"},
        {"[server]\nworkers =", "server.workers: '' is not a whole number"},
        {"[server]\nworkers = -3", "server.workers: '-3' is not a whole number"},
        {"[server]\nsocket_mode = 0440",
         "server.socket_mode: 0440 is not in the range 0600 to 0777"},
        {"[server]\nsocket_mode = 0689", "server.socket_mode: '0689' is not a mode such as 0660"},
        {"[server]\nlog_level = loud",
         "server.log_level: 'loud' is none of debug, info, warning or error"},
        {"[server]\nlog_format = xml", "server.log_format: 'xml' is none of text or json"},
        {"[server]\ndata = var/lib", "server.data: 'var/lib' is not an absolute path"},
        {"[server]\npublic_url = example.org",
         "server.public_url: 'example.org' is not an address such as https://cicada.example.org, "
         "without a path"},
        {"[server]\npublic_url = https://a.org/b",
         "server.public_url: 'https://a.org/b' is not an address such as "
         "https://cicada.example.org, without a path"},
        {"[oauth]\nissuer = http://login.example.org",
         "oauth.issuer: 'http://login.example.org' is not an issuer such as "
         "https://login.example.org/realms/work; without TLS only on this machine"},
        {"[oauth]\nissuer = https://a.org/?x",
         "oauth.issuer: 'https://a.org/?x' is not an issuer such as "
         "https://login.example.org/realms/work; without TLS only on this machine"},
        {"[oauth]\njwks_url = file:///keys",
         "oauth.jwks_url: 'file:///keys' is not an address such as https://example.org/keys"},
        {"[oauth]\ndefault_scopes = run admin",
         "oauth.default_scopes: nobody is admin by default; see oauth.admin_subjects"},
        {"[server]\ndata = \"/var/lib\"", "server.data: leave the quotation marks out"},
        {"[server]\ndata =", "server.data: a value is missing"},
        {"[server]\ndata = /a\x01", "server.data: contains a control character"},
        {"[server]\ndata = /a\xFF", "server.data: not UTF-8"},
        {"[server]\nuser = a b", "server.user: 'a b' is not a user name or number"},
        {"[server]\nsocket = here",
         "server.socket: neither auto, off nor a path: 'here' is not an absolute path"},
        {"[sessions]\ncpu = 0.001", "sessions.cpu: 0.001 is not in the range 0.01 to 1024"},
        {"[sessions]\ncpu = half", "sessions.cpu: 'half' is not a number such as 1 or 0.5"},
        {"[sessions]\nmemory_mb = 31", "sessions.memory_mb: 31 is not in the range 32 to 1048576"},
        {"[sessions]\nmemory_mb = 65000k",
         "sessions.memory_mb: 65000k is not a whole number of MiB"},
        {"[sessions]\noutput_bytes = 1", "sessions.output_bytes: 1 is not in the range 1K to 64M"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char expected[300];
        (void)snprintf(expected, sizeof expected, "text:2: %s\n", rows[i].why);
        assert_told(rows[i].line, expected);
    }
}

static void addresses_names_and_origins_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        const char *bad[14];
    } rows[] = {
        {"listen",
         {"localhost:", "8700", "example.org:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
          "::1:80", "[::1]", "1.2.3:4", "unix:relative", "[127.0.0.1]:80", "127.0.0.1:80x"}},
        {"hosts",
         {"[::1]", "a:80", "http://a", "a/b", ".a", "-a", "a..b", "a_b", "*.a", "b\xC3\xBC"}},
        {"origins",
         {"app.example", "https://", "https://a/", "ftp://a", "https://a:0", "https://a:99999",
          "https://[::1", "https://[1.2.3.4]", "null", "https://a:80:80", "https://u@a"}},
        {"tls_cert", {"cert.pem"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const char *const *bad = rows[i].bad; *bad; bad++) {
            char text[200], where[64];
            struct config c;
            struct err e = {0};
            int len = snprintf(text, sizeof text, "[server]\n%s = %s\n", rows[i].key, *bad);
            assert_int_equal(config_parse(text, (size_t)len, NULL, &c, &e), -1);
            (void)snprintf(where, sizeof where, "text:2: server.%s: '", rows[i].key);
            assert_memory_equal(e.text, where, strlen(where));
        }
}

static void every_problem_is_told_and_the_first_is_the_failure(void **state)
{
    (void)state;
    assert_told("[server]\n"
                "workers = 0\n"
                "what is this\n"
                "workers = 3\n"
                "drain_s = 1\n"
                "drain_s = 2\n"
                "  goes on\n",
                "text:2: server.workers: 0 is not in the range 2 to 4096\n"
                "text:6: server.drain_s is set in line 5 already\n"
                "text:7: server.drain_s is set in line 5 already\n"
                "text:3: neither [section] nor name = value\n");
    assert_told("[server]\ndata = /x\n  /y\n",
                "text:3: an indented line goes on with the list above, but there is none\n");
    assert_told("[server\n", "text:1: neither [section] nor name = value\n");
}

static void lines_that_would_be_cut_are_refused(void **state)
{
    (void)state;
    char text[600];
    int len = snprintf(text, sizeof text, "[server]\nhosts = %0400d\nworkers = 4\n", 0);
    struct heard h = {0};
    struct config_sink sink = {hear, &h};
    struct config c;
    struct err e = {0};
    assert_int_equal(config_parse(text, (size_t)len, &sink, &c, &e), -1);
    assert_string_equal(h.text,
                        "text:2: the line is too long; a list may go on in indented lines\n");
    static const char with_nul[] = "[server]\nuser = a\0b\n";
    assert_int_equal(config_parse(with_nul, sizeof with_nul - 1, NULL, &c, &e), -1);
    assert_string_equal(e.text, "text:2: contains a NUL character");
}

static void a_list_is_full_at_its_limit(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(8192);
    struct config c;
    struct err e = {0};
    buf_str(&text, "[server]\nhosts =\n");
    for (int i = 0; i < CONFIG_ITEMS_MAX; i++)
        buf_fmt(&text, " host%d,\n", i);
    assert_int_equal(config_parse(text.bytes, text.len, NULL, &c, &e), 0);
    assert_int_equal(c.server.hosts.count, CONFIG_ITEMS_MAX);
    config_done(&c);
    buf_str(&text, " onemore\n");
    assert_int_equal(config_parse(text.bytes, text.len, NULL, &c, &e), -1);
    assert_string_equal(e.text, "text:2: server.hosts: at most 64 entries");
}

static void what_keys_say_together_is_checked(void **state)
{
    (void)state;
    assert_told("[server]\ntls_cert = /c.pem\n",
                "server.tls_cert and server.tls_key: give both or none\n");
    assert_told("[server]\nlisten = off\nsocket = off\n",
                "server.listen and server.socket are both off: nobody could be served\n");
    assert_told("[sessions]\nwall_s = 900\n",
                "sessions.wall_s is more than its maximum; change one of them\n");
    assert_told(
        "[oauth]\nissuer = https://login.example.org\n",
        "oauth.issuer: set oauth.audience or server.public_url, so that tokens for somebody "
        "else are not taken\n");
    assert_told("[sessions]\npool_min = 9\npool_max = 8\n",
                "sessions.pool_min is more than sessions.pool_max\n");
    scoped(config_done) struct config c =
        parsed("[server]\nlisten =\n[sessions]\nwall_s = 900\nwall_max_s = 900\n");
    assert_int_equal(c.server.listen.count, 0);
}

static void flags_beat_the_environment_beats_the_file_beats_the_default(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    char path[128];
    char *environment[] = {"HOME=/x", "CICADA_SERVER_WORKERS=30", "CICADA_SERVER_DRAIN_S=31",
                           "CICADA_SERVER_CONNECTIONS=", NULL};
    const struct config_flag flags[] = {{"server", "workers", "40"}};
    scratch_write(&s, "cicada.conf", "[server]\nworkers = 20\ndrain_s = 21\nconnections = 222\n");
    (void)snprintf(path, sizeof path, "%s/cicada.conf", s.path);
    scoped(config_done) struct config c = loaded(&(struct config_inputs){
        .path = path, .environment = environment, .flags = flags, .flag_count = 1});
    assert_int_equal(c.server.workers, 40);
    assert_int_equal(c.server.drain_s, 31);
    assert_int_equal(c.server.connections, 222); /* an empty variable is none */
    assert_int_equal(c.server.connections_per_address, 8000);
    assert_int_equal(c.origins[key_number("server", "workers")].source, CONFIG_FLAG);
    assert_int_equal(c.origins[key_number("server", "drain_s")].source, CONFIG_ENVIRONMENT);
    assert_int_equal(c.origins[key_number("server", "connections")].line, 4);
    assert_string_equal(c.path, path);
}

static void every_key_has_a_variable(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *k = &config_keys[i];
        char variable[CONFIG_VARIABLE_SIZE], entry[300];
        bool is_url = strcmp(k->name, "public_url") == 0 || strcmp(k->section, "oauth") == 0 ||
                      strcmp(k->name, "url") == 0;
        bool is_model = strcmp(k->section, "model") == 0 && strcmp(k->name, "name") != 0;
        const char *value = *k->preset     ? k->preset
                            : k->is_secret ? "cik_0123456789abcdef"
                            : is_url       ? "https://cicada.example.org"
                                           : "/etc/x.pem";
        config_key_variable(k, variable);
        (void)snprintf(entry, sizeof entry, "%s=%s", variable, value);
        char *environment[] = {entry,
                               "CICADA_SERVER_TLS_CERT=/c",
                               "CICADA_SERVER_TLS_KEY=/k",
                               "CICADA_SERVER_PUBLIC_URL=https://cicada.example.org",
                               is_model ? "CICADA_MODEL_NAME=m" : NULL,
                               NULL};
        scoped(config_done) struct config c =
            loaded(&(struct config_inputs){.environment = environment});
        assert_int_equal(c.origins[i].source, CONFIG_ENVIRONMENT);
    }
}

static void variables_of_others_are_let_be_and_slips_remarked_on(void **state)
{
    (void)state;
    char *environment[] = {
        "CICADA_URL=http://x", "CICADA_SOCKET=/s",   "CICADA_TMP=/t",   "CICADA_SERVER_LISTN=bad",
        "CICADA_SERVERS=1",    "CICADA_RUNS_QUUX=1", "CICADA_SESSIONS", NULL};
    struct heard h = {0};
    struct config_sink sink = {hear, &h};
    struct config c;
    struct err e = {0};
    assert_int_equal(
        config_load(&(struct config_inputs){.environment = environment}, &sink, &c, &e), 0);
    config_done(&c);
    assert_int_equal(h.problems, 0);
    assert_string_equal(h.text, "CICADA_SERVER_LISTN: is no key and was ignored; did you mean "
                                "CICADA_SERVER_LISTEN?\n"
                                "CICADA_RUNS_QUUX: is no key and was ignored\n");
}

static void a_wrong_variable_or_flag_is_named(void **state)
{
    (void)state;
    char *environment[] = {"CICADA_SERVER_WORKERS=x", NULL};
    const struct config_flag flags[] = {{"server", "listen", "x"}};
    struct config c;
    struct err e = {0};
    assert_int_equal(config_load(&(struct config_inputs){.environment = environment}, NULL, &c, &e),
                     -1);
    assert_string_equal(e.text, "CICADA_SERVER_WORKERS: server.workers: 'x' is not a whole number");
    assert_int_equal(
        config_load(&(struct config_inputs){.flags = flags, .flag_count = 1}, NULL, &c, &e), -1);
    assert_memory_equal(e.text, "command line: server.listen: 'x'", 32);
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(buf_done) struct buf large = BUF_INIT(CONFIG_FILE_MAX + 2);
    char path[128];
    struct config c;
    struct err e = {0};
    (void)snprintf(path, sizeof path, "%s/none", s.path);
    struct heard h = {0};
    struct config_sink sink = {hear, &h};
    assert_int_equal(config_load(&(struct config_inputs){.path = path}, &sink, &c, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_equal(h.problems, 1);
    assert_int_equal(config_load(&(struct config_inputs){.path = s.path}, NULL, &c, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    while (large.len < CONFIG_FILE_MAX)
        buf_str(&large, "# a line of 16!\n");
    scratch_write(&s, "large", large.bytes);
    (void)snprintf(path, sizeof path, "%s/large", s.path);
    scoped(config_done) struct config fits = loaded(&(struct config_inputs){.path = path});
    (void)fits;
    buf_str(&large, "\n");
    scratch_write(&s, "large", large.bytes);
    assert_int_equal(config_load(&(struct config_inputs){.path = path}, NULL, &c, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void a_secret_is_never_shown_and_not_kept_in_the_open(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(buf_done) struct buf out = BUF_INIT(1 << 20);
    char path[128];
    struct config c;
    struct err e = {0};
    (void)snprintf(path, sizeof path, "%s/cicada.conf", s.path);
    scratch_write(&s, "cicada.conf", "[server]\napi_key = cik_verysecretindeed0\n");
    assert_int_equal(config_load(&(struct config_inputs){.path = path}, NULL, &c, &e), -1);
    assert_int_equal(e.code, ERR_DENIED);
    assert_int_equal(fchmodat(s.fd, "cicada.conf", 0640, 0), 0);
    c = loaded(&(struct config_inputs){.path = path});
    assert_string_equal(c.server.api_key, "cik_verysecretindeed0");
    config_show(&c, &out);
    config_show_json(&c, &out);
    assert_null(strstr(out.bytes, "verysecret"));
    assert_non_null(strstr(out.bytes, "api_key = (set) ; file, line 2\n"));
    config_done(&c);
    assert_told("[server]\napi_key = short-secret\n",
                "text:2: server.api_key: a key has 20 to 128 characters, this one has 12\n");
    assert_told("[server]\napi_key = secret/with/slashes+more\n",
                "text:2: server.api_key: a key consists of letters, digits, _ and -\n");
}

/* Which keys changed, and whether they hold. */
static void hear_change(void *arg, const char *key, bool holds_now)
{
    struct heard *h = arg;
    size_t len = strlen(h->text);
    (void)snprintf(h->text + len, sizeof h->text - len, "%s %s\n", key,
                   holds_now ? "now" : "later");
}

static void a_reload_changes_what_it_can_and_says_so(void **state)
{
    (void)state;
    struct heard h = {0};
    struct config_change_sink sink = {hear_change, &h};
    struct err e = {0};
    scoped(config_done) struct config running = parsed("[server]\nworkers = 7\nhosts = a b\n");
    scoped(config_done) struct config fresh =
        parsed("[server]\nlisten = [::1]:1\nlog_level = error\nhosts = a, b\n"
               "[sessions]\nidle_s = 5\n");
    assert_int_equal(config_carry(&fresh, &running, &sink, &e), 0);
    assert_string_equal(h.text, "server.listen later\nserver.workers later\n"
                                "server.log_level now\nsessions.idle_s later\n");
    assert_string_equal(fresh.server.listen.items[0], "127.0.0.1:8700");
    assert_int_equal(fresh.server.workers, 7);
    assert_int_equal(fresh.origins[key_number("server", "workers")].source, CONFIG_FILE);
    assert_int_equal(fresh.server.log_level, LOG_ERROR);
    assert_int_equal(fresh.sessions.idle_s, 60);
}

static void what_is_shown_can_be_read_back(void **state)
{
    (void)state;
    scoped(buf_done) struct buf first = BUF_INIT(1 << 20), second = BUF_INIT(1 << 20);
    scoped(config_done) struct config c =
        parsed("[server]\nlisten = off\nsocket_mode = 0666\norigins = *\n[sessions]\ncpu = 0.125\n"
               "output_bytes = 1025\n[limits]\nbody_bytes = 1M\n");
    config_show(&c, &first);
    scoped(config_done) struct config again = parsed(first.bytes);
    for (size_t i = 0; i < config_key_count; i++) {
        buf_done(&first);
        buf_done(&second);
        config_key_get(&c, &config_keys[i], &first);
        config_key_get(&again, &config_keys[i], &second);
        assert_string_equal(first.bytes ? first.bytes : "", second.bytes ? second.bytes : "");
    }
}

static void a_session_gets_the_defaults_up_to_the_maxima(void **state)
{
    (void)state;
    scoped(config_done) struct config c =
        parsed("[sessions]\nmemory_mb = 64\ndisk_mb = 2\ncpu = 0.5\nwall_s = 3\npids = 9\n"
               "output_bytes = 2K\nwall_max_s = 86400\nmemory_max_mb = 1048576\n");
    struct limits l = config_limits(&c), max = config_limits_max(&c);
    assert_int_equal(l.memory_bytes, 64 * MIB);
    assert_int_equal(l.disk_bytes, 2 * MIB);
    assert_int_equal(l.file_bytes, 2 * MIB);
    assert_int_equal(l.cpu_milli, 500);
    assert_int_equal(l.wall_ms, 3000);
    assert_int_equal(l.pids, 9);
    assert_int_equal(l.output_bytes, 2048);
    assert_int_equal(max.wall_ms, 86400000);
    assert_int_equal(max.memory_bytes, 1024 * GIB);
}

static void the_budget_leaves_memory_for_others(void **state)
{
    (void)state;
    scoped(config_done) struct config c = parsed("");
    assert_int_equal(config_budget_bytes(&c, 16 * GIB), 12 * GIB);
    assert_int_equal(config_budget_bytes(&c, 2 * GIB), 2 * GIB - 512 * MIB);
    assert_int_equal(config_budget_bytes(&c, 512 * MIB), 256 * MIB);
    assert_int_equal(config_run_slots(&c, 2), 32);
    assert_int_equal(config_run_slots(&c, 0), 16);
    scoped(config_done) struct config fixed =
        parsed("[sessions]\nmemory_budget_mb = 100\n[runs]\nat_once_max = 3\n");
    assert_int_equal(config_budget_bytes(&fixed, 16 * GIB), 100 * MIB);
    assert_int_equal(config_run_slots(&fixed, 2), 3);
}

static void the_file_is_looked_for_where_it_should_be(void **state)
{
    (void)state;
    char path[PATH_MAX];
    assert_int_equal(setenv("CICADA_CONFIG", "/nowhere/x.conf", 1), 0);
    config_find(path);
    assert_string_equal(path, "/nowhere/x.conf"); /* named: has to be there, load will say */
    assert_int_equal(unsetenv("CICADA_CONFIG"), 0);
    if (geteuid() == 0)
        return;
    scoped(scratch_done) struct scratch s = scratch_new();
    assert_int_equal(setenv("XDG_CONFIG_HOME", s.path, 1), 0);
    config_find(path);
    assert_string_equal(path, "");
    scratch_mkdir(&s, "cicada");
    scratch_write(&s, "cicada/cicada.conf", "");
    config_find(path);
    assert_int_not_equal(strlen(path), 0);
}

/* The text of a file of the tree. */
static char *source_file(const char *name)
{
    const char *root = getenv("CICADA_SOURCE");
    char path[PATH_MAX];
    static char text[CONFIG_FILE_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("cannot read %s", path);
    size_t len = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    return text;
}

static void the_packaged_file_is_the_example(void **state)
{
    (void)state;
    scoped(buf_done) struct buf example = BUF_INIT(1 << 20);
    config_example(&example);
    assert_string_equal(source_file("packaging/cicada.conf"), example.bytes);
}

/* With the # taken away from every key it says the same. */
static void the_example_says_the_defaults(void **state)
{
    (void)state;
    scoped(buf_done) struct buf example = BUF_INIT(1 << 20);
    config_example(&example);
    for (char *at = example.bytes; (at = strstr(at, "\n#")); at++)
        if (at[2] != ' ' && at[2] != '\n')
            at[1] = ' ';
    scoped(config_done) struct config c = parsed(example.bytes);
    for (size_t i = 0; i < config_key_count; i++) {
        scoped(buf_done) struct buf value = BUF_INIT(4096);
        assert_int_equal(c.origins[i].source, CONFIG_FILE);
        config_key_get(&c, &config_keys[i], &value);
        assert_string_equal(value.bytes ? value.bytes : "", config_keys[i].preset);
    }
}

static void the_manual_has_the_table(void **state)
{
    (void)state;
    scoped(buf_done) struct buf reference = BUF_INIT(1 << 20);
    config_reference(&reference);
    char *manual = source_file("docs/server.md");
    char *begin = strstr(manual, "<!-- cicada config reference -->\n");
    assert_non_null(begin);
    begin = strchr(begin, '\n') + 1;
    char *end = strstr(begin, "<!-- end -->");
    assert_non_null(end);
    *end = '\0';
    assert_string_equal(begin, reference.bytes);
}

static void an_issuer_is_asked_by_tls_or_on_this_machine(void **state)
{
    (void)state;
    static const char *const good[] = {"https://login.example.org/realms/work",
                                       "https://10.1.2.3:8443/", "http://127.0.0.1:9000",
                                       "http://localhost/x", "http://[::1]:80/"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[200];
        (void)snprintf(text, sizeof text,
                       "[oauth]\nissuer = %s\naudience = us, api://them\n"
                       "admin_subjects = auth0|1\ndefault_scopes = run, files:read\n",
                       good[i]);
        scoped(config_done) struct config c = parsed(text);
        assert_string_equal(c.oauth.issuer, good[i]);
        assert_string_equal(c.oauth.audience.items[1], "api://them");
        assert_string_equal(c.oauth.admin_subjects.items[0], "auth0|1");
        assert_int_equal(c.oauth.default_scopes.count, 2);
    }
    static const char *const bad[] = {"login.example.org",
                                      "http://127.0.0.1.evil.org",
                                      "http://localhost@evil.org",
                                      "https://",
                                      "https:///x",
                                      "https://a.org/#x",
                                      "ftp://a.org",
                                      "http://localhost.evil.org"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        struct config c;
        struct err e = {0};
        int len = snprintf(text, sizeof text, "[oauth]\nissuer = %s\naudience = us\n", bad[i]);
        assert_int_equal(config_parse(text, (size_t)len, NULL, &c, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void an_encoder_is_here_off_or_an_endpoint_with_a_model(void **state)
{
    (void)state;
    scoped(config_done) struct config c =
        parsed("[search]\nencoder = https://api.example.com/v1\nmodel = m\nkey = k/+=\n"
               "dimensions = 4096\n");
    assert_string_equal(c.search.model, "m");
    assert_int_equal(c.search.dimensions, 4096);
    assert_told("[search]\nencoder = http://127.0.0.1:9/v1\n",
                "search.encoder is an endpoint: set search.model to the model to use there\n");
    static const char *const bad[] = {
        "[search]\nencoder = yes\n",
        "[search]\nencoder = https://me:secret@a/v1\nmodel = m\n",
        "[search]\nencoder = https://a/v1?key=1\nmodel = m\n",
        "[search]\nkey = a b\n",
        "[search]\ndimensions = 4097\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct config wrong;
        struct err e = {0};
        assert_int_equal(config_parse(bad[i], strlen(bad[i]), NULL, &wrong, &e), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_issuer_is_asked_by_tls_or_on_this_machine),
        cmocka_unit_test(an_encoder_is_here_off_or_an_endpoint_with_a_model),
        cmocka_unit_test(nothing_said_is_the_default),
        cmocka_unit_test(every_kind_of_value_is_understood),
        cmocka_unit_test(what_is_unknown_is_refused_with_what_was_meant),
        cmocka_unit_test(a_value_out_of_range_says_the_range),
        cmocka_unit_test(addresses_names_and_origins_are_checked),
        cmocka_unit_test(every_problem_is_told_and_the_first_is_the_failure),
        cmocka_unit_test(lines_that_would_be_cut_are_refused),
        cmocka_unit_test(a_list_is_full_at_its_limit),
        cmocka_unit_test(what_keys_say_together_is_checked),
        cmocka_unit_test(flags_beat_the_environment_beats_the_file_beats_the_default),
        cmocka_unit_test(every_key_has_a_variable),
        cmocka_unit_test(variables_of_others_are_let_be_and_slips_remarked_on),
        cmocka_unit_test(a_wrong_variable_or_flag_is_named),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(a_secret_is_never_shown_and_not_kept_in_the_open),
        cmocka_unit_test(a_reload_changes_what_it_can_and_says_so),
        cmocka_unit_test(what_is_shown_can_be_read_back),
        cmocka_unit_test(a_session_gets_the_defaults_up_to_the_maxima),
        cmocka_unit_test(the_budget_leaves_memory_for_others),
        cmocka_unit_test(the_file_is_looked_for_where_it_should_be),
        cmocka_unit_test(the_packaged_file_is_the_example),
        cmocka_unit_test(the_example_says_the_defaults),
        cmocka_unit_test(the_manual_has_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
