/* search_int.h -- the inside of search.h: a question, its plan, the best of what answers it. */
#ifndef WORKSPACE_SEARCH_INT_H
#define WORKSPACE_SEARCH_INT_H

#include "store/text_find.h"
#include "workspace/search.h"

struct search {
    struct search_options o;
};

/* ---- search_query.c: a question as terms ---- */

struct query {
    struct text_term terms[TEXT_TERMS], without[TEXT_TERMS];
    size_t count, without_count;
    char *texts; /* what the terms point into */
    char *similar[TEXT_TERMS][TEXT_SIMILAR_MAX];
};

/* Words that are in every text are left out unless there are no others. ERR_INVALID without any. */
int query_parse(struct text_reader *r, const char *text, struct query *ret, struct err *e);
void query_done(struct query *q);

/* ---- search_rank.c: the best documents by words ---- */

/* Fills the weights, finds what is like words that nobody has, asks. */
int search_rank(struct text_reader *r, struct query *q, size_t limit, struct text_hits *ret,
                struct err *e);

/* ---- search_snippet.c ---- */

/* The part of the hit's text that says most, and where it is. *ret_snippet is the caller's. */
int search_snippet(struct text_reader *r, const struct query *q, const struct text_hit *hit,
                   char **ret_snippet, struct search_cite *ret_cite, struct err *e);

#endif
