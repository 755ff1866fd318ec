/* Reading what `cicada run` was told to run. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "cli/run_options.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Reads all of a file, NUL-terminated. Fails with ERR_LIMIT when it is larger than `max`. */
static int read_fd(int fd, size_t max, char **ret, size_t *ret_len, struct err *e)
{
    scoped(freep) char *bytes = malloc(max + 1); /* only what is touched costs memory */
    size_t len;
    if (!bytes)
        return err_set(e, ERR_NO_MEMORY, "read");
    if (fd_read_all(fd, bytes, max + 1, &len, e))
        return -1;
    if (len > max)
        return err_set(e, ERR_LIMIT, "larger than %zu MiB", max >> 20);
    char *fitted = realloc(bytes, len + 1);
    if (!fitted)
        return err_set(e, ERR_NO_MEMORY, "read");
    bytes = NULL;
    fitted[len] = '\0';
    *ret = fitted;
    *ret_len = len;
    return 0;
}

static int read_path(const char *path, size_t max, char **ret, size_t *ret_len, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "cannot read %.150s", path);
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID, "%.150s is a directory; name a file in it", path);
    if (read_fd(fd, max, ret, ret_len, e))
        return err_wrap(e, "%.150s", path);
    return 0;
}

static int read_piece(struct piece *p, struct err *e)
{
    switch (p->kind) {
    case PIECE_TEXT:
        p->code_len = strlen(p->word);
        p->code = strdup(p->word);
        return p->code ? 0 : err_set(e, ERR_NO_MEMORY, "read the code");
    case PIECE_FILE:
        p->name = last_part(p->word);
        return read_path(p->word, CODE_MAX, &p->code, &p->code_len, e);
    case PIECE_STDIN:
        p->name = "<stdin>";
        if (read_fd(STDIN_FILENO, CODE_MAX, &p->code, &p->code_len, e))
            return err_wrap(e, "standard input");
        return 0;
    }
    return 0;
}

static void choose_language(const struct run_options *o, struct piece *p)
{
    bool is_named = !o->has_language && p->kind == PIECE_FILE;
    p->language = is_named ? run_language_of_file(p->name) : o->language;
}

static int read_stdin_text(struct run_options *o, struct err *e)
{
    const char *word = o->stdin_word;
    if (!word)
        return 0;
    if (strcmp(word, "-") == 0)
        return read_fd(STDIN_FILENO, STDIN_MAX, &o->stdin_text, &o->stdin_len, e)
                   ? err_wrap(e, "standard input")
                   : 0;
    if (word[0] == '@')
        return read_path(word + 1, STDIN_MAX, &o->stdin_text, &o->stdin_len, e);
    o->stdin_text = strdup(word);
    o->stdin_len = strlen(word);
    return o->stdin_text ? 0 : err_set(e, ERR_NO_MEMORY, "read the input");
}

static bool takes_code_from_stdin(const struct run_options *o)
{
    for (size_t i = 0; i < o->piece_count; i++)
        if (o->pieces[i].kind == PIECE_STDIN)
            return true;
    return false;
}

int run_options_read(struct run_options *o, bool has_terminal, struct err *e)
{
    bool is_silent = o->piece_count == 0; /* nothing was said about where the code is */
    bool gives_stdin = o->stdin_word && strcmp(o->stdin_word, "-") == 0;
    if (is_silent && (has_terminal || gives_stdin))
        return err_set(
            e, ERR_INVALID,
            "nothing to run; give a FILE, -c CODE, or - to read code from standard input");
    if (is_silent)
        o->pieces[o->piece_count++] = (struct piece){.kind = PIECE_STDIN, .word = "-"};
    if (gives_stdin && takes_code_from_stdin(o))
        return err_set(e, ERR_INVALID,
                       "standard input cannot be both the code and the text for "
                       "input(); put one of them in a file");
    for (size_t i = 0; i < o->piece_count; i++)
        if (read_piece(&o->pieces[i], e)) {
            if (e->code == ERR_LIMIT)
                return err_wrap(e, "too much code (put data in a file and bring it with -f)");
            return -1;
        }
    for (size_t i = 0; i < o->piece_count; i++)
        choose_language(o, &o->pieces[i]);
    if (is_silent && o->pieces[0].code_len == 0)
        return err_set(e, ERR_INVALID,
                       "nothing to run: standard input was empty; give a FILE or -c CODE");
    return read_stdin_text(o, e);
}
