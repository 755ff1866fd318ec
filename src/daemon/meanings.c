/* meanings.c -- what finds texts that mean the same: opened as the configuration says. */
#include <string.h>

#include "base/err.h"
#include "daemon/serve_int.h"
#include "meaning/meaning.h"

static void tell(struct server *s)
{
    struct err why = {0};
    /* An endpoint is asked by who first needs it: no start waits for somebody else's network. */
    if (strncmp(s->config->search.encoder, "http", 4) == 0)
        log_line(&s->log, LOG_INFO, "embeddings from an endpoint",
                 LOG_STR("model", meaning_model(s->meaning)));
    else if (strcmp(s->config->search.encoder, "local") == 0 && meaning_ready(s->meaning, &why))
        log_line(&s->log, LOG_WARNING, "search finds words only", LOG_STR("why", why.text));
}

int meanings_open(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    bool is_url = strncmp(c->search.encoder, "http", 4) == 0;
    const struct meaning_options options = {
        .is_off = strcmp(c->search.encoder, "off") == 0,
        .url = is_url ? c->search.encoder : NULL,
        .key = *c->search.key ? c->search.key : NULL,
        .model = c->search.model,
        .dim = c->search.dimensions,
        .file = s->o->encoder_path,
    };
    if (meaning_open(&options, &s->meaning, e))
        return err_wrap(e, "search.encoder");
    tell(s);
    return 0;
}

void meanings_close(struct server *s)
{
    meaning_close(s->meaning);
}
