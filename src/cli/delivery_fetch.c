/* Files of a run on a server, taken from its workspace. */
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "cli/delivery.h"
#include "cli/fileref.h"
#include "cli/landing.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/transfer.h"

enum { LISTED_MAX = 20 };

static bool is_change(const json_t *file)
{
    return strcmp(pick_text(file, "change"), "deleted") != 0;
}

static void fetch_one(struct delivery *d, struct haul *h, const json_t *file, size_t *told)
{
    struct err e = {0};
    char size[SIZE_TEXT];
    const struct origin from = origin_of(file);
    const char *problem = NULL;
    if (fileref_is_hidden(from.path) && !d->takes_hidden) {
        note_problem(d->notes,
                     "not saved: %s (hidden files are only saved to an empty or new directory)",
                     from.path);
        return;
    }
    if (!from.version || !*pick_text(file, "url"))
        problem = "the server does not keep it";
    else if (landing_take(h, d->dir_fd, &from, from.path, /* ret_is_new= */ NULL, &e))
        problem = e.text;
    progress_clear(&h->progress);
    if (problem) {
        d->failures++;
        note_problem(d->notes, "not saved: %s: %s", from.path, problem);
    } else if (!d->is_quiet && (*told)++ < LISTED_MAX) {
        note(d->notes, "saved %s/%s (%s)", d->dir, from.path, size_text(from.size, size));
    }
}

void delivery_fetch(struct delivery *d, struct remote *remote, struct stop *stop,
                    const struct json_t *run)
{
    const json_t *files = json_object_get(run, "files");
    struct haul h = haul_with(remote, pick_text(run, "workspace_id"), stop);
    uint64_t total = 0;
    size_t told = 0, count = json_array_size(files);
    for (size_t i = 0; i < count; i++)
        total += is_change(json_array_get(files, i)) * pick_count(json_array_get(files, i), "size");
    progress_begin(&h.progress, total, count);
    for (size_t i = 0; i < count; i++)
        if (is_change(json_array_get(files, i)))
            fetch_one(d, &h, json_array_get(files, i), &told);
    if (told > LISTED_MAX)
        note(d->notes, "saved %zu more files to %s", told - LISTED_MAX, d->dir);
    haul_done(&h);
}
