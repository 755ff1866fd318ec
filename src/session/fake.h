/* fake.h -- for tests: a spawner whose jails are plain processes with one text for their memory.
 * What they understand as code stands at the head of tests/rest/fake-spawn.
 *
 * A failure ends the test through assert: nothing here is under test.
 */
#ifndef SESSION_FAKE_H
#define SESSION_FAKE_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scratch.h"
#include "session/images.h"
#include "session/kernel.h"
#include "session/spawner.h"

/* Images it bakes name the files that the text at `deps_path` does; it need not exist. */
static inline struct spawner *fake_spawner(const char *deps_path)
{
    struct spawner *s = NULL;
    struct err e = {0};
    const char *program = getenv("FAKE_SPAWN");
    assert(program);
    int opened = spawner_open(program, deps_path, NULL, &s, &e);
    assert(opened == 0);
    return s;
}

/* A store in a new directory of `s`, for programs with a build id: this test itself. */
static inline struct images *fake_images(const struct scratch *s, const char *name)
{
    char path[256], self[] = "/proc/self/exe";
    struct images *images = NULL;
    struct err e = {0};
    (void)snprintf(path, sizeof path, "%s/%s", s->path, name);
    const struct images_options options = {path, self, self};
    int made = images_make_dir(path, &e) || images_open(&options, &images, &e);
    assert(!made);
    return images;
}

/* What a piece of code printed, or NULL if it did not run to its end; the caller's. */
static inline char *fake_output(struct run *run)
{
    struct buf text = BUF_INIT(1 << 20);
    keep_text(&run->out, &text);
    if (run->end != END_OK) {
        buf_done(&text);
        return NULL;
    }
    return text.bytes ? buf_take(&text, NULL) : strdup("");
}

#endif
