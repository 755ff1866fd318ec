#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/backup.h"
#include "store/fsck.h"
#include "store/gc.h"

void keeper_begin(struct keeper *u, struct opened *o, const char *dir)
{
    *u = (struct keeper){.o = o, .dir = dir};
    (void)snprintf(u->backup, sizeof u->backup, "%s-backup", dir);
    (void)snprintf(u->restored, sizeof u->restored, "%s-restored", dir);
    if (mkdir(u->backup, 0700)) {
        perror(u->backup);
        exit(1);
    }
}

static void tell(void *arg, const char *what)
{
    (void)arg;
    fprintf(stderr, "found: %s\n", what);
    abort();
}

static void collect(struct keeper *u)
{
    struct err e = {0};
    struct gc_result result = {0};
    const struct gc_options options = {.contents = u->o->contents, .now_us = clock_wall_us()};
    if (gc_run(&options, &result, &e))
        die("gc", &e);
    u->gcs++;
    u->swept += result.swept;
    u->removed += result.packs_removed;
    u->copied += result.packs_copied;
}

void *keeper_beside(void *arg)
{
    struct keeper *u = arg;
    struct err e = {0};
    struct scrub *scrub = NULL;
    if (scrub_new(u->o->packs, &scrub, &e))
        die("scrub", &e);
    do {
        collect(u);
        if (scrub_step(scrub, 64 << 20, clock_wall_us(), tell, NULL, &e))
            die("scrub", &e);
    } while (!atomic_load(&u->is_over));
    scrub_free(scrub);
    return NULL;
}

void keeper_fsck(const struct opened *o)
{
    struct err e = {0};
    struct fsck_result result = {0};
    struct fsck_options options = {.contents = o->contents, .packs = o->packs, .tell = tell};
    if (fsck_run(&options, &result, &e))
        die("fsck", &e);
    options.contents = NULL; /* and from packs alone */
    if (fsck_run(&options, &result, &e))
        die("fsck of packs", &e);
}

/* Runs a program of the system. */
static void run(char *const argv[])
{
    pid_t child;
    int status = -1;
    if (posix_spawnp(&child, argv[0], NULL, NULL, argv, environ) ||
        waitpid(child, &status, 0) != child || status) {
        fprintf(stderr, "%s: %d\n", argv[0], status);
        exit(1);
    }
}

void keeper_backup(struct keeper *u)
{
    struct err e = {0};
    struct backup_result result;
    char packs[512];
    (void)snprintf(packs, sizeof packs, "%s/packs", u->dir);
    scoped(fd_closep) int from = open(packs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped(fd_closep) int to = open(u->backup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from < 0 || to < 0 || backup_run(opened_meta(u->o), u->o->packs, from, to, &result, &e))
        die("backup", &e);
    u->backups++;
    run((char *[]){"rm", "-rf", u->restored, NULL});
    run((char *[]){"cp", "-a", u->backup, u->restored, NULL});
}
