/* Talks to a server in a thread of this program that says what the test wants. */
#include "meaning/endpoint.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/expect.h"
#include "base/scope.h"
#include "meaning/embeddings.h"
#include "meaning/meaning.h"

enum { REQUEST_SIZE = 256 << 10, DIM = 3 };

/* Answers connections one by one until it is closed. */
struct standin {
    int fd;
    pthread_t thread;
    char url[64];
    const char *answer; /* NULL: vectors for all texts */
    size_t padding;     /* blanks after it */
    int status;
    unsigned asked;      /* requests so far */
    unsigned text_count; /* of the last one */
    char request[REQUEST_SIZE];
};

static size_t body_length(const char *head)
{
    const char *at = strcasestr(head, "content-length:");
    return at ? strtoull(at + 15, NULL, 10) : 0;
}

/* Reads a whole request; false when the client is gone. */
static bool read_request(struct standin *p, int fd)
{
    size_t len = 0;
    for (;;) {
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

/* The n-th text has the vector (1, n, 0), last one first. */
static void put_vectors(struct standin *p, struct buf *out)
{
    const char *at = strstr(p->request, "\"input\":[");
    unsigned count = 0;
    for (at = at ? at + 9 : ""; *at == '"' || *at == ','; at++)
        if (*at == '"') {
            at += 1 + strcspn(at + 1, "\"");
            count++;
        }
    p->text_count = count;
    buf_str(out, "{\"data\":[");
    for (unsigned i = count; i-- > 0;)
        buf_fmt(out, "{\"index\":%u,\"embedding\":[1,%u,0]}%s", i, i, i ? "," : "");
    buf_str(out, "]}");
}

static void answer(struct standin *p, int fd)
{
    scoped(buf_done) struct buf body = BUF_INIT(64 << 20), out = BUF_INIT(64 << 20);
    if (p->answer)
        buf_str(&body, p->answer);
    else
        put_vectors(p, &body);
    for (size_t i = 0; i < p->padding; i++)
        buf_add(&body, " ", 1);
    buf_fmt(&out,
            "HTTP/1.1 %d Said\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: %zu\r\n\r\n",
            p->status, body.len);
    buf_add(&out, body.bytes, body.len);
    for (size_t at = 0; at < out.len;) {
        ssize_t sent = send(fd, out.bytes + at, out.len - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        at += (size_t)sent;
    }
}

static void *serve(void *arg)
{
    struct standin *p = arg;
    for (;;) {
        scoped(fd_closep) int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        while (read_request(p, fd)) {
            p->asked++;
            answer(p, fd);
        }
    }
}

static struct standin *standin_new(void)
{
    struct standin *p = calloc(1, sizeof *p);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    assert_non_null(p);
    p->status = 200;
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(p->fd, 8), 0);
    assert_int_equal(getsockname(p->fd, (struct sockaddr *)&at, &len), 0);
    (void)snprintf(p->url, sizeof p->url, "http://127.0.0.1:%d/v1", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
    return p;
}

static void standin_freep(struct standin **p)
{
    (void)shutdown((*p)->fd, SHUT_RDWR);
    (void)pthread_join((*p)->thread, NULL);
    (void)close((*p)->fd);
    free(*p);
}

static void endpoint_freep(struct endpoint **r)
{
    endpoint_free(*r);
}

static struct endpoint *connect_to(const char *url)
{
    struct endpoint *r = NULL;
    OK(endpoint_new(&(struct meaning_options){.url = url, .key = "sesame", .model = "m"}, &r, e));
    return r;
}

static void a_request_is_what_such_an_endpoint_expects(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(endpoint_freep) struct endpoint *r = connect_to(p->url);
    uint32_t dim = 0;
    OK(endpoint_dim(r, &dim, e));
    assert_int_equal(dim, DIM);
    assert_int_equal(strncmp(p->request, "POST /v1/embeddings HTTP/1.1\r\n", 30), 0);
    assert_non_null(strstr(p->request, "\r\nAuthorization: Bearer sesame\r\n"));
    assert_non_null(strstr(p->request, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(p->request, "{\"model\":\"m\",\"input\":[\"cicada\"]}"));
}

static void many_texts_are_several_requests_and_empty_ones_are_none(void **state)
{
    (void)state;
    enum { COUNT = EMBEDDINGS_COUNT_MAX + 3 };
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(endpoint_freep) struct endpoint *r = connect_to(p->url);
    struct str texts[COUNT];
    int8_t vectors[COUNT * DIM];
    for (size_t i = 0; i < COUNT; i++)
        texts[i] = str_of(i == 1 ? " \n" : "text");
    OK(endpoint_encode(r, texts, COUNT, DIM, vectors, e));
    assert_int_equal(p->asked, 2);
    assert_int_equal(p->text_count, 2); /* of the second */
    assert_int_equal(vectors[0], 127);
    assert_int_equal(vectors[1], 0);
    assert_int_equal(vectors[DIM], 0);       /* the empty one */
    assert_int_equal(vectors[2 * DIM], 127); /* the second that was sent: (1, 1, 0) */
    assert_int_equal(vectors[2 * DIM + 1], 127);
    assert_int_equal(vectors[3 * DIM], 64);                /* (1, 2, 0) */
    assert_int_equal(vectors[(COUNT - 1) * DIM + 1], 127); /* (1, 1, 0) again */
    OK(endpoint_encode(r, texts + 1, 1, DIM, vectors, e));
    assert_int_equal(p->asked, 2);
}

static void a_refusal_says_where_to_look_and_not_the_key(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *answer, *says;
    } cases[] = {
        {401, "{\"error\":{\"message\":\"bad key sesame\"}}", "search.key"},
        {404, "{\"error\":{\"message\":\"no model m\"}}", "no model m"},
        {429, "", "pause"},
        {500, "<html>", "(500)"},
        {302, "", "(302)"},
    };
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(endpoint_freep) struct endpoint *r = connect_to(p->url);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        uint32_t dim = 0;
        p->status = cases[i].status;
        p->answer = cases[i].answer;
        assert_int_equal(endpoint_dim(r, &dim, &e), -1);
        assert_int_equal(e.code, ERR_UNAVAILABLE);
        assert_non_null(strstr(e.text, cases[i].says));
        assert_null(strstr(e.text, "sesame"));
    }
}

static void a_vector_of_another_dimension_is_refused(void **state)
{
    (void)state;
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(endpoint_freep) struct endpoint *r = connect_to(p->url);
    const struct str text = str_of("text");
    int8_t vector[8];
    FAILS(ERR_PROTOCOL, endpoint_encode(r, &text, 1, 4, vector, e));
}

static void the_longest_answer_is_read_and_one_byte_more_is_not(void **state)
{
    (void)state;
    static const char body[] = "{\"data\":[{\"index\":0,\"embedding\":[1,2,3]}]}";
    scoped(standin_freep) struct standin *p = standin_new();
    scoped(endpoint_freep) struct endpoint *r = connect_to(p->url);
    const struct str text = str_of("text");
    int8_t vector[DIM];
    p->answer = body;
    p->padding = EMBEDDINGS_ANSWER_MAX - strlen(body);
    OK(endpoint_encode(r, &text, 1, DIM, vector, e));
    p->padding++;
    FAILS(ERR_PROTOCOL, endpoint_encode(r, &text, 1, DIM, vector, e));
}

static void nobody_there_is_unavailable(void **state)
{
    (void)state;
    scoped(endpoint_freep) struct endpoint *r = connect_to("http://127.0.0.1:1/v1/embeddings/");
    uint32_t dim = 0;
    FAILS(ERR_UNAVAILABLE, endpoint_dim(r, &dim, e));
}

static void options_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct meaning_options bad[] = {
        {.url = "ftp://a/v1", .model = "m"},
        {.url = "api.example.com", .model = "m"},
        {.url = "https://me:secret@a/v1", .model = "m"},
        {.url = "https://a/v1?key=1", .model = "m"},
        {.url = "https://a/v1", .model = ""},
        {.url = "https://a/v1"},
        {.url = "https://a/v1", .model = "m", .key = "a\r\nX-Other: b"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct endpoint *r = NULL;
        FAILS(ERR_INVALID, endpoint_new(&bad[i], &r, e));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_what_such_an_endpoint_expects),
        cmocka_unit_test(many_texts_are_several_requests_and_empty_ones_are_none),
        cmocka_unit_test(a_refusal_says_where_to_look_and_not_the_key),
        cmocka_unit_test(a_vector_of_another_dimension_is_refused),
        cmocka_unit_test(the_longest_answer_is_read_and_one_byte_more_is_not),
        cmocka_unit_test(nobody_there_is_unavailable),
        cmocka_unit_test(options_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
