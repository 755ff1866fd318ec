/* `cicada doctor`: what protects this host from the code it runs, found out by asking the spawner
 * and by making a jail. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/args.h"
#include "cli/baked.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/programs.h"
#include "meaning/meaning.h"
#include "session/images.h"
#include "session/kernel.h"
#include "session/spawner.h"
#include "session/workdir.h"
#include "json/write.h"

enum { REPORT_MAX = 64 << 10, OPT_JSON = 1, OPT_HELP };
enum { SLOW_START_US = 10000 }; /* of a session from an image: something must be in its way */

static const struct option doctor_options[] = {
    {OPT_JSON, 0, "json", NULL, "print one JSON object on one line"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};

/* What was found out. */
struct findings {
    struct utsname host;
    const struct jail_hello *hello; /* NULL: the spawner did not start */
    bool has_answered;              /* a jail was made and Python in it said 2 */
    uint64_t start_us, run_us;
    struct err failure; /* why not */
    struct image image; /* the current one; fd -1: none, and why: */
    struct err no_image;
    struct meaning *meaning; /* the sentence encoder; NULL: no memory */
    struct err no_meaning;   /* "": it works */
    bool is_attach_slow;     /* maybe: cgroup v1 without favordynmods */
};

struct mechanism_text {
    const char *title, *meaning, *remedy;
};

static const struct mechanism_text mechanisms[MECH_COUNT] = {
#define MECHANISM(name, title, meaning, remedy) [MECH_##name] = {title, meaning, remedy},
#include "wire/mechanism.def"
#undef MECHANISM
};

static const char *tier_meaning(enum tier tier)
{
    switch (tier) {
    case TIER_FULL: return "namespaces, Landlock, seccomp and limits all hold";
    case TIER_CONTAINER_ROOT:
        return "no namespaces here: own uid, Landlock, seccomp, rlimits and polling; code can see "
               "more of the system than it should";
    case TIER_CONTAINER_USER:
        return "no namespaces and no own uid: Landlock, seccomp, rlimits and polling; sessions of "
               "the same user are kept apart by Landlock alone";
    case TIER_NONE: break;
    }
    return "too weak: cicada refuses to run code here";
}

void doctor_help(struct buf *out)
{
    buf_str(
        out,
        "usage: cicada doctor [--json]\n\n"
        "Says what protects this host from the code that is run: each mechanism, whether it\n"
        "works here, what that means, and how to get it. Then makes a sandbox and runs 1+1.\n\n");
    args_help(doctor_options, out);
    buf_str(out, "\nexit code:\n"
                 "    0  the tier is full\n"
                 "    1  weaker than that\n"
                 "    2  the command line is wrong\n"
                 "  125  no code can be run here\n");
}

static bool is_two(const struct run *run)
{
    for (size_t i = 0; i < run->result.count; i++)
        if (strcmp(run->result.entries[i].type, "text/plain") == 0)
            return run->end == END_OK && strcmp(run->result.entries[i].bytes, "2") == 0;
    return false;
}

static int ask_one_and_one(struct findings *f, struct kernel *k, struct err *e)
{
    const struct run_spec spec = {.code = "1+1", .code_len = 3};
    struct run run;
    int64_t begun_us = clock_us();
    if (kernel_run(k, &spec, /* sink= */ NULL, &run, e))
        return -1;
    f->run_us = (uint64_t)(clock_us() - begun_us);
    f->has_answered = is_two(&run);
    if (!f->has_answered)
        err_set(e, ERR_INTERNAL, "1+1 ended with %s and was not 2", run_end_name(run.end));
    run_done(&run);
    return f->has_answered ? 0 : -1;
}

/* The proof: a jail as `cicada run` makes it. */
static int try_jail(struct findings *f, struct spawner *s, struct err *e)
{
    const struct limits limits = LIMITS_DEFAULT;
    scoped(workdir_freep) struct workdir *dir = NULL;
    if (workdir_new(work_base(), &dir, e))
        return -1;
    struct kernel *k;
    int64_t begun_us = clock_us();
    if (baked_start(s, &limits, &JAIL_DATA_PLAIN(workdir_fd(dir)), &k, e))
        return -1;
    f->start_us = (uint64_t)(clock_us() - begun_us);
    int failed = ask_one_and_one(f, k, e);
    kernel_free(k);
    return failed;
}

/* Whether putting a process into a cgroup is quick: the mount option favordynmods, since Linux 6.0. */
static bool favours_moves(void)
{
    char line[4096];
    bool is_found = false;
    FILE *mounts = fopen("/proc/self/mounts", "re");
    while (mounts && !is_found && fgets(line, sizeof line, mounts))
        is_found = strstr(line, " cgroup ") && strstr(line, "favordynmods");
    if (mounts)
        (void)fclose(mounts);
    return is_found;
}

static void put_mechanism(const struct findings *f, enum mechanism m, bool is_coloured,
                          struct buf *out)
{
    const struct mechanism_text *t = &mechanisms[m];
    int why = f->hello->failure[m];
    const char *mark = why ? "missing" : "active", *end = is_coloured ? "\033[0m" : "";
    const char *colour = !is_coloured ? "" : why ? "\033[1;31m" : "\033[32m";
    buf_fmt(out, "  %s%-8s%s %-20s %s\n", colour, mark, end, t->title, t->meaning);
    if (why)
        buf_fmt(out, "           %-20s because: %s\n           %-20s to get it: %s\n", "",
                strerrordesc_np(why) ? strerrordesc_np(why) : "unknown", "", t->remedy);
}

static void put_image(const struct findings *f, struct buf *out)
{
    char size[SIZE_TEXT], disk[SIZE_TEXT];
    if (f->image.fd >= 0)
        buf_fmt(out, "image      current: %s, %s on disk; sessions start from it\n",
                size_text(f->image.size, size), size_text(f->image.disk_bytes, disk));
    else
        buf_fmt(out, "image      none, sessions start slower: %s\n", f->no_image.text);
}

static void put_encoder(const struct findings *f, struct buf *out)
{
    if (*f->no_meaning.text)
        buf_fmt(out, "encoder    none, search finds words only: %s\n", f->no_meaning.text);
    else
        buf_fmt(out, "encoder    %s: search finds what means the same\n",
                meaning_model(f->meaning));
}

static void put_jail(const struct findings *f, struct buf *out)
{
    put_image(f, out);
    put_encoder(f, out);
    if (f->is_attach_slow && f->start_us > SLOW_START_US && f->image.fd >= 0)
        buf_str(out, "cgroups    starting a session can take 5 to 13 ms longer here; mount the v1 "
                     "hierarchies with the option favordynmods, or use cgroup v2\n");
    if (f->has_answered)
        buf_fmt(out, "sandbox    started in %.1f ms, answered 1+1 in %.1f ms\n",
                (double)f->start_us / 1e3, (double)f->run_us / 1e3);
    else
        buf_fmt(out, "sandbox    failed: %s\n", f->failure.text);
}

static void put_human(const struct findings *f, struct buf *out)
{
    static const char *const cgroups[] = {"none", "v1", "v2"};
    const struct jail_hello *h = f->hello;
    bool is_coloured = isatty(STDOUT_FILENO) && notes_to_stderr().is_coloured;
    buf_fmt(out, "cicada     %s\nkernel     %s %s\n", cli_version(), f->host.release,
            f->host.machine);
    if (h) {
        buf_fmt(out, "tier       %s: %s\n", tier_name(h->tier), tier_meaning(h->tier));
        buf_fmt(out, "landlock   ABI %u\ncgroups    %s\n\n", h->landlock_abi,
                cgroups[h->cgroup < 3 ? h->cgroup : 0]);
        for (enum mechanism m = 0; m < MECH_COUNT; m++)
            put_mechanism(f, m, is_coloured, out);
        buf_str(out, "\n");
    }
    put_jail(f, out);
}

static void put_json_mechanism(struct json_writer *w, const struct findings *f, enum mechanism m)
{
    int why = f->hello->failure[m];
    jw_object(w);
    jw_key(w, "name");
    jw_text(w, mechanisms[m].title);
    jw_key(w, "active");
    jw_bool(w, why == 0);
    jw_key(w, "error");
    jw_text(w, why ? strerrordesc_np(why) : NULL);
    jw_key(w, "meaning");
    jw_text(w, mechanisms[m].meaning);
    jw_key(w, "remedy");
    jw_text(w, why ? mechanisms[m].remedy : NULL);
    jw_end_object(w);
}

static void put_json_host(struct json_writer *w, const struct findings *f)
{
    enum tier tier = f->hello ? f->hello->tier : TIER_NONE;
    jw_key(w, "version");
    jw_text(w, cli_version());
    jw_key(w, "kernel");
    jw_text(w, f->host.release);
    jw_key(w, "machine");
    jw_text(w, f->host.machine);
    jw_key(w, "tier");
    jw_text(w, tier_name(tier));
    jw_key(w, "tier_meaning");
    jw_text(w, tier_meaning(tier));
    jw_key(w, "landlock_abi");
    jw_u64(w, f->hello ? f->hello->landlock_abi : 0);
    jw_key(w, "cgroup");
    jw_u64(w, f->hello ? f->hello->cgroup : 0);
}

static void put_json_image(struct json_writer *w, const struct findings *f)
{
    bool is_there = f->image.fd >= 0;
    jw_key(w, "image");
    jw_object(w);
    jw_key(w, "current");
    jw_bool(w, is_there);
    jw_key(w, "id");
    jw_text(w, is_there ? f->image.id : NULL);
    jw_key(w, "size_bytes");
    jw_u64(w, f->image.size);
    jw_key(w, "disk_bytes");
    jw_u64(w, f->image.disk_bytes);
    jw_key(w, "error");
    jw_text(w, is_there ? NULL : f->no_image.text);
    jw_end_object(w);
}

static void put_json_encoder(struct json_writer *w, const struct findings *f)
{
    bool is_there = !*f->no_meaning.text;
    jw_key(w, "encoder");
    jw_object(w);
    jw_key(w, "available");
    jw_bool(w, is_there);
    jw_key(w, "model");
    jw_text(w, is_there ? meaning_model(f->meaning) : NULL);
    jw_key(w, "error");
    jw_text(w, is_there ? NULL : f->no_meaning.text);
    jw_end_object(w);
}

static void put_json(const struct findings *f, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    put_json_host(&w, f);
    jw_key(&w, "mechanisms");
    jw_array(&w);
    for (enum mechanism m = 0; f->hello && m < MECH_COUNT; m++)
        put_json_mechanism(&w, f, m);
    jw_end_array(&w);
    put_json_image(&w, f);
    put_json_encoder(&w, f);
    jw_key(&w, "slow_cgroup_attach");
    jw_bool(&w, f->is_attach_slow);
    jw_key(&w, "sandbox");
    jw_object(&w);
    jw_key(&w, "answered");
    jw_bool(&w, f->has_answered);
    jw_key(&w, "start_ms");
    jw_decimal(&w, f->start_us, 3);
    jw_key(&w, "run_ms");
    jw_decimal(&w, f->run_us, 3);
    jw_key(&w, "error");
    jw_text(&w, f->has_answered ? NULL : f->failure.text);
    jw_end_object(&w);
    jw_end_object(&w);
    jw_finish(&w);
    buf_str(out, "\n");
}

/* The encoder of this installation; what a server is configured to use is in its own log. */
static void look_for_encoder(struct findings *f)
{
    char path[PATH_MAX];
    const struct meaning_options options = {.file = programs_encoder(path) ? path : NULL};
    if (meaning_open(&options, &f->meaning, &f->no_meaning) == 0)
        (void)meaning_ready(f->meaning, &f->no_meaning); /* which then says why not */
}

static int examine(bool is_json)
{
    struct findings f = {.image = IMAGE_NONE};
    struct spawner *s = NULL;
    (void)uname(&f.host); /* cannot fail with a valid pointer */
    look_for_encoder(&f);
    if (programs_spawner(&s, &f.failure) == 0) {
        f.hello = spawner_hello(s);
        f.is_attach_slow = f.hello->cgroup == 1 && !favours_moves();
        (void)baked_find(s, &f.image, &f.no_image);
        (void)try_jail(&f, s, &f.failure); /* the findings say how it went */
    }
    scoped(buf_done) struct buf text = BUF_INIT(REPORT_MAX);
    if (is_json)
        put_json(&f, &text);
    else
        put_human(&f, &text);
    int code = !f.has_answered ? EXIT_NO_JAIL : f.hello->tier == TIER_FULL ? EXIT_DONE : EXIT_ERROR;
    image_done(&f.image);
    meaning_close(f.meaning);
    spawner_close(s);
    return print_exit(&text, code);
}

int doctor_main(int argc, char **argv)
{
    struct args args = ARGS(argc, argv, doctor_options);
    struct err e = {0};
    struct arg arg;
    bool is_json = false;
    int got;
    while ((got = args_next(&args, &arg, &e)) == 1) {
        if (arg.id == OPT_HELP)
            return print_help(doctor_help);
        if (arg.id == 0)
            return usage_error("doctor", "doctor takes no operands");
        is_json = true;
    }
    return got < 0 ? usage_error("doctor", e.text) : examine(is_json);
}
