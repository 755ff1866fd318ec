/* answer_read.h -- read_file of a question: the text of a file, also of a document, with a reference mark. */
#ifndef ASK_ANSWER_READ_H
#define ASK_ANSWER_READ_H

struct buf;
struct err;
struct halt;
struct json_t;

/* agent_tool.call; arg is a struct answer. */
int read_file(void *arg, const struct json_t *arguments, struct halt *halt, struct buf *ret,
              struct err *e);

#endif
