/* config_load.h -- a configuration while it is being read. For config.c and config_file.c only. */
#ifndef DAEMON_CONFIG_LOAD_H
#define DAEMON_CONFIG_LOAD_H

#include "base/err.h"
#include "daemon/config_int.h"

struct loading {
    struct config *c;
    const struct config_sink *sink;
    bool has_problem;
    struct err first; /* of the problems */
};

/* Passes on what is wrong or odd. `where` is put in front; "" is nowhere. */
void config_tell(struct loading *l, enum config_tone tone, const char *where, const char *text);

/* Sets a key, or tells why not. */
void config_apply(struct loading *l, int key, const char *value, struct config_origin origin,
                  const char *where);

/* Reads INI text; what is wrong in it is told. Fails only for lack of memory. */
int config_read_text(struct loading *l, const char *path, const char *text, size_t len,
                     struct err *e);

#endif
