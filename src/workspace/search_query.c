/* search_query.c -- a question as terms: words, phrases, beginnings, and what must not be there. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/search_int.h"

/* English, sorted. What is in most texts tells none of them from the others. */
static const char *const stop_words[] = {
    "a",     "about", "an",    "and",  "any",    "are",  "as",    "at",   "be",   "been",  "being",
    "by",    "can",   "could", "did",  "do",     "does", "for",   "from", "had",  "has",   "have",
    "how",   "i",     "if",    "in",   "into",   "is",   "it",    "its",  "me",   "my",    "not",
    "of",    "on",    "or",    "our",  "should", "such", "than",  "that", "the",  "their", "them",
    "then",  "there", "these", "they", "this",   "to",   "was",   "we",   "were", "what",  "when",
    "where", "which", "who",   "why",  "will",   "with", "would", "you",  "your",
};

static bool is_stop(const char *word)
{
    for (size_t i = 0; i < sizeof stop_words / sizeof *stop_words; i++)
        if (strcasecmp(word, stop_words[i]) == 0)
            return true;
    return false;
}

/* While it is taken apart. */
struct parsing {
    struct text_reader *r;
    struct query *q;
    char *next; /* where the next text goes */
    const char *from;
    bool is_without, is_prefix, is_quoted;
    size_t stops; /* terms that are stop words */
};

/* The text of a term, copied. NULL when there is no room: the question was longer than allowed. */
static const char *keep_text(struct parsing *p, const char *text, size_t len)
{
    char *at = p->next;
    memcpy(at, text, len);
    at[len] = '\0';
    p->next += len + 1;
    return at;
}

/* A word that comes twice counts twice. */
static bool is_again(struct query *q, const char *text)
{
    for (size_t i = 0; i < q->count; i++)
        if (strcasecmp(q->terms[i].text, text) == 0) {
            q->terms[i].weight += 1;
            return true;
        }
    return false;
}

static void drop_stops(struct parsing *p)
{
    struct query *q = p->q;
    size_t kept = 0;
    if (p->stops == q->count)
        return;
    for (size_t i = 0; i < q->count; i++) {
        bool is_word =
            q->terms[i].is_prefix || strpbrk(q->terms[i].text, " \t") || !is_stop(q->terms[i].text);
        if (is_word)
            q->terms[kept++] = q->terms[i];
    }
    q->count = kept;
    p->stops = 0;
}

static void add_term(struct parsing *p, const char *text, size_t len)
{
    struct query *q = p->q;
    size_t *count = p->is_without ? &q->without_count : &q->count;
    struct text_term *list = p->is_without ? q->without : q->terms;
    const char *own = keep_text(p, text, len);
    if (!p->is_without && is_again(q, own))
        return;
    if (*count == TEXT_TERMS && !p->is_without)
        drop_stops(p); /* makes room, if there is one that is worth it */
    if (*count == TEXT_TERMS)
        return;
    list[(*count)++] = (struct text_term){.text = own, .is_prefix = p->is_prefix, .weight = 1};
    if (!p->is_without && !p->is_quoted && !p->is_prefix && is_stop(own))
        p->stops++;
}

static int put_word(void *arg, struct str stem, size_t from, size_t to)
{
    struct parsing *p = arg;
    (void)stem;
    add_term(p, p->from + from, to - from);
    return 0;
}

static int count_word(void *arg, struct str stem, size_t from, size_t to)
{
    size_t *count = arg;
    (void)stem;
    (void)from;
    (void)to;
    return ++*count > TEXT_TERMS;
}

/* load_table, numpy.mean: parts that belong together. */
static bool is_identifier(const char *text, size_t len)
{
    for (size_t i = 1; i + 1 < len; i++)
        if ((text[i] == '_' || text[i] == '.') &&
            (isalnum((unsigned char)text[i - 1]) || text[i - 1] == '_') &&
            (isalnum((unsigned char)text[i + 1]) || text[i + 1] == '_'))
            return true;
    return false;
}

static int add_piece(struct parsing *p, const char *text, size_t len, struct err *e)
{
    size_t words = 0;
    p->from = text;
    if (text_words(p->r, text, len, count_word, &words))
        return err_set(e, ERR_NO_MEMORY, "read the question");
    if (words == 0)
        return 0;
    if (words == 1 || p->is_quoted || is_identifier(text, len)) {
        add_term(p, text, len);
        return 0;
    }
    return text_words(p->r, text, len, put_word, p) ? err_set(e, ERR_NO_MEMORY, "read the question")
                                                    : 0;
}

/* One piece: "in quotes", or up to the next blank. Returns where it ends. */
static const char *next_piece(struct parsing *p, const char *at, struct err *e, int *failed)
{
    p->is_without = *at == '-' && at[1] && !isspace((unsigned char)at[1]);
    at += p->is_without;
    p->is_quoted = *at == '"';
    const char *from = at + p->is_quoted, *end = from;
    if (p->is_quoted)
        while (*end && *end != '"')
            end++;
    else
        while (*end && !isspace((unsigned char)*end) && *end != '"')
            end++;
    size_t len = (size_t)(end - from);
    p->is_prefix = !p->is_quoted && len > 1 && from[len - 1] == '*';
    *failed = add_piece(p, from, len - p->is_prefix, e);
    return p->is_quoted && *end ? end + 1 : end;
}

int query_parse(struct text_reader *r, const char *text, struct query *ret, struct err *e)
{
    size_t len = strlen(text);
    int failed = 0;
    *ret = (struct query){0};
    if (len > SEARCH_TEXT_MAX)
        return err_set(e, ERR_INVALID, "q: at most %d bytes", SEARCH_TEXT_MAX);
    ret->texts = malloc(2 * len + 2 + TEXT_TERMS); /* every word once more, each with its end */
    if (!ret->texts)
        return err_set(e, ERR_NO_MEMORY, "read the question");
    struct parsing p = {.r = r, .q = ret, .next = ret->texts};
    while (*text && !failed) {
        while (isspace((unsigned char)*text))
            text++;
        if (*text)
            text = next_piece(&p, text, e, &failed);
    }
    if (!failed && ret->count == 0)
        failed = err_set(e, ERR_INVALID, "q: write at least one word to look for");
    if (failed)
        query_done(ret);
    else
        drop_stops(&p);
    return failed;
}

void query_done(struct query *q)
{
    for (size_t i = 0; i < TEXT_TERMS; i++)
        for (size_t k = 0; k < TEXT_SIMILAR_MAX; k++)
            free(q->similar[i][k]);
    free(q->texts);
    *q = (struct query){0};
}
