/* banned.h -- functions that are easy to misuse, made impossible to use by accident.
 *
 * Every file of ours is compiled with this header first (the build passes -include). A name below
 * still works inside the system's own headers, which are read before it is poisoned.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#ifndef __ASSEMBLER__ /* also put before the .S files */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Some are macros, depending on compiler and options; a macro cannot be poisoned. */
#undef strcpy
#undef strcat
#undef strncpy
#undef sprintf
#undef vsprintf
#undef alloca

#undef alloca
#pragma GCC poison strcpy strcat strncpy sprintf vsprintf strtok gets atoi atol strtol strtoul
#pragma GCC poison gmtime localtime mktemp tmpnam system popen alloca

#endif
#endif
