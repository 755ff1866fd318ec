/* slumber.c -- sessions that fall asleep, wake and branch.
 *
 * A kernel is never let go before its file is durable: it writes itself down and stays, the file is
 * committed, then its jail is ended. So a full disk or a failing one costs nothing but the attempt.
 * When it wakes, its file is removed only after it has greeted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "session/kernel.h"
#include "session/rest.h"
#include "session/session_int.h"
#include "session/sleeper.h"
#include "session/spawner.h"

void session_rest_done(struct session_rest *r)
{
    names_done(&r->reasons);
    names_done(&r->lost);
    *r = (struct session_rest){0};
}

static int copy_names(struct names *to, const struct names *from, struct err *e)
{
    for (size_t i = 0; i < from->count; i++)
        if (names_add(to, from->list[i], strlen(from->list[i]), e))
            return -1;
    to->more += from->more;
    return 0;
}

static uint8_t digit(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void image_from_hex(const char hex[HASH_HEX_SIZE], uint8_t ret[HASH_LEN])
{
    for (size_t i = 0; i < HASH_LEN; i++)
        ret[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
}

/* Lost names that no run has told yet go on. */
int session_make_head(struct session *s, enum sleeper_kind kind, struct sleeper *ret, struct err *e)
{
    *ret = (struct sleeper){.kind = kind,
                            .snapshots = s->snapshots,
                            .created_wall_us = clock_wall_us(),
                            .generation = s->generation + 1,
                            .runs = s->runs,
                            .limits = s->limits};
    memcpy(ret->session_id, s->id, sizeof ret->session_id);
    memcpy(ret->tz, s->tz, sizeof ret->tz);
    if (kind == SLEEPER_DELTA)
        image_from_hex(s->image, ret->image);
    return copy_names(&ret->lost, kernel_lost(s->kernel), e);
}

/* Its file is durable: the kernel can go. Its end is waited for: from then on nobody writes to its files,
 * which its owner may make a layer of (service/desk_thin.c), and an overlay has to be gone before there can be
 * another of the same layers. */
static void fall_asleep(struct session *s, uint64_t size)
{
    session_drop_kernel(s);
    pthread_mutex_lock(&s->lock);
    s->generation++;
    s->sleep_bytes = size;
    pthread_mutex_unlock(&s->lock);
    s->needs_sync = false; /* committing did that */
    session_step(s, LIFE_SLEPT);
}

void session_seal_head(struct sleeper *head, const struct rest_report *report)
{
    head->body_len = report->len;
    memcpy(head->body_sha256, report->sha256, sizeof head->body_sha256);
}

static int commit(struct session *s, struct sleeper_draft *d, struct sleeper *head,
                  const struct rest_report *report, struct session_rest *ret, struct err *e)
{
    session_seal_head(head, report);
    undo_sync(s); /* their names are durable with the file's */
    if (sleeper_commit(d, head, &ret->size, e))
        return -1;
    fall_asleep(s, ret->size);
    undo_slept(s);
    return 0;
}

/* As a delta. 0 and asleep, or refused; -1 and awake or dead. */
static int sleep_as_delta(struct session *s, struct session_rest *ret, struct err *e)
{
    scoped(sleeper_abandon) struct sleeper_draft draft = SLEEPER_DRAFT_NONE;
    scoped(sleeper_done) struct sleeper head = {0};
    scoped(rest_report_done) struct rest_report report = {0};
    if (session_make_head(s, SLEEPER_DELTA, &head, e) ||
        sleeper_begin(s->all->dir_fd, &head, &draft, e) ||
        kernel_sleep(s->kernel, SLEEP_STAYS, draft.fd, &report, e))
        return -1;
    if (!report.is_refused)
        return commit(s, &draft, &head, &report, ret, e);
    ret->is_refused = true;
    return names_append(&ret->reasons, &report.reasons, e);
}

static int copy_bytes(int from, int to, struct err *e)
{
    if (lseek(from, 0, SEEK_SET) < 0)
        return err_sys(e, errno, "keep variables");
    for (;;) {
        ssize_t n = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? 0 : err_sys(e, errno, "keep variables");
    }
}

/* As its variables. They go through a file without a name: which of them are lost, and so how long
 * the head is, is known at the end. */
static int sleep_as_variables(struct session *s, struct session_rest *ret, struct err *e)
{
    scoped(sleeper_abandon) struct sleeper_draft draft = SLEEPER_DRAFT_NONE;
    scoped(sleeper_done) struct sleeper head = {0};
    scoped(rest_report_done) struct rest_report report = {0};
    scoped(fd_closep) int body = -1;
    if (sleeper_scratch(s->all->dir_fd, &body, e) || kernel_save(s->kernel, body, &report, e) ||
        session_make_head(s, SLEEPER_VARIABLES, &head, e) ||
        copy_names(&ret->lost, &report.lost, e) || names_append(&head.lost, &report.lost, e) ||
        sleeper_begin(s->all->dir_fd, &head, &draft, e) || copy_bytes(body, draft.fd, e))
        return -1;
    return commit(s, &draft, &head, &report, ret, e);
}

/* Who is asleep takes room on the disk. When that is down to its reserve it is better to be awake, as
 * long as there is a choice. */
bool session_is_disk_full(const struct session *s)
{
    struct disk_room room;
    struct err ignored = {0};
    uint64_t reserve = spawner_reserve(s->all->spawner);
    return disk_look(s->all->dir_fd, reserve, &room, &ignored) == 0 && room.is_full;
}

/* RESTING to ASLEEP; or to IDLE, or EMPTY if that killed the kernel. */
static int lie_down(struct session *s, enum rest_way way, struct session_rest *ret, struct err *e)
{
    static const char full[] = "the server's disk is nearly full";
    int failed = 0;
    if (way == REST_POLITE && session_is_disk_full(s)) {
        ret->is_refused = true;
        failed = names_add(&ret->reasons, full, sizeof full - 1, e);
    } else if (s->image[0]) {
        failed = sleep_as_delta(s, ret, e);
    } else if (names_add(&ret->reasons, "it was started without an image", 31, e) == 0) {
        ret->is_refused = true;
    }
    if (!failed && ret->is_refused && way == REST_MUST) {
        ret->is_refused = false;
        failed = sleep_as_variables(s, ret, e);
    }
    if (s->life == LIFE_ASLEEP)
        return 0;
    if (kernel_is_alive(s->kernel)) {
        session_step(s, LIFE_STAY);
        return failed;
    }
    session_lose(s, "The session's kernel died when it was put to sleep");
    if (s->life == LIFE_ASLEEP) { /* as it was after its last run */
        *e = (struct err){0};
        ret->size = s->sleep_bytes;
        return 0;
    }
    return failed ? failed : err_set(e, ERR_UNAVAILABLE, "the kernel died when put to sleep");
}

int session_sleep(struct session *which, enum rest_way way, struct session_rest *ret, struct err *e)
{
    scoped(session_endp) struct session *s = session_begin(which);
    *ret = (struct session_rest){.size = s->sleep_bytes};
    if (s->life == LIFE_GONE)
        return err_set(e, ERR_NOT_FOUND, "the session was deleted");
    if (s->life != LIFE_IDLE)
        return 0; /* asleep, or empty */
    session_step(s, LIFE_REST);
    if (lie_down(s, way, ret, e)) {
        session_rest_done(ret);
        return -1;
    }
    return 0;
}

/* Whether a failure is final: what is there will not wake tomorrow either. */
static bool is_final(const struct err *why)
{
    return why->code == ERR_DAMAGED || why->code == ERR_NOT_FOUND || why->code == ERR_DENIED ||
           why->code == ERR_INVALID;
}

void session_tell_damage(const struct session *s, const struct err *why)
{
    const struct sessions_sink *sink = &s->all->not_woken;
    if (sink->put)
        sink->put(sink->arg, s->id, why->text);
}

/* Cannot be woken: says why, and takes the file out of the way. */
static int give_up(struct session *s, const struct err *why)
{
    (void)snprintf(
        s->note, sizeof s->note,
        "The session could not be woken (%.90s). Variables are lost; files in /mnt/data are "
        "kept. Define again what you need.",
        why->text);
    sleeper_set_aside(s->all->dir_fd, s->id);
    session_tell_damage(s, why);
    s->needs_sync = true;
    return 1;
}

/* Woken: the file has served, or is from now on a snapshot. */
static int get_up(struct session *s, struct kernel *k, struct sleeper *head, struct err *e)
{
    if (copy_names(&head->lost, kernel_lost(k), e))
        return -1;
    kernel_foretell(k, STATE_WOKEN, &head->lost);
    pthread_mutex_lock(&s->lock);
    s->limits = head->limits;
    s->runs = head->runs;
    s->generation = head->generation;
    uint64_t bytes = s->sleep_bytes;
    s->sleep_bytes = 0;
    pthread_mutex_unlock(&s->lock);
    if (!undo_woke(s, bytes))
        sleeper_remove(s->all->dir_fd, s->id);
    s->needs_sync = true;
    return 0;
}

/* The kernel that a delta comes to. Under an old image it sees the libraries of then, if they were
 * kept: *ret_has_libraries. A session that was awake during the upgrade may hold files of now as well;
 * then it does not come up with those of then, and gets those of now. */
static int start_delta(struct session *s, const struct limits *limits,
                       const struct current_image *image, int delta_fd, struct kernel **ret,
                       bool *ret_has_libraries, struct err *e)
{
    struct kernel_origin origin = {image->fd, delta_fd, image->libraries_fd};
    struct err why = {0};
    off_t begin = lseek(delta_fd, 0, SEEK_CUR);
    *ret_has_libraries = origin.libraries_fd >= 0;
    if (*ret_has_libraries) {
        if (kernel_start(s->all->spawner, limits, &s->data, &origin, ret, &why) == 0)
            return 0;
        if (begin < 0 || lseek(delta_fd, begin, SEEK_SET) < 0)
            return err_sys(e, errno, "read a sleeping session");
        *ret_has_libraries = false;
        origin.libraries_fd = -1;
    }
    return kernel_start(s->all->spawner, limits, &s->data, &origin, ret, e);
}

/* What the next run says of a session that woke under an old image. */
static void note_old(struct session *s, const struct current_image *image, bool has_libraries)
{
    if (!image->is_old || (has_libraries && !image->is_changed_elsewhere))
        return; /* whatever it does, it is as if nothing had been upgraded */
    (void)snprintf(
        s->note, sizeof s->note,
        "%s were upgraded since this session began; it goes on with the old ones. What it "
        "%s from now on may not fit: a new session has the new.",
        has_libraries ? "System libraries" : "Libraries",
        has_libraries ? "loads of those" : "imports");
}

int session_has_image(struct session *s, uint64_t before, struct err *e)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    scoped(sleeper_done) struct sleeper head = {0};
    struct err why = {0};
    char hex[HASH_HEX_SIZE];
    uint64_t size;
    if (sleeper_look_snapshot(s->all->dir_fd, s->id, before, &head, &size, &why) ||
        head.kind != SLEEPER_DELTA)
        return 0; /* whoever reads it says what is wrong with it */
    hash_hex(head.image, hex);
    if (current_take_id(s->all->current, hex, &image, &why) == 0)
        return 0;
    return err_set(e, ERR_NOT_FOUND,
                   "the snapshot of before run %llu cannot be used: what it was taken under is not "
                   "there any more (%.100s)",
                   (unsigned long long)before, why.text);
}

static int wake_delta(struct session *s, struct sleeper *head, int fd, struct err *e)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    char hex[HASH_HEX_SIZE];
    struct kernel *k = NULL;
    hash_hex(head->image, hex);
    if (current_take_id(s->all->current, hex, &image, e)) {
        e->code = e->code == ERR_UNAVAILABLE ? ERR_DAMAGED : e->code; /* fits no host like this */
        return err_wrap(e, "the image it slept under");
    }
    bool has_libraries;
    if (start_delta(s, &head->limits, &image, fd, &k, &has_libraries, e))
        return -1;
    if ((head->reseeds && kernel_reseed(k, e)) || get_up(s, k, head, e)) {
        kernel_free(k);
        return -1;
    }
    session_take_kernel(s, k, hex);
    s->has_old_libraries = has_libraries;
    note_old(s, &image, has_libraries);
    return 0;
}

static int wake_variables(struct session *s, struct sleeper *head, int fd, struct err *e)
{
    scoped(rest_report_done) struct rest_report report = {0};
    if (session_start(s, e))
        return -1;
    if (kernel_restore(s->kernel, fd, &report, e)) {
        e->code = ERR_DAMAGED; /* the kernel has died of it */
        session_drop_kernel(s);
        return -1;
    }
    if (names_append(&head->lost, &report.lost, e) || get_up(s, s->kernel, head, e)) {
        session_drop_kernel(s);
        return -1;
    }
    return 0;
}

int session_awaken(struct session *s, struct err *e)
{
    scoped(sleeper_done) struct sleeper head = {0};
    scoped(fd_closep) int fd = -1;
    struct err why = {0};
    if (sleeper_open(s->all->dir_fd, s->id, &head, &fd, &why)) {
        if (is_final(&why) || why.code == ERR_UNAVAILABLE) /* another version's */
            return give_up(s, &why);
        *e = why;
        return -1;
    }
    int failed = head.kind == SLEEPER_DELTA ? wake_delta(s, &head, fd, &why)
                                            : wake_variables(s, &head, fd, &why);
    if (failed && is_final(&why))
        return give_up(s, &why);
    if (failed)
        *e = why;
    return failed;
}

/* A copy of the file, under another id. */
static int fork_asleep(struct session *s, struct session **ret, struct err *e)
{
    char id[ID_SIZE];
    uint64_t size;
    if (id_make("ses_", id, e) || sleeper_branch(s->all->dir_fd, s->id, id, &size, e))
        return err_wrap(e, "branch a sleeping session");
    return session_find(s->all, id, ret, e);
}

static int refused(const struct names *reasons, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(200);
    names_text(reasons, 190, &text);
    return err_set(e, ERR_CONFLICT, "the session cannot be branched now: %s",
                   text.bytes ? text.bytes : "it refused");
}

/* Its delta in a file that is never committed; *ret_fd is read-only, at its first byte. The file has
 * a name until the branch is awake: to the spawner, one without would be space that the session
 * hides. */
static int write_delta(struct session *s, struct sleeper_draft *draft, int *ret_fd, struct err *e)
{
    scoped(rest_report_done) struct rest_report report = {0};
    struct sleeper head = {0};
    char path[32];
    if (!s->image[0])
        return err_set(e, ERR_CONFLICT,
                       "the session cannot be branched: it was started without an image");
    memcpy(head.session_id, s->id, sizeof head.session_id);
    if (sleeper_begin(s->all->dir_fd, &head, draft, e))
        return -1;
    session_step(s, LIFE_BEGIN);
    int failed = kernel_sleep(s->kernel, SLEEP_STAYS, draft->fd, &report, e);
    if (!kernel_is_alive(s->kernel)) {
        session_lose(s, "The session's kernel died when it was branched");
        return -1;
    }
    session_step(s, LIFE_END);
    if (failed)
        return -1;
    if (report.is_refused)
        return refused(&report.reasons, e);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", draft->fd);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*ret_fd < 0 || lseek(*ret_fd, (off_t)draft->body_at, SEEK_SET) < 0)
        return err_sys(e, errno, "branch a session");
    return 0;
}

/* RISING to a kernel that remembers what `from` did. */
static int wake_branch(struct session *s, struct session *from, int delta,
                       const struct jail_data *data, struct err *e)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    scoped(names_done) struct names lost = {0};
    struct kernel *k;
    if (session_keep_data(s, data, e) || current_take_id(s->all->current, from->image, &image, e))
        return -1;
    bool has_libraries;
    if (start_delta(s, &s->limits, &image, delta, &k, &has_libraries, e))
        return -1;
    session_take_kernel(s, k, image.id);
    s->has_old_libraries = has_libraries;
    if (kernel_reseed(k, e) || copy_names(&lost, kernel_lost(from->kernel), e) ||
        copy_names(&lost, kernel_lost(k), e))
        return -1;
    kernel_foretell(k, STATE_WOKEN, &lost);
    return 0;
}

static int fork_awake(struct session *s, const struct jail_data *data, struct session **ret,
                      struct err *e)
{
    struct session_seed seed = {.life = LIFE_EMPTY,
                                .options = {.limits = s->limits, .snapshots = s->snapshots},
                                .runs = s->runs};
    scoped(sleeper_abandon) struct sleeper_draft draft = SLEEPER_DRAFT_NONE;
    scoped(fd_closep) int delta = -1;
    struct session *branch;
    memcpy(seed.options.tz, s->tz, sizeof s->tz);
    if (write_delta(s, &draft, &delta, e) || session_add(s->all, &seed, &branch, e))
        return -1;
    (void)session_begin(branch); /* nobody else knows it */
    session_step(branch, LIFE_RISE);
    int failed = wake_branch(branch, s, delta, data, e);
    if (failed) {
        session_drop_kernel(branch);
        session_step(branch, LIFE_LOST);
        session_step(branch, LIFE_CLOSE);
    } else {
        session_step(branch, LIFE_UP);
    }
    session_end(branch);
    if (failed) {
        session_unref(branch);
        return err_wrap(e, "branch a session");
    }
    *ret = branch;
    return 0;
}

int session_fork(struct session *which, const struct jail_data *data, struct session **ret,
                 struct err *e)
{
    scoped(session_endp) struct session *s = session_begin(which);
    switch (s->life) {
    case LIFE_ASLEEP: return fork_asleep(s, ret, e);
    case LIFE_IDLE: return fork_awake(s, data, ret, e);
    case LIFE_GONE: return err_set(e, ERR_NOT_FOUND, "the session was deleted");
    default:
        return err_set(e, ERR_CONFLICT, "the session holds nothing to branch; start a new one");
    }
}
