#include "base/closest.h"

#include <stddef.h>
#include <string.h>

enum {
    NAME_MAX_LEN = 24, /* longer words are like none of them */
    DISTANCE_MAX = 2,  /* typing mistakes that are still recognised */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be added, removed or replaced to turn one word into the other. */
static size_t distance(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    size_t row[NAME_MAX_LEN + 1];
    if (a_len > NAME_MAX_LEN || b_len > NAME_MAX_LEN)
        return NAME_MAX_LEN;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(replaced, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[b_len];
}

const char *closest_name(const char *word, const char *const *names, int count)
{
    const char *best = NULL;
    size_t best_distance = DISTANCE_MAX + 1;
    for (int i = 0; i < count; i++) {
        size_t d = distance(word, names[i]);
        if (d < best_distance && d < strlen(names[i])) {
            best = names[i];
            best_distance = d;
        }
    }
    return best;
}
