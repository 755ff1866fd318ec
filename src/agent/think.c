#include "agent/think.h"

static const char open_mark[] = "<think>", close_mark[] = "</think>";

void think_init(struct think *t, void (*put)(void *arg, bool is_thought, struct str piece),
                void *arg)
{
    *t = (struct think){.put = put, .arg = arg};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void tell(const struct think *t, struct str piece)
{
    if (piece.len > 0)
        t->put(t->arg, t->state == THINK_INSIDE, piece);
}

static void release(struct think *t)
{
    size_t len = t->held_len;
    t->held_len = 0;
    tell(t, (struct str){t->held, len});
}

/* Before anything was said: how much of the piece is over with. */
static size_t begin(struct think *t, struct str piece)
{
    size_t i = 0;
    while (i < piece.len && t->held_len == 0 && is_blank(piece.ptr[i]))
        i++; /* blanks before all else are of no use to anybody */
    while (i < piece.len && piece.ptr[i] == open_mark[t->held_len]) {
        t->held[t->held_len++] = piece.ptr[i++];
        if (t->held_len == strlen(open_mark)) {
            t->held_len = 0;
            t->state = THINK_INSIDE;
            return i;
        }
    }
    if (i < piece.len) {
        t->state = THINK_OVER;
        release(t);
    }
    return i;
}

/* Within thoughts: up to the mark that closes them, of which the beginning may have come before. */
static size_t inside(struct think *t, struct str piece)
{
    size_t i = 0;
    for (; i < piece.len && t->held_len == 0 && piece.ptr[i] != '<'; i++)
        ;
    tell(t, (struct str){piece.ptr, i});
    if (i == piece.len)
        return i;
    if (piece.ptr[i] != close_mark[t->held_len]) {
        release(t); /* the byte is looked at again */
        return i;
    }
    t->held[t->held_len++] = piece.ptr[i++];
    if (t->held_len == strlen(close_mark)) {
        t->held_len = 0;
        t->state = THINK_OVER;
    }
    return i;
}

void think_feed(struct think *t, struct str piece)
{
    while (piece.len > 0 && t->state != THINK_OVER) {
        size_t used = t->state == THINK_BEGIN ? begin(t, piece) : inside(t, piece);
        piece = (struct str){piece.ptr + used, piece.len - used};
    }
    tell(t, piece);
}

void think_end(struct think *t)
{
    if (t->state == THINK_BEGIN)
        t->state = THINK_OVER;
    release(t);
    t->state = THINK_OVER;
}
