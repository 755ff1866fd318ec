#include "workspace/search_meaning.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "meaning/meaning.h"
#include "store/rows.h"
#include "store/text_vectors.h"

#define NEAR_FROM 0.4
#define NEAR_WEIGHT 0.3
#define FAR_FROM 4.5
#define FAR_MOST 2.0

/* A document at its best chunk. */
struct near {
    int64_t doc, chunk;
    double cosine;
};

/* Everything that is learned in one look at all vectors. */
struct look {
    const int8_t *question;
    uint32_t dim;
    double length;      /* of the question */
    struct near *known; /* what words have found, by number of the document */
    size_t known_count;
    struct near best[MEANING_ADDED]; /* of the others */
    size_t best_count;
    double sum, squares;
    uint64_t count;
};

/* One that may come out of it. */
struct entry {
    double score;
    size_t place;            /* among what words have found; SIZE_MAX: not there */
    const struct near *near; /* NULL: it has no vector */
    enum search_match match;
};

size_t search_depth(const struct search *s, size_t limit)
{
    return s->o.meaning && limit < MEANING_DEPTH ? MEANING_DEPTH : limit;
}

/* ---- looking ---- */

static int by_doc(const void *left, const void *right)
{
    const struct near *a = left, *b = right;
    return (a->doc > b->doc) - (a->doc < b->doc);
}

/* Where the document goes: its own place, a free one, or that of the least. */
static struct near *place_for(struct look *l, const struct near *n)
{
    struct near *least = &l->best[0];
    for (size_t i = 0; i < l->best_count; i++) {
        if (l->best[i].doc == n->doc)
            return &l->best[i];
        if (l->best[i].cosine < least->cosine)
            least = &l->best[i];
    }
    if (l->best_count == MEANING_ADDED)
        return least;
    least = &l->best[l->best_count++];
    *least = (struct near){.cosine = -2};
    return least;
}

static int on_vector(void *arg, int64_t doc, int64_t chunk, const int8_t *vector)
{
    struct look *l = arg;
    double length = sqrt((double)meaning_dot(vector, vector, l->dim)) * l->length;
    struct near n = {.doc = doc, .chunk = chunk};
    n.cosine = length > 0 ? (double)meaning_dot(vector, l->question, l->dim) / length : 0;
    l->sum += n.cosine;
    l->squares += n.cosine * n.cosine;
    l->count++;
    struct near *to = bsearch(&n, l->known, l->known_count, sizeof n, by_doc);
    if (!to && n.cosine >= NEAR_FROM / 2) /* what is less never counts */
        to = place_for(l, &n);
    if (to && n.cosine > to->cosine)
        *to = n;
    return 0;
}

static int look(struct search *s, struct text_reader *r, const struct text_hits *hits,
                struct look *l, struct err *e)
{
    l->known = calloc(hits->count + 1, sizeof *l->known);
    if (!l->known)
        return err_set(e, ERR_NO_MEMORY, "search");
    for (size_t i = 0; i < hits->count; i++)
        l->known[l->known_count++] = (struct near){.doc = hits->items[i].doc.number, .cosine = -2};
    qsort(l->known, l->known_count, sizeof *l->known, by_doc);
    l->length = sqrt((double)meaning_dot(l->question, l->question, l->dim));
    return text_vectors_scan(r, meaning_model(s->o.meaning), l->dim, on_vector, l, e);
}

/* ---- weighing ---- */

/* How many deviations above the mean. */
static double far_out(const struct look *l, double cosine)
{
    if (l->count < MEANING_CROWD_MIN)
        return 0;
    double mean = l->sum / (double)l->count;
    double spread = l->squares / (double)l->count - mean * mean;
    return spread > 1e-9 ? (cosine - mean) / sqrt(spread) : 0;
}

static double worth(const struct look *l, double cosine)
{
    double near = (cosine - NEAR_FROM) / (1 - NEAR_FROM), far = far_out(l, cosine) - FAR_FROM;
    return NEAR_WEIGHT * fmax(0, near) + fmin(FAR_MOST, fmax(0, far));
}

/* What words have found stays in its order as far as words go: a document counts no less than those
 * behind it. */
static void weigh_words(const struct text_hits *hits, struct entry *entries)
{
    double least = 0, best;
    for (size_t i = hits->count; i-- > 0;) {
        least = fmax(least, hits->items[i].score);
        entries[i] = (struct entry){.score = least, .place = i, .match = MATCH_KEYWORD};
    }
    best = hits->count && entries[0].score > 0 ? entries[0].score : 1;
    for (size_t i = 0; i < hits->count; i++)
        entries[i].score /= best;
}

static void weigh_meaning(const struct look *l, const struct text_hits *hits, struct entry *entries)
{
    for (size_t i = 0; i < hits->count; i++) {
        const struct near key = {.doc = hits->items[i].doc.number};
        const struct near *n = bsearch(&key, l->known, l->known_count, sizeof key, by_doc);
        double more = n && n->cosine > -2 ? worth(l, n->cosine) : 0;
        entries[i].score += more;
        entries[i].near = n;
        if (more > 0)
            entries[i].match = MATCH_BOTH;
    }
}

static size_t add_others(const struct look *l, struct entry *entries, size_t count)
{
    for (size_t i = 0; i < l->best_count; i++) {
        double score = worth(l, l->best[i].cosine);
        if (score > 0)
            entries[count++] = (struct entry){score, SIZE_MAX, &l->best[i], MATCH_SEMANTIC};
    }
    return count;
}

static int by_score(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->place > b->place) - (a->place < b->place);
}

/* ---- the result ---- */

/* 1: the hit of an entry, taken or loaded; 0: it has gone. */
static int take_hit(struct text_reader *r, const struct entry *entry, struct text_hits *from,
                    struct text_hit *ret, struct err *e)
{
    if (entry->place == SIZE_MAX) {
        int got = text_hit_load(r, entry->near->chunk, ret, e);
        ret->score = entry->score;
        return got;
    }
    struct text_hit *hit = &from->items[entry->place];
    *ret = *hit;
    ret->score = entry->score;
    hit->label = hit->text = NULL;
    return 1;
}

static int arrange(struct text_reader *r, const struct entry *entries, size_t count, size_t limit,
                   struct text_hits *hits, enum search_match *match, struct err *e)
{
    struct text_hits to = {.items = calloc(limit + 1, sizeof *to.items)};
    if (!to.items)
        return err_set(e, ERR_NO_MEMORY, "search");
    for (size_t i = 0; i < count && to.count < limit; i++) {
        int got = take_hit(r, &entries[i], hits, &to.items[to.count], e);
        if (got < 0) {
            text_hits_done(&to);
            return -1;
        }
        if (got == 1)
            match[to.count++] = entries[i].match;
    }
    text_hits_done(hits);
    *hits = to;
    return 0;
}

/* ---- the question ---- */

/* Quotes and minus say what has to be there and what must not. */
static bool is_strict(const char *question)
{
    bool is_begin = true;
    for (const char *at = question; *at; at++) {
        if (*at == '"' || (is_begin && at[0] == '-' && isalnum((unsigned char)at[1])))
            return true;
        is_begin = isspace((unsigned char)*at);
    }
    return false;
}

/* The vector of the question; NULL, and `notice`, when there is none. */
static int8_t *encode(struct search *s, struct text_reader *r, const struct mean_question *question,
                      char notice[SEARCH_NOTICE_SIZE])
{
    struct meaning *m = s->o.meaning;
    struct err why = {0};
    const struct str text = str_of(question->text);
    bool has_any = false;
    int8_t *vector = NULL;
    bool works = meaning_dim(m) || (question->is_wanted && meaning_ready(m, &why) == 0);
    if (works && text_vectors_any(r, meaning_model(m), meaning_dim(m), &has_any, &why) == 0 &&
        has_any && (vector = malloc(meaning_dim(m))) &&
        meaning_encode(m, &text, 1, vector, &why) == 0)
        return vector;
    free(vector);
    (void)snprintf(notice, SEARCH_NOTICE_SIZE, "%s", question->is_wanted ? why.text : "");
    return NULL;
}

static enum search_match *all_by_words(size_t limit)
{
    return calloc(limit + 1, sizeof(enum search_match)); /* MATCH_KEYWORD is 0 */
}

static int fuse(struct search *s, struct text_reader *r, const struct mean_question *question,
                struct look *l, struct text_hits *hits, enum search_match *match, struct err *e)
{
    scoped(freep) struct entry *entries = calloc(hits->count + MEANING_ADDED, sizeof *entries);
    if (!entries)
        return err_set(e, ERR_NO_MEMORY, "search");
    if (look(s, r, hits, l, e))
        return -1;
    size_t count = hits->count;
    weigh_words(hits, entries);
    weigh_meaning(l, hits, entries);
    if (!is_strict(question->text))
        count = add_others(l, entries, count);
    qsort(entries, count, sizeof *entries, by_score);
    return arrange(r, entries, count, question->limit, hits, match, e);
}

int search_mean(struct search *s, struct text_reader *r, const struct mean_question *question,
                struct text_hits *hits, enum search_match **ret_match,
                char notice[SEARCH_NOTICE_SIZE], struct err *e)
{
    size_t limit = question->limit;
    scoped(freep) enum search_match *match = all_by_words(limit);
    scoped(freep) struct look *l = calloc(1, sizeof *l);
    notice[0] = '\0';
    if (!match || !l)
        return err_set(e, ERR_NO_MEMORY, "search");
    scoped(freep) int8_t *vector = s->o.meaning ? encode(s, r, question, notice) : NULL;
    if (vector) {
        l->question = vector;
        l->dim = meaning_dim(s->o.meaning);
        int failed = fuse(s, r, question, l, hits, match, e);
        free(l->known);
        if (failed)
            return -1;
    }
    for (; hits->count > limit; hits->count--) { /* words were asked for more */
        free(hits->items[hits->count - 1].label);
        free(hits->items[hits->count - 1].text);
    }
    *ret_match = take(match);
    return 0;
}

int search_mind(struct search *s, const struct workspace_row *ws, struct search_mind *ret,
                struct err *e)
{
    struct meaning *m = s->o.meaning;
    struct err why = {0};
    struct search_mind mind = {0};
    if (s->o.index && text_vectors_count(s->o.index, ws->id, &mind.chunks, e))
        return -1;
    if (m && (meaning_dim(m) || (ws->has_intelligence && meaning_ready(m, &why) == 0)))
        mind.model = meaning_model(m);
    (void)snprintf(mind.why, sizeof mind.why, "%s", why.text);
    *ret = mind;
    return 0;
}
