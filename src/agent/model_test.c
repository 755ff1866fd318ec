/* Asks a server in a thread of this program that says what the test wants. */
#include "agent/model.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "agent/halt.h"
#include "agent/model_int.h"
#include "base/clock.h"
#include "base/expect.h"
#include "base/scope.h"

enum { REQUEST_SIZE = 64 << 10, ANSWERS_MAX = 8 };

/* Answers connections one by one until it is closed: the n-th request gets the n-th answer, the rest the last. */
struct standin {
    int fd;
    pthread_t thread;
    char url[64];
    const char *answers[ANSWERS_MAX]; /* whole, with their heads; NULL: silence until they leave */
    unsigned asked;
    bool is_stopped;
    bool has_left;     /* who met silence left */
    struct halt *halt; /* is called off as soon as somebody asks */
    char request[REQUEST_SIZE];
};

static size_t body_length(const char *head)
{
    const char *at = strcasestr(head, "content-length:");
    return at ? strtoull(at + 15, NULL, 10) : 0;
}

static bool read_request(struct standin *p, int fd)
{
    for (size_t len = 0;;) {
        ssize_t got = read(fd, p->request + len, REQUEST_SIZE - 1 - len);
        if (got <= 0)
            return false;
        len += (size_t)got;
        p->request[len] = '\0';
        const char *body = strstr(p->request, "\r\n\r\n");
        if (body && strlen(body + 4) >= body_length(p->request))
            return true;
    }
}

/* What it says goes out in pieces of 7 bytes. */
static void say(int fd, const char *text)
{
    for (size_t at = 0, len = strlen(text); at < len;) {
        ssize_t sent = send(fd, text + at, len - at < 7 ? len - at : 7, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        at += (size_t)sent;
    }
}

static void wait_until_they_leave(struct standin *p, int fd)
{
    char byte;
    if (p->halt)
        halt_now(p->halt);
    p->has_left = read(fd, &byte, 1) <= 0;
}

static void *serve(void *arg)
{
    struct standin *p = arg;
    for (;;) {
        scoped(fd_closep) int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        while (read_request(p, fd)) {
            unsigned n = p->asked++;
            while (n > 0 && !p->answers[n])
                n--;
            if (!p->answers[n]) {
                wait_until_they_leave(p, fd);
                break;
            }
            say(fd, p->answers[n]);
            if (strstr(p->answers[n], "Connection: close"))
                break;
        }
    }
}

static struct standin *standin_new(void)
{
    struct standin *p = calloc(1, sizeof *p);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    assert_non_null(p);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(p->fd, 8), 0);
    assert_int_equal(getsockname(p->fd, (struct sockaddr *)&at, &len), 0);
    (void)snprintf(p->url, sizeof p->url, "http://127.0.0.1:%d/v1/", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
    return p;
}

/* What it noted can be read from here on, even after silence. */
static void standin_stop(struct standin *p)
{
    if (p->is_stopped)
        return;
    (void)shutdown(p->fd, SHUT_RDWR);
    (void)pthread_join(p->thread, NULL);
    p->is_stopped = true;
}

static void standin_freep(struct standin **p)
{
    standin_stop(*p);
    (void)close((*p)->fd);
    free(*p);
}

static void model_closep(struct model **m)
{
    model_close(*m);
}

static struct model *open_at(const char *url, uint32_t retries)
{
    struct model *m = NULL;
    OK(model_open(
        &(struct model_options){
            .url = url, .key = "sesame-123", .name = "m", .timeout_ms = 20000, .retries = retries},
        &m, e));
    return m;
}

#define HEAD(status, more) "HTTP/1.1 " status " Said\r\nConnection: close\r\n" more "\r\n"
#define STREAM HEAD("200", "Content-Type: text/event-stream\r\n")
#define CHUNK(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define END "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
#define NOW "retry-after-ms: 1\r\n"

struct asked {
    int failed;
    struct err e;
    struct model_answer a;
};

static void asked_done(struct asked *a)
{
    model_answer_done(&a->a);
}

static struct asked ask_with(struct model *m, struct halt *halt, const struct model_sink *sink,
                             const json_t *tools)
{
    struct asked r = {0};
    scoped(json_decrefp) json_t *items = json_pack("[{s:s, s:s}]", "role", "user", "content", "hi");
    const struct model_question q = {.items = items, .tools = tools};
    r.failed = model_ask(m, &q, sink, halt, &r.a, &r.e);
    return r;
}

static struct asked ask(struct model *m)
{
    return ask_with(m, NULL, NULL, NULL);
}

/* The same with one answer and no second try. */
static struct asked ask_once(const char *answer, char request[REQUEST_SIZE])
{
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 0);
    p->answers[0] = answer;
    struct asked r = ask(m);
    if (request)
        memcpy(request, p->request, REQUEST_SIZE);
    return r;
}

/* ---- what works ---- */

static void a_question_is_answered(void **state)
{
    (void)state;
    static char request[REQUEST_SIZE];
    scoped(asked_done) struct asked r =
        ask_once(STREAM ": PROCESSING\n\n" CHUNK("a\xc3\xa4") CHUNK("b") END, request);
    assert_int_equal(r.failed, 0);
    assert_string_equal(r.a.text.bytes, "a\xc3\xa4"
                                        "b");
    assert_int_equal(r.a.tries, 1);
    assert_int_equal(strncmp(request, "POST /v1/chat/completions HTTP/1.1\r\n", 36), 0);
    assert_non_null(strstr(request, "\r\nAuthorization: Bearer sesame-123\r\n"));
    assert_non_null(strstr(request, "\"model\":\"m\""));
}

static void streams_and_answers_come_in_many_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {
        STREAM CHUNK("ok") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        STREAM CHUNK("ok") "data: [DONE]",
        STREAM "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"}}]}\r\n\r\ndata: [DONE]\r\n\r\n",
        HEAD("200", "") CHUNK("ok") END,
        HEAD(
            "200",
            "Content-Type: application/json\r\n") "{\"choices\":[{\"message\":{\"content\":\"ok\"}}]}",
        HEAD(
            "200",
            "Content-Type: text/event-stream\r\n") "\n {\"choices\":[{\"message\":{\"content\":\"ok\"}}]}",
        "HTTP/1.1 100 Continue\r\n\r\n" STREAM CHUNK("ok") END,
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        scoped(asked_done) struct asked r = ask_once(forms[i], NULL);
        if (r.failed)
            fail_msg("%zu: %s", i, r.e.text);
        assert_string_equal(r.a.text.bytes, "ok");
    }
}

static void connections_are_used_again(void **state)
{
    (void)state;
    static const char answer[] =
        "HTTP/1.1 200 Said\r\nContent-Length: 56\r\n\r\n"
        "{\"choices\":[{\"message\":{\"content\":\"ok\"}}],\"a\":\"bcdef\"}  ";
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 0);
    p->answers[0] = answer;
    for (int i = 0; i < 3; i++) { /* a second connection would wait for the end of the first */
        scoped(asked_done) struct asked r = ask(m);
        assert_int_equal(r.failed, 0);
    }
    assert_int_equal(p->asked, 3);
}

/* ---- trying again ---- */

static void what_passes_is_tried_again(void **state)
{
    (void)state;
    static const char *const passing[] = {
        HEAD("429", NOW) "{}",
        HEAD("500", NOW) "<html>",
        HEAD("503", NOW),
        HEAD("408", NOW),
        STREAM, /* cut off before anything came */
        "HTTP/1.1 200 Said\r\nContent-Length: 9999\r\nConnection: close\r\n\r\n: hello\n\n",
        STREAM "data: {\"error\":{\"message\":\"overloaded\"}}\n\n",
    };
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        scoped(standin_freep) struct standin *p = standin_new();
        scoped(model_closep) struct model *m = open_at(p->url, 1);
        p->answers[0] = passing[i];
        p->answers[1] = STREAM CHUNK("ok") END;
        scoped(asked_done) struct asked r = ask(m);
        if (r.failed)
            fail_msg("%zu: %s", i, r.e.text);
        assert_string_equal(r.a.text.bytes, "ok");
        assert_int_equal(r.a.tries, 2);
    }
}

static void what_was_passed_on_cannot_be_taken_back(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 3);
    p->answers[0] = STREAM CHUNK("half");
    p->answers[1] = STREAM CHUNK("ok") END;
    scoped(asked_done) struct asked r = ask(m);
    assert_int_equal(r.failed, -1);
    assert_int_equal(r.e.code, ERR_UNAVAILABLE);
    assert_int_equal(p->asked, 1);
    assert_string_equal(r.a.text.bytes, "half");
}

static void there_is_an_end_to_trying(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 2);
    p->answers[0] =
        HEAD("429", NOW) "{\"error\":{\"message\":\"slow down\",\"type\":\"t\",\"code\":\"c\"}}";
    scoped(asked_done) struct asked r = ask(m);
    assert_int_equal(r.e.code, ERR_LIMIT);
    assert_non_null(strstr(r.e.text, "slow down"));
    assert_int_equal(p->asked, 3);
    assert_int_equal(r.a.tries, 3);
    assert_int_equal(r.a.status, 429);
    assert_string_equal(r.a.code, "c");
    assert_string_equal(r.a.type, "t");
}

static void what_does_not_pass_is_not_tried_again(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        enum err_code code;
        const char *says;
    } cases[] = {
        {HEAD("400", NOW) "{\"error\":{\"message\":\"bad sesame-123\"}}", ERR_INVALID, "bad ***"},
        {HEAD("401", NOW) "{\"error\":{\"message\":\"bad sesame-123\"}}", ERR_UNAVAILABLE,
         "model.key"},
        {HEAD("403", NOW) "sesame", ERR_UNAVAILABLE, "model.key"},
        {HEAD("404", NOW) "<html>", ERR_UNAVAILABLE, "model.url"},
        {HEAD("404", NOW) "{\"error\":\"no model m\"}", ERR_INVALID, "no model m"},
        {HEAD("302", "Location: http://127.0.0.1:1/\r\n"), ERR_UNAVAILABLE, "model.url"},
        {HEAD("429", NOW) "{\"error\":{\"message\":\"pay\",\"code\":\"insufficient_quota\"}}",
         ERR_LIMIT, "pay"},
        {HEAD("200", "Content-Type: text/html\r\n") "<html>", ERR_PROTOCOL, "not JSON"},
        {STREAM "data: nonsense\n\n", ERR_PROTOCOL, "not JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(standin_freep) struct standin *p = standin_new();
        scoped(model_closep) struct model *m = open_at(p->url, 2);
        p->answers[0] = cases[i].answer;
        scoped(asked_done) struct asked r = ask(m);
        assert_int_equal(r.failed, -1);
        if (r.e.code != cases[i].code || !strstr(r.e.text, cases[i].says))
            fail_msg("%zu: %s: %s", i, err_wire(r.e.code), r.e.text);
        assert_null(strstr(r.e.text, "sesame"));
        assert_int_equal(p->asked, 1);
    }
}

static void a_parameter_it_does_not_know_is_left_out_from_then_on(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 0);
    p->answers[0] = HEAD("400", "") "{\"error\":{\"message\":\"unknown field stream_options\"}}";
    p->answers[1] = STREAM CHUNK("ok") END;
    for (unsigned i = 0; i < 2; i++) {
        scoped(asked_done) struct asked r = ask(m);
        assert_int_equal(r.failed, 0);
        assert_int_equal(r.a.tries, 2 - i);
        assert_null(strstr(p->request, "stream_options"));
    }
}

/* The word was the client's; others are none the worse for it. */
static void a_word_in_a_refusal_that_stays_is_not_learnt(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 0);
    p->answers[0] = p->answers[1] =
        HEAD("400", "") "{\"error\":{\"message\":\"bad schema of function 'stream_options'\"}}";
    p->answers[2] = STREAM CHUNK("ok") END;
    scoped(asked_done) struct asked refused = ask(m);
    assert_int_equal(refused.failed, -1);
    assert_int_equal(refused.a.tries, 2);
    scoped(asked_done) struct asked other = ask(m);
    assert_int_equal(other.failed, 0);
    assert_non_null(strstr(p->request, "stream_options"));
}

static void a_model_without_tools_is_found_out(void **state)
{
    (void)state;
    static const char *const ways[] = {
        HEAD("400", "") "{\"error\":{\"message\":\"library/m does not support tools\"}}",
        HEAD("500", "") "{\"error\":{\"message\":\"tools param requires --jinja flag\"}}",
        HEAD("400",
             "") "{\"message\":\"\\\"auto\\\" tool choice requires --enable-auto-tool-choice\"}",
        HEAD("404", "") "{\"error\":{\"message\":\"No endpoints found that support tool use\"}}",
    };
    scoped(json_decrefp) json_t *tools = json_pack("[{s:s}]", "name", "python");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        scoped(standin_freep) struct standin *p = standin_new();
        scoped(model_closep) struct model *m = open_at(p->url, 3);
        p->answers[0] = ways[i];
        scoped(asked_done) struct asked r = ask_with(m, NULL, NULL, tools);
        assert_int_equal(r.failed, -1);
        assert_true(r.a.lacks_tools);
        assert_int_equal(p->asked, 1);
        scoped(asked_done) struct asked without = ask(m);
        assert_false(without.a.lacks_tools);
    }
}

static void nobody_there_is_unavailable(void **state)
{
    (void)state;
    scoped(model_closep) struct model *m = open_at("http://127.0.0.1:1/v1", 0);
    scoped(asked_done) struct asked r = ask(m);
    assert_int_equal(r.e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(r.e.text, "model.url"));
}

static void pauses_grow_and_are_bounded(void **state)
{
    (void)state;
    for (unsigned tries = 1; tries < 40; tries++) {
        uint32_t most = tries > 4 ? 8000 : 500U << (tries - 1);
        uint32_t ms = model_pause_ms(tries, 0);
        assert_true(ms <= most && ms > most * 3 / 4 - 1);
    }
    assert_int_equal(model_pause_ms(1, 12000), 12000);
    assert_int_equal(model_pause_ms(1, 3600000), 30000);
}

/* ---- calling it off ---- */

static void silence_is_ended_by_a_halt_at_once(void **state)
{
    (void)state;
    struct halt halt;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 3);
    halt_init(&halt);
    p->halt = &halt; /* the server calls it off once it was asked */
    int64_t begin_us = clock_us();
    scoped(asked_done) struct asked r = ask_with(m, &halt, NULL, NULL);
    assert_int_equal(r.e.code, ERR_GONE);
    assert_true(clock_us() - begin_us < 10000000);
    standin_stop(p);
    assert_true(p->has_left);
    halt_done(&halt);
}

static void *halt_it(void *halt)
{
    halt_now(halt);
    return NULL;
}

static void a_pause_is_ended_by_a_halt_at_once(void **state)
{
    (void)state;
    struct halt halt;
    pthread_t thread;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 3);
    p->answers[0] = HEAD("429", "Retry-After: 30\r\n");
    halt_init(&halt);
    int64_t begin_us = clock_us();
    assert_int_equal(pthread_create(&thread, NULL, halt_it, &halt), 0);
    scoped(asked_done) struct asked r = ask_with(m, &halt, NULL, NULL);
    assert_int_equal(r.e.code, ERR_GONE);
    assert_true(clock_us() - begin_us < 10000000);
    (void)pthread_join(thread, NULL);
    halt_done(&halt);
}

static int enough(void *arg, struct str text)
{
    (void)arg, (void)text;
    return -1;
}

static void who_has_enough_ends_it(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 3);
    p->answers[0] = STREAM CHUNK("a") END;
    scoped(asked_done) struct asked r =
        ask_with(m, NULL, &(struct model_sink){.text = enough}, NULL);
    assert_int_equal(r.e.code, ERR_GONE);
    assert_int_equal(p->asked, 1);
}

static void silence_has_an_end(void **state)
{
    (void)state;
    struct model *m = NULL;
    scoped(standin_freep) struct standin *p = standin_new();
    OK(model_open(&(struct model_options){.url = p->url, .name = "m", .timeout_ms = 50}, &m, e));
    scoped(asked_done) struct asked r = ask(m);
    assert_int_equal(r.e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(r.e.text, "model.timeout_s"));
    standin_stop(p);
    assert_null(strstr(p->request, "Authorization"));
    model_close(m);
}

static void an_answer_has_an_end_whatever_is_said(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 3);
    m->whole_ms = 50;
    scoped(asked_done) struct asked r = ask(m);
    assert_int_equal(r.e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(r.e.text, "does not end"));
    assert_int_equal(r.a.tries, 1);
}

/* ---- the rest ---- */

static void models_are_listed(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 1);
    scoped(json_decrefp) json_t *list = NULL;
    p->answers[0] = HEAD("503", NOW);
    p->answers[1] = HEAD("200", "") "{\"data\":[{\"id\":\"a\"}]}";
    p->answers[2] = HEAD("200", "") "{\"models\":[]}";
    OK(model_list(m, NULL, &list, e));
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(strncmp(p->request, "GET /v1/models HTTP/1.1\r\n", 25), 0);
    FAILS(ERR_PROTOCOL, model_list(m, NULL, &list, e));
}

struct passed {
    int status;
    struct buf bytes;
};

static int pass_begin(void *arg, int status, const char *type)
{
    struct passed *p = arg;
    assert_string_equal(type, "text/plain");
    p->status = status;
    return 0;
}

static int pass_bytes(void *arg, struct str bytes)
{
    struct passed *p = arg;
    buf_add(&p->bytes, bytes.ptr, bytes.len);
    return 0;
}

#define PLAIN "Content-Type: text/plain\r\n"

static void a_request_is_passed_on_and_its_answer_back_without_the_key(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(model_closep) struct model *m = open_at(p->url, 1);
    const char *const answers[] = {
        HEAD("200", PLAIN) "sesame sesame-12 sesame-123, sesame-1234 ses",
        HEAD("400", PLAIN) "sesame-123?", HEAD("401", PLAIN) "sesame-123?",
        HEAD("600", PLAIN) "what is that?"};
    static const char *const wanted[] = {"sesame sesame-12 ***, ***4 ses", "***?"};
    memcpy(p->answers, answers, sizeof answers);
    for (int i = 0; i < 2; i++) {
        struct passed got = {.bytes = BUF_INIT(1000)};
        const struct model_pipe pipe = {.begin = pass_begin, .bytes = pass_bytes, .arg = &got};
        OK(model_forward(m, "chat/completions", str_of("{\"x\":1}"), &pipe, NULL, e));
        assert_string_equal(got.bytes.bytes, wanted[i]);
        assert_int_equal(got.status, i ? 400 : 200);
        assert_non_null(strstr(p->request, "\r\n\r\n{\"x\":1}"));
        buf_done(&got.bytes);
    }
    struct passed got = {.bytes = BUF_INIT(1000)};
    const struct model_pipe pipe = {.begin = pass_begin, .bytes = pass_bytes, .arg = &got};
    for (int i = 0; i < 2; i++)
        FAILS(ERR_UNAVAILABLE, model_forward(m, "x", str_of("{}"), &pipe, NULL, e));
    assert_int_equal(got.status, 0);
}

static void options_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct model_options bad[] = {
        {.url = "ftp://a/v1", .name = "m"},
        {.url = "api.example.com", .name = "m"},
        {.url = "https://me:key@a/v1", .name = "m"},
        {.url = "https://a/v1?key=1", .name = "m"},
        {.url = "https://a/v1", .name = ""},
        {.url = "https://a/v1"},
        {.url = "https://a/v1", .name = "m", .key = "a\r\nX-Other: b"},
        {.name = "m"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct model *m = NULL;
        FAILS(ERR_INVALID, model_open(&bad[i], &m, e));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_answered),
        cmocka_unit_test(streams_and_answers_come_in_many_forms),
        cmocka_unit_test(connections_are_used_again),
        cmocka_unit_test(what_passes_is_tried_again),
        cmocka_unit_test(what_was_passed_on_cannot_be_taken_back),
        cmocka_unit_test(there_is_an_end_to_trying),
        cmocka_unit_test(what_does_not_pass_is_not_tried_again),
        cmocka_unit_test(a_parameter_it_does_not_know_is_left_out_from_then_on),
        cmocka_unit_test(a_word_in_a_refusal_that_stays_is_not_learnt),
        cmocka_unit_test(a_model_without_tools_is_found_out),
        cmocka_unit_test(nobody_there_is_unavailable),
        cmocka_unit_test(pauses_grow_and_are_bounded),
        cmocka_unit_test(silence_is_ended_by_a_halt_at_once),
        cmocka_unit_test(a_pause_is_ended_by_a_halt_at_once),
        cmocka_unit_test(who_has_enough_ends_it),
        cmocka_unit_test(silence_has_an_end),
        cmocka_unit_test(an_answer_has_an_end_whatever_is_said),
        cmocka_unit_test(models_are_listed),
        cmocka_unit_test(a_request_is_passed_on_and_its_answer_back_without_the_key),
        cmocka_unit_test(options_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
