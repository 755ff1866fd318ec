/* config_int.h -- the table of keys; a value of any kind as text and back. For config*.c only. */
#ifndef DAEMON_CONFIG_INT_H
#define DAEMON_CONFIG_INT_H

#include "daemon/config.h"

/* What a value is, and the type of its field in struct config. */
enum config_kind {
    KEY_NUMBER, /* uint32_t */
    KEY_MB,     /* uint32_t, MiB; also written 2G */
    KEY_MILLI,  /* uint32_t, thousandths; written 1.5 */
    KEY_BYTES,  /* uint64_t; also written 64K */
    KEY_MODE,   /* uint32_t, octal */
    KEY_CHOICE, /* uint32_t, index into choices */
    KEY_TEXT,   /* char * */
    KEY_LIST,   /* struct config_list; "off" is the empty one */
};

struct config_key {
    const char *section, *name;
    enum config_kind kind;
    bool is_live; /* a reload can change it */
    bool is_secret;
    size_t at;          /* offset of the field */
    const char *preset; /* the default, as it would be written */
    uint64_t min, max;  /* in the units of the field; of a text: its length, of a list: entries */
    const char *const *choices;                    /* ended by NULL */
    int (*check)(const char *text, struct err *e); /* of a text or an item of a list; NULL: none */
    const char *environment;                       /* NULL: CICADA_SECTION_NAME */
    const char *doc;                               /* sentences, on one line */
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;

/* The number of the key, or -1. */
int config_key_find(const char *section, const char *name);

/* The name of its environment variable. */
enum { CONFIG_VARIABLE_SIZE = 64 };
void config_key_variable(const struct config_key *k, char ret[CONFIG_VARIABLE_SIZE]);

/* Parses `text` into the key's field, in place of what was there. Fails with ERR_INVALID and what
 * would be right, and then the field is as it was. */
int config_key_set(struct config *c, const struct config_key *k, const char *text, struct err *e);

/* Appends the field as it would be written; config_key_set understands it. */
void config_key_get(const struct config *c, const struct config_key *k, struct buf *out);

/* What values are possible, for people: "1 to 4096", "text or json". */
void config_key_range(const struct config_key *k, struct buf *out);

void config_key_done(struct config *c, const struct config_key *k); /* frees the field */

/* What the keys say together. Fails with ERR_INVALID and the first contradiction. */
int config_check(const struct config *c, struct err *e);

#endif
