/* delivery.h -- what a run leaves with the user: files it made, and figures saved as files.
 *
 * With a directory (-o DIR) the files the run created or modified are copied there under their
 * relative paths, and figures are saved beside them. Without one the files are only listed, and
 * figures go to a private directory, made when the first one comes.
 *
 * The names are chosen by hostile code. Files whose path has a part that begins with a dot are
 * copied only to a directory that was empty or is new: nobody wants a .git/hooks/pre-commit or a
 * .bashrc from there in a directory he works in.
 */
#ifndef CLI_DELIVERY_H
#define CLI_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct notes;
struct run;

struct delivery {
    struct notes *notes;
    const char *dir; /* as the user named it; NULL: none */
    int dir_fd;      /* -1: none */
    bool takes_hidden;
    bool is_quiet;    /* only problems are told */
    char *figure_dir; /* private; owned; NULL: not made */
    int figure_fd;    /* borrowed from dir_fd, or own */
    unsigned figures; /* saved so far */
    size_t failures;  /* files that could not be delivered */
};

/* Opens the directory `dir`, making it if it is missing, or prepares to do without (NULL). Call
 * delivery_close in any case. */
int delivery_open(struct delivery *d, const char *dir, bool is_quiet, struct notes *notes,
                  struct err *e);
void delivery_close(struct delivery *d);

/* Copies or lists the files the run changed below `data_fd`. What fails is told and counted. */
void delivery_files(struct delivery *d, int data_fd, const struct run *run);

/* With a directory: fetches the files that a run on a server changed, from the workspace it worked
 * in; `run` is its object. What fails is told and counted. `stop` cancels. Blocks. */
struct json_t;
struct remote;
struct stop;
void delivery_fetch(struct delivery *d, struct remote *remote, struct stop *stop,
                    const struct json_t *run);

/* Saves the images among the run's displays and in its result. What fails is told and counted. */
void delivery_figures(struct delivery *d, const struct run *run);

#endif
