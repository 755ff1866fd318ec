/* serve_int.h -- everything a running server consists of, in the order in which it is built. */
#ifndef DAEMON_SERVE_INT_H
#define DAEMON_SERVE_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "daemon/config.h"
#include "daemon/data.h"
#include "daemon/drop.h"
#include "daemon/notify.h"
#include "daemon/serve.h"
#include "workspace/bell.h"
#include "workspace/sign.h"

struct figures; /* figures.c: the metrics that are kept elsewhere */

enum { ADDRESSES_MAX = 18 };

struct server {
    const struct serve_options *o;
    const struct config *config;
    struct log log;
    struct notify notify;
    struct drop_user user;
    struct data data;
    uid_t started_by;       /* whose commands over the unix socket need no key */
    char socket_text[4200]; /* "unix:/run/cicada/cicada.sock"; "": none */
    char image_path[4200];  /* "": none */
    int signal_fd, stop_fd; /* eventfd: readable when it is time to end */

    struct spawner *spawner;
    struct http_server *http;
    struct metrics *metrics;
    struct store *store;
    struct people *people;
    struct rates *rates;
    struct passwords *passwords;
    int packs_fd, uploads_fd, checkouts_fd;
    struct meaning *meaning;
    struct files *files;
    struct upkeep *upkeep;
    struct bell bell; /* rung after every commit to the database */
    struct auditor *auditor;
    struct events *events;
    struct webhooks *webhooks;
    struct issuer *issuer; /* NULL: none */
    char *audiences[2];    /* of its tokens, when none are configured; owned */
    uint8_t sign_key[SIGN_KEY_LEN];
    struct images *images; /* NULL: none */
    struct images *kept;   /* those that sleeping sessions need, beside them; NULL: none */
    struct current *current;
    struct pool *pool; /* NULL: none */
    struct sessions *sessions;
    atomic_ullong not_woken; /* sleeping sessions whose variables were lost */
    struct service *service;
    struct indexer *indexer; /* NULL: nothing is indexed, as are the next two */
    struct text_index *text_index;
    struct search *search;
    struct shrinker *shrinker;
    struct mcp *mcp;
    struct cards *cards; /* asking.c, as the next four */
    struct model *model; /* NULL: none */
    struct flights *flights;
    struct ask *ask;
    struct openai *openai;
    struct api *api;
    struct figures *figures;

    pthread_t watcher, oven;
    bool has_watcher, has_oven;
    atomic_bool is_ready, is_stopping;
    atomic_bool is_maimed;       /* the spawner died: nothing can be run any more */
    atomic_bool has_disk_failed; /* nothing can be written any more */
    pthread_mutex_t lock;        /* protects the next two, for the oven to wait with */
    pthread_cond_t wake;
    bool is_oven_over;
};

/* Asks the server to end; any thread. */
void server_stop(struct server *s, const char *why);

/* finding.c: the index of words. Prepared before files can change, opened when sessions are. */
int finding_prepare(struct server *s, struct err *e);
int finding_open(struct server *s, struct err *e);
void finding_changed(void *arg, const char *workspace); /* arg: the server */
void finding_stop(struct server *s);
void finding_close(struct server *s);

/* shrinking.c: images made small; when sessions can be started. */
int shrinking_open(struct server *s, struct err *e);

/* asking.c: the model, questions to it, and OpenAI's API; when the service is there. */
int asking_open(struct server *s, struct err *e);
/* What goes on gets so long to end by itself. */
void asking_stop(struct server *s, uint32_t drain_ms);
void asking_close(struct server *s);

/* watch.c: signals, the watchdog, ending when idle. */
int watch_start(struct server *s, struct err *e);
void watch_end(struct server *s);

/* oven.c: bakes the image if there is no current one, notices upgrades, removes old images. */
int oven_start(struct server *s, struct err *e);
void oven_end(struct server *s);

/* meanings.c: the encoder of search; before keeping. Works or says why not. */
int meanings_open(struct server *s, struct err *e);
void meanings_close(struct server *s);

/* clearing.c: room on a full disk. Under the lock of DATA: removes what can be made anew; arg: the server. */
void clearing_sweep(void *server);
/* Gives up the ballast when there is no room for the little that a start makes. */
void clearing_give(struct server *s);
/* Says in the log what else may go, and what that costs, if the disk is full. */
void clearing_tell(struct server *s);

/* keeping.c: files, the store's upkeep; after the store and people. */
int keeping_open(struct server *s, struct err *e);
void keeping_close(struct server *s);

/* vouching.c: the issuer of tokens, if there is one; after people. */
int vouching_open(struct server *s, struct err *e);
void vouching_close(struct server *s);

/* telling.c: events, for who follows them and for webhooks; after keeping. */
int telling_open(struct server *s, struct err *e);
void telling_close(struct server *s);

/* figures.c */
int figures_new(struct server *s, struct figures **ret, struct err *e);
void figures_free(struct figures *f);
void figures_refresh(void *server);

#endif
