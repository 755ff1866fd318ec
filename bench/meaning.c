/* meaning.c -- measures the sentence encoder in-process.
 *
 *     bench-meaning WEIGHTS ROUNDS
 *
 * Prints "SERIES MICROSECONDS" for every sample: texts of 12, 32 and 128 tokens to vectors, and one
 * vector compared with 100,000. Series take turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/err.h"
#include "base/parse.h"
#include "meaning/encoder.h"
#include "meaning/meaning.h"
#include "meaning/weights.h"

enum { VECTORS = 100000, TOKENS_MAX = 128 };

static _Noreturn void fail(const struct err *e)
{
    fprintf(stderr, "bench-meaning: %s\n", e->text);
    exit(1);
}

/* Of the processor, not of the clock: all of this is work of one thread, and other programs have
 * none of it. */
static int64_t spent_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sample(const char *series, int64_t begun_us)
{
    printf("%s %lld\n", series, (long long)(spent_us() - begun_us));
}

static void encode(struct encoder *enc, const struct weights *w, unsigned round, float *vector)
{
    static const struct {
        const char *series;
        size_t tokens;
    } sizes[] = {{"tokens-12", 12}, {"tokens-32", 32}, {"tokens-128", TOKENS_MAX}};
    uint16_t tokens[TOKENS_MAX];
    for (size_t i = 0; i < TOKENS_MAX; i++)
        tokens[i] = (uint16_t)((i * 97 + round * 13 + 6) % w->piece_count);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t begun_us = spent_us();
        encoder_tokens(enc, tokens, sizes[i].tokens, vector);
        sample(sizes[i].series, begun_us);
    }
}

static void scan(const int8_t *vectors, uint32_t dim, unsigned round)
{
    int32_t most = 0;
    const int8_t *asked = vectors + (size_t)(round % VECTORS) * dim;
    int64_t begun_us = spent_us();
    for (size_t i = 0; i < VECTORS; i++) {
        int32_t near = meaning_dot(asked, vectors + i * dim, dim);
        most = near > most ? near : most;
    }
    sample("scan-100000", begun_us);
    if (most == 0)
        fprintf(stderr, "bench-meaning: every vector is zero\n");
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct weights *w = NULL;
    struct encoder *enc = NULL;
    uint64_t rounds = 0;
    if (argc != 3 || parse_u64(argv[2], 1, 100000, &rounds, &e)) {
        fprintf(stderr, "usage: bench-meaning WEIGHTS ROUNDS\n");
        return 2;
    }
    if (weights_open(argv[1], &w, &e) || encoder_new(w, &enc, &e))
        fail(&e);
    float *vector = malloc(w->width * sizeof *vector);
    int8_t *vectors = malloc((size_t)VECTORS * w->width);
    if (!vector || !vectors || w->tokens_max < TOKENS_MAX)
        fail(&(struct err){.text = "no memory, or another encoder"});
    for (size_t i = 0; i < (size_t)VECTORS * w->width; i++)
        vectors[i] = (int8_t)(i * 2654435761U >> 13);
    for (unsigned i = 0; i < rounds; i++) {
        encode(enc, w, i, vector);
        scan(vectors, w->width, i);
    }
    free(vectors);
    free(vector);
    encoder_free(enc);
    weights_close(w);
    return 0;
}
