#include "cli/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"

/* A program that is started in place of cicada, and its surroundings. */
struct place {
    struct scratch scratch;
    char program[128], socket_path[128], log_path[128];
};

static void place_init(struct place *p, const char *script)
{
    p->scratch = scratch_new();
    scratch_write(&p->scratch, "serve", script);
    (void)snprintf(p->program, sizeof p->program, "%s/serve", p->scratch.path);
    (void)snprintf(p->socket_path, sizeof p->socket_path, "%s/cicada.sock", p->scratch.path);
    (void)snprintf(p->log_path, sizeof p->log_path, "%s/log", p->scratch.path);
    assert_int_equal(chmod(p->program, 0700), 0);
}

static void place_done(struct place *p)
{
    scratch_done(&p->scratch);
}

static int launch(const struct place *p, unsigned timeout_ms, struct err *e)
{
    const struct launch l = {.program = p->program,
                             .socket_path = p->socket_path,
                             .log_path = p->log_path,
                             .timeout_ms = timeout_ms};
    return launch_server(&l, e);
}

/* Serves until somebody asks for /quit; counts how often it was started. */
static const char server[] =
    "#!/usr/bin/python3\n"
    "import os, socket, sys\n"
    "words = sys.argv[1:]\n"
    "assert words[:2] == ['serve', '--listen'], words\n"
    "path = words[2].removeprefix('unix:')\n"
    "assert words[3:] == ['--idle-exit', '300'], words\n"
    "with open(os.path.dirname(path) + '/starts', 'a') as f: f.write('x')\n"
    "assert os.getcwd() == '/' and os.getsid(0) == os.getpid()\n"
    "s = socket.socket(socket.AF_UNIX)\n"
    "s.bind(path)\n"
    "s.listen(8)\n"
    "while True:\n"
    "    c, _ = s.accept()\n"
    "    line = c.recv(4096).split(b'\\r\\n')[0]\n"
    "    if line.startswith(b'GET /quit'):\n"
    "        sys.exit()\n"
    "    c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n')\n"
    "    c.close()\n";

static void quit(const struct place *p)
{
    char line[300];
    (void)snprintf(line, sizeof line,
                   "import socket; s = socket.socket(socket.AF_UNIX); s.connect('%s'); "
                   "s.sendall(b'GET /quit'); s.recv(1)",
                   p->socket_path);
    pid_t child = fork();
    if (child == 0) {
        execl("/usr/bin/python3", "python3", "-c", line, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static size_t starts(const struct place *p)
{
    struct stat st;
    return fstatat(p->scratch.fd, "starts", &st, 0) ? 0 : (size_t)st.st_size;
}

static void it_returns_when_the_server_answers(void **state)
{
    scoped(place_done) struct place p;
    struct err e = {0};
    (void)state;
    place_init(&p, server);
    int failed = launch(&p, 20000, &e);
    if (failed)
        print_error("%s\n", e.text);
    assert_int_equal(failed, 0);
    assert_int_equal(launch(&p, 20000, &e), 0);
    assert_int_equal(starts(&p), 1);
    quit(&p);
    (void)wait(NULL);
}

static void of_many_at_once_only_one_starts_a_server(void **state)
{
    enum { MANY = 8 };
    scoped(place_done) struct place p;
    pid_t children[MANY];
    (void)state;
    place_init(&p, server);
    for (int i = 0; i < MANY; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct err e = {0};
            _exit(launch(&p, 20000, &e) ? 1 : 0);
        }
    }
    for (int i = 0; i < MANY; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(starts(&p), 1);
    quit(&p);
}

static void a_server_that_dies_is_told_with_its_last_line(void **state)
{
    scoped(place_done) struct place p;
    struct err e = {0};
    (void)state;
    place_init(&p, "#!/bin/sh\necho starting\necho 'cicada: the data directory is in use' >&2\n"
                   "exit 3\n");
    assert_int_equal(launch(&p, 20000, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_string_equal(e.text,
                        "the server that was started ended at once: the data directory is in use");
}

static void a_server_that_dies_silently_is_told_with_its_code(void **state)
{
    scoped(place_done) struct place p;
    struct err e = {0};
    (void)state;
    place_init(&p, "#!/bin/sh\nexit 3\n");
    assert_int_equal(launch(&p, 20000, &e), -1);
    assert_non_null(strstr(e.text, "with code 3"));
}

static void a_server_that_never_answers_is_killed(void **state)
{
    scoped(place_done) struct place p;
    struct err e = {0};
    (void)state;
    place_init(&p, "#!/bin/sh\nexec sleep 600\n");
    assert_int_equal(launch(&p, 100, &e), -1);
    assert_non_null(strstr(e.text, "did not answer"));
    assert_int_equal(wait(NULL), -1); /* it was reaped */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_returns_when_the_server_answers),
        cmocka_unit_test(of_many_at_once_only_one_starts_a_server),
        cmocka_unit_test(a_server_that_dies_is_told_with_its_last_line),
        cmocka_unit_test(a_server_that_dies_silently_is_told_with_its_code),
        cmocka_unit_test(a_server_that_never_answers_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
