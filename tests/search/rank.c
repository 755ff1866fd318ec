/* rank.c -- the index and the ranking of the server, without a server: for tests/search/evaluate and
 * bench/search.
 *
 *     search-rank evaluate DIR [WEIGHTS]          DIR/documents.tsv (id, title, text), DIR/queries.tsv
 *                                                 (id, text); prints query, document, score for the
 *                                                 first 100. With WEIGHTS by meaning too, of an index
 *                                                 that was made before
 *     search-rank bench DIR CHUNKS                makes CHUNKS chunks of words as they are spread in
 *                                                 texts, asks, prints milliseconds
 *
 * Tabs and newlines are blanks in the texts. The index is made in DIR, and left there.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "meaning/meaning.h"
#include "store/text_find.h"
#include "store/text_vectors.h"
#include "workspace/search_int.h"
#include "workspace/search_meaning.h"

enum { LINE_SIZE = 4 << 20, RANKED = 100, SHOWN = 20, BATCH = 500, STOP_WORDS = 50 };
static const char workspace[] = "ws_evaluation";

static void die(const struct err *e)
{
    (void)fprintf(stderr, "search-rank: %s\n", e->text);
    exit(1);
}

static FILE *open_in(const char *dir, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    if (f)
        return f;
    (void)fprintf(stderr, "search-rank: there is no %s\n", path);
    exit(1);
}

/* What a document holds is told apart by its id: none is twice in a set. */
static void note(struct text_index *t, const char *id)
{
    struct err e = {0};
    struct text_change change = {.doc = {.version = 1, .changed_us = 1}, .mime = "text/plain"};
    (void)snprintf(change.doc.id, sizeof change.doc.id, "%s", id);
    (void)snprintf(change.doc.path, sizeof change.doc.path, "-");
    (void)snprintf((char *)change.doc.sha256, HASH_LEN, "%s", id);
    if (text_index_note(t, workspace, "vault", &change, 1, 0, &e))
        die(&e);
}

/* Cuts a text as the extractor does: at the last blank before the target. */
static size_t cut(const char *text, struct text_chunk *chunks, const char *title)
{
    size_t count = 0;
    for (size_t len; *text && count < 1000; text += len) {
        len = strlen(text);
        if (len > CHUNK_TEXT_TARGET) {
            len = CHUNK_TEXT_TARGET;
            while (len > 1 && text[len] != ' ')
                len--;
        }
        chunks[count++] = (struct text_chunk){
            .text = text, .len = len, .title = title, .place = PLACE_LINES, .first = 1, .last = 1};
    }
    return count;
}

static void fill(struct text_index *t, const char *id, const char *title, const char *text)
{
    static struct text_chunk chunks[1000];
    struct err e = {0};
    struct text_doc doc;
    note(t, id);
    if (text_index_next(t, NULL, &doc, &e) != 1 ||
        text_index_fill(t, &doc, chunks, cut(text, chunks, title), &e))
        die(&e);
}

static void fill_all(struct text_index *t, const char *dir)
{
    FILE *f = open_in(dir, "documents.tsv");
    char *line = malloc(LINE_SIZE);
    while (line && fgets(line, LINE_SIZE, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *title = strchr(line, '\t'), *text = title ? strchr(title + 1, '\t') : NULL;
        if (!text)
            continue;
        *title++ = *text++ = '\0';
        fill(t, line, title, text);
    }
    free(line);
    (void)fclose(f);
}

/* A vector for every chunk, as the indexer makes them. */
static void mean_all(struct text_index *t, struct meaning *m)
{
    static int8_t vectors[TEXT_VECTORS_BATCH * MEANING_DIM_MAX];
    struct err e = {0};
    struct text_batch b;
    int got;
    if (meaning_ready(m, &e) ||
        text_vectors_want(t, workspace, meaning_model(m), meaning_dim(m), &e))
        die(&e);
    while ((got = text_vectors_next(t, meaning_model(m), meaning_dim(m), &b, &e)) == 1) {
        struct str texts[TEXT_VECTORS_BATCH];
        for (size_t i = 0; i < b.count; i++)
            texts[i] = (struct str){b.items[i].text, b.items[i].len};
        if (meaning_encode(m, texts, b.count, vectors, &e) ||
            text_vectors_put(t, &b, meaning_dim(m), vectors, &e))
            die(&e);
        text_batch_done(&b);
    }
    if (got < 0)
        die(&e);
}

static void rank(struct text_index *t, struct meaning *m, const char *text, size_t limit,
                 struct text_hits *ret)
{
    struct search s = {.o = {.index = t, .meaning = m}};
    scoped(freep) enum search_match *match = NULL;
    char notice[SEARCH_NOTICE_SIZE];
    const struct text_filter filter = {.kind = -1};
    struct err e = {0};
    struct text_reader *r;
    struct query q;
    char scope[1][ID_SIZE] = {"ws_evaluation"};
    if (text_reader_begin(t, (const char(*)[ID_SIZE])scope, 1, &filter, &r, &e) ||
        query_parse(r, text, &q, &e) || search_rank(r, &q, limit, ret, &e) ||
        search_mean(&s, r, &(struct mean_question){.text = text, .limit = limit}, ret, &match,
                    notice, &e))
        die(&e);
    query_done(&q);
    text_reader_end(r);
}

static void evaluate(struct text_index *t, struct meaning *m, const char *dir)
{
    char line[4096];
    FILE *f = open_in(dir, "queries.tsv");
    while (fgets(line, sizeof line, f)) {
        struct text_hits hits;
        line[strcspn(line, "\n")] = '\0';
        char *text = strchr(line, '\t');
        if (!text)
            continue;
        *text++ = '\0';
        rank(t, m, text, RANKED, &hits);
        for (size_t i = 0; i < hits.count; i++)
            printf("%s\t%s\t%.6f\n", line, hits.items[i].doc.id, hits.items[i].score);
        text_hits_done(&hits);
    }
    (void)fclose(f);
}

/* ---- speed ---- */

/* Words by Zipf's law: the n-th is 1/n as frequent as the first. */
static unsigned word(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    double u = (double)(*seed >> 11) / 9007199254740992.0;
    return (unsigned)(exp(u * log(50000.0)));
}

/* `rarest_from`: words more frequent than that are left out, as stop words are of a question. */
static void make_text(uint64_t *seed, struct buf *text, size_t words, unsigned rarest_from)
{
    while (words > 0) {
        unsigned it = word(seed);
        if (it < rarest_from)
            continue;
        buf_fmt(text, "w%uth ", it);
        words--;
    }
}

/* Of this thread: what a question costs, however busy the machine is. */
static int64_t cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void bench(struct text_index *t, const char *wanted)
{
    uint64_t chunks = 0;
    static struct text_chunk parts[BATCH];
    static struct buf bodies[BATCH];
    uint64_t seed = 42;
    struct err e = {0};
    int64_t begin = clock_us(), took[1000], cost[1000];
    if (parse_u64(wanted, 1, 10000000, &chunks, &e))
        die(&e);
    for (size_t at = 0; at < chunks; at += BATCH) {
        struct text_doc doc;
        char id[32];
        for (size_t i = 0; i < BATCH; i++) {
            buf_done(&bodies[i]);
            bodies[i] = BUF_INIT(8192);
            make_text(&seed, &bodies[i], 150, 0);
            parts[i] = (struct text_chunk){.text = bodies[i].bytes,
                                           .len = bodies[i].len,
                                           .place = PLACE_LINES,
                                           .first = 1,
                                           .last = 20};
        }
        (void)snprintf(id, sizeof id, "file_%zu", at);
        note(t, id);
        if (text_index_next(t, NULL, &doc, &e) != 1 || text_index_fill(t, &doc, parts, BATCH, &e))
            die(&e);
    }
    printf("indexed %llu chunks in %.1f s\n", (unsigned long long)chunks,
           (double)(clock_us() - begin) / 1e6);
    for (size_t i = 0; i < 1000; i++) {
        struct text_hits hits;
        scoped(buf_done) struct buf text = BUF_INIT(8192);
        make_text(&seed, &text, 1 + i % 10, STOP_WORDS);
        begin = clock_us();
        cost[i] = cpu_us();
        rank(t, /* m= */ NULL, text.bytes, SHOWN, &hits);
        took[i] = clock_us() - begin;
        cost[i] = cpu_us() - cost[i];
        text_hits_done(&hits);
    }
    qsort(took, 1000, sizeof *took, by_size);
    qsort(cost, 1000, sizeof *cost, by_size);
    printf("1000 questions of 1 to 10 words: p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, max %.1f ms\n",
           (double)took[500] / 1e3, (double)took[950] / 1e3, (double)took[990] / 1e3,
           (double)took[999] / 1e3);
    printf("CPU alone: p50 %.1f ms, p95 %.1f ms\n", (double)cost[500] / 1e3,
           (double)cost[950] / 1e3);
}

static void evaluate_with(struct text_index *t, const char *dir, const char *weights)
{
    struct meaning *m = NULL;
    struct err e = {0};
    if (!weights)
        fill_all(t, dir);
    else if (meaning_open(&(struct meaning_options){.file = weights}, &m, &e))
        die(&e);
    else
        mean_all(t, m);
    evaluate(t, m, dir);
    meaning_close(m);
}

int main(int argc, char **argv)
{
    struct text_index *t;
    struct err e = {0};
    if (argc < 3) {
        (void)fprintf(stderr, "usage: search-rank evaluate DIR [WEIGHTS] | bench DIR CHUNKS\n");
        return 2;
    }
    if (text_index_open(argv[2], &t, &e))
        die(&e);
    if (strcmp(argv[1], "bench") == 0)
        bench(t, argc > 3 ? argv[3] : "100000");
    else
        evaluate_with(t, argv[2], argc > 3 ? argv[3] : NULL);
    text_index_close(t);
    return 0;
}
