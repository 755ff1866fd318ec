/* names.h -- the names that clients give to files, made into one component of a path. */
#ifndef OPENAI_NAMES_H
#define OPENAI_NAMES_H

enum { NAME_SIZE = 256 };

/* What is behind the last slash, with what forms escape (%22, %0D, %0A) unescaped, control characters replaced, cut to what a
 * component may have with its ending kept. "unknown_file" when nothing is left. Never fails. */
void name_plain(const char *raw, char ret[NAME_SIZE]);

#endif
