/* search_rank.c -- the best documents by words: all of them first, then the rarest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/search_int.h"

enum {
    /* Chunks that a question of which some words are enough may make us look at: those that have one
     * of the rarest words, and, for their sake, where the others are. Words that are more frequent than
     * that say nothing. */
    NEEDED_FOUND_MAX = 3000,
    OTHERS_FOUND_MAX = 15000,
    COMMON_FOUND = 10000,
    SIMILAR_TRIED = 3, /* words for one that nobody has */
};

/* BM25's: the rarer, the more it counts. */
static double rarity(uint64_t chunks, uint64_t found)
{
    double all = (double)chunks, some = found < chunks ? (double)found : all;
    return log(1 + (all - some + 0.5) / (some + 0.5));
}

/* Words that are like one that nobody has, as far as somebody has them. */
static int add_similar(struct text_reader *r, struct query *q, size_t index, struct err *e)
{
    struct text_term *term = &q->terms[index];
    char *words[TEXT_SIMILAR_MAX] = {0};
    size_t count = 0, kept = 0;
    int failed = text_similar(r, term->text, words, &count, e);
    for (size_t i = 0; i < count; i++) {
        const struct text_term word = {.text = words[i]};
        uint64_t found = 0;
        if (!failed && kept < SIMILAR_TRIED)
            failed = text_count(r, &word, &found, e);
        if (failed || !found) {
            free(words[i]);
            continue;
        }
        term->similar[kept] = q->similar[index][kept] = words[i];
        q->terms[index].found += found;
        kept++;
    }
    return failed;
}

static bool can_be_similar(const struct text_term *term)
{
    return !term->is_prefix && !strpbrk(term->text, " \t");
}

/* Counts, weighs. Terms that nothing has are left out; *ret_all says that there was none. */
static int weigh(struct text_reader *r, struct query *q, bool *ret_all, struct err *e)
{
    size_t kept = 0;
    *ret_all = true;
    for (size_t i = 0; i < q->count; i++) {
        q->terms[i].found = 0;
        if (text_count(r, &q->terms[i], &q->terms[i].found, e) ||
            (q->terms[i].found == 0 && can_be_similar(&q->terms[i]) && add_similar(r, q, i, e)))
            return -1;
        if (q->terms[i].found == 0) {
            *ret_all = false;
            continue;
        }
        q->terms[i].weight *= rarity(text_reader_chunks(r), q->terms[i].found);
        if (kept != i) {
            q->terms[kept] = q->terms[i];
            memcpy(q->similar[kept], q->similar[i], sizeof q->similar[i]);
            memset(q->similar[i], 0, sizeof q->similar[i]);
        }
        kept++;
    }
    q->count = kept;
    return 0;
}

/* Terms are sorted, the rarest first. */
static void choose_rarest(const struct query *q, struct text_plan *plan)
{
    uint64_t found = 0;
    plan->count = plan->needed = 0;
    while (plan->count < q->count) {
        uint64_t more = q->terms[plan->count].found;
        bool is_needed = plan->count == plan->needed && found + more <= NEEDED_FOUND_MAX;
        found += more;
        if (plan->count > 0 && (more > COMMON_FOUND || found > OTHERS_FOUND_MAX))
            return;
        plan->count++;
        plan->needed += is_needed || plan->count == 1;
    }
}

static int by_rarity(const void *left, const void *right)
{
    const struct text_term *a = left, *b = right;
    return (a->weight < b->weight) - (a->weight > b->weight);
}

static bool has_doc(const struct text_hits *h, int64_t number)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->items[i].doc.number == number)
            return true;
    return false;
}

/* Those of `more` that are not there yet, behind the others. */
static int append(struct text_hits *to, struct text_hits *more, size_t limit, struct err *e)
{
    struct text_hit *items = realloc(to->items, (limit + 1) * sizeof *items);
    if (!items)
        return err_set(e, ERR_NO_MEMORY, "search");
    to->items = items;
    for (size_t i = 0; i < more->count && to->count < limit; i++)
        if (!has_doc(to, more->items[i].doc.number)) {
            to->items[to->count++] = more->items[i];
            more->items[i].label = more->items[i].text = NULL;
        }
    return 0;
}

int search_rank(struct text_reader *r, struct query *q, size_t limit, struct text_hits *ret,
                struct err *e)
{
    bool has_all = false;
    *ret = (struct text_hits){0};
    if (weigh(r, q, &has_all, e))
        return -1;
    struct text_plan plan = {.terms = q->terms,
                             .count = q->count,
                             .is_all = true,
                             .without = q->without,
                             .without_count = q->without_count,
                             .limit = limit};
    if (q->count == 0)
        return 0;
    struct text_hits hits = {0};
    scoped(text_hits_done) struct text_hits some = {0};
    if ((has_all || q->count == 1) && text_find(r, &plan, &hits, e))
        return -1;
    if (hits.count < limit && q->count > 1) {
        qsort(q->terms, q->count, sizeof *q->terms, by_rarity);
        plan.is_all = false;
        choose_rarest(q, &plan);
        if (text_find(r, &plan, &some, e) || append(&hits, &some, limit, e)) {
            text_hits_done(&hits);
            return -1;
        }
    }
    *ret = hits;
    return 0;
}
