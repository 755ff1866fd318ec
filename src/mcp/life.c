/* life.c -- how a client and this server get to know each other, in both eras. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "api/op.h"
#include "http/exchange.h"
#include "mcp/mcp_int.h"
#include "mcp/sessions.h"

static const char instructions[] =
    "A code interpreter and a workspace of files. run_code runs Python in a sandbox without "
    "internet; pass the session_id it returns to keep variables. /mnt/data is the workspace: every "
    "file written there is kept, with its versions, and is there in later sessions. Compute with "
    "run_code instead of guessing numbers; read the traceback and mend the code when it fails; find "
    "earlier files with search_files or list_files; hand large files over with transfer_url.";

void mcp_write_versions(struct json_writer *w)
{
    jw_array(w);
    jw_text(w, MCP_VERSION_MODERN);
    for (size_t i = 0; rpc_legacy_versions[i]; i++)
        jw_text(w, rpc_legacy_versions[i]);
    jw_end_array(w);
}

void mcp_write_info(struct json_writer *w)
{
    jw_object(w);
    jw_key(w, "name");
    jw_text(w, "cicada");
    jw_key(w, "title");
    jw_text(w, "cicada: code interpreter and workspace");
    jw_key(w, "version");
    jw_text(w, CICADA_VERSION);
    jw_end_object(w);
}

/* What can be asked for. The lists of tools and prompts change only where the suite tests that they do. */
static void write_capabilities(struct mcp_call *m, struct json_writer *w)
{
    static const char product[] =
        "{\"tools\":{},\"prompts\":{},\"resources\":{\"subscribe\":true,\"listChanged\":true},"
        "\"completions\":{}";
    static const char fixtures[] =
        "{\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":true},"
        "\"resources\":{\"subscribe\":true,\"listChanged\":true},\"completions\":{},\"logging\":{}";
    char text[512];
    (void)snprintf(text, sizeof text, "%s%s}", m->mcp->o.has_fixtures ? fixtures : product,
                   m->is_modern ? ",\"extensions\":{\"" MCP_TASKS "\":{}}" : "");
    jw_key(w, "capabilities");
    jw_raw(w, text, strlen(text));
}

static int discover(struct mcp_call *m, struct err *e)
{
    (void)e;
    jw_key(&m->w, "supportedVersions");
    mcp_write_versions(&m->w);
    write_capabilities(m, &m->w);
    jw_key(&m->w, "instructions");
    jw_text(&m->w, instructions);
    return 0;
}

static int initialize(struct mcp_call *m, struct err *e)
{
    const char *wanted = mcp_param(m, "protocolVersion");
    json_t *client = json_object_get(m->params, "capabilities");
    if (!wanted || !json_is_object(client))
        return mcp_fail(
            m, RPC_PARAMS, e,
            "initialize needs protocolVersion (a string) and capabilities (an object).");
    if (rpc_is_legacy_version(wanted))
        m->version = wanted;
    if (mcp_session_new(m->mcp, m->c->who.principal, m->version, client, &m->session, e))
        return -1;
    http_add_header(m->c->x, "Mcp-Session-Id", "%s", m->session->id);
    jw_key(&m->w, "protocolVersion");
    jw_text(&m->w, m->version);
    write_capabilities(m, &m->w);
    jw_key(&m->w, "serverInfo");
    mcp_write_info(&m->w);
    jw_key(&m->w, "instructions");
    jw_text(&m->w, instructions);
    return 0;
}

static int ping(struct mcp_call *m, struct err *e)
{
    (void)m;
    (void)e;
    return 0;
}

static int set_level(struct mcp_call *m, struct err *e)
{
    int level = mcp_level(mcp_param(m, "level"));
    if (level < 0)
        return mcp_fail(m, RPC_PARAMS, e,
                        "level: one of debug, info, notice, warning, error, critical, alert, "
                        "emergency");
    pthread_mutex_lock(&m->session->lock);
    m->session->log_level = level;
    pthread_mutex_unlock(&m->session->lock);
    return 0;
}

static const struct mcp_method items[] = {
    {"server/discover", METHOD_MODERN | METHOD_CACHED | METHOD_PUBLIC, NULL, discover},
    {"initialize", METHOD_LEGACY, NULL, initialize},
    {"ping", METHOD_LEGACY, NULL, ping},
    {"logging/setLevel", METHOD_LEGACY, NULL, set_level},
};

const struct mcp_methods methods_life = {items, sizeof items / sizeof *items};
