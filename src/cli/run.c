/* `cicada run`: one session, from its directory to its last file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/scope.h"
#include "cli/address.h"
#include "cli/baked.h"
#include "cli/cli.h"
#include "cli/delivery.h"
#include "cli/ending.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/outlet.h"
#include "cli/programs.h"
#include "cli/report.h"
#include "cli/run_int.h"
#include "cli/run_options.h"
#include "cli/show.h"
#include "cli/sixel.h"
#include "cli/stop.h"
#include "session/kernel.h"
#include "session/spawner.h"
#include "session/workdir.h"

/* The largest run object: kept output and displays, each byte escaped. */
#define REPORT_MAX ((size_t)2 << 30)

enum { SIXEL_MAX = 32 << 20 };

/* Everything a `cicada run` holds, in the order it is made. */
struct job {
    struct run_options options;
    struct notes notes;
    struct delivery delivery;
    struct spawner *spawner;
    struct stop *stop;
    struct workdir *dir;
    struct kernel *kernel;
    struct show show;
    char session_id[ID_SIZE];
};

static void job_done(struct job *j)
{
    if (j->stop)
        stop_watch(j->stop, NULL);
    kernel_free(j->kernel);
    workdir_free(j->dir);
    spawner_close(j->spawner);
    stop_free(j->stop);
    delivery_close(&j->delivery);
    run_options_done(&j->options);
}

void run_help(struct buf *out)
{
    buf_str(
        out,
        "usage: cicada run [OPTION...] FILE | -c CODE | -\n\n"
        "Runs Python, bash or JavaScript in a sandbox: no network, no files of this host but those\n"
        "brought with -f, bounded time, memory and disk. The code finds its files in /mnt/data, its\n"
        "current directory, and writes there what should come back with -o. The value of the last\n"
        "expression is printed, figures are saved as files. - reads code from standard input.\n\n"
        "Where a server is running or named by CICADA_URL or CICADA_SOCKET, it runs the code;\n"
        "otherwise, and with --direct, this program does.\n\n");
    args_help(run_option_table, out);
    buf_str(out, "\nexit code:\n"
                 "    0  the code ran to its end            134  the interpreter crashed\n"
                 "    1  it raised an exception             137  memory limit\n"
                 "    2  the command line is wrong          138  disk limit\n"
                 "   77  the server wants another key\n"
                 "  124  time limit                         139  output limit\n"
                 "  125  cicada could not run the code      140  the session was killed\n"
                 "  130  cancelled (Ctrl-C, SIGTERM)        141  nobody reads standard output\n"
                 "\nexamples:\n"
                 "  cicada run -c 'sum(range(10))'\n"
                 "  cicada run analysis.py -f sales.csv -o results\n"
                 "  cicada run --json --timeout 5 --memory 512M - < job.py\n");
}

/* There was no run: says so to whoever asked, and gives the exit code. */
static int failure(struct job *j, const struct err *e, int code)
{
    note_problem(&j->notes, "%s", e->text);
    if (code == EXIT_NO_JAIL)
        note(&j->notes, "the code was not run; `cicada doctor` says what this host can do");
    if (j->options.is_json && code == EXIT_NO_JAIL) {
        scoped(buf_done) struct buf text = BUF_INIT(4096);
        report_failure(e, &text);
        (void)print_out(&text); /* the exit code says it too */
    }
    return code;
}

static int bring_all(struct job *j, struct err *e)
{
    for (size_t i = 0; i < j->options.guest_count && !stop_is_asked(j->stop); i++) {
        const struct guest *g = &j->options.guests[i];
        size_t skipped = 0;
        if (workdir_bring(j->dir, g->path, g->name, &skipped, e)) {
            if (e->code == ERR_CONFLICT)
                err_set(e, ERR_CONFLICT, "two files would be called %.100s; write -f %.100s=NAME",
                        g->name, g->path);
            else
                err_wrap(e, "cannot bring %.150s", g->path);
            return -1;
        }
        if (skipped > 0)
            note(&j->notes, "%zu entr%s of %s not brought: only files and directories are", skipped,
                 skipped == 1 ? "y" : "ies", g->path);
    }
    return 0;
}

static int cancelled(struct job *j)
{
    note_problem(&j->notes, "cancelled before the code ran");
    return EXIT_CANCELLED;
}

static int start_kernel(struct job *j, struct err *e)
{
    const struct limits *limits = &j->options.limits;
    const struct jail_data data = JAIL_DATA_PLAIN(workdir_fd(j->dir));
    if (j->options.is_cold)
        return kernel_start(j->spawner, limits, &data, &ORIGIN_COLD, &j->kernel, e);
    return baked_start(j->spawner, limits, &data, &j->kernel, e);
}

/* The session, up to a kernel that waits for code. Returns an exit code, EXIT_DONE to go on. */
static int start(struct job *j, struct err *e)
{
    if (programs_spawner(&j->spawner, e) || stop_new(&j->stop, e) ||
        workdir_new(work_base(), &j->dir, e))
        return failure(j, e, EXIT_NO_JAIL);
    enum tier tier = spawner_hello(j->spawner)->tier;
    if (tier != TIER_FULL && tier != TIER_NONE)
        note(&j->notes, "the sandbox is weaker here (%s); `cicada doctor` says what is missing",
             tier_name(tier));
    if (bring_all(j, e)) {
        bool is_system = e->code == ERR_NO_MEMORY || e->code == ERR_INTERNAL;
        return failure(j, e, is_system ? EXIT_NO_JAIL : EXIT_USAGE);
    }
    if (stop_is_asked(j->stop))
        return cancelled(j);
    if (start_kernel(j, e) || (*j->options.tz && kernel_set_zone(j->kernel, j->options.tz, e)) ||
        id_make("ses_", j->session_id, e))
        return failure(j, e, EXIT_NO_JAIL);
    stop_watch(j->stop, j->kernel);
    return EXIT_DONE;
}

static int print_all(struct job *j, const struct buf *text)
{
    return outlet_write(STDOUT_FILENO, j->stop, text->bytes, text->len);
}

static int print_json(struct job *j, const struct run *run, struct err *e)
{
    char id[ID_SIZE] = "";
    int failed = id_make("run_", id, e);
    const struct report r = {
        .id = id, .session_id = j->session_id, .tier = tier_name(spawner_hello(j->spawner)->tier)};
    scoped(buf_done) struct buf text = BUF_INIT(REPORT_MAX);
    report_run(&r, run, &text);
    if (failed || buf_check(&text, e)) {
        note_problem(&j->notes, "the code was run, but its run object was not made: %s", e->text);
        return EXIT_NO_JAIL;
    }
    return run_output_exit(&j->notes, print_all(j, &text));
}

/* Sixels are made by the session, so they come after the run. */
static void show_sixels(struct job *j, const struct run *run)
{
    for (size_t i = 0; i <= run->display_count; i++) {
        const struct display *d = i < run->display_count ? &run->displays[i] : &run->result;
        const struct mime *image = display_image(d);
        struct err e = {0};
        scoped(buf_done) struct buf sequence = BUF_INIT(SIXEL_MAX);
        if (!image)
            continue;
        if (sixel_image(j->kernel, image->bytes, image->len, &sequence, &e)) {
            note(&j->notes, "cannot show a figure: %s", e.text);
            return;
        }
        (void)print_all(j, &sequence); /* the figure is saved as a file as well */
    }
}

/* After the run: everything else but its live output. */
static int conclude(struct job *j, const struct run *run, struct err *e)
{
    bool is_json = j->options.is_json;
    if (!is_json)
        show_rest(&j->show, run);
    int code = is_json ? print_json(j, run, e) : run_output_exit(&j->notes, j->show.failed);
    bool is_unheard = code == EXIT_NO_READER; /* then only what was asked for with -o is done */
    j->delivery.is_quiet |= is_unheard;
    delivery_figures(&j->delivery, run);
    if (j->show.images == IMAGE_SIXEL && !is_unheard)
        show_sixels(j, run);
    delivery_files(&j->delivery, workdir_fd(j->dir), run);
    if (!is_json && !is_unheard)
        run_tell_end(&j->notes, run);
    if (code == EXIT_DONE)
        code = ending_exit_code(run);
    return code == EXIT_DONE && j->delivery.failures > 0 ? EXIT_NO_JAIL : code;
}

static int run_piece(struct job *j, const struct piece *p, struct err *e)
{
    const struct run_spec spec = {.code = p->code,
                                  .code_len = p->code_len,
                                  .language = p->language,
                                  .name = p->name,
                                  .stdin_text = j->options.stdin_text,
                                  .stdin_len = j->options.stdin_len,
                                  .env = j->options.env};
    const struct run_sink sink = {show_event, &j->show};
    struct run run;
    if (stop_is_asked(j->stop))
        return cancelled(j);
    if (kernel_run(j->kernel, &spec, j->options.is_json ? NULL : &sink, &run, e))
        return failure(j, e, EXIT_NO_JAIL);
    int code = conclude(j, &run, e);
    run_done(&run);
    return code;
}

static int run_job(struct job *j, struct err *e)
{
    struct run_options *o = &j->options;
    if (delivery_open(&j->delivery, o->out_dir, o->is_json, &j->notes, e) || run_check_guests(o, e))
        return failure(j, e, EXIT_USAGE);
    enum image_way images = run_images(o, &j->notes);
    int code = start(j, e);
    j->show = show_new(&j->notes, j->stop, images, o->limits.output_bytes);
    for (size_t i = 0; code == EXIT_DONE && i < o->piece_count; i++)
        code = run_piece(j, &o->pieces[i], e);
    return code;
}

/* Whether a server should do it. One that was only found, and not asked for, is passed over when it
 * cannot do what the options say. */
static int goes_to_server(const struct run_options *o, bool *ret, struct err *e)
{
    struct address address;
    *ret = o->is_server || o->session;
    if (*ret || o->is_direct)
        return 0;
    if (address_find(&address, e))
        return -1;
    if (address.kind == ADDRESS_NONE && o->workspace)
        return err_set(e, ERR_INVALID,
                       "-w needs a server, which keeps the workspaces, and there is none; "
                       "`cicada serve` starts one, or write --server");
    if (address.kind != ADDRESS_NONE)
        *ret = address.is_named || o->workspace || run_remote_can(o);
    return 0;
}

int run_main(int argc, char **argv)
{
    struct err e = {0};
    bool is_remote = false;
    scoped(job_done) struct job j = {.notes = notes_to_stderr(),
                                     .delivery = {.dir_fd = -1, .figure_fd = -1}};
    if (run_options_parse(argc, argv, &j.options, &e))
        return usage_error("run", e.text);
    if (j.options.is_help)
        return print_help(run_help);
    if (run_options_read(&j.options, isatty(STDIN_FILENO), &e))
        return failure(&j, &e, EXIT_USAGE);
    if (goes_to_server(&j.options, &is_remote, &e))
        return failure(&j, &e, EXIT_USAGE);
    return is_remote ? run_remote(&j.options) : run_job(&j, &e);
}
