/* keep.c -- cards with bodies that are JSON objects. */
#include <jansson.h>
#include <string.h>

#include "base/scope.h"
#include "openai/openai_int.h"

void oa_card_done(struct oa_card *c)
{
    card_done(&c->card);
    json_decref(c->body);
    c->body = NULL;
}

static json_t *read_body(const struct card *card, struct err *e)
{
    json_t *body = json_loadb(card->body, card->body_len, JSON_ALLOW_NUL, NULL);
    if (json_is_object(body))
        return body;
    json_decref(body);
    (void)err_set(e, ERR_DAMAGED, "the card %.64s is no object", card->id);
    return NULL;
}

int oa_card_get(struct openai *oa, const char *principal, enum card_kind kind, const char *id,
                struct oa_card *ret, struct err *e)
{
    struct oa_card c = {0};
    if (card_get(oa->o.cards, principal, kind, id, &c.card, e))
        return -1;
    c.body = read_body(&c.card, e);
    if (!c.body) {
        oa_card_done(&c);
        return -1;
    }
    *ret = c;
    return 0;
}

int oa_card_of(const struct card *row, struct oa_card *ret, struct err *e)
{
    json_t *body = read_body(row, e);
    if (!body)
        return -1;
    *ret = (struct oa_card){.card = *row, .body = body};
    ret->card.owned = NULL; /* the list's */
    return 0;
}

/* The card as it is stored: its body as text, which is the caller's. */
static int with_body(struct oa_card *c, struct card *ret, char **ret_text, struct err *e)
{
    *ret_text = json_dumps(c->body, JSON_COMPACT);
    if (!*ret_text)
        return err_set(e, ERR_NO_MEMORY, "write a card");
    *ret = c->card;
    ret->body = *ret_text;
    ret->body_len = strlen(*ret_text);
    return 0;
}

int oa_card_insert(struct openai *oa, struct oa_card *c, uint64_t max, struct err *e)
{
    scoped(freep) char *text = NULL;
    struct card card;
    if (with_body(c, &card, &text, e))
        return -1;
    if (card_insert(oa->o.cards, &card, max, e) == 0)
        return 0;
    if (e->code == ERR_LIMIT)
        e->code = ERR_QUOTA; /* it is no use to wait */
    return -1;
}

int oa_card_save(struct openai *oa, struct oa_card *c, struct err *e)
{
    scoped(freep) char *text = NULL;
    struct card card;
    return with_body(c, &card, &text, e) || card_update(oa->o.cards, &card, e) ? -1 : 0;
}

const char *oa_card_text(const struct oa_card *c, const char *name)
{
    const char *text = json_string_value(json_object_get(c->body, name));
    return text ? text : "";
}

int64_t oa_card_int(const struct oa_card *c, const char *name)
{
    return json_integer_value(json_object_get(c->body, name));
}
