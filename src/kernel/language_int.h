/* language_int.h -- shared by language.c and javascript.c. */
#ifndef KERNEL_LANGUAGE_INT_H
#define KERNEL_LANGUAGE_INT_H

extern const char javascript_start[];

#endif
