/* `cicada bake`: makes the image that sessions start from. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "cli/args.h"
#include "cli/baked.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/programs.h"
#include "session/images.h"
#include "session/spawner.h"

enum { OPT_FORCE = 1, OPT_HELP, LINE_MAX_BYTES = 1024 };

static const struct option bake_options[] = {
    {OPT_FORCE, 'f', "force", NULL, "make one even if there is a current one"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};

void bake_help(struct buf *out)
{
    buf_str(out,
            "usage: cicada bake [--force]\n\n"
            "Makes an image of a Python that has its libraries imported. From then on sessions\n"
            "start from it in milliseconds. Takes some seconds, and has to be done again when\n"
            "Python, a library or cicada was upgraded; until then sessions start without it.\n\n");
    args_help(bake_options, out);
    buf_str(out, "\nexit code:\n"
                 "    0  there is a current image now\n"
                 "    2  the command line is wrong\n"
                 "  125  none could be made\n");
}

/* How far it is: on a terminal a line that changes, otherwise one line each. */
struct progress {
    struct notes *notes;
    bool is_terminal;
    bool is_shown; /* a line that will be replaced */
};

static void put_progress(void *arg, const char *text)
{
    struct progress *p = arg;
    if (!p->is_terminal) {
        note(p->notes, "%s", text);
        return;
    }
    scoped(buf_done) struct buf line = BUF_INIT(LINE_MAX_BYTES);
    struct err ignored = {0}; /* the terminal is gone: nobody looks */
    buf_str(&line, "\r\033[Kcicada: ");
    printable(text, strlen(text), &line);
    (void)fd_write_all(p->notes->fd, line.bytes, line.len, &ignored);
    p->is_shown = true;
}

static void end_progress(struct progress *p)
{
    struct err ignored = {0};
    if (p->is_shown)
        (void)fd_write_all(p->notes->fd, "\r\033[K", 4, &ignored);
    p->is_shown = false;
}

static int tell(const struct image *image, bool is_new, int64_t took_us)
{
    char size[SIZE_TEXT], disk[SIZE_TEXT];
    scoped(buf_done) struct buf text = BUF_INIT(LINE_MAX_BYTES);
    buf_fmt(&text, "image %.12s: %s, %s on disk", image->id, size_text(image->size, size),
            size_text(image->disk_bytes, disk));
    if (is_new)
        buf_fmt(&text, ", made in %.1f s\n", (double)took_us / 1e6);
    else
        buf_str(&text, ", is current; --force makes another\n");
    return print_exit(&text, EXIT_DONE);
}

/* The exit code, or -1 with *e. */
static int bake(struct notes *notes, struct spawner *s, struct images *images, enum bake_way way,
                struct err *e)
{
    struct progress progress = {.notes = notes, .is_terminal = isatty(STDERR_FILENO)};
    const struct bake_sink sink = {put_progress, &progress};
    scoped(image_done) struct image image = IMAGE_NONE;
    int64_t begun_us = clock_us(), begun_wall_us = clock_wall_us();
    int failed = images_bake(images, s, way, &sink, /* stop_fd= */ -1, &image, e);
    end_progress(&progress);
    if (failed)
        return -1;
    uint64_t freed;
    struct err ignored = {0};
    /* Sessions of the command line do not sleep: nobody needs the older ones. */
    (void)images_gc(images, NULL, 0, &freed, &ignored);
    return tell(&image, image.made_wall_us >= begun_wall_us, clock_us() - begun_us);
}

static int bake_now(enum bake_way way)
{
    struct notes notes = notes_to_stderr();
    struct spawner *s = NULL;
    struct images *images = NULL;
    struct err e = {0};
    int code = -1;
    if (programs_spawner(&s, &e) == 0 && baked_open(BAKED_MAKE, &images, &e) == 0)
        code = bake(&notes, s, images, way, &e);
    if (code < 0)
        note_problem(&notes, "no image was made: %s", e.text);
    images_close(images);
    spawner_close(s);
    return code < 0 ? EXIT_NO_JAIL : code;
}

int bake_main(int argc, char **argv)
{
    struct args args = ARGS(argc, argv, bake_options);
    enum bake_way way = BAKE_IF_NEEDED;
    struct err e = {0};
    struct arg arg;
    int got;
    while ((got = args_next(&args, &arg, &e)) == 1) {
        if (arg.id == OPT_HELP)
            return print_help(bake_help);
        if (arg.id == 0)
            return usage_error("bake", "bake takes no operands");
        way = BAKE_ANEW;
    }
    return got < 0 ? usage_error("bake", e.text) : bake_now(way);
}
