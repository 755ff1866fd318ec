/* birth.h -- what the loader tells the process it has put together: context_save returns its address,
 * in the loader's own memory, which the process copies and then unmaps. */
#ifndef IMAGE_BIRTH_H
#define IMAGE_BIRTH_H

#include <stdbool.h>

struct birth {
    int control;    /* descriptor of the control socket */
    bool is_woken;  /* from a delta */
    int lost_files; /* mapped files of the session that were gone: zeros are in their place */
};

#endif
