/* search_meaning.h -- the best documents by words, and those that mean the same, in one order.
 *
 * Words are the better judge wherever they are found: sets of questions with known answers say so. So
 * meaning only moves what words have found, a little, and adds what stands out. A document counts
 *
 *     words / best words  +  0.3 * (near - 0.4) / 0.6  +  (far out - 4.5, up to 2)
 *
 * where `near` is the cosine of its best chunk to the question, as far as it is above 0.4, and `far out`
 * says by how many deviations that is above the mean of all chunks: in a crowd of texts about other
 * things the one that answers is an outlier. Measured on Cranfield and NPL (tests/search/README.md), no set
 * becomes worse by it, and questions that share no word with their answer find it.
 *
 * Only workspaces with intelligence on have vectors. A question with words in quotes, or words that must not
 * be there, wants exactly that: nothing is added to what words have found.
 */
#ifndef WORKSPACE_SEARCH_MEANING_H
#define WORKSPACE_SEARCH_MEANING_H

#include "workspace/search_int.h"

enum {
    MEANING_DEPTH = 50,     /* documents that words are asked for, at least */
    MEANING_ADDED = 100,    /* documents that are looked at for their meaning alone */
    MEANING_CROWD_MIN = 50, /* chunks; of fewer nobody can say what stands out */
};

/* How many documents to ask for by words. */
size_t search_depth(const struct search *s, size_t limit);

/* What is asked. */
struct mean_question {
    const char *text;
    size_t limit;
    bool
        is_wanted; /* in a workspace with intelligence on: an endpoint nobody has reached yet is tried */
};

/* Puts `hits`, best first by words, into the order above and adds to them, up to the limit; *ret_match says of
 * each how it was found and is the caller's to free. When the encoder does not work, what words have
 * found stays and `notice` says why; otherwise that is "". Blocks, maybe on the network. */
int search_mean(struct search *s, struct text_reader *r, const struct mean_question *question,
                struct text_hits *hits, enum search_match **ret_match,
                char notice[SEARCH_NOTICE_SIZE], struct err *e);

#endif
