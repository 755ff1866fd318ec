/* ask.c -- questions to the client, and the state it carries for us between them.
 *
 * Without sessions a question is the result: the client comes again with the answers in inputResponses
 * and with requestState, which we gave it. That state is in a stranger's hands, so it is signed, with
 * whom it was given to, for which request and until when. With sessions a question is a request on the
 * stream of the answer, and the thread waits for the client's response.
 */
#include <inttypes.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/op.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/scope.h"
#include "mcp/ask.h"
#include "mcp/cancel.h"
#include "mcp/mcp_int.h"
#include "mcp/sessions.h"
#include "mcp/stream.h"
#include "json/read.h"

enum { ANSWER_S = 300, STATE_S = 3600, STATE_MAX = 64 << 10, STATE_KEY_LEN = 32 };

bool mcp_client_has(const struct mcp_call *m, const char *capability)
{
    return json_is_object(json_object_get(m->client, capability));
}

/* ---- state ---- */

/* The request as it is without what came back: the same question again is the same request. */
static int digest_request(struct mcp_call *m, char ret[HASH_HEX_SIZE], struct err *e)
{
    scoped(hash_done) struct hash h = {0};
    uint8_t digest[HASH_LEN];
    json_t *bare = json_copy(m->params); /* shallow: only its own members go */
    json_object_del(bare, "_meta");
    json_object_del(bare, "inputResponses");
    json_object_del(bare, "requestState");
    scoped(freep) char *text = json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(bare);
    if (!text)
        return err_set(e, ERR_NO_MEMORY, "read a request");
    if (hash_init(&h, e) || hash_add(&h, m->rpc->method, strlen(m->rpc->method) + 1, e) ||
        hash_add(&h, text, strlen(text), e) || hash_end(&h, digest, e))
        return -1;
    hash_hex(digest, ret);
    return 0;
}

/* Of everything that the state may be used for. */
static int sign_state(struct mcp_call *m, const char *expires, const char *state,
                      char ret[HASH_HEX_SIZE], struct err *e)
{
    char request[HASH_HEX_SIZE];
    scoped(buf_done) struct buf text = BUF_INIT(STATE_MAX);
    unsigned char mac[HASH_LEN];
    unsigned len = sizeof mac;
    if (digest_request(m, request, e))
        return -1;
    buf_fmt(&text, "mcp state\n%s\n%s\n%s\n%s", m->c->who.principal, request, expires, state);
    if (buf_check(&text, e))
        return -1;
    if (!HMAC(EVP_sha256(), m->mcp->o.state_key, STATE_KEY_LEN, (unsigned char *)text.bytes,
              text.len, mac, &len) ||
        len != HASH_LEN)
        return err_set(e, ERR_INTERNAL, "sign a state");
    hash_hex(mac, ret);
    return 0;
}

/* "EXPIRES.SIGNATURE.STATE" */
static int write_state(struct mcp_call *m, const char *state, struct err *e)
{
    char expires[24], signature[HASH_HEX_SIZE];
    scoped(buf_done) struct buf text = BUF_INIT(STATE_MAX);
    (void)snprintf(expires, sizeof expires, "%" PRId64, clock_wall_us() / 1000000 + STATE_S);
    if (sign_state(m, expires, state, signature, e))
        return -1;
    buf_fmt(&text, "%s.%s.", expires, signature);
    buf_str(&text, state);
    jw_key(&m->w, "requestState");
    jw_str(&m->w, text.bytes, text.len);
    return buf_check(&text, e);
}

int mcp_state(struct mcp_call *m, char **ret, struct err *e)
{
    json_t *given = json_object_get(m->params, "requestState");
    const char *text = json_string_value(given);
    char expires[24] = "", right[HASH_HEX_SIZE];
    *ret = NULL;
    if (!given)
        return 0;
    const char *dot = text ? strchr(text, '.') : NULL;
    size_t len = dot ? (size_t)(dot - text) : 0;
    const char *signature = dot ? dot + 1 : NULL;
    bool has_shape = dot && len < sizeof expires &&
                     strnlen(signature, HASH_HEX_SIZE) == HASH_HEX_SIZE &&
                     signature[HASH_HEX_SIZE - 1] == '.';
    if (!has_shape)
        return mcp_fail(m, RPC_PARAMS, e, "requestState is not one that was given by this server.");
    memcpy(expires, text, len);
    const char *state = signature + HASH_HEX_SIZE;
    if (sign_state(m, expires, state, right, e))
        return -1;
    if (CRYPTO_memcmp(right, signature, HASH_HEX_SIZE - 1) != 0)
        return mcp_fail(m, RPC_PARAMS, e,
                        "requestState is not one that was given by this server for this request.");
    if (strtoll(expires, NULL, 10) < clock_wall_us() / 1000000)
        return mcp_fail(m, RPC_PARAMS, e, "requestState has expired: begin anew without it.");
    *ret = strdup(state);
    return *ret ? 0 : err_set(e, ERR_NO_MEMORY, "read a state");
}

/* ---- without sessions ---- */

static const char *capability_of(const struct mcp_question *q)
{
    return strncmp(q->method, "elicitation/", 12) == 0 ? "elicitation"
           : strncmp(q->method, "sampling/", 9) == 0   ? "sampling"
                                                       : "roots";
}

static bool is_answer(const struct mcp_question *q, const json_t *answer)
{
    if (!json_is_object(answer))
        return false;
    if (strncmp(q->method, "elicitation/", 12) == 0)
        return json_is_string(json_object_get(answer, "action"));
    if (strncmp(q->method, "sampling/", 9) == 0)
        return json_object_get(answer, "content") != NULL;
    return json_is_array(json_object_get(answer, "roots"));
}

static int lacks(struct mcp_call *m, const char *capability, struct err *e)
{
    buf_fmt(&m->error_data, "{\"requiredCapabilities\":{\"%s\":{}}}", capability);
    m->http_status = 400;
    return mcp_fail(m, RPC_CAPABILITY, e, "This needs a client that can do %s.", capability);
}

static int write_questions(struct mcp_call *m, const struct mcp_question *questions, size_t count,
                           const char *state, struct err *e)
{
    jw_key(&m->w, "inputRequests");
    jw_object(&m->w);
    for (size_t i = 0; i < count; i++) {
        jw_key(&m->w, questions[i].key);
        jw_object(&m->w);
        jw_key(&m->w, "method");
        jw_text(&m->w, questions[i].method);
        jw_key(&m->w, "params");
        jw_raw(&m->w, questions[i].params, strlen(questions[i].params));
        jw_end_object(&m->w);
    }
    jw_end_object(&m->w);
    m->result_type = "input_required";
    return state ? write_state(m, state, e) : 0;
}

/* Answers to a question that we did not ask are none: without its state, it is asked anew. */
static int check_state(struct mcp_call *m, bool *ret_is_there, struct err *e)
{
    scoped(freep) char *state = NULL;
    if (mcp_state(m, &state, e))
        return -1;
    *ret_is_there = state != NULL;
    return 0;
}

static int ask_by_result(struct mcp_call *m, const struct mcp_question *questions, size_t count,
                         const char *state, struct json_t **ret, struct err *e)
{
    json_t *responses = json_object_get(m->params, "inputResponses");
    json_t *answers = json_object();
    bool is_all = answers != NULL;
    for (size_t i = 0; i < count && is_all; i++) {
        json_t *answer = json_object_get(responses, questions[i].key);
        is_all = is_answer(&questions[i], answer) &&
                 json_object_set(answers, questions[i].key, answer) == 0;
    }
    if (is_all && state && check_state(m, &is_all, e)) {
        json_decref(answers);
        return -1;
    }
    if (is_all) {
        *ret = answers;
        return 0;
    }
    json_decref(answers);
    return write_questions(m, questions, count, state, e);
}

/* ---- with sessions ---- */

struct mcp_wait {
    char id[32];
    json_t *message; /* the response, when it came; owned */
    struct mcp_wait *next;
};

void asked_answer(struct mcp_session *s, const struct rpc_message *response)
{
    const char *id = json_string_value(response->id);
    json_t *copy = json_deep_copy(response->json); /* each thread has values of its own */
    pthread_mutex_lock(&s->lock);
    for (struct mcp_wait *w = s->waits; w && id; w = w->next)
        if (strcmp(w->id, id) == 0 && !w->message)
            w->message = take(copy);
    pthread_cond_broadcast(&s->told);
    pthread_mutex_unlock(&s->lock);
    json_decref(copy);
}

static void enlist(struct mcp_session *s, struct mcp_wait *w)
{
    pthread_mutex_lock(&s->lock);
    (void)snprintf(w->id, sizeof w->id, "ask-%" PRIu64, ++s->ask_count);
    w->next = s->waits;
    s->waits = w;
    pthread_mutex_unlock(&s->lock);
}

static void unlist(struct mcp_session *s, struct mcp_wait *w)
{
    pthread_mutex_lock(&s->lock);
    for (struct mcp_wait **at = &s->waits; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    pthread_mutex_unlock(&s->lock);
}

static int wait_for(struct mcp_call *m, struct mcp_wait *w, struct err *e)
{
    struct mcp_session *s = m->session;
    struct timespec until;
    int late = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ANSWER_S;
    pthread_mutex_lock(&s->lock);
    while (!w->message && !s->is_ended && !late && !m->flight->is_cancelled)
        late = pthread_cond_timedwait(&s->told, &s->lock, &until);
    pthread_mutex_unlock(&s->lock);
    return w->message ? 0 : err_set(e, ERR_UNAVAILABLE, "the client did not answer the question");
}

static int ask_one(struct mcp_call *m, const struct mcp_question *q, json_t *answers, struct err *e)
{
    struct mcp_wait w = {0};
    scoped(buf_done) struct buf text = BUF_INIT(1 << 20);
    enlist(m->session, &w);
    buf_fmt(&text, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"%s\",\"params\":", w.id,
            q->method);
    buf_str(&text, q->params);
    buf_str(&text, "}");
    mcp_stream_send(m, (struct str){text.bytes, text.len});
    int failed =
        m->stream ? wait_for(m, &w, e) : err_set(e, ERR_UNSUPPORTED, "the client takes no streams");
    unlist(m->session, &w);
    json_t *result = json_object_get(w.message, "result");
    if (!failed && !json_is_object(result))
        failed = err_set(e, ERR_DENIED, "the client refused the question");
    if (!failed && json_object_set(answers, q->key, result))
        failed = err_set(e, ERR_NO_MEMORY, "read an answer");
    json_decref(w.message);
    return failed;
}

static int ask_by_stream(struct mcp_call *m, const struct mcp_question *questions, size_t count,
                         struct json_t **ret, struct err *e)
{
    json_t *answers = json_object();
    for (size_t i = 0; i < count; i++)
        if (!answers || ask_one(m, &questions[i], answers, e)) {
            json_decref(answers);
            return -1;
        }
    *ret = answers;
    return 0;
}

int mcp_ask(struct mcp_call *m, const struct mcp_question *questions, size_t count,
            const char *state, struct json_t **ret, struct err *e)
{
    *ret = NULL;
    for (size_t i = 0; i < count; i++)
        if (!mcp_client_has(m, capability_of(&questions[i])))
            return lacks(m, capability_of(&questions[i]), e);
    return m->is_modern ? ask_by_result(m, questions, count, state, ret, e)
                        : ask_by_stream(m, questions, count, ret, e);
}

/* ---- yes or no ---- */

static int judge(json_t *answers, bool *ret_go_on, struct err *e)
{
    json_t *answer = json_object_get(answers, "confirm");
    const char *action = json_string_value(json_object_get(answer, "action"));
    json_t *said = json_object_get(json_object_get(answer, "content"), "confirm");
    *ret_go_on = action && strcmp(action, "accept") == 0 && json_is_true(said);
    return *ret_go_on
               ? 0
               : err_set(e, ERR_DENIED, "the person in front of it said no: nothing was done");
}

int mcp_confirm(struct mcp_call *m, bool said, bool *ret_go_on, struct err *e, const char *fmt, ...)
{
    char question[512];
    json_t *answers = NULL;
    va_list ap;
    *ret_go_on = said;
    if (said)
        return 0;
    va_start(ap, fmt);
    (void)vsnprintf(question, sizeof question, fmt, ap);
    va_end(ap);
    if (!mcp_client_has(m, "elicitation")) {
        (void)snprintf(m->hint, sizeof m->hint,
                       "If that is what is wanted, call it again with confirm: true.");
        return err_set(e, ERR_CONFLICT, "this cannot be undone: %.200s", question);
    }
    scoped(buf_done) struct buf params = BUF_INIT(8 << 10);
    struct json_writer w = JSON_WRITER(&params);
    jw_object(&w);
    if (strcmp(m->version, MCP_VERSION_LEGACY) >= 0) {
        jw_key(&w, "mode");
        jw_text(&w, "form");
    }
    jw_key(&w, "message");
    jw_text(&w, question);
    jw_key(&w, "requestedSchema");
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"confirm\":{\"type\":\"boolean\",\"title\":"
        "\"Do it\",\"default\":false}},\"required\":[\"confirm\"]}";
    jw_raw(&w, schema, sizeof schema - 1);
    jw_end_object(&w);
    const struct mcp_question q = {"confirm", "elicitation/create", params.bytes};
    if (buf_check(&params, e) || mcp_ask(m, &q, 1, "confirm", &answers, e))
        return -1;
    if (!answers)
        return 0; /* the result is the question */
    int failed = judge(answers, ret_go_on, e);
    json_decref(answers);
    return failed;
}
