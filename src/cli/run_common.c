/* Parts of `cicada run` that do not care where the code is run. */
#include "cli/run_int.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/ending.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/run_options.h"
#include "session/run.h"

int run_check_guests(const struct run_options *o, struct err *e)
{
    for (size_t i = 0; i < o->guest_count; i++)
        if (access(o->guests[i].path, R_OK))
            return err_sys(e, errno, "cannot bring %.150s", o->guests[i].path);
    return 0;
}

enum image_way run_images(const struct run_options *o, struct notes *notes)
{
    if (!o->is_show)
        return IMAGE_NOT;
    if (!isatty(STDOUT_FILENO)) {
        note(notes, "--show: standard output is no terminal; figures are saved as files only");
        return IMAGE_NOT;
    }
    enum image_way way = image_way_here();
    if (way == IMAGE_NOT)
        note(notes, "--show: this terminal is not known to show images; if it does, set "
                    "CICADA_IMAGES to kitty, iterm or sixel");
    return way;
}

int run_output_exit(struct notes *notes, int failed)
{
    if (failed == 0)
        return EXIT_DONE;
    if (failed == EPIPE)
        return EXIT_NO_READER;
    if (failed == ECANCELED)
        return EXIT_CANCELLED;
    note_problem(notes, "cannot write to standard output: %s", strerrordesc_np(failed));
    return EXIT_NO_JAIL;
}

void run_tell_end(struct notes *notes, const struct run *run)
{
    scoped(buf_done) struct buf text = BUF_INIT(1024);
    ending_text(run, &text);
    if (text.len > 0)
        note_problem(notes, "%s", text.bytes);
    if (ending_advice(run))
        note(notes, "%s", ending_advice(run));
    if (run->displays_dropped > 0)
        note(notes, "%zu displays left out: too many or too large", run->displays_dropped);
}
