#include "cli/line.h"

#include <errno.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/table.h"

enum { LINE_MAX_BYTES = 4 << 20, HISTORY_MAX = 2000, CHOICES_MAX = 64 << 10 };

struct line {
    int signal_fd;  /* borrowed */
    EditLine *edit; /* NULL: no terminal */
    History *history;
    char *history_path;
    const char *prompt; /* during line_read */
    struct line_completer completer;
    enum line_got signalled; /* LINE_TEXT: no signal came */
    mbstate_t partial;       /* of a character that is not complete */
    struct buf text;         /* the line given out last */
    struct buf ahead;        /* read but not given out, without a terminal */
    bool is_at_end;
};

/* Takes a signal. LINE_TEXT: go on. */
static enum line_got take_signal(struct line *l)
{
    struct signalfd_siginfo got;
    if (read(l->signal_fd, &got, sizeof got) != (ssize_t)sizeof got)
        return LINE_TEXT;
    if (got.ssi_signo == SIGINT)
        return LINE_INTERRUPTED;
    if (got.ssi_signo == SIGWINCH && l->edit)
        el_resize(l->edit);
    if (got.ssi_signo == SIGCONT && l->edit) {
        el_set(l->edit, EL_PREP_TERM, 1);
        el_set(l->edit, EL_REFRESH);
    }
    return got.ssi_signo == SIGTERM || got.ssi_signo == SIGHUP ? LINE_END : LINE_TEXT;
}

/* Waits for input. LINE_TEXT: there is some, or its end. */
static enum line_got await_input(struct line *l)
{
    for (;;) {
        struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {l->signal_fd, POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return LINE_END;
        if (fds[1].revents) {
            enum line_got got = take_signal(l);
            if (got != LINE_TEXT)
                return got;
        } else if (fds[0].revents) {
            return LINE_TEXT;
        }
    }
}

/* The editor's source of characters: 1 for one, 0 at the end, -1 when a signal came. */
static int next_char(EditLine *edit, wchar_t *ret)
{
    struct line *l = NULL;
    el_get(edit, EL_CLIENTDATA, &l);
    for (;;) {
        char byte;
        l->signalled = await_input(l);
        if (l->signalled != LINE_TEXT)
            return -1;
        ssize_t n = read(STDIN_FILENO, &byte, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        size_t used = mbrtowc(ret, &byte, 1, &l->partial);
        if (used == (size_t)-2)
            continue;
        if (used == (size_t)-1) {
            l->partial = (mbstate_t){0};
            *ret = L'\xfffd';
        }
        return 1;
    }
}

static const char *prompt_of(EditLine *edit)
{
    struct line *l = NULL;
    el_get(edit, EL_CLIENTDATA, &l);
    return l->prompt;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t")] == '\0';
}

/* In columns, as many as fit. */
static void print_choices(const char *choices)
{
    size_t width = terminal_width(), widest = 1, used = 0;
    for (const char *at = choices; *at; at += strcspn(at, "\n") + 1)
        widest = strcspn(at, "\n") > widest ? strcspn(at, "\n") : widest;
    size_t columns = width > widest + 2 ? width / (widest + 2) : 1;
    (void)putchar('\n');
    for (const char *at = choices; *at; at += strcspn(at, "\n") + 1) {
        bool is_last = ++used % columns == 0;
        int len = (int)strcspn(at, "\n");
        (void)printf("%-*.*s%s", is_last ? 0 : (int)widest + 2, len, at, is_last ? "\n" : "");
    }
    (void)printf(used % columns ? "\n" : "");
    (void)fflush(stdout);
}

static unsigned char on_tab(EditLine *edit, int key)
{
    struct line *l = NULL;
    const LineInfo *info = el_line(edit);
    scoped(buf_done) struct buf insert = BUF_INIT(CHOICES_MAX), choices = BUF_INIT(CHOICES_MAX);
    scoped(freep) char *text = strndup(info->buffer, (size_t)(info->cursor - info->buffer));
    size_t remove_count = 0;
    (void)key;
    el_get(edit, EL_CLIENTDATA, &l);
    if (!text)
        return CC_ERROR;
    if (is_blank(text))
        return el_insertstr(edit, "    ") ? CC_ERROR : CC_REFRESH;
    if (l->completer.complete(l->completer.arg, text, &insert, &choices, &remove_count))
        return CC_ERROR;
    if (insert.len > 0) {
        el_deletestr(edit, (int)remove_count);
        if (el_insertstr(edit, insert.bytes))
            return CC_ERROR;
    }
    if (choices.len == 0)
        return CC_REFRESH;
    print_choices(choices.bytes);
    return CC_REDISPLAY;
}

static int open_history(struct line *l, const char *path, struct err *e)
{
    HistEvent event;
    l->history = history_init();
    l->history_path = path ? strdup(path) : NULL;
    if (!l->history || (path && !l->history_path))
        return err_set(e, ERR_NO_MEMORY, "make a history");
    history(l->history, &event, H_SETSIZE, HISTORY_MAX);
    history(l->history, &event, H_SETUNIQUE, 1);
    if (path)
        (void)history(l->history, &event, H_LOAD, path); /* there may be none yet */
    return 0;
}

static int open_editor(struct line *l, const char *history_path, struct err *e)
{
    l->edit = el_init("cicada", stdin, stdout, stderr);
    if (!l->edit)
        return err_set(e, ERR_UNAVAILABLE, "this terminal cannot be used for editing");
    if (open_history(l, history_path, e))
        return -1;
    el_set(l->edit, EL_CLIENTDATA, l);
    el_set(l->edit, EL_PROMPT, prompt_of);
    el_set(l->edit, EL_EDITOR, "emacs");
    el_set(l->edit, EL_SIGNAL, 0);
    el_set(l->edit, EL_HIST, history, l->history);
    el_set(l->edit, EL_GETCFN, next_char);
    /* Wide, because of the others the library keeps copies that it never frees. */
    el_wset(l->edit, EL_ADDFN, L"cicada-complete", L"Complete a name", on_tab);
    el_set(l->edit, EL_BIND, "^I", "cicada-complete", NULL);
    el_set(l->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(l->edit, NULL); /* ~/.editrc: whoever prefers vi keys says so there */
    return 0;
}

int line_open(int signal_fd, const char *history_path, const struct line_completer *completer,
              struct line **ret, struct err *e)
{
    struct line *l = malloc(sizeof *l);
    if (!l)
        return err_set(e, ERR_NO_MEMORY, "read lines");
    *l = (struct line){.signal_fd = signal_fd,
                       .completer = *completer,
                       .text = BUF_INIT(LINE_MAX_BYTES),
                       .ahead = BUF_INIT(LINE_MAX_BYTES)};
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (is_terminal && open_editor(l, history_path, e)) {
        line_close(l);
        return -1;
    }
    *ret = l;
    return 0;
}

void line_close(struct line *l)
{
    HistEvent event;
    if (!l)
        return;
    if (l->history && l->history_path)
        (void)history(l->history, &event, H_SAVE, l->history_path); /* makes it 0600 */
    if (l->edit)
        el_end(l->edit);
    if (l->history)
        history_end(l->history);
    free(l->history_path);
    buf_done(&l->text);
    buf_done(&l->ahead);
    free(l);
}

bool line_is_terminal(const struct line *l)
{
    return l->edit != NULL;
}

static enum line_got read_edited(struct line *l, const char *prompt)
{
    int count = 0;
    l->prompt = prompt;
    l->signalled = LINE_TEXT;
    const char *text = el_gets(l->edit, &count);
    if (l->signalled != LINE_TEXT) {
        el_reset(l->edit); /* or the next line would begin with this one */
        (void)printf(l->signalled == LINE_INTERRUPTED ? "^C\n" : "\n");
        (void)fflush(stdout);
        return l->signalled;
    }
    if (!text || count <= 0)
        return LINE_END;
    buf_add(&l->text, text, (size_t)count - (text[count - 1] == '\n'));
    return LINE_TEXT;
}

/* Moves the first line of what was read ahead to l->text. False if there is no whole one. */
static bool take_line(struct line *l)
{
    if (l->ahead.len == 0)
        return false;
    const char *end = memchr(l->ahead.bytes, '\n', l->ahead.len);
    if (!end && !l->is_at_end)
        return false;
    size_t len = end ? (size_t)(end - l->ahead.bytes) : l->ahead.len;
    size_t used = end ? len + 1 : len;
    buf_add(&l->text, l->ahead.bytes, len - (len > 0 && l->ahead.bytes[len - 1] == '\r'));
    l->ahead.len -= used;
    memmove(l->ahead.bytes, l->ahead.bytes + used, l->ahead.len + 1);
    return true;
}

static enum line_got read_plain(struct line *l)
{
    char chunk[4096];
    while (!take_line(l)) {
        if (l->is_at_end)
            return LINE_END;
        enum line_got got = await_input(l);
        if (got != LINE_TEXT)
            return got;
        ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
        if (n > 0)
            buf_add(&l->ahead, chunk, (size_t)n);
        else if (n == 0 || errno != EINTR)
            l->is_at_end = true;
        if (l->ahead.failed)
            return LINE_TOO_LONG;
    }
    return LINE_TEXT;
}

enum line_got line_read(struct line *l, const char *prompt, const char **ret)
{
    buf_done(&l->text);
    enum line_got got = l->edit ? read_edited(l, prompt) : read_plain(l);
    *ret = l->text.len ? l->text.bytes : "";
    return got;
}

void line_remember(struct line *l, const char *text)
{
    HistEvent event;
    if (l->history && !is_blank(text))
        (void)history(l->history, &event, H_ENTER, text);
}
