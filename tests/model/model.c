/* model.c -- random operations on the real store and on one in memory, which have to agree.
 *
 *     model DATA SEED OPERATIONS
 *
 * Two players with a workspace each, in the same vault, play at the same time, while what time brings goes
 * on beside them (keeper.h): gc without any grace, scrubbing, backups. After each round everything is
 * compared; now and then the store is closed and opened again, and once in a while the players are shown the
 * backup instead.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "keeper.h"
#include "player.h"

enum { PLAYERS = 2, ROUND = 250 };

static void *play(void *arg)
{
    struct player *p = arg;
    for (int i = 0; i < ROUND; i++) {
        uint64_t roll = dice_below(&p->dice, 100);
        if (roll < 55)
            player_change(p);
        else if (roll < 95)
            player_read(p);
        else
            player_maintain(p);
    }
    return NULL;
}

static void begin(struct player *p, struct opened *o, int index, uint64_t seed)
{
    char name[16];
    struct err e = {0};
    (void)snprintf(name, sizeof name, "player %d", index);
    *p = (struct player){.o = o, .dice = {.state = seed * PLAYERS + (uint64_t)index}};
    if (files_workspace_create(o->files, &o->who, name, &p->ws, &e))
        die("make a workspace", &e);
}

static void round_of(struct player players[PLAYERS], struct keeper *u)
{
    pthread_t threads[PLAYERS], beside;
    atomic_store(&u->is_over, false);
    if (pthread_create(&beside, NULL, keeper_beside, u))
        abort();
    for (int i = 0; i < PLAYERS; i++)
        if (pthread_create(&threads[i], NULL, play, &players[i]))
            abort();
    for (int i = 0; i < PLAYERS; i++)
        (void)pthread_join(threads[i], NULL);
    atomic_store(&u->is_over, true);
    (void)pthread_join(beside, NULL);
}

static void restart(struct opened *o, const char *dir, struct player players[PLAYERS])
{
    struct err e = {0};
    opened_end(o);
    if (opened_begin(o, dir, &e))
        die("open it again", &e);
    for (int i = 0; i < PLAYERS; i++)
        players[i].o = o;
}

/* Everything there is, in the backup as in the store. */
static void compare_backup(struct keeper *u, struct player players[PLAYERS])
{
    struct err e = {0};
    struct opened copy;
    keeper_backup(u);
    if (opened_begin(&copy, u->restored, &e))
        die("open the backup", &e);
    for (int i = 0; i < PLAYERS; i++) {
        struct opened *o = players[i].o;
        players[i].o = &copy;
        player_compare(&players[i], true);
        players[i].o = o;
    }
    keeper_fsck(&copy);
    opened_end(&copy);
}

static void play_all(struct opened *o, struct player players[PLAYERS], struct keeper *u,
                     uint64_t rounds)
{
    for (uint64_t r = 1; r <= rounds; r++) {
        bool is_last = r == rounds;
        round_of(players, u);
        if (r % 3 == 0 || is_last) {
            restart(o, u->dir, players);
            u->restarts++;
        }
        for (int i = 0; i < PLAYERS; i++)
            player_compare(&players[i], r % 5 == 0 || is_last);
        if (r % 4 == 0 || is_last) {
            keeper_fsck(o);
            compare_backup(u, players);
        }
    }
}

static void tell(const struct player players[PLAYERS], const struct keeper *u)
{
    uint64_t done = 0, refused = 0, reads = 0, bytes = 0;
    for (int i = 0; i < PLAYERS; i++) {
        done += players[i].done;
        refused += players[i].refused;
        reads += players[i].reads;
        bytes += players[i].bytes_read;
    }
    printf(
        "%llu changes, %llu refusals, %llu reads, %llu MB compared; %llu restarts, %llu gcs (%llu rows "
        "swept, %llu packs removed, %llu copied), %llu backups\n",
        (unsigned long long)done, (unsigned long long)refused, (unsigned long long)reads,
        (unsigned long long)(bytes >> 20), (unsigned long long)u->restarts,
        (unsigned long long)u->gcs, (unsigned long long)u->swept, (unsigned long long)u->removed,
        (unsigned long long)u->copied, (unsigned long long)u->backups);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    uint64_t seed, operations;
    if (argc != 4 || parse_u64(argv[2], 0, 1000000, &seed, &e) ||
        parse_u64(argv[3], 1, 100000000, &operations, &e)) {
        fprintf(stderr, "model DATA SEED OPERATIONS\n");
        return 2;
    }
    struct opened o;
    if (opened_begin(&o, argv[1], &e))
        die("open", &e);
    static struct player players[PLAYERS];
    for (int i = 0; i < PLAYERS; i++)
        begin(&players[i], &o, i, seed);
    struct keeper u;
    keeper_begin(&u, &o, argv[1]);
    play_all(&o, players, &u, (operations + PLAYERS * ROUND - 1) / (PLAYERS * ROUND));
    tell(players, &u);
    for (int i = 0; i < PLAYERS; i++) {
        workspace_row_done(&players[i].ws);
        ref_done(&players[i].ref);
    }
    opened_end(&o);
    return 0;
}
