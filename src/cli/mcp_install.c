#include "cli/mcp_install.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/closest.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/address.h"
#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/mcp_merge.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "json/write.h"

enum { TEXT_MAX = 64 << 10, CONFIG_MAX = 8 << 20, CLIENTS_MAX = 16 };

static const char server_name[] = "cicada";

/* All that a snippet is made of, and where it is kept. */
struct job {
    const struct mcp_install *in;
    const struct mcp_client *client;
    struct notes notes;
    struct mcp_setup setup;
    char program[PATH_MAX];
    char base[ADDRESS_URL_MAX + 1];
    struct buf words, url;
};

static void job_done(struct job *j)
{
    buf_done(&j->words);
    buf_done(&j->url);
}

/* ---- what is to be said ---- */

/* The words of the command line, as JSON. */
static void make_words(struct job *j)
{
    const struct mcp_install *in = j->in;
    struct json_writer w = JSON_WRITER(&j->words);
    bool is_here = !in->url; /* otherwise the address says it */
    jw_array(&w);
    jw_text(&w, "mcp");
    if (in->workspace && (is_here || j->client->form == MCP_FORM_JSON)) {
        jw_text(&w, "--workspace");
        jw_text(&w, in->workspace);
    }
    if (in->profile && (is_here || j->client->form == MCP_FORM_JSON)) {
        jw_text(&w, "--profile");
        jw_text(&w, in->profile);
    }
    jw_end_array(&w);
    jw_finish(&w);
}

/* The address of /mcp there, with what is asked for. */
static int make_url(struct job *j, struct err *e)
{
    const struct mcp_install *in = j->in;
    size_t len = strlen(in->url);
    static const char end[] = "/mcp";
    if (strncmp(in->url, "http://", 7) != 0 && strncmp(in->url, "https://", 8) != 0)
        return err_set(e, ERR_INVALID, "--url should look like https://host:8700");
    if (len > ADDRESS_URL_MAX || strpbrk(in->url, "?#@\"'\\ \t\r\n"))
        return err_set(e, ERR_INVALID,
                       "--url is the address of a server and nothing more; keys "
                       "belong into CICADA_API_KEY");
    while (len > 0 && in->url[len - 1] == '/')
        len--;
    if (len > sizeof end && memcmp(in->url + len - (sizeof end - 1), end, sizeof end - 1) == 0)
        len -= sizeof end - 1;
    (void)snprintf(j->base, sizeof j->base, "%.*s", (int)len, in->url);
    buf_fmt(&j->url, "%s/mcp", j->base);
    if (in->workspace) {
        buf_str(&j->url, "?workspace=");
        client_encode(&j->url, in->workspace);
    }
    if (in->profile)
        buf_fmt(&j->url, "%sprofile=%s", in->workspace ? "&" : "?", in->profile);
    return buf_check(&j->url, e);
}

static int prepare(struct job *j, struct err *e)
{
    ssize_t len = readlink("/proc/self/exe", j->program, sizeof j->program - 1);
    if (len < 0)
        return err_sys(e, errno, "find this program");
    j->program[len] = '\0';
    if (strpbrk(j->program, "\"'\\\n"))
        return err_set(e, ERR_INVALID, "the path of this program has quotes in it; move it");
    make_words(j);
    if (buf_check(&j->words, e) || (j->in->url && make_url(j, e)))
        return -1;
    const char *key = getenv("CICADA_API_KEY");
    j->setup = (struct mcp_setup){.program = j->program, .words = j->words.bytes};
    if (j->in->url) {
        j->setup.base = j->base;
        j->setup.url = j->url.bytes;
        j->setup.key = j->in->is_write && key && *key ? key : NULL;
    }
    return 0;
}

/* The whole of a new file. */
static int make_snippet(const struct job *j, struct buf *out, struct err *e)
{
    const struct mcp_client *c = j->client;
    bool is_new;
    if (c->form != MCP_FORM_JSON) {
        c->text(&j->setup, out);
        return buf_check(out, e);
    }
    scoped(json_decrefp) json_t *entry = c->entry(&j->setup);
    scoped(json_decrefp) json_t *inputs = mcp_client_inputs(c, &j->setup);
    if (!entry)
        return err_set(e, ERR_NO_MEMORY, "make an entry");
    return mcp_merge("", 0, c->member, server_name, entry, inputs, out, &is_new, e);
}

/* ---- into the file ---- */

static int merge(const struct job *j, const struct buf *old, struct buf *out, bool *ret_is_new,
                 struct err *e)
{
    const struct mcp_client *c = j->client;
    const char *text = old->bytes ? old->bytes : "";
    if (c->form == MCP_FORM_TOML) {
        scoped(buf_done) struct buf table = BUF_INIT(TEXT_MAX);
        c->text(&j->setup, &table);
        return buf_check(&table, e) ||
                       mcp_merge_toml(text, old->len, table.bytes, out, ret_is_new, e)
                   ? -1
                   : 0;
    }
    scoped(json_decrefp) json_t *entry = c->entry(&j->setup);
    scoped(json_decrefp) json_t *inputs = mcp_client_inputs(c, &j->setup);
    if (!entry)
        return err_set(e, ERR_NO_MEMORY, "make an entry");
    return mcp_merge(text, old->len, c->member, server_name, entry, inputs, out, ret_is_new, e);
}

static int put_into(struct job *j, const char *path, struct err *e)
{
    scoped(buf_done) struct buf old = BUF_INIT(CONFIG_MAX), whole = BUF_INIT(2 * CONFIG_MAX);
    mode_t mode;
    bool is_new = false;
    if (install_read(path, &old, &mode, e) || merge(j, &old, &whole, &is_new, e))
        return -1;
    if (!is_new) {
        note(&j->notes, "%s has it already", path);
        return 0;
    }
    if ((mode && install_write(path, ".bak", &old, mode, e)) ||
        install_write(path, "", &whole, mode ? mode : 0600, e))
        return -1;
    note(&j->notes, "added to %s%s", path, mode ? "; what it was is beside it, with .bak" : "");
    return 0;
}

/* ---- the command ---- */

static int list_clients(void)
{
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < mcp_client_count; i++)
        buf_fmt(&text, "%-16s%s\n", mcp_clients[i].name, mcp_clients[i].title);
    return print_exit(&text, EXIT_DONE);
}

static const struct mcp_client *find_client(const char *name)
{
    for (size_t i = 0; i < mcp_client_count; i++)
        if (strcmp(mcp_clients[i].name, name) == 0)
            return &mcp_clients[i];
    return NULL;
}

static int unknown_client(const char *name)
{
    const char *names[CLIENTS_MAX];
    char text[160];
    for (size_t i = 0; i < mcp_client_count; i++)
        names[i] = mcp_clients[i].name;
    const char *meant = closest_name(name, names, (int)mcp_client_count);
    (void)snprintf(text, sizeof text, "'%.60s' is no client that is known%s%s%s", name,
                   meant ? "; did you mean " : "; `cicada mcp install` lists them",
                   meant ? meant : "", meant ? "?" : "");
    return usage_error("mcp", text);
}

static void tell_more(struct job *j, const char *path)
{
    const char *url = getenv("CICADA_URL");
    if (path && !j->in->is_write)
        note(&j->notes, "this belongs into %s%s", path,
             j->client->form == MCP_FORM_TEXT ? "" : "; with --write it is put there");
    if (j->client->also)
        note(&j->notes, "%s", j->client->also);
    if (j->in->url && !j->setup.key)
        note(&j->notes, "`cicada key create` makes a key for it: give it to the client as "
                        "CICADA_API_KEY, or in place of YOUR_KEY");
    if (!j->in->url && url && *url)
        note(&j->notes, "CICADA_URL is set here, and the client may not see it: --url %s", url);
}

static int print_snippet(struct job *j, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    if (make_snippet(j, &text, e))
        return -1;
    return print_out(&text) ? err_set(e, ERR_INTERNAL, "print") : 0;
}

static int install(struct job *j, struct err *e)
{
    char path[PATH_MAX];
    const char *file = j->client->file;
    if (prepare(j, e) || (file && install_find(file, path, e)))
        return -1;
    if (!j->in->is_write) {
        if (print_snippet(j, e))
            return -1;
    } else if (j->client->form == MCP_FORM_TEXT) {
        return err_set(e, ERR_INVALID,
                       "this cannot be written for %s; without --write it is printed, to be put in "
                       "by hand",
                       j->client->name);
    } else if (put_into(j, path, e)) {
        return err_wrap(e, "%.100s", path);
    }
    tell_more(j, file ? path : NULL);
    return 0;
}

int mcp_install_main(const struct mcp_install *in)
{
    if (!in->client)
        return list_clients();
    const struct mcp_client *client = find_client(in->client);
    if (!client)
        return unknown_client(in->client);
    scoped(job_done) struct job j = {.in = in,
                                     .client = client,
                                     .notes = notes_to_stderr(),
                                     .words = BUF_INIT(TEXT_MAX),
                                     .url = BUF_INIT(TEXT_MAX)};
    struct err e = {0};
    if (install(&j, &e) == 0)
        return EXIT_DONE;
    note_problem(&j.notes, "%s", e.text);
    return e.code == ERR_INVALID || e.code == ERR_CONFLICT ? EXIT_ERROR : EXIT_NO_JAIL;
}
