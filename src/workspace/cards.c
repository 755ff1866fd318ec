#include "workspace/cards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/err.h"

struct cards {
    struct meta *meta;
};

int card_make_id(const char *prefix, char ret[ID_SIZE], struct err *e)
{
    unsigned char chance[12];
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return err_set(e, ERR_UNAVAILABLE, "the system has no randomness to give");
    int at = snprintf(ret, ID_SIZE, "%.20s%016llx", prefix, (unsigned long long)clock_wall_us());
    for (size_t i = 0; i < sizeof chance; i++)
        (void)snprintf(ret + at + 2 * i, ID_SIZE - (size_t)at - 2 * i, "%02x", chance[i]);
    return 0;
}

int cards_open(struct meta *meta, struct cards **ret, struct err *e)
{
    *ret = malloc(sizeof **ret);
    if (!*ret)
        return err_set(e, ERR_NO_MEMORY, "open the cards");
    **ret = (struct cards){meta};
    return 0;
}

void cards_close(struct cards *c)
{
    free(c);
}

int card_insert(struct cards *all, const struct card *card, uint64_t max, struct err *e)
{
    return meta_card_insert(all->meta, card, max, e);
}

int card_update(struct cards *all, const struct card *card, struct err *e)
{
    return meta_card_update(all->meta, card, e);
}

int card_touch(struct cards *all, const char *id, int64_t used_us, struct err *e)
{
    return meta_card_touch(all->meta, id, used_us, e);
}

int card_get(struct cards *all, const char *principal, enum card_kind kind, const char *id,
             struct card *ret, struct err *e)
{
    if (meta_card_get(all->meta, kind, id, ret, e))
        return -1;
    if (!principal || strcmp(ret->principal, principal) == 0)
        return 0;
    card_done(ret);
    return err_set(e, ERR_NOT_FOUND, "there is no %.64s", id);
}

int card_delete(struct cards *all, const char *principal, enum card_kind kind, const char *id,
                struct err *e)
{
    struct card card;
    if (card_get(all, principal, kind, id, &card, e))
        return -1;
    card_done(&card);
    return meta_card_delete(all->meta, kind, id, e);
}

int card_list(struct cards *all, const struct card_filter *filter, struct card_rows *ret,
              struct err *e)
{
    return meta_card_list(all->meta, filter, ret, e);
}

int card_list_expired(struct cards *all, enum card_kind kind, int64_t now_us, uint32_t limit,
                      struct card_rows *ret, struct err *e)
{
    return meta_card_list_expired(all->meta, kind, now_us, limit, ret, e);
}
