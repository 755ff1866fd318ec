/* `cicada sessions export`: a session as a notebook or a script. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/remote.h"
#include "cli/sessions_int.h"

enum { OPT_OUT = VERB_OWN, OPT_FORMAT };
enum { TEXT_MAX = 512 << 20 };

/* clang-format off */
const struct option session_export_options[] = {
    {OPT_OUT, 'o', "output", "FILE", "write it there, not to standard output"},
    {OPT_FORMAT, 0, "format", "FORMAT", "ipynb: a Jupyter notebook; py: a script (by how FILE ends, or ipynb)"},
    VERB_COMMON, {0}};
/* clang-format on */

static int take_begin(void *arg, uint64_t from, struct err *e)
{
    (void)arg, (void)from, (void)e;
    return 0;
}

static int take_text(void *arg, const char *bytes, size_t len, struct err *e)
{
    buf_add(arg, bytes, len);
    return buf_check(arg, e);
}

static const char *format_of(const struct verb_input *in)
{
    const char *file = in->values[OPT_OUT], *dot = file ? strrchr(file, '.') : NULL;
    if (in->values[OPT_FORMAT])
        return in->values[OPT_FORMAT];
    return dot && strcmp(dot, ".py") == 0 ? "py" : "ipynb";
}

static int write_file(const char *name, const struct buf *text, struct err *e)
{
    scoped(fd_closep) int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(e, errno, "open %.200s", name);
    return fd_write_all(fd, text->bytes, text->len, e) ? err_wrap(e, "write %.200s", name) : 0;
}

int session_export(struct remote *r, const struct verb_input *in, struct err *e)
{
    char id[ID_SIZE];
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), text = BUF_INIT(TEXT_MAX);
    const struct call_taker taker = {take_begin, take_text, &text};
    if (remote_resolve(r, &shelf_sessions, in->operands[0], id, e))
        return -1;
    buf_fmt(&url, "%s/%s/export?format=", shelf_sessions.path, id);
    client_encode(&url, format_of(in));
    const struct call call = {.path = url.bytes, .taker = &taker};
    if (buf_check(&url, e) || client_call(r->client, &call, /* ret= */ NULL, e))
        return -1;
    if (!in->values[OPT_OUT] || strcmp(in->values[OPT_OUT], "-") == 0)
        return verb_print_text(&text);
    if (write_file(in->values[OPT_OUT], &text, e))
        return -1;
    note(&r->notes, "%s written to %s", id, in->values[OPT_OUT]);
    return EXIT_DONE;
}
