#include "http/params.h"

#include <stdbool.h>

#include "http/syntax.h"

static struct str skip_blanks(struct str s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = (struct str){s.ptr + 1, s.len - 1};
    return s;
}

static bool add_byte(struct param *p, char c)
{
    if (p->len == sizeof p->value - 1 || ((unsigned char)c < ' ' && c != '\t') || c == 127)
        return false;
    p->value[p->len++] = c;
    return true;
}

/* A backslash is an escape only before a quote or another one: browsers send it as it is. */
static bool take_quoted(struct str *s, struct param *p)
{
    for (size_t i = 1; i < s->len; i++) {
        char c = s->ptr[i];
        if (c == '"') {
            *s = (struct str){s->ptr + i + 1, s->len - i - 1};
            return true;
        }
        if (c == '\\' && i + 1 < s->len && (s->ptr[i + 1] == '"' || s->ptr[i + 1] == '\\'))
            c = s->ptr[++i];
        if (!add_byte(p, c))
            return false;
    }
    return false;
}

static bool take_bare(struct str *s, struct param *p)
{
    size_t i = 0;
    while (i < s->len && s->ptr[i] != ';' && s->ptr[i] != ' ' && s->ptr[i] != '\t')
        if (!add_byte(p, s->ptr[i++]))
            return false;
    *s = (struct str){s->ptr + i, s->len - i};
    return i > 0;
}

int params_next(struct str *s, struct param *p)
{
    *s = skip_blanks(*s);
    if (s->len == 0)
        return 0;
    if (s->ptr[0] != ';')
        return -1;
    *s = skip_blanks((struct str){s->ptr + 1, s->len - 1});
    if (s->len == 0)
        return 0;
    const char *is = memchr(s->ptr, '=', s->len);
    if (!is)
        return -1;
    p->name = (struct str){s->ptr, (size_t)(is - s->ptr)};
    p->len = 0;
    *s = (struct str){is + 1, s->len - p->name.len - 1};
    if (!http_is_token(p->name))
        return -1;
    bool is_good = s->len && s->ptr[0] == '"' ? take_quoted(s, p) : take_bare(s, p);
    p->value[p->len] = '\0';
    return is_good ? 1 : -1;
}

struct str params_word(struct str *s)
{
    *s = skip_blanks(*s);
    size_t i = 0;
    while (i < s->len && s->ptr[i] != ';' && s->ptr[i] != ' ' && s->ptr[i] != '\t')
        i++;
    struct str word = {s->ptr, i};
    *s = (struct str){s->ptr + i, s->len - i};
    return word;
}
