/* names.h -- the names that clients give to files, made into one component of a path. */
#ifndef OPENAI_NAMES_H
#define OPENAI_NAMES_H

struct err;
struct json_t;

enum { NAME_SIZE = 256 };

/* What is behind the last slash, with what forms escape (%22, %0D, %0A) unescaped, control characters replaced, cut to what a
 * component may have with its ending kept. "unknown_file" when nothing is left. Never fails. */
void name_plain(const char *raw, char ret[NAME_SIZE]);

/* Two files of one request may have the same name, and neither may take the other's place: then the second is "name-2.csv". `given`, an
 * object, notes what each name was given to; the same source gets the same name again. ERR_NO_MEMORY. */
int name_give(struct json_t *given, const char *source, char name[NAME_SIZE], struct err *e);

#endif
