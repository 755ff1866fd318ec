/* closest.h -- what somebody probably meant who typed a name that does not exist. */
#ifndef BASE_CLOSEST_H
#define BASE_CLOSEST_H

/* Whichever of the `count` names is one or two typing mistakes away from `word`; NULL: none. Words
 * of more than 24 letters are like none. */
const char *closest_name(const char *word, const char *const *names, int count);

#endif
