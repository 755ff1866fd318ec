/* cards.h -- what a door remembers of the things it gave names to: an id, whose it is, and a JSON object.
 *
 *     card_make_id("resp_", id, e)
 *     card_insert(cards, &card, e)
 *     card_get(cards, principal, CARD_RESPONSE, id, &card, e) ... card_done(&card)
 *
 * Containers, files, uploads and responses of the OpenAI door and answers of the native one are cards. What is on them is the door's
 * business; nothing here looks into a body. Files and runs themselves are where they always are, in workspaces.
 *
 * Ids begin with the time, so that their order is that of their making, and "after this one" has a meaning when
 * it is there no more.
 *
 * Cards of others do not exist: ERR_NOT_FOUND. Writes are durable when they return. Any number of threads.
 */
#ifndef WORKSPACE_CARDS_H
#define WORKSPACE_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "store/meta_cards.h"

struct cards;
struct err;
struct meta;

/* `prefix`, 16 hex digits of time, 24 of chance. */
int card_make_id(const char *prefix, char ret[ID_SIZE], struct err *e);

int cards_open(struct meta *meta, struct cards **ret, struct err *e);
void cards_close(struct cards *c); /* NULL is fine */

/* ERR_CONFLICT when the id is taken. ERR_LIMIT past `max` of that principal and kind; 0: any number. */
int card_insert(struct cards *all, const struct card *card, uint64_t max, struct err *e);
/* Writes name, used, expires and body. */
int card_update(struct cards *all, const struct card *card, struct err *e);
/* Only when it was used last; need not be durable at once. */
int card_touch(struct cards *all, const char *id, int64_t used_us, struct err *e);
/* `principal` NULL: whoever's. */
int card_get(struct cards *all, const char *principal, enum card_kind kind, const char *id,
             struct card *ret, struct err *e);
int card_delete(struct cards *all, const char *principal, enum card_kind kind, const char *id,
                struct err *e);

int card_list(struct cards *all, const struct card_filter *filter, struct card_rows *ret,
              struct err *e);

/* Those of a kind whose time is over, of anybody; at most `limit`. */
int card_list_expired(struct cards *all, enum card_kind kind, int64_t now_us, uint32_t limit,
                      struct card_rows *ret, struct err *e);

#endif
