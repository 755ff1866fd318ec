#include "cli/more.h"

#include <string.h>

/* What a pass over the text has seen. */
struct scan {
    unsigned depth;    /* open brackets */
    char quote;        /* inside a string: which quote; 0: not inside one */
    bool is_triple;    /* that string ends with three of them */
    bool is_block;     /* a compound statement or a decorator was begun */
    bool is_continued; /* the last line ends with a backslash outside strings and comments */
    char last;         /* last character of the logical line that is no blank; 0: none so far */
    bool is_at_start;  /* nothing but blanks in this line so far */
};

static bool is_three(const char *at, size_t left, char quote)
{
    return left >= 3 && at[0] == quote && at[1] == quote && at[2] == quote;
}

/* Inside a string: how many characters to go on. */
static size_t in_string(struct scan *s, const char *at, size_t left)
{
    if (*at == '\\')
        return left > 1 ? 2 : 1;
    if (s->is_triple && is_three(at, left, s->quote)) {
        s->quote = 0;
        return 3;
    }
    if (!s->is_triple && (*at == s->quote || *at == '\n'))
        s->quote = 0; /* a line feed: the string is not closed, and that is an error, not more */
    return 1;
}

static size_t open_string(struct scan *s, const char *at, size_t left)
{
    s->quote = *at;
    s->is_triple = is_three(at, left, *at);
    return s->is_triple ? 3 : 1;
}

static void end_line(struct scan *s)
{
    if (s->depth == 0) {
        s->is_block |= s->last == ':';
        s->last = 0;
    }
    s->is_at_start = true;
}

static size_t skip_comment(const char *at, size_t left)
{
    const char *end = memchr(at, '\n', left);
    return end ? (size_t)(end - at) : left;
}

/* Outside strings: how many characters to go on. */
static size_t outside(struct scan *s, const char *at, size_t left)
{
    char c = *at;
    bool is_first = s->is_at_start;
    s->is_continued = false;
    if (c == '\n') {
        end_line(s);
        return 1;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f')
        return 1;
    if (c == '#')
        return skip_comment(at, left);
    s->is_at_start = false;
    if (c == '\\' && (left == 1 || at[1] == '\n')) {
        s->is_continued = left <= 2;
        return left > 1 ? 2 : 1;
    }
    if (is_first && s->depth == 0 && c == '@')
        s->is_block = true;
    s->last = c;
    if (strchr("([{", c))
        s->depth++;
    else if (strchr(")]}", c) && s->depth > 0)
        s->depth--;
    return c == '"' || c == '\'' ? open_string(s, at, left) : 1;
}

static bool is_last_line_empty(const char *text, size_t len)
{
    size_t at = len;
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t'))
        at--;
    return at == 0 || text[at - 1] == '\n';
}

bool more_is_needed(const char *text, size_t len)
{
    struct scan s = {.is_at_start = true};
    for (size_t at = 0; at < len;)
        at += s.quote ? in_string(&s, text + at, len - at) : outside(&s, text + at, len - at);
    if (s.depth > 0 || (s.quote && s.is_triple) || s.is_continued)
        return true;
    s.is_block |= s.last == ':';
    return s.is_block && !is_last_line_empty(text, len);
}
