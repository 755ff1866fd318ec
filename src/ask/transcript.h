/* transcript.h -- how an answer was found, as a document.
 *
 *     markdown   question, code and outputs in order, the answer, its figures with the run each came from, its sources
 *     notebook   a Jupyter notebook (nbformat 4.5): the same as cells
 *
 * `record` is what is kept of an answer (answer.h). Pure; nothing in it is trusted: text cannot get out of its fence.
 */
#ifndef ASK_TRANSCRIPT_H
#define ASK_TRANSCRIPT_H

struct buf;
struct json_t;

/* Nothing fails here by itself: ask the buf at the end. */
void transcript_markdown(const struct json_t *record, struct buf *out);
void transcript_notebook(const struct json_t *record, struct buf *out);

#endif
