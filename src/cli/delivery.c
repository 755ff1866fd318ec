#include "cli/delivery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "cli/image.h"
#include "cli/note.h"
#include "cli/show.h"
#include "session/run.h"

enum {
    LISTED_MAX = 20, /* files that are named one by one */
    NAME_SIZE = 64,
};

/* True if nothing is in the directory. */
static bool is_empty(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        fd_closep(&fd);
        return false;
    }
    int entries = 0;
    while (entries <= 2 && readdir(dir)) /* "." and ".." are always there */
        entries++;
    (void)closedir(dir);
    return entries <= 2;
}

int delivery_open(struct delivery *d, const char *dir, bool is_quiet, struct notes *notes,
                  struct err *e)
{
    *d = (struct delivery){
        .notes = notes, .dir = dir, .dir_fd = -1, .figure_fd = -1, .is_quiet = is_quiet};
    if (!dir)
        return 0;
    if (mkdir(dir, 0777) && errno != EEXIST)
        return err_sys(e, errno, "cannot make the directory %.150s", dir);
    d->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->dir_fd < 0)
        return err_sys(e, errno, "cannot use %.150s as the directory for -o", dir);
    if (faccessat(d->dir_fd, ".", W_OK, AT_EACCESS))
        return err_sys(e, errno, "cannot write to %.150s", dir);
    d->takes_hidden = is_empty(d->dir_fd);
    return 0;
}

void delivery_close(struct delivery *d)
{
    if (d->figure_fd != d->dir_fd)
        fd_closep(&d->figure_fd);
    fd_closep(&d->dir_fd);
    free(d->figure_dir);
    d->figure_dir = NULL;
    d->figure_fd = d->dir_fd = -1;
}

static bool is_hidden(const char *path)
{
    return path[0] == '.' || strstr(path, "/.");
}

static void copy_out(struct delivery *d, int data_fd, const struct captured_file *f,
                     const struct run *run, size_t *copied)
{
    struct err e = {0};
    char size[SIZE_TEXT];
    /* It may grow between the end of the run and now, but not over the limit of a file. */
    uint64_t size_max = f->size > run->limits.file_bytes ? f->size : run->limits.file_bytes;
    if (is_hidden(f->path) && !d->takes_hidden) {
        note_problem(d->notes,
                     "not saved: %s (hidden files are only saved to an empty or new directory)",
                     f->path);
    } else if (capture_copy(data_fd, d->dir_fd, f->path, size_max, &e)) {
        d->failures++;
        note_problem(d->notes, "not saved: %s", e.text);
    } else if (!d->is_quiet && (*copied)++ < LISTED_MAX) {
        note(d->notes, "saved %s/%s (%s)", d->dir, f->path, size_text(f->size, size));
    }
}

static void list_one(struct delivery *d, const struct captured_file *f)
{
    char size[SIZE_TEXT];
    if (f->change == FILE_DELETED)
        note(d->notes, "  %s (deleted)", f->path);
    else
        note(d->notes, "  %s (%s, %s)", f->path, file_change_name(f->change),
             size_text(f->size, size));
}

static void list(struct delivery *d, const struct capture *c)
{
    if (c->count == 0)
        return;
    note(d->notes,
         "%zu file%s changed in /mnt/data and not kept; to keep %s, give -o DIR:", c->count,
         c->count == 1 ? "" : "s", c->count == 1 ? "it" : "them");
    for (size_t i = 0; i < c->count && i < LISTED_MAX; i++)
        list_one(d, &c->files[i]);
    if (c->count > LISTED_MAX)
        note(d->notes, "  and %zu more", c->count - LISTED_MAX);
}

static void tell_missed(struct delivery *d, const struct capture *c)
{
    for (size_t i = 0; i < c->missed_count && i < LISTED_MAX; i++)
        note(d->notes, "not looked at: %s (%s)", c->missed[i].path, c->missed[i].reason);
    size_t told = c->missed_count < LISTED_MAX ? c->missed_count : LISTED_MAX;
    if (c->missed_count + c->missed_more > told)
        note(d->notes, "not looked at: %zu more", c->missed_count + c->missed_more - told);
}

void delivery_files(struct delivery *d, int data_fd, const struct run *run)
{
    const struct capture *c = &run->files;
    size_t copied = 0;
    if (d->dir)
        for (size_t i = 0; i < c->count; i++)
            if (c->files[i].change != FILE_DELETED)
                copy_out(d, data_fd, &c->files[i], run, &copied);
    if (d->is_quiet)
        return;
    if (!d->dir)
        list(d, c);
    else if (copied > LISTED_MAX)
        note(d->notes, "saved %zu more files to %s", copied - LISTED_MAX, d->dir);
    tell_missed(d, c);
}

/* Where figures go: DIR, or a directory nobody else can look into. */
static int open_figures(struct delivery *d, struct err *e)
{
    if (d->figure_fd >= 0)
        return 0;
    if (d->dir) {
        d->figure_fd = d->dir_fd;
        return 0;
    }
    const char *base = getenv("TMPDIR");
    scoped(freep) char *path = NULL;
    if (asprintf(&path, "%s/cicada-figures-XXXXXX", base && *base ? base : "/tmp") < 0) {
        path = NULL;
        return err_set(e, ERR_NO_MEMORY, "make a directory for figures");
    }
    if (!mkdtemp(path))
        return err_sys(e, errno, "make a directory for figures");
    d->figure_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (d->figure_fd < 0)
        return err_sys(e, errno, "open the directory for figures");
    d->figure_dir = take(path);
    return 0;
}

static bool is_taken(const struct capture *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->files[i].path, name) == 0)
            return true;
    return false;
}

/* figure-N.png with the next N that is not the name of a file the code made. */
static void name_figure(struct delivery *d, const struct run *run, const char *ending,
                        char name[NAME_SIZE])
{
    do
        (void)snprintf(name, NAME_SIZE, "figure-%u.%s", ++d->figures, ending);
    while (is_taken(&run->files, name));
}

static int save_figure(struct delivery *d, const char *name, const struct mime *image,
                       struct err *e)
{
    if (open_figures(d, e))
        return -1;
    scoped(fd_closep) int fd =
        openat(d->figure_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_sys(e, errno, "%s", name);
    if (fd_write_all(fd, image->bytes, image->len, e))
        return err_wrap(e, "%s", name);
    return 0;
}

static void deliver_figure(struct delivery *d, const struct run *run, const struct display *shown)
{
    struct err e = {0};
    char name[NAME_SIZE], size[SIZE_TEXT];
    const struct mime *image = display_image(shown);
    if (!image)
        return;
    name_figure(d, run, image_ending(image->type), name);
    if (save_figure(d, name, image, &e)) {
        d->failures++;
        note_problem(d->notes, "figure not saved: %s", e.text);
    } else if (!d->is_quiet) {
        note(d->notes, "figure saved as %s/%s (%s)", d->dir ? d->dir : d->figure_dir, name,
             size_text(image->len, size));
    }
}

void delivery_figures(struct delivery *d, const struct run *run)
{
    if (!d->dir && d->is_quiet)
        return; /* they are in the JSON */
    for (size_t i = 0; i < run->display_count; i++)
        deliver_figure(d, run, &run->displays[i]);
    if (run->result.count > 0)
        deliver_figure(d, run, &run->result);
}
