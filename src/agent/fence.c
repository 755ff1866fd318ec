#include "agent/fence.h"

#include <strings.h>

void fence_init(struct fence *f, bool has_calls,
                void (*part)(void *arg, const struct fence_part *p), void *arg)
{
    *f = (struct fence){.part = part, .arg = arg, .has_calls = has_calls};
}

/* ---- one line ---- */

struct marks {
    size_t indent, len; /* blanks before, and how many there are */
    char mark;
    struct str rest; /* after them */
};

/* What a line begins with. len 0: no marks. */
static struct marks read_marks(struct str line)
{
    struct marks m = {.indent = 0};
    while (m.indent < line.len && line.ptr[m.indent] == ' ')
        m.indent++;
    size_t at = m.indent;
    if (at < line.len && (line.ptr[at] == '`' || line.ptr[at] == '~'))
        m.mark = line.ptr[at];
    while (m.mark && at < line.len && line.ptr[at] == m.mark)
        at++;
    m.len = at - m.indent;
    m.rest = (struct str){line.ptr + at, line.len - at};
    return m;
}

static bool is_blank(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != ' ' && s.ptr[i] != '\t' && s.ptr[i] != '\r' && s.ptr[i] != '\n')
            return false;
    return true;
}

static bool closes(const struct fence *f, const struct marks *m)
{
    return m->indent <= FENCE_INDENT_MAX && m->mark == f->mark && m->len >= f->mark_len &&
           is_blank(m->rest);
}

static bool opens(const struct marks *m)
{
    return m->indent <= FENCE_INDENT_MAX && m->len >= 3 &&
           (m->mark == '~' || m->rest.len == 0 || !memchr(m->rest.ptr, '`', m->rest.len));
}

/* The word that says what a block is. */
static struct str word_of(struct str info)
{
    while (info.len > 0 && (*info.ptr == ' ' || *info.ptr == '\t'))
        info = (struct str){info.ptr + 1, info.len - 1};
    size_t len = 0;
    while (len < info.len && !strchr(" \t\r\n{,:", info.ptr[len]))
        len++;
    return (struct str){info.ptr, len};
}

static bool is_word(struct str word, const char *name)
{
    return word.len == strlen(name) && strncasecmp(word.ptr, name, word.len) == 0;
}

static bool is_python(struct str word)
{
    static const char *const names[] = {"python", "python3", "py", "ipython", "tool_code"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_word(word, names[i]))
            return true;
    return false;
}

/* Whether a line that begins like this, without its end, may turn out to be a fence. */
static bool may_be_fence(const struct fence *f, struct str line)
{
    struct marks m = read_marks(line);
    if (m.indent > FENCE_INDENT_MAX || line.len >= FENCE_LINE_MAX)
        return false;
    if (m.rest.len == 0)
        return !f->is_block || m.len == 0 || m.mark == f->mark;
    return f->is_block ? closes(f, &m) : opens(&m);
}

/* ---- parts ---- */

static void tell(struct fence *f, enum fence_kind kind, struct str raw, struct str code)
{
    const struct fence_part p = {.kind = kind, .raw = raw, .code = code, .is_call = f->is_call};
    f->part(f->arg, &p);
}

/* A line or a piece of it that is no fence; `is_start`: it begins there. */
static void pass(struct fence *f, struct str raw, bool is_start)
{
    struct str code = raw;
    if (raw.len == 0)
        return;
    if (!f->is_ours) {
        tell(f, FENCE_TEXT, raw, STR_NONE);
        return;
    }
    if (is_start)
        f->strip = f->indent;
    for (; f->strip > 0 && code.len > 0 && *code.ptr == ' '; f->strip--)
        code = (struct str){code.ptr + 1, code.len - 1};
    if (code.len > 0)
        f->strip = 0;
    tell(f, FENCE_CODE, raw, code);
}

/* A whole line that was held back, with its end if it has one. */
static void finish_line(struct fence *f, struct str line)
{
    struct marks m = read_marks(line);
    if (f->is_block && closes(f, &m)) {
        tell(f, f->is_ours ? FENCE_CLOSE : FENCE_TEXT, line, STR_NONE);
        f->is_block = f->is_ours = f->is_call = false;
        return;
    }
    if (f->is_block || !opens(&m)) {
        pass(f, line, /* is_start= */ true);
        return;
    }
    f->is_block = true;
    f->is_call = f->has_calls && is_word(word_of(m.rest), "tool_call");
    f->is_ours = f->is_call || is_python(word_of(m.rest));
    tell(f, f->is_ours ? FENCE_OPEN : FENCE_TEXT, line, STR_NONE);
    f->mark = m.mark;
    f->mark_len = m.len;
    f->indent = m.indent;
}

/* ---- the stream ---- */

static struct str held(const struct fence *f)
{
    return (struct str){f->line, f->line_len};
}

/* How much of the piece belongs to the line that it begins in. */
static size_t line_len(struct str piece)
{
    const char *end = memchr(piece.ptr, '\n', piece.len);
    return end ? (size_t)(end - piece.ptr) + 1 : piece.len;
}

/* The line is no fence: of what was held back before this piece, or of the piece itself, as much as there is at once. How many
 * bytes of the piece that were. */
static size_t let_go(struct fence *f, size_t held_before, struct str piece)
{
    size_t used = held_before > 0 ? 0 : line_len(piece);
    struct str line =
        held_before > 0 ? (struct str){f->line, held_before} : (struct str){piece.ptr, used};
    f->line_len = 0;
    f->is_inside = line.ptr[line.len - 1] != '\n';
    pass(f, line, /* is_start= */ true);
    return used;
}

/* Takes from the piece what belongs to a line that may be a fence; how many bytes that were. */
static size_t hold(struct fence *f, struct str piece)
{
    size_t i = 0, before = f->line_len;
    while (i < piece.len) {
        char c = piece.ptr[i++];
        f->line[f->line_len++] = c; /* it fits: one that is FENCE_LINE_MAX long is not held */
        if (c != '\n' && !may_be_fence(f, held(f)))
            return let_go(f, before, piece);
        if (c == '\n') {
            struct str line = held(f);
            f->line_len = 0;
            finish_line(f, line);
            break;
        }
    }
    return i;
}

void fence_feed(struct fence *f, struct str piece)
{
    while (piece.len > 0) {
        size_t used;
        if (f->is_inside) {
            used = line_len(piece);
            f->is_inside = piece.ptr[used - 1] != '\n';
            pass(f, (struct str){piece.ptr, used}, /* is_start= */ false);
        } else {
            used = hold(f, piece);
        }
        piece = (struct str){piece.ptr + used, piece.len - used};
    }
}

void fence_end(struct fence *f)
{
    struct str line = held(f);
    struct marks m = read_marks(line);
    f->line_len = 0;
    if (f->is_block && f->is_ours && line.len > 0 && closes(f, &m))
        finish_line(f, line);
    else
        pass(f, line, /* is_start= */ true);
    if (f->is_ours)
        tell(f, FENCE_CLOSE, STR_NONE, STR_NONE);
    f->is_block = f->is_ours = f->is_call = f->is_inside = false;
}
