/* config_keys.c -- every key of the configuration, once, and what its text has to look like. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/parse.h"
#include "daemon/config_int.h"
#include "meaning/meaning.h"
#include "service/outside.h"
#include "session/session.h"
#include "workspace/people.h"

enum {
    SOCKET_PATH_MAX = sizeof((struct sockaddr_un *)0)->sun_path - 1,
    HOST_MAX = 253,   /* of a name in the DNS */
    KEY_LEN_MIN = 20, /* of an administrator's key; what is shorter can be guessed */
    KEY_LEN_MAX = 128,
};

static int check_path(const char *text, struct err *e)
{
    if (*text && *text != '/')
        return err_set(e, ERR_INVALID, "'%.60s' is not an absolute path", text);
    return 0;
}

static int check_path_or_auto(const char *text, struct err *e)
{
    return strcmp(text, "auto") == 0 ? 0 : check_path(text, e);
}

static int check_socket_path(const char *path, struct err *e)
{
    if (*path != '/')
        return err_set(e, ERR_INVALID, "'%.60s' is not an absolute path", path);
    if (strlen(path) > SOCKET_PATH_MAX)
        return err_set(e, ERR_INVALID, "the path of a socket has at most %d characters",
                       SOCKET_PATH_MAX);
    return 0;
}

static int check_socket(const char *text, struct err *e)
{
    if (strcmp(text, "auto") == 0 || strcmp(text, "off") == 0)
        return 0;
    return check_socket_path(text, e) ? err_wrap(e, "neither auto, off nor a path") : 0;
}

static bool is_number_address(const char *host, size_t len)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char address[16];
    bool is_six = len > 2 && host[0] == '[' && host[len - 1] == ']';
    if (is_six) {
        host++;
        len -= 2;
    }
    if (len >= sizeof text)
        return false;
    (void)snprintf(text, sizeof text, "%.*s", (int)len, host);
    return inet_pton(is_six ? AF_INET6 : AF_INET, text, address) == 1;
}

/* No names but this one: what is listened on must not depend on a resolver. */
static bool is_localhost(const char *host, size_t len)
{
    return len == 9 && memcmp(host, "localhost", 9) == 0;
}

static int check_address(const char *text, struct err *e)
{
    if (strncmp(text, "unix:", 5) == 0)
        return check_socket_path(text + 5, e);
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    uint64_t port;
    if (!colon || !(is_number_address(text, len) || is_localhost(text, len)) ||
        parse_u64(colon + 1, 0, 65535, &port, e))
        return err_set(e, ERR_INVALID,
                       "'%.60s' is not an address such as 127.0.0.1:8700, [::1]:8700 or "
                       "unix:/run/cicada/other.sock",
                       text);
    return 0;
}

/* The length of a host name at the front, in small letters; 0: there is none. */
static size_t host_length(const char *text)
{
    size_t len = 0;
    while (islower((unsigned char)text[len]) || isdigit((unsigned char)text[len]) ||
           text[len] == '.' || text[len] == '-')
        len++;
    if (len > HOST_MAX || text[0] == '.' || text[0] == '-' || strstr(text, ".."))
        return 0;
    return len;
}

static int check_host(const char *text, struct err *e)
{
    size_t len = strlen(text);
    unsigned char address[16];
    if (strcmp(text, "*") == 0 || (len > 0 && host_length(text) == len) ||
        inet_pton(AF_INET6, text, address) == 1)
        return 0;
    return err_set(
        e, ERR_INVALID,
        "'%.60s' is not a host name such as cicada.example.org, without a port; * is any", text);
}

static int check_pattern(const char *text, struct err *e)
{
    if (!*text || strchr(text, '/'))
        return err_set(e, ERR_INVALID, "'%.60s' is not a name, such as __pycache__ or *.pyc", text);
    return 0;
}

static int check_origin(const char *text, struct err *e)
{
    if (strcmp(text, "*") == 0)
        return 0;
    const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : "";
    size_t len = *host == '[' ? strcspn(host, "]") + 1 : host_length(host);
    uint64_t port;
    bool is_host = *host == '[' ? strchr(host, ']') && is_number_address(host, len) : len > 0;
    if (is_host &&
        (!host[len] || (host[len] == ':' && !parse_u64(host + len + 1, 1, 65535, &port, e))))
        return 0;
    return err_set(e, ERR_INVALID,
                   "'%.60s' is not an origin such as https://app.example.org, without a path; * is "
                   "any",
                   text);
}

static int check_url(const char *text, struct err *e)
{
    struct err ignored = {0};
    if (!*text || (strcmp(text, "*") != 0 && !check_origin(text, &ignored)))
        return 0;
    return err_set(e, ERR_INVALID,
                   "'%.60s' is not an address such as https://cicada.example.org, without a path",
                   text);
}

static bool is_web_address(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    if (scheme == 0 || !text[scheme] || text[scheme] == '/')
        return false;
    for (const char *p = text; *p; p++)
        if (!isgraph((unsigned char)*p) || strchr("@#\"\\<>", *p))
            return false;
    return true;
}

/* Of an issuer the keys are asked for, and believed: by TLS, unless it is this very machine. */
static int check_issuer(const char *text, struct err *e)
{
    static const char *const here[] = {"localhost", "127.0.0.1", "[::1]"};
    bool is_fine = !*text || (is_web_address(text) && !strchr(text, '?'));
    if (is_fine && strncmp(text, "http://", 7) == 0) {
        size_t len = strcspn(text + 7, ":/");
        if (text[7] == '[')
            len = strcspn(text + 7, "]") + 1;
        is_fine = false;
        for (size_t i = 0; i < sizeof here / sizeof *here; i++)
            is_fine = is_fine || (strlen(here[i]) == len && strncmp(text + 7, here[i], len) == 0);
    }
    if (is_fine)
        return 0;
    return err_set(
        e, ERR_INVALID,
        "'%.60s' is not an issuer such as https://login.example.org/realms/work; without "
        "TLS only on this machine",
        text);
}

static int check_jwks_url(const char *text, struct err *e)
{
    if (!*text || is_web_address(text))
        return 0;
    return err_set(e, ERR_INVALID, "'%.60s' is not an address such as https://example.org/keys",
                   text);
}

static int check_default_scope(const char *text, struct err *e)
{
    uint32_t scope;
    if (scopes_parse(text, &scope, e))
        return -1;
    if (scope & SCOPE_ADMIN)
        return err_set(e, ERR_INVALID, "nobody is admin by default; see oauth.admin_subjects");
    return 0;
}

static int check_user(const char *text, struct err *e)
{
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_.-$", *p))
            return err_set(e, ERR_INVALID, "'%.60s' is not a user name or number", text);
    return 0;
}

/* The message must not show the key. */
static int check_key(const char *text, struct err *e)
{
    size_t len = strlen(text);
    if (len == 0)
        return 0;
    if (len < KEY_LEN_MIN || len > KEY_LEN_MAX)
        return err_set(e, ERR_INVALID, "a key has %d to %d characters, this one has %zu",
                       KEY_LEN_MIN, KEY_LEN_MAX, len);
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
            return err_set(e, ERR_INVALID, "a key consists of letters, digits, _ and -");
    return 0;
}

static int check_encoder(const char *text, struct err *e)
{
    if (strcmp(text, "local") == 0 || strcmp(text, "off") == 0)
        return 0;
    bool is_web = strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0;
    if (!is_web || strpbrk(text, " @?#"))
        return err_set(e, ERR_INVALID,
                       "'%.60s' is neither local, off nor an address such as "
                       "https://api.example.com/v1/embeddings; a key belongs in search.key",
                       text);
    return 0;
}

static int check_model_url(const char *text, struct err *e)
{
    bool is_web = strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0;
    if (*text && (!is_web || strpbrk(text, " @?#")))
        return err_set(e, ERR_INVALID,
                       "'%.60s' is no address such as http://127.0.0.1:11434/v1; a key belongs in "
                       "model.key",
                       text);
    return 0;
}

static const char *const model_apis[] = {"chat", "responses", NULL};       /* enum model_api */
static const char *const model_codes[] = {"auto", "tool", "fenced", NULL}; /* enum agent_code */

/* The message must not show it. */
static int check_bearer(const char *text, struct err *e)
{
    for (const char *p = text; *p; p++)
        if (!isgraph((unsigned char)*p))
            return err_set(e, ERR_INVALID, "a key has no blanks and no special characters");
    return 0;
}

static const char *const switches[] = {"off", "on", NULL};
static const char *const formats[] = {[LOG_TEXT] = "text", [LOG_JSON] = "json", NULL};
static const char *const levels[] = {[LOG_DEBUG] = "debug",
                                     [LOG_INFO] = "info",
                                     [LOG_WARNING] = "warning",
                                     [LOG_ERROR] = "error",
                                     NULL};

/* The offset of a field, which has to be of that type. */
#define FIELD(type, field)                                                                       \
    offsetof(struct config, field) +                                                             \
        0 * sizeof(                                                                              \
                char[__builtin_types_compatible_p(type, __typeof__(((struct config *)0)->field)) \
                         ? 1                                                                     \
                         : -1])
#define KEY(key_section, key_name) .section = #key_section, .name = #key_name
#define U32(s, n) KEY(s, n), .at = FIELD(uint32_t, s.n)
#define TEXT(s, n) KEY(s, n), .kind = KEY_TEXT, .at = FIELD(char *, s.n)
#define LIST(s, n) KEY(s, n), .kind = KEY_LIST, .at = FIELD(struct config_list, s.n)
enum {
    DAYS_MAX = 36500, /* a hundred years */
    MB_MAX = 1 << 20, /* a tebibyte */
    GB_MAX = 1 << 20, /* a pebibyte */
};

/* clang-format off */
const struct config_key config_keys[] = {
    {LIST(server, listen), .preset = "127.0.0.1:8700", .check = check_address, .max = 16,
     .doc = "Addresses to serve HTTP on; port 0 is any free one. off: none, only the socket. "
            "Beyond loopback use TLS, here or in a proxy: keys travel in every request."},
    {TEXT(server, socket), .preset = "auto", .check = check_socket, .min = 1,
     .max = SOCKET_PATH_MAX,
     .doc = "Unix socket for clients on this machine. auto: cicada.sock in /run/cicada as root, "
            "in $XDG_RUNTIME_DIR/cicada as a user. off: none."},
    {U32(server, socket_mode), .kind = KEY_MODE, .preset = "0600", .min = 0600, .max = 0777,
     .doc = "Who may connect to the socket: 0600, 0660 or 0666. Others than root and whoever "
            "started the server need a key there too."},
    {TEXT(server, data), .preset = "auto", .check = check_path_or_auto, .min = 1,
     .max = PATH_MAX - 1,
     .doc = "Where everything durable is. auto: /var/lib/cicada as root, $XDG_DATA_HOME/cicada "
            "or ~/.local/share/cicada as a user."},
    {TEXT(server, user), .preset = "auto", .check = check_user, .min = 1, .max = 32,
     .doc = "Whom the server becomes when it is started as root: a name or a number, not root. "
            "auto: cicada if there is such a user, otherwise uid 190000."},
    {TEXT(server, api_key), .preset = "", .check = check_key, .max = KEY_LEN_MAX, .is_secret = true,
     .environment = "CICADA_API_KEY",
     .doc = "The administrator's key. Not set: one is made at the first start and kept in "
            "admin.key in the data directory. A file that sets it must not be readable by "
            "everybody."},
    {U32(server, workers), .preset = "512", .min = 2, .max = 4096,
     .doc = "Requests that are worked on at once; each is a thread. More are answered 503."},
    {U32(server, connections), .preset = "10000", .min = 16, .max = 100000,
     .doc = "Connections at once. More are answered 503."},
    {U32(server, connections_per_address), .preset = "8000", .min = 1, .max = 100000,
     .doc = "Of these, from one IP address. A proxy in front is one address."},
    {U32(server, idle_exit_s), .preset = "0", .min = 0, .max = 86400,
     .doc = "Ends the server when nobody has asked anything and nothing has run for so long; "
            "sessions are put to sleep. 0: never."},
    {U32(server, drain_s), .preset = "10", .min = 0, .max = 3600,
     .doc = "At shutdown, how long requests and runs that go on may take to end by themselves."},
    {LIST(server, hosts), .preset = "off", .check = check_host, .max = CONFIG_ITEMS_MAX,
     .doc = "Names, without port, by which clients on this machine, a proxy among them, may "
            "address the server besides localhost, 127.0.0.1 and ::1. Requests for other names "
            "are refused, so that no web page can reach it through a name of its own. *: any."},
    {LIST(server, origins), .preset = "off", .check = check_origin, .max = CONFIG_ITEMS_MAX,
     .doc = "Web origins whose pages may call the API (CORS), such as https://app.example.org. *: "
            "any."},
    {TEXT(server, public_url), .preset = "", .check = check_url, .max = 300,
     .doc = "Where people find this server, such as https://cicada.example.org: what links that it "
            "makes begin with. Not set: the name under which it was asked."},
    {TEXT(server, tls_cert), .preset = "", .check = check_path, .max = PATH_MAX - 1,
     .doc = "Certificate chain, PEM. With it every address in listen speaks TLS. A reload reads "
            "it again; the service user must be able to."},
    {TEXT(server, tls_key), .preset = "", .check = check_path, .max = PATH_MAX - 1,
     .doc = "Its private key, PEM."},
    {U32(server, log_format), .kind = KEY_CHOICE, .preset = "text", .choices = formats,
     .doc = "How lines of the log look: text (key=value) or json. They go to standard error."},
    {U32(server, log_level), .kind = KEY_CHOICE, .preset = "info", .choices = levels, .is_live = true,
     .doc = "The least that is logged."},

    {U32(sessions, memory_mb), .kind = KEY_MB, .preset = "1024", .min = 32, .max = MB_MAX,
     .doc = "Memory of a session that does not ask for another amount."},
    {U32(sessions, memory_max_mb), .kind = KEY_MB, .preset = "8192", .min = 32, .max = MB_MAX,
     .doc = "The most a session may ask for."},
    {KEY(sessions, cpu), .kind = KEY_MILLI, .at = FIELD(uint32_t, sessions.cpu_milli),
     .preset = "1", .min = 10, .max = 1024000,
     .doc = "CPU cores of a session; 0.5 is half of one."},
    {KEY(sessions, cpu_max), .kind = KEY_MILLI, .at = FIELD(uint32_t, sessions.cpu_max_milli),
     .preset = "4", .min = 10, .max = 1024000,
     .doc = "The most a session may ask for."},
    {U32(sessions, wall_s), .preset = "60", .min = 1, .max = 86400,
     .doc = "Seconds a run may take that does not say."},
    {U32(sessions, wall_max_s), .preset = "600", .min = 1, .max = 86400,
     .doc = "The most a run may ask for."},
    {U32(sessions, pids), .preset = "128", .min = 4, .max = 32768,
     .doc = "Processes and threads of a session."},
    {U32(sessions, pids_max), .preset = "1024", .min = 4, .max = 32768,
     .doc = "The most a session may ask for."},
    {U32(sessions, disk_mb), .kind = KEY_MB, .preset = "256", .min = 1, .max = MB_MAX,
     .doc = "How much /mnt/data of a session may grow."},
    {U32(sessions, disk_max_mb), .kind = KEY_MB, .preset = "10240", .min = 1, .max = MB_MAX,
     .doc = "The most a session may ask for."},
    {KEY(sessions, output_bytes), .kind = KEY_BYTES, .at = FIELD(uint64_t, sessions.output_bytes),
     .preset = "1M", .min = 1 << 10, .max = 64 << 20,
     .doc = "Output that is kept of a run, of each stream: its head and its tail."},
    {KEY(sessions, output_max_bytes), .kind = KEY_BYTES,
     .at = FIELD(uint64_t, sessions.output_max_bytes),
     .preset = "16M", .min = 1 << 10, .max = 64 << 20,
     .doc = "The most a session may ask for."},
    {U32(sessions, idle_s), .preset = "60", .min = 1, .max = 86400,
     .doc = "A session that nobody used for so long is put to sleep, unless it says otherwise."},
    {U32(sessions, keep_days), .preset = "30", .min = 1, .max = DAYS_MAX,
     .doc = "A session that nobody used for so many days is closed."},
    {U32(sessions, live_max), .preset = "1000", .min = 1, .max = 8000,
     .doc = "Sessions that are awake at once. Before one too many starts, the idle ones sleep; when "
            "all are at work, the next waits in the line of `runs.waiting_max`."},
    {U32(sessions, memory_budget_mb), .kind = KEY_MB, .preset = "0", .min = 0, .max = MB_MAX,
     .doc = "Memory that awake sessions may use together. 0: three quarters of the machine's, "
            "leaving at least 512 MiB. When it is full, idle sessions sleep; after 10 seconds "
            "without enough, requests are answered 503."},
    {U32(sessions, queue_max), .preset = "16", .min = 0, .max = 1000,
     .doc = "Runs that wait for one session. More are refused."},
    {U32(sessions, per_principal_max), .preset = "1000", .min = 1, .max = 1000000,
     .doc = "Sessions of one principal, awake and asleep, unless a key says less."},
    {U32(sessions, snapshots_max), .preset = "8", .min = 0, .max = SNAPSHOTS_MAX,
     .doc = "The most runs a session may ask to be able to undo. Their snapshots take room on the disk."},
    {U32(sessions, pool_min), .preset = "2", .min = 0, .max = 256,
     .doc = "Started kernels that always wait for the next session."},
    {U32(sessions, pool_max), .preset = "32", .min = 0, .max = 256,
     .doc = "The most that wait when many are taken. 0: no pool."},

    {U32(runs, keep_days), .preset = "0", .min = 0, .max = DAYS_MAX,
     .doc = "How long records of runs are kept: code, output, timing. 0: forever."},
    {U32(runs, at_once_max), .preset = "0", .min = 0, .max = 4096,
     .doc = "Runs that go on at once. 0: sixteen for each core."},
    {U32(runs, waiting_max), .preset = "1000", .min = 0, .max = 100000,
     .doc = "Runs that wait for that, or for a session that may be awake, 30 seconds at most. More "
            "are answered 503."},
    {U32(runs, background_max), .preset = "100", .min = 0, .max = 10000,
     .doc = "Runs in the background, going on or waiting, of the whole server."},

    {U32(workspaces, quota_gb), .preset = "0", .min = 0, .max = GB_MAX,
     .doc = "GiB that all kept versions of a workspace may have together, unless it has a quota of "
            "its own. 0: no limit."},
    {U32(workspaces, files_max), .preset = "1000000", .min = 0, .max = 100000000,
     .doc = "Files of a workspace, unless it has a quota of its own. 0: no limit."},
    {U32(workspaces, file_max_gb), .preset = "64", .min = 1, .max = 1024,
     .doc = "GiB of the largest file."},
    {U32(workspaces, trash_days), .preset = "30", .min = 0, .max = DAYS_MAX,
     .doc = "Days until what was deleted is removed for good. 0: never."},
    {U32(workspaces, keep_versions), .preset = "0", .min = 0, .max = 1000000,
     .doc = "Earlier versions of a file are removed when so many newer ones are there and "
            "keep_days have passed. 0: their number does not count. With both 0 every version is "
            "kept, and pinned ones always."},
    {U32(workspaces, keep_days), .preset = "0", .min = 0, .max = DAYS_MAX,
     .doc = "Earlier versions are not removed before so many days. 0: their age does not count."},
    {LIST(workspaces, ignore),
     .preset = "__pycache__, .ipynb_checkpoints, .cache, .pytest_cache, .mypy_cache, *.pyc",
     .check = check_pattern, .max = CONFIG_ITEMS_MAX,
     .doc = "Names of files and directories in /mnt/data of which no versions are kept; * is any "
            "text, ? one character."},

    {U32(store, reserve_mb), .kind = KEY_MB, .preset = "512", .min = 0, .max = MB_MAX,
     .doc = "Free space that uploads and what the code of sessions writes leave alone, so that "
            "the server can go on: keep what runs wrote, record them, delete. Inodes are kept "
            "with it, one for each 16 KiB, at most a twentieth of all. 0: nothing."},
    {U32(store, scrub_mb_s), .kind = KEY_MB, .preset = "4", .min = 0, .max = 4096,
     .doc = "How much of the packs is read again every second, to notice a disk that forgets. 0: "
            "nothing."},
    {TEXT(store, backup_dir), .preset = "", .check = check_path, .max = PATH_MAX - 1,
     .doc = "Directory for `cicada store backup`, on another disk; the service user has to be able "
            "to write to it."},

    {U32(search, index), .kind = KEY_CHOICE, .preset = "on", .choices = switches,
     .doc = "Whether files and runs are indexed and can be searched: on or off. Documents are read in a "
            "jail of their own."},
    {U32(search, file_max_mb), .kind = KEY_MB, .preset = "64", .min = 1, .max = 1024,
     .doc = "The largest file whose text is indexed."},
    {TEXT(search, encoder), .preset = "local", .check = check_encoder, .min = 1, .max = 2000,
     .doc = "What finds texts that mean the same, in workspaces with intelligence on. local: the "
            "sentence encoder, which reads English, on this machine. An address: an endpoint like "
            "OpenAI's /v1/embeddings, which then is sent the texts of these workspaces. off: "
            "words only."},
    {TEXT(search, key), .preset = "", .check = check_bearer, .max = 4000, .is_secret = true,
     .doc = "The key of that endpoint. A file that sets it must not be readable by everybody."},
    {TEXT(search, model), .preset = "", .max = MEANING_MODEL_SIZE - 1,
     .doc = "The model to use there, such as text-embedding-3-small. After a change everything is "
            "read again."},
    {U32(search, dimensions), .preset = "0", .min = 0, .max = MEANING_DIM_MAX,
     .doc = "How many numbers a vector of that model has. 0: the endpoint is asked."},

    {U32(webhooks, enabled), .kind = KEY_CHOICE, .preset = "on", .choices = switches,
     .doc = "Whether events may be sent to addresses that admins of a workspace choose: on or off."},
    {LIST(webhooks, allow_private), .preset = "off", .check = outside_rule_check,
     .max = CONFIG_ITEMS_MAX,
     .doc = "Where webhooks may lead besides the public internet: addresses, networks such as "
            "10.1.0.0/16, and hosts, whatever address they have. What is named here can be "
            "reached by whoever is admin of a workspace."},
    {U32(webhooks, retry_s), .preset = "5", .min = 1, .max = 3600,
     .doc = "Seconds until a delivery that failed is tried again; doubled with each failure, up to "
            "an hour."},

    {TEXT(oauth, issuer), .preset = "", .check = check_issuer, .max = 1000,
     .doc = "An OAuth or OpenID Connect server whose tokens (JWT) are taken instead of keys, as its `iss` "
            "says it, such as https://login.example.org/realms/work. Whoever comes with one is a "
            "principal of their own. Not set: only keys are good."},
    {TEXT(oauth, jwks_url), .preset = "", .check = check_jwks_url, .max = 2000,
     .doc = "Where the issuer publishes its keys. Not set: it is asked, at "
            "/.well-known/openid-configuration or oauth-authorization-server. http only within a network "
            "that you trust."},
    {LIST(oauth, audience), .preset = "off", .max = CONFIG_ITEMS_MAX,
     .doc = "What tokens have to be for (`aud`), one of these. off: server.public_url, and that with /mcp."},
    {LIST(oauth, default_scopes), .preset = "off", .check = check_default_scope, .max = 8,
     .doc = "Scopes that everybody has who comes with a token of the issuer, besides those in the "
            "token's `scope` or `scp`: run, files:read, files:write, share, audit."},
    {LIST(oauth, admin_subjects), .preset = "off", .max = CONFIG_ITEMS_MAX,
     .doc = "Who of them is admin of this server: the `sub` of their tokens."},

    {TEXT(model, url), .preset = "", .check = check_model_url, .max = 2000,
     .doc = "The language model that answers questions (`cicada ask`, /v1/responses): the base address of an "
            "endpoint that speaks OpenAI's API, such as http://127.0.0.1:11434/v1 for Ollama or "
            "https://api.openai.com/v1. Not set: there is none, and code is only run for others."},
    {TEXT(model, key), .preset = "", .check = check_bearer, .max = 4000, .is_secret = true,
     .doc = "The key of that endpoint. A file that sets it must not be readable by everybody."},
    {TEXT(model, name), .preset = "", .max = 200,
     .doc = "The model to ask there when a request names none, such as qwen3 or gpt-5-mini."},
    {U32(model, api), .kind = KEY_CHOICE, .preset = "chat", .choices = model_apis,
     .doc = "What the endpoint speaks: chat (Chat Completions) or responses."},
    {U32(model, code), .kind = KEY_CHOICE, .preset = "auto", .choices = model_codes,
     .doc = "How the model says what code to run. tool: by calling a function. fenced: by a block of "
            "Python in its text, for models that cannot call functions. auto: the one or the other, as it does."},
    {U32(model, timeout_s), .preset = "300", .min = 1, .max = 86400,
     .doc = "Seconds of silence after which the endpoint is given up."},
    {U32(model, retries), .preset = "4", .min = 0, .max = 20,
     .doc = "How often a request is repeated that the endpoint refused for now or broke off."},
    {U32(model, images), .kind = KEY_CHOICE, .preset = "off", .choices = switches,
     .doc = "Whether the model takes images: on or off."},
    {U32(model, context_tokens), .preset = "100000", .min = 1000, .max = 10000000,
     .doc = "About how much may be asked at once; older outputs are shortened to stay below."},
    {U32(model, tokens_max), .preset = "0", .min = 0, .max = 1000000000,
     .doc = "Tokens that one answer may take altogether, questions and answers. 0: any number."},
    {U32(model, calls_max), .preset = "20", .min = 1, .max = 1000,
     .doc = "How often code may be run for one answer."},
    {KEY(model, price_in), .kind = KEY_MILLI, .at = FIELD(uint32_t, model.price_in_milli), .preset = "0",
     .min = 0, .max = 1000000000,
     .doc = "What a million tokens of questions cost, in any currency. 0: not known."},
    {KEY(model, price_out), .kind = KEY_MILLI, .at = FIELD(uint32_t, model.price_out_milli), .preset = "0",
     .min = 0, .max = 1000000000,
     .doc = "What a million tokens of answers cost."},
    {KEY(model, cost_max), .kind = KEY_MILLI, .at = FIELD(uint32_t, model.cost_max_milli), .preset = "0",
     .min = 0, .max = 1000000000,
     .doc = "What one answer may cost; it ends before. 0: anything."},

    {U32(openai, strict_expiry), .kind = KEY_CHOICE, .preset = "off", .choices = switches,
     .doc = "Whether containers expire for good as they do elsewhere: on or off. off: one that nobody used sleeps, "
            "and wakes under its id."},
    {U32(openai, outputs), .kind = KEY_CHOICE, .preset = "on", .choices = switches,
     .doc = "Whether responses show the outputs of code without being asked to by `include`: on or off."},

    {KEY(limits, body_bytes), .kind = KEY_BYTES, .at = FIELD(uint64_t, limits.body_bytes),
     .preset = "32M", .min = 64 << 10, .max = 32 << 20,
     .doc = "The largest body of a request that is read into memory (JSON)."},
};
/* clang-format on */

const size_t config_key_count = sizeof config_keys / sizeof *config_keys;
_Static_assert(sizeof config_keys / sizeof *config_keys <= CONFIG_KEYS_MAX,
               "struct config has an origin for every key");

int config_key_find(const char *section, const char *name)
{
    for (size_t i = 0; i < config_key_count; i++)
        if (strcmp(config_keys[i].section, section) == 0 && strcmp(config_keys[i].name, name) == 0)
            return (int)i;
    return -1;
}

void config_key_variable(const struct config_key *k, char ret[CONFIG_VARIABLE_SIZE])
{
    if (k->environment)
        (void)snprintf(ret, CONFIG_VARIABLE_SIZE, "%s", k->environment);
    else
        (void)snprintf(ret, CONFIG_VARIABLE_SIZE, "CICADA_%s_%s", k->section, k->name);
    for (char *p = ret; *p; p++)
        *p = (char)toupper((unsigned char)*p);
}

static int above(const char *what, struct err *e)
{
    return err_set(e, ERR_INVALID, "sessions.%s is more than its maximum; change one of them",
                   what);
}

static int check_sessions(const struct config *c, struct err *e)
{
    if (c->sessions.memory_mb > c->sessions.memory_max_mb)
        return above("memory_mb", e);
    if (c->sessions.cpu_milli > c->sessions.cpu_max_milli)
        return above("cpu", e);
    if (c->sessions.wall_s > c->sessions.wall_max_s)
        return above("wall_s", e);
    if (c->sessions.pids > c->sessions.pids_max)
        return above("pids", e);
    if (c->sessions.disk_mb > c->sessions.disk_max_mb)
        return above("disk_mb", e);
    if (c->sessions.output_bytes > c->sessions.output_max_bytes)
        return above("output_bytes", e);
    if (c->sessions.pool_min > c->sessions.pool_max)
        return err_set(e, ERR_INVALID, "sessions.pool_min is more than sessions.pool_max");
    return 0;
}

int config_check(const struct config *c, struct err *e)
{
    if (!*c->server.tls_cert != !*c->server.tls_key)
        return err_set(e, ERR_INVALID, "server.tls_cert and server.tls_key: give both or none");
    if (c->server.listen.count == 0 && strcmp(c->server.socket, "off") == 0)
        return err_set(e, ERR_INVALID,
                       "server.listen and server.socket are both off: nobody could be served");
    bool is_url = strncmp(c->search.encoder, "http", 4) == 0;
    if (is_url && !*c->search.model)
        return err_set(e, ERR_INVALID,
                       "search.encoder is an endpoint: set search.model to the model to use there");
    if (*c->model.url && !*c->model.name)
        return err_set(e, ERR_INVALID,
                       "model.url is set: set model.name to the model to ask there");
    if (*c->oauth.issuer && c->oauth.audience.count == 0 && !*c->server.public_url)
        return err_set(e, ERR_INVALID,
                       "oauth.issuer: set oauth.audience or server.public_url, so that tokens for "
                       "somebody else are not taken");
    return check_sessions(c, e);
}
