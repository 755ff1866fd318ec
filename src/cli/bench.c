/* `cicada bench`: see bench.h. */
#include "cli/bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/note.h"

enum { OPT_ROUNDS = 1, OPT_LIVE, OPT_ASLEEP, OPT_HELP, TABLE_MAX = 64 << 10 };

static const struct option bench_options[] = {
    {OPT_ROUNDS, 'n', "rounds", "N", "samples of each kind (20)"},
    {OPT_LIVE, 0, "live", "N", "sessions to hold awake at once (100; 0: leave it out)"},
    {OPT_ASLEEP, 0, "asleep", "N", "sessions to put to sleep at once (200; 0: leave it out)"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};

void bench_help(struct buf *out)
{
    buf_str(out,
            "usage: cicada bench kernel [options]\n\n"
            "Measures how fast sessions start, answer, sleep, wake and branch on this host,\n"
            "beside python3 and, if it is installed, ipykernel. Takes about a minute and\n"
            "needs an image (`cicada bake`). Compare ratios, not times, between machines.\n\n");
    args_help(bench_options, out);
    buf_str(out, "\nexit code:\n"
                 "    0  measured\n"
                 "    2  the command line is wrong\n"
                 "  125  something could not be measured\n");
}

static int measure_and_print(const struct bench_size *size)
{
    struct notes notes = notes_to_stderr();
    scoped(freep) struct bench_own *own = calloc(1, sizeof *own);
    scoped(freep) struct bench_peers *peers = calloc(1, sizeof *peers);
    scoped(buf_done) struct buf table = BUF_INIT(TABLE_MAX);
    struct err e = {0};
    if (!own || !peers) {
        note_problem(&notes, "out of memory");
        return EXIT_NO_JAIL;
    }
    int failed = bench_peers_measure((size->rounds + 4) / 5, &notes, peers, &e) ||
                 bench_own_measure(size, &notes, own, &e);
    bench_table(own, peers, &table);
    int code = print_exit(&table, failed ? EXIT_NO_JAIL : EXIT_DONE);
    if (failed)
        note_problem(&notes, "not everything could be measured: %s", e.text);
    return code;
}

static int set_size(struct bench_size *size, const struct arg *arg, struct err *e)
{
    uint64_t n;
    if (parse_u64(arg->value, arg->id == OPT_ROUNDS, 100000, &n, e))
        return -1;
    if (arg->id == OPT_ROUNDS)
        size->rounds = (size_t)n;
    else if (arg->id == OPT_LIVE)
        size->live = (size_t)n;
    else
        size->asleep = (size_t)n;
    return 0;
}

int bench_main(int argc, char **argv)
{
    struct args args = ARGS(argc, argv, bench_options);
    struct bench_size size = {.rounds = 20, .live = 100, .asleep = 200};
    struct err e = {0};
    struct arg arg;
    int got;
    bool is_kernel = false;
    while ((got = args_next(&args, &arg, &e)) == 1) {
        if (arg.id == OPT_HELP)
            return print_help(bench_help);
        if (arg.id == 0 && (is_kernel || strcmp(arg.value, "kernel") != 0))
            return usage_error("bench", "what can be measured is: kernel");
        if (arg.id != 0 && set_size(&size, &arg, &e))
            return usage_error("bench", e.text);
        is_kernel = is_kernel || arg.id == 0;
    }
    if (got < 0 || !is_kernel)
        return usage_error("bench", got < 0 ? e.text : "what should be measured? `kernel`");
    return measure_and_print(&size);
}
