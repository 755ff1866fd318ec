/* answer_past.c -- where a question is asked, and what was said there before. */
#include <stdio.h>
#include <string.h>

#include "api/inner.h"
#include "api/native_files.h"
#include "api/op.h"
#include "ask/answer.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/seat.h"
#include "json/read.h"
#include "json/write.h"

/* ---- what was said ---- */

static int copy_id(char to[ID_SIZE], const char *id, struct err *e)
{
    if (strlen(id) >= ID_SIZE)
        return err_set(e, ERR_DAMAGED, "an id is too long");
    memcpy(to, id, strlen(id) + 1);
    return 0;
}

static int append(json_t *items, json_t *item, struct err *e)
{
    return item && json_array_append_new(items, item) == 0
               ? 0
               : err_set(e, ERR_NO_MEMORY, "read the conversation so far");
}

static json_t *message(const char *role, const char *text)
{
    return json_pack("{s:s, s:s, s:s}", "type", "message", "role", role, "content", text);
}

static bool has_output(const json_t *items, const json_t *call)
{
    size_t i;
    json_t *one;
    json_array_foreach(items, i, one)
    {
        if (strcmp(text_at(one, "type"), "function_call_output") == 0 &&
            strcmp(text_at(one, "call_id"), text_at(call, "call_id")) == 0)
            return true;
    }
    return false;
}

/* Whether an item is whole: one that was cut short would be no conversation for any model. */
static bool is_whole(const json_t *items, const json_t *item)
{
    const char *type = text_at(item, "type"), *status = text_at(item, "status");
    if (strcmp(type, "reasoning") == 0)
        return false;
    if (strcmp(type, "function_call") == 0)
        return has_output(items, item);
    if (strcmp(type, "code_interpreter_call") == 0)
        return json_object_get(item, "x_text") != NULL;
    return strcmp(status, "in_progress") != 0;
}

/* One question and its answer. */
static int add_answer(struct answer *a, const json_t *body, struct err *e)
{
    const json_t *object = json_object_get(body, "answer"), *items = json_object_get(body, "items");
    const char *said = text_at(json_object_get(body, "asked"), "said");
    size_t i;
    json_t *one;
    if (strcmp(text_at(object, "status"), "running") == 0)
        return 0;
    if (append(a->past, message("user", *said ? said : text_at(object, "question")), e))
        return -1;
    json_array_foreach(items, i, one)
    {
        if (is_whole(items, one) && append(a->past, json_incref(one), e))
            return -1;
    }
    bool is_answered = *text_at(object, "answer");
    if (!is_answered &&
        append(a->past, message("assistant", "(There was no answer to this question.)"), e))
        return -1;
    return marks_read(&a->marks, json_object_get(body, "marks"), e);
}

/* ---- which answers ---- */

/* Records, the newest first. */
struct chain {
    json_t *bodies[PAST_MAX];
    size_t count;
    char parent[ID_SIZE]; /* what the last one goes on from; "": nothing */
};

static void chain_done(struct chain *ch)
{
    for (size_t i = 0; i < ch->count; i++)
        json_decref(ch->bodies[i]);
}

static int take_card(struct chain *ch, const struct card *card, struct err *e)
{
    if (record_read(card, &ch->bodies[ch->count], e))
        return -1;
    (void)json_object_del(ch->bodies[ch->count++], "runs"); /* large, and not said to the model */
    memcpy(ch->parent, card->parent, sizeof ch->parent);
    return 0;
}

/* Those in the session; one at a time, as they may be large. */
static int take_session(struct answer *a, const char *session, struct chain *ch, struct err *e)
{
    char after[ID_SIZE] = "";
    bool has_more = true;
    while (has_more && ch->count < PAST_MAX) {
        const struct card_filter filter = {.principal = a->card.principal,
                                           .kind = CARD_ANSWER,
                                           .name = session,
                                           .after = *after ? after : NULL,
                                           .limit = 1};
        struct card_rows rows;
        if (card_list(a->ask->o.cards, &filter, &rows, e))
            return -1;
        has_more = rows.has_more && rows.count > 0;
        int failed = rows.count > 0 ? take_card(ch, &rows.items[0], e) : 0;
        if (rows.count > 0)
            memcpy(after, rows.items[0].id, sizeof after);
        card_rows_done(&rows);
        if (failed)
            return -1;
    }
    return 0;
}

/* And those before there was one. */
static int take_parents(struct answer *a, struct chain *ch, struct err *e)
{
    while (*ch->parent && ch->count < PAST_MAX) {
        struct card card;
        struct err none = {0};
        if (card_get(a->ask->o.cards, a->card.principal, CARD_ANSWER, ch->parent, &card, &none))
            return 0; /* deleted */
        int failed = take_card(ch, &card, e);
        card_done(&card);
        if (failed)
            return -1;
    }
    return 0;
}

static int load_chain(struct answer *a, struct err *e)
{
    struct chain ch = {0};
    memcpy(ch.parent, a->card.parent, sizeof ch.parent);
    int failed = *a->hands.session ? take_session(a, a->hands.session, &ch, e) : 0;
    failed = failed || take_parents(a, &ch, e);
    for (size_t i = ch.count; i > 0 && !failed; i--)
        failed = add_answer(a, ch.bodies[i - 1], e);
    /* The session may be gone for good, and another take its place: what was said stays together. */
    if (!failed && ch.count > 0)
        failed = copy_id(a->card.parent, text_at(json_object_get(ch.bodies[0], "answer"), "id"), e);
    chain_done(&ch);
    return failed ? -1 : 0;
}

/* ---- where ---- */

/* Goes on from an answer: in its session, if it had one. */
static int from_answer(struct answer *a, const char *id, struct err *e)
{
    struct card card;
    scoped(json_freep) json_t *body = NULL;
    if (card_get(a->ask->o.cards, a->card.principal, CARD_ANSWER, id, &card, e))
        return -1;
    int failed = record_read(&card, &body, e);
    card_done(&card);
    if (failed)
        return -1;
    const json_t *object = json_object_get(body, "answer");
    const char *session = text_at(object, "session_id");
    return copy_id(a->hands.workspace, text_at(object, "workspace_id"), e) ||
                   copy_id(a->hands.session, session, e) ||
                   (!*session && copy_id(a->card.parent, id, e))
               ? -1
               : 0;
}

static int from_session(struct answer *a, struct call *c, const char *id, struct err *e)
{
    scoped(buf_done) struct buf shown = BUF_INIT(64 << 10);
    struct json_writer w = JSON_WRITER(&shown);
    scoped(json_freep) json_t *session = NULL;
    if (seat_show(a->ask->o.service, &c->who, id, &w, e) || buf_check(&shown, e) ||
        json_read(shown.bytes, shown.len, &session, e))
        return -1;
    return copy_id(a->hands.session, text_at(session, "id"), e) ||
                   copy_id(a->hands.workspace, text_at(session, "workspace_id"), e)
               ? -1
               : 0;
}

/* The workspace, if they may write to it. */
static int find_workspace(struct answer *a, struct call *c, const char *named, struct err *e)
{
    struct workspace_row ws;
    bool is_known = *a->hands.workspace;
    if (named || !is_known) {
        if (named_workspace(c, named, RIGHT_WRITE, &ws, e))
            return -1;
        bool is_other = is_known && strcmp(ws.id, a->hands.workspace) != 0;
        memcpy(a->hands.workspace, ws.id, ID_SIZE);
        workspace_row_done(&ws);
        return is_other
                   ? err_set(e, ERR_INVALID,
                             "workspace: the session is in another one; leave one of the two out")
                   : 0;
    }
    if (named_workspace(c, a->hands.workspace, RIGHT_WRITE, &ws, e))
        return -1;
    workspace_row_done(&ws);
    return 0;
}

int past_load(struct answer *a, struct call *c, const char *workspace, const char *session,
              struct err *e)
{
    a->past = json_array();
    if (!a->past)
        return err_set(e, ERR_NO_MEMORY, "read the conversation so far");
    if (session && (strncmp(session, "ans_", 4) == 0 ? from_answer(a, session, e)
                                                     : from_session(a, c, session, e)))
        return err_wrap(e, "session");
    return find_workspace(a, c, workspace, e) || load_chain(a, e) ? -1 : 0;
}
