/* config.c -- from defaults, file, environment and command line to one struct config. */
#include "daemon/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/closest.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "daemon/config_int.h"
#include "daemon/config_load.h"

void config_done(struct config *c)
{
    for (size_t i = 0; i < config_key_count; i++)
        config_key_done(c, &config_keys[i]);
}

void config_tell(struct loading *l, enum config_tone tone, const char *where, const char *text)
{
    struct err told = {.code = ERR_INVALID};
    (void)snprintf(told.text, sizeof told.text, "%s", text);
    if (*where)
        (void)err_wrap(&told, "%.120s", where);
    if (l->sink && l->sink->put)
        l->sink->put(l->sink->arg, tone, told.text);
    if (tone == CONFIG_PROBLEM && !l->has_problem) {
        l->has_problem = true;
        l->first = told;
    }
}

void config_apply(struct loading *l, int key, const char *value, struct config_origin origin,
                  const char *where)
{
    const struct config_key *k = &config_keys[key];
    struct err e = {0};
    if (config_key_set(l->c, k, value, &e) == 0) {
        l->c->origins[key] = origin;
        return;
    }
    (void)err_wrap(&e, "%s.%s", k->section, k->name);
    config_tell(l, CONFIG_PROBLEM, where, e.text);
}

static int set_defaults(struct config *c, struct err *e)
{
    for (size_t i = 0; i < config_key_count; i++)
        if (config_key_set(c, &config_keys[i], config_keys[i].preset, e)) {
            assert(e->code == ERR_NO_MEMORY); /* a default that is wrong is our bug */
            return -1;
        }
    return 0;
}

static int read_file(const char *path, struct buf *ret, bool *ret_is_public, struct err *e)
{
    struct stat st;
    char chunk[4096];
    ssize_t n;
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "read the configuration %.120s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_INVALID, "the configuration %.120s is not a file", path);
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        buf_add(ret, chunk, (size_t)n);
    if (n < 0)
        return err_sys(e, errno, "read the configuration %.120s", path);
    buf_add(ret, "", 0); /* an empty file is an empty text */
    *ret_is_public = st.st_mode & S_IROTH;
    return buf_check(ret, e) ? err_wrap(e, "read the configuration %.120s", path) : 0;
}

static bool has_secret(const struct config *c)
{
    for (size_t i = 0; i < config_key_count; i++)
        if (config_keys[i].is_secret && c->origins[i].source == CONFIG_FILE)
            return true;
    return false;
}

static int load_file(struct loading *l, const char *path, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(CONFIG_FILE_MAX);
    bool is_public = false;
    size_t len = strlen(path);
    if (len >= sizeof l->c->path)
        return err_set(e, ERR_INVALID, "the path of the configuration is too long");
    if (read_file(path, &text, &is_public, e))
        return -1;
    memcpy(l->c->path, path, len + 1);
    if (config_read_text(l, path, text.bytes, text.len, e))
        return -1;
    if (is_public && has_secret(l->c))
        return err_set(e, ERR_DENIED,
                       "%.100s sets server.api_key and everybody may read it; chmod 640 it, owned "
                       "by root and the service user's group",
                       path);
    return 0;
}

/* A variable that begins like ours and is none was probably meant to be one. */
static void wonder(struct loading *l, const char *variable)
{
    char spelled[CONFIG_KEYS_MAX][CONFIG_VARIABLE_SIZE];
    const char *names[CONFIG_KEYS_MAX] = {0};
    bool is_ours = false;
    for (size_t i = 0; i < config_key_count; i++) {
        config_key_variable(&config_keys[i], spelled[i]);
        /* The section's part, "CICADA_SERVER_", which closest_name has no patience for. */
        size_t skip = strlen("CICADA_") + strlen(config_keys[i].section) + 1;
        bool is_same = !config_keys[i].environment && !strncmp(variable, spelled[i], skip);
        names[i] = is_same ? spelled[i] + skip : "";
        is_ours = is_ours || is_same;
    }
    if (!is_ours)
        return;
    const char *word = strchr(variable + strlen("CICADA_"), '_') + 1;
    const char *meant = closest_name(word, names, (int)config_key_count);
    char text[200];
    if (meant)
        (void)snprintf(text, sizeof text, "is no key and was ignored; did you mean %.*s%s?",
                       (int)(word - variable), variable, meant);
    else
        (void)snprintf(text, sizeof text, "is no key and was ignored");
    config_tell(l, CONFIG_REMARK, variable, text);
}

/* An empty variable is one that is not set: that is how many a script says it. */
static void load_variable(struct loading *l, const char *entry)
{
    const char *equals = strchr(entry, '=');
    char variable[CONFIG_VARIABLE_SIZE], known[CONFIG_VARIABLE_SIZE];
    if (strncmp(entry, "CICADA_", 7) != 0 || !equals || !equals[1] ||
        (size_t)(equals - entry) >= sizeof variable)
        return;
    (void)snprintf(variable, sizeof variable, "%.*s", (int)(equals - entry), entry);
    for (size_t i = 0; i < config_key_count; i++) {
        config_key_variable(&config_keys[i], known);
        if (strcmp(known, variable) == 0) {
            struct config_origin origin = {.source = CONFIG_ENVIRONMENT};
            config_apply(l, (int)i, equals + 1, origin, variable);
            return;
        }
    }
    wonder(l, variable);
}

static void load_flags(struct loading *l, const struct config_inputs *in)
{
    for (size_t i = 0; i < in->flag_count; i++) {
        const struct config_flag *f = &in->flags[i];
        int key = config_key_find(f->section, f->name);
        assert(key >= 0);
        config_apply(l, key, f->value, (struct config_origin){.source = CONFIG_FLAG},
                     "command line");
    }
}

/* Checks what the keys say together, but only if each of them is right. */
static int conclude(struct loading *l, struct err *e)
{
    struct err together = {0};
    if (!l->has_problem && config_check(l->c, &together))
        config_tell(l, CONFIG_PROBLEM, "", together.text);
    if (!l->has_problem)
        return 0;
    *e = l->first;
    return -1;
}

static int load(struct loading *l, const struct config_inputs *in, struct err *e)
{
    if (set_defaults(l->c, e) || (in->path && load_file(l, in->path, e)))
        return -1;
    for (char *const *entry = in->environment; entry && *entry; entry++)
        load_variable(l, *entry);
    load_flags(l, in);
    return conclude(l, e);
}

int config_load(const struct config_inputs *in, const struct config_sink *sink, struct config *ret,
                struct err *e)
{
    struct config c = {0};
    struct loading l = {.c = &c, .sink = sink};
    if (load(&l, in, e)) {
        if (!l.has_problem)
            config_tell(&l, CONFIG_PROBLEM, "", e->text);
        config_done(&c);
        return -1;
    }
    *ret = c;
    return 0;
}

int config_parse(const char *text, size_t len, const struct config_sink *sink, struct config *ret,
                 struct err *e)
{
    struct config c = {0};
    struct loading l = {.c = &c, .sink = sink};
    if (set_defaults(&c, e) || config_read_text(&l, "text", text, len, e) || conclude(&l, e)) {
        config_done(&c);
        return -1;
    }
    *ret = c;
    return 0;
}

void config_find(char ret[PATH_MAX])
{
    const char *named = getenv("CICADA_CONFIG"), *xdg = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int len;
    if (named && *named)
        len = snprintf(ret, PATH_MAX, "%s", named);
    else if (geteuid() == 0)
        len = snprintf(ret, PATH_MAX, "/etc/cicada/cicada.conf");
    else if (xdg && *xdg == '/')
        len = snprintf(ret, PATH_MAX, "%s/cicada/cicada.conf", xdg);
    else
        len = snprintf(ret, PATH_MAX, "%s/.config/cicada/cicada.conf", home ? home : "");
    /* One that was named has to be there, which config_load will say. */
    if (len >= PATH_MAX || (!(named && *named) && access(ret, F_OK)))
        ret[0] = '\0';
}

/* Both as text: what is written alike is alike. */
static int carry_key(struct config *fresh, const struct config *running, size_t index,
                     const struct config_change_sink *sink, struct err *e)
{
    const struct config_key *k = &config_keys[index];
    scoped(buf_done) struct buf now = BUF_INIT(2 * CONFIG_VALUE_MAX);
    scoped(buf_done) struct buf before = BUF_INIT(2 * CONFIG_VALUE_MAX);
    char name[CONFIG_VARIABLE_SIZE];
    config_key_get(fresh, k, &now);
    config_key_get(running, k, &before);
    if (buf_check(&now, e) || buf_check(&before, e))
        return err_wrap(e, "compare the configuration");
    if (now.len == before.len && memcmp(now.bytes, before.bytes, now.len) == 0)
        return 0;
    (void)snprintf(name, sizeof name, "%s.%s", k->section, k->name);
    if (sink && sink->put)
        sink->put(sink->arg, name, k->is_live);
    if (k->is_live)
        return 0;
    fresh->origins[index] = running->origins[index];
    return config_key_set(fresh, k, before.bytes, e);
}

int config_carry(struct config *fresh, const struct config *running,
                 const struct config_change_sink *sink, struct err *e)
{
    for (size_t i = 0; i < config_key_count; i++)
        if (carry_key(fresh, running, i, sink, e))
            return -1;
    return 0;
}

struct limits config_limits(const struct config *c)
{
    struct limits l = LIMITS_DEFAULT;
    l.memory_bytes = c->sessions.memory_mb * MIB;
    l.disk_bytes = l.file_bytes = c->sessions.disk_mb * MIB;
    l.output_bytes = c->sessions.output_bytes;
    l.cpu_milli = c->sessions.cpu_milli;
    l.pids = c->sessions.pids;
    l.wall_ms = c->sessions.wall_s * 1000;
    return l;
}

struct limits config_limits_max(const struct config *c)
{
    struct limits l = LIMITS_MAX;
    l.memory_bytes = c->sessions.memory_max_mb * MIB;
    l.disk_bytes = l.file_bytes = c->sessions.disk_max_mb * MIB;
    l.output_bytes = c->sessions.output_max_bytes;
    l.cpu_milli = c->sessions.cpu_max_milli;
    l.pids = c->sessions.pids_max;
    l.wall_ms = c->sessions.wall_max_s * 1000;
    return l;
}

uint64_t config_budget_bytes(const struct config *c, uint64_t host_bytes)
{
    if (c->sessions.memory_budget_mb)
        return c->sessions.memory_budget_mb * MIB;
    uint64_t others = host_bytes / 4 > 512 * MIB ? host_bytes / 4 : 512 * MIB;
    return host_bytes > 2 * others ? host_bytes - others : host_bytes / 2;
}

uint32_t config_run_slots(const struct config *c, uint32_t cores)
{
    return c->runs.at_once_max ? c->runs.at_once_max : 16 * (cores ? cores : 1);
}
