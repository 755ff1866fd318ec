/* What needs the real weights is skipped where they could not be had (tools/make-encoder says why);
 * $CICADA_ENCODER is their file. */
#include "meaning/encoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/expect.h"
#include "base/scope.h"
#include "meaning/meaning.h"
#include "meaning/vector.h"
#include "meaning/weights.h"
#include "meaning/weights_fixture.h"

enum { DIM = 512, LINE_MAX_LEN = 16 << 10 };

/* A document and a question about it that shares hardly a word with it. */
static const struct {
    const char *document, *question;
} pairs[] = {
    {"The invoice has to be settled within thirty days of receipt.",
     "when do I have to pay the bill"},
    {"Our cat refuses to eat anything but tuna.", "picky pet food"},
    {"The engine overheated because the coolant had leaked out.", "why did the car break down"},
    {"Heavy snowfall closed the mountain pass on Thursday night.",
     "road blocked by winter weather"},
    {"The vaccine lowered the rate of infection by two thirds.",
     "does the shot prevent the disease"},
    {"She was promoted to head of the sales department in March.",
     "who got a better job at the company"},
    {"The recipe calls for two cups of sugar and a pinch of salt.", "ingredients for baking"},
    {"Unemployment fell to its lowest level in a decade.", "fewer people are out of work"},
    {"The database is copied to another data centre every night.", "how often are backups made"},
    {"Visitors must show a passport at the border.", "documents needed to enter the country"},
    {"The match ended in a draw after extra time.", "nobody won the football game"},
    {"He plays the violin in the city orchestra.", "musician with a string instrument"},
    {"The landlord raised the rent by eight percent.", "housing is getting more expensive"},
    {"A fire destroyed the warehouse and everything stored in it.", "building burned down"},
    {"The court found the defendant not guilty on all charges.", "the jury let him go free"},
    {"Bees carry pollen from one flower to the next.", "insects that help plants reproduce"},
    {"The password was stored in plain text in the log file.",
     "secret leaked because of careless logging"},
    {"Trains to Hamburg run every hour until midnight.", "public transport timetable"},
    {"The battery of this phone lasts about two days.",
     "how long until I have to charge my mobile"},
    {"The museum shows paintings from the nineteenth century.", "exhibition of old art"},
    {"Glaciers in the Alps have lost half their volume since 1900.",
     "ice is melting because it gets warmer"},
    {"The surgeon removed the tumour in a four hour operation.",
     "hospital procedure to treat cancer"},
    {"The function returns null when the list is empty.", "what happens if there are no elements"},
    {"The shop takes back unworn shoes within two weeks.", "can I return what I bought"},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static int open_real(void **state)
{
    struct err e = {0};
    struct weights *w = NULL;
    const char *path = getenv("CICADA_ENCODER");
    if (path && weights_open(path, &w, &e) && e.code != ERR_NOT_FOUND) {
        print_error("%s\n", e.text);
        return -1;
    }
    *state = w;
    return 0;
}

static int close_real(void **state)
{
    weights_close(*state);
    return 0;
}

static const struct weights *real(void **state)
{
    if (!*state) {
        print_message("# the weights are not here: tools/make-encoder could not get them\n");
        skip();
    }
    return *state;
}

static void encode(struct encoder *enc, const char *text, float ret[DIM])
{
    OK(encoder_text(enc, str_of(text), ret, e));
}

static double cosine(const float *a, const float *b)
{
    double sum = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < DIM; i++) {
        sum += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return sum / sqrt(aa * bb);
}

static void read_vector(char *line, float ret[DIM])
{
    for (size_t i = 0; i < DIM; i++)
        ret[i] = strtof(line, &line);
    assert_true(*line == '\n');
}

/* One text of tests/meaning/reference.txt; false at its end. */
static bool check_reference(struct encoder *enc, FILE *file, char *line)
{
    float expected[DIM], got[DIM], again[DIM];
    int8_t narrow[DIM];
    if (!fgets(line, LINE_MAX_LEN, file))
        return false;
    char head[40];
    (void)snprintf(head, sizeof head, "%.*s", (int)strcspn(line, "\n"), line);
    json_t *text = json_loads(line, JSON_DECODE_ANY, NULL);
    assert_non_null(text);
    encode(enc, json_string_value(text), got);
    assert_non_null(fgets(line, LINE_MAX_LEN, file));
    read_vector(line, expected);
    vector_narrow(got, DIM, narrow);
    for (size_t i = 0; i < DIM; i++)
        again[i] = narrow[i];
    double near = cosine(expected, got), nearest = cosine(expected, again);
    print_message("# %.6f, as bytes %.6f: %s\n", near, nearest, head);
    assert_true(near >= 0.999 && nearest >= 0.999);
    json_decref(text);
    return true;
}

static void vectors_are_those_of_the_published_weights(void **state)
{
    const struct weights *w = real(state);
    scoped(encoder_freep) struct encoder *enc = NULL;
    scoped(freep) char *path = NULL, *line = malloc(LINE_MAX_LEN);
    size_t count = 0;
    assert_true(asprintf(&path, "%s/tests/meaning/reference.txt", getenv("CICADA_SOURCE")) > 0);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    OK(encoder_new(w, &enc, e));
    assert_int_equal(w->width, DIM);
    while (check_reference(enc, file, line))
        count++;
    (void)fclose(file);
    assert_int_equal(count, 8);
}

static double reciprocal_rank(const float *question, const float (*documents)[DIM], size_t wanted)
{
    size_t better = 0;
    double own = cosine(question, documents[wanted]);
    for (size_t i = 0; i < PAIRS; i++)
        better += i != wanted && cosine(question, documents[i]) >= own;
    return 1.0 / (double)(better + 1);
}

static void questions_find_their_documents_without_sharing_words(void **state)
{
    const struct weights *w = real(state);
    scoped(encoder_freep) struct encoder *enc = NULL;
    static float documents[PAIRS][DIM], question[DIM];
    double sum = 0;
    OK(encoder_new(w, &enc, e));
    for (size_t i = 0; i < PAIRS; i++)
        encode(enc, pairs[i].document, documents[i]);
    for (size_t i = 0; i < PAIRS; i++) {
        encode(enc, pairs[i].question, question);
        double rank = reciprocal_rank(question, (const float(*)[DIM])documents, i);
        if (rank < 1)
            print_message("# 1/%.0f: %s\n", 1 / rank, pairs[i].question);
        sum += rank;
    }
    print_message("# mean reciprocal rank %.3f\n", sum / PAIRS);
    assert_true(sum / PAIRS >= 0.8);
}

static void a_text_has_the_same_vector_whatever_came_before_it(void **state)
{
    (void)state;
    static const struct fixture_piece words[] = {{"a", -1}, {"b", -1}, {"c", -1}};
    struct fixture *f = fixture_new(words, 3);
    struct weights *w = NULL;
    OK(weights_read(f->bytes, f->len, &w, e));
    for (size_t count = 1; count <= FIXTURE_TOKENS; count++) {
        scoped(encoder_freep) struct encoder *used = NULL, *fresh = NULL;
        const uint16_t tokens[FIXTURE_TOKENS] = {1, 3, 2, 15, 0, 1};
        float first[8], second[8];
        double squares = 0;
        OK(encoder_new(w, &used, e) || encoder_new(w, &fresh, e));
        encoder_tokens(used, tokens, FIXTURE_TOKENS, first);
        encoder_tokens(used, tokens, count, first);
        encoder_tokens(fresh, tokens, count, second);
        assert_memory_equal(first, second, sizeof first);
        for (size_t i = 0; i < 8; i++)
            squares += (double)first[i] * (double)first[i];
        assert_true(fabs(squares - 1) < 1e-5);
    }
    weights_close(w);
    free(f);
}

static void a_text_with_nothing_in_it_has_the_vector_of_zeros(void **state)
{
    (void)state;
    static const struct fixture_piece words[] = {{"a", -1}};
    struct fixture *f = fixture_new(words, 1);
    struct weights *w = NULL;
    scoped(encoder_freep) struct encoder *enc = NULL;
    float vector[8] = {1};
    OK(weights_read(f->bytes, f->len, &w, e));
    OK(encoder_new(w, &enc, e));
    OK(encoder_text(enc, str_of(" \n"), vector, e));
    for (size_t i = 0; i < 8; i++)
        assert_true(vector[i] == 0);
    weights_close(w);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_those_of_the_published_weights),
        cmocka_unit_test(questions_find_their_documents_without_sharing_words),
        cmocka_unit_test(a_text_has_the_same_vector_whatever_came_before_it),
        cmocka_unit_test(a_text_with_nothing_in_it_has_the_vector_of_zeros),
    };
    return cmocka_run_group_tests(tests, open_real, close_real);
}
