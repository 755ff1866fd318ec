/* replay.c -- feeds every file of the folders given as arguments to a fuzz target.
 *
 * Takes the place of libFuzzer where a corpus is only replayed: needs no clang, runs in a second.
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/scope.h"
#include "fuzz.h"

enum { INPUT_MAX = 1 << 20 };

static void feed(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        err(1, "%s", path);
    /* Exactly as large as the input, so that the sanitizer sees a read past its end. */
    scoped(freep) uint8_t *room = malloc(INPUT_MAX);
    size_t len = room ? fread(room, 1, INPUT_MAX, file) : 0;
    scoped(freep) uint8_t *bytes = room ? realloc(room, len ? len : 1) : NULL;
    if (!bytes || ferror(file))
        err(1, "read %s", path);
    room = NULL;
    (void)fclose(file);
    LLVMFuzzerTestOneInput(bytes, len);
}

int main(int argc, char **argv)
{
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder)
            err(1, "%s", argv[i]);
        for (struct dirent *entry; (entry = readdir(folder));)
            if (entry->d_name[0] != '.') {
                feed(argv[i], entry->d_name);
                count++;
            }
        (void)closedir(folder);
    }
    if (count == 0)
        errx(1, "no input: a replay of nothing proves nothing");
    printf("%zu inputs\n", count);
    return 0;
}
