/* meta_cards.h -- cards: what doors remember of the things they gave names to. workspace/cards.h says what they are for.
 *
 * Bodies are compressed on the caller's thread. Everything blocks on disk; writes are durable when they return, but for
 * meta_card_touch.
 */
#ifndef STORE_META_CARDS_H
#define STORE_META_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct err;
struct meta;

enum card_kind { /* as stored: never renumber */
                 CARD_CONTAINER = 1,
                 CARD_FILE = 2,
                 CARD_UPLOAD = 3,
                 CARD_PART = 4, /* of an upload, its parent */
                 CARD_RESPONSE = 5,
                 CARD_CONVERSATION = 6,
                 CARD_ANSWER = 7, /* of ask/; its parent is the session */
};

enum { CARD_BODY_MAX = 128 << 20, CARD_NAME_MAX = 256, CARD_PAGE_MAX = 10000 };

struct card {
    char id[ID_SIZE], principal[ID_SIZE];
    enum card_kind kind;
    char parent[ID_SIZE]; /* "": none */
    const char *name; /* for the filter of lists: a container's name, a file's purpose; "": none */
    int64_t created_us, used_us, expires_us; /* wall clock; expires 0: never */
    const char *body;                        /* JSON, NUL behind it */
    size_t body_len;
    void *owned;
};
void card_done(struct card *c);

struct card_filter {
    const char *principal; /* required */
    enum card_kind kind;
    const char *parent, *name; /* NULL: any */
    bool is_ascending;         /* oldest first */
    const char *after; /* an id: those that follow it in this order; NULL: from the beginning */
    uint32_t limit;
};
struct card_rows {
    struct card *items;
    size_t count;
    bool has_more;
};
void card_rows_done(struct card_rows *l);
/* ERR_CONFLICT when the id is taken; ERR_LIMIT when there are `max` of the principal and kind; 0: any number. */
int meta_card_insert(struct meta *m, const struct card *card, uint64_t max, struct err *e);
/* Name, used, expires, body. ERR_NOT_FOUND. */
int meta_card_update(struct meta *m, const struct card *card, struct err *e);
int meta_card_touch(struct meta *m, const char *id, int64_t used_us, struct err *e);
int meta_card_get(struct meta *m, enum card_kind kind, const char *id, struct card *ret,
                  struct err *e);
int meta_card_delete(struct meta *m, enum card_kind kind, const char *id, struct err *e);
int meta_card_list(struct meta *m, const struct card_filter *filter, struct card_rows *ret,
                   struct err *e);
int meta_card_list_expired(struct meta *m, enum card_kind kind, int64_t now_us, uint32_t limit,
                           struct card_rows *ret, struct err *e);

#endif
