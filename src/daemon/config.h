/* config.h -- what the server is told: a file, the environment, the command line, in rising order.
 *
 *     [server]                              CICADA_SERVER_LISTEN=0.0.0.0:8700
 *     listen = 127.0.0.1:8700               cicada serve --listen ...
 *
 *     struct config_inputs in = {.path = path, .environment = environ};
 *     config_load(&in, &sink, &config, e)
 *     ...
 *     config_done(&config)
 *
 * One table (config_keys.c) has every key: section, name, kind, range, default, whether a reload
 * can change it, and what it is for. Reading, checking, `cicada config show`, the example file and
 * the reference in docs/server.md come from it. An unknown section or key in the file is an error
 * with the name that was probably meant. Environment variables are CICADA_SECTION_NAME (api_key is
 * CICADA_API_KEY, which is what clients call it too); one that fits no key is somebody else's and
 * only remarked on when it begins like a section of ours.
 *
 * The file is INI as inih reads it: [section], name = value, lines that begin with # or ; are
 * comments, as is what follows " ;". A list is separated by blanks or commas, and goes on in lines
 * that begin with a blank. A key may stand in the file once.
 *
 * A config does not change once it is loaded. A reload loads another one; config_carry then says
 * what of it holds without a restart.
 */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "wire/limits.h"

struct buf;
struct err;

enum {
    CONFIG_KEYS_MAX = 128,
    CONFIG_ITEMS_MAX = 64,       /* of one list */
    CONFIG_FILE_MAX = 256 << 10, /* bytes of a configuration file */
    CONFIG_VALUE_MAX = 16 << 10, /* bytes of one value */
};

struct config_list {
    char **items; /* owned, as each of them */
    size_t count;
};

/* The fields are the keys; their units are in the names. Texts are owned and never NULL; "" is
 * none. */
struct config {
    struct {
        struct config_list listen; /* "127.0.0.1:8700", "[::1]:8700" */
        char *socket;              /* a path, "auto" or "off" */
        uint32_t socket_mode;
        char *data; /* a path or "auto" */
        char *user; /* "auto", a name or a number */
        char *api_key;
        uint32_t workers, connections, connections_per_address;
        uint32_t idle_exit_s; /* 0: never */
        uint32_t drain_s;
        struct config_list hosts, origins; /* in lower case; one origin may be "*" */
        char *public_url;                  /* "https://cicada.example.org"; "": not said */
        char *tls_cert, *tls_key;
        uint32_t log_format, log_level; /* enum log_format, enum log_level */
    } server;
    struct {
        uint32_t memory_mb, disk_mb, pids, wall_s, cpu_milli; /* cpu is written as 1.5 */
        uint64_t output_bytes;
        uint32_t memory_max_mb, disk_max_mb, pids_max, wall_max_s, cpu_max_milli;
        uint64_t output_max_bytes;
        uint32_t idle_s, keep_days;
        uint32_t live_max, queue_max, per_principal_max, snapshots_max;
        uint32_t pool_min, pool_max;
        uint32_t memory_budget_mb; /* 0: by itself, see config_budget_bytes */
    } sessions;
    struct {
        uint32_t keep_days; /* 0: forever */
        uint32_t background_max;
        uint32_t at_once_max; /* 0: by itself, see config_run_slots */
        uint32_t waiting_max;
    } runs;
    struct {
        uint32_t quota_gb, files_max; /* 0: none */
        uint32_t file_max_gb;
        uint32_t trash_days;               /* 0: forever */
        uint32_t keep_versions, keep_days; /* both 0: every version */
        struct config_list ignore;         /* names of what runs make and nobody wants back */
    } workspaces;
    struct {
        uint32_t reserve_mb;
        uint32_t scrub_mb_s; /* 0: not */
        char *backup_dir;    /* "": none */
    } store;
    struct {
        uint32_t index; /* 0: off */
        uint32_t file_max_mb;
        char *encoder; /* "local", "off" or the address of an embeddings endpoint */
        char *key, *model;
        uint32_t dimensions; /* 0: asked for */
    } search;
    struct {
        uint32_t enabled;                 /* 0: off */
        struct config_list allow_private; /* addresses, networks, hosts (service/outside.h) */
        uint32_t retry_s;
    } webhooks;
    struct {
        char *issuer, *jwks_url;     /* "": none; "": found out */
        struct config_list audience; /* empty: by public_url */
        struct config_list default_scopes, admin_subjects;
    } oauth;
    struct {
        char *url, *key, *name; /* url "": none */
        uint32_t api, code;     /* enum model_api, enum agent_code */
        uint32_t timeout_s, retries;
        uint32_t images;                                          /* 0: it takes none */
        uint32_t context_tokens, tokens_max, calls_max;           /* tokens_max 0: any */
        uint32_t price_in_milli, price_out_milli, cost_max_milli; /* 0: not known, none */
    } model;
    struct {
        uint32_t strict_expiry, outputs; /* 0: off */
    } openai;
    struct {
        uint64_t body_bytes;
    } limits;

    struct config_origin {
        enum config_source {
            CONFIG_DEFAULT,
            CONFIG_FILE,
            CONFIG_ENVIRONMENT,
            CONFIG_FLAG,
        } source;
        unsigned line;          /* in the file; 0: none */
    } origins[CONFIG_KEYS_MAX]; /* in the order of the table */
    char path[PATH_MAX];        /* of the file; "": none */
};

/* A value from the command line: {"server", "listen", "0.0.0.0:8700"}. */
struct config_flag {
    const char *section, *name, *value;
};

struct config_inputs {
    const char *path;         /* of the file; NULL: none */
    char *const *environment; /* as environ; NULL: none */
    const struct config_flag *flags;
    size_t flag_count;
};

/* Hears what is wrong, all of it, and remarks on what is odd. May be NULL. */
enum config_tone { CONFIG_PROBLEM, CONFIG_REMARK };
struct config_sink {
    void (*put)(void *arg, enum config_tone tone, const char *text);
    void *arg;
};

/* The file to read when none is named: $CICADA_CONFIG, else /etc/cicada/cicada.conf as root and
 * $XDG_CONFIG_HOME/cicada/cicada.conf (~/.config) as a user, if it is there; "": none. */
void config_find(char ret[PATH_MAX]);

/* Reads everything and checks it. Fails with ERR_INVALID and the first problem, which begins with
 * where it is ("cicada.conf:7: "); ERR_NOT_FOUND or ERR_DENIED when the file cannot be read, or
 * holds a secret and everybody may. Then *ret is not written. Blocks on disk. */
int config_load(const struct config_inputs *in, const struct config_sink *sink, struct config *ret,
                struct err *e);

/* The same from text in memory, without environment, flags and a file: for tests and the fuzzer. */
int config_parse(const char *text, size_t len, const struct config_sink *sink, struct config *ret,
                 struct err *e);

void config_done(struct config *c);

/* After a reload: puts the values of `running` back into `fresh` for every key that needs a
 * restart, and tells of each key that differs whether it holds now. Fails only for lack of
 * memory. */
struct config_change_sink {
    void (*put)(void *arg, const char *key, bool holds_now); /* "server.workers" */
    void *arg;
};
int config_carry(struct config *fresh, const struct config *running,
                 const struct config_change_sink *sink, struct err *e);

/* What a session gets that asks for nothing, and the most it may ask for. */
struct limits config_limits(const struct config *c);
struct limits config_limits_max(const struct config *c);

/* The memory all awake sessions may be promised together: memory_budget_mb, or of `host_bytes` what
 * is left after a quarter, at least 512 MiB, for everybody else. */
uint64_t config_budget_bytes(const struct config *c, uint64_t host_bytes);

/* How many runs go on at once: at_once_max, or sixteen for each of `cores`: a run that waits for
 * something needs no core. */
uint32_t config_run_slots(const struct config *c, uint32_t cores);

/* Every key with its value, where it comes from and what it is for; secrets as "(set)". */
void config_show(const struct config *c, struct buf *out);
void config_show_json(const struct config *c, struct buf *out);

/* A commented file with every key at its default: packaging/cicada.conf. */
void config_example(struct buf *out);
/* The table in docs/server.md. */
void config_reference(struct buf *out);

#endif
