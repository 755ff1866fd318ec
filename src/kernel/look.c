#include "kernel/look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/scope.h"
#include "image/raw.h"
#include "kernel/control.h"
#include "kernel/native_int.h"
#include "kernel/signals.h"
#include "kernel/workers.h"
#include "sandbox/landlock.h"

enum {
    HEAD = 4, /* bytes of a record's length */
    OWN_LEN = HEAD + sizeof(uint64_t),
    MARGIN = 16 << 20, /* page tables, and what the copy takes between two looks at it */
    FAULT_LOOK_MS = 5, /* between two of those */
    PIPE_FD = 3,       /* in the copy */
    FILES_MAX = 32,    /* open files of the copy: what lies in pipes and sockets is memory, too */
    UNFENCED = 125,    /* exit status of a copy that could not be fenced */
    CHUNK = 64 << 10,
};

static const char unfenced[] = "no copy of the session could be made safe";

struct look {
    pid_t pid;
    int pipe;
    int each_ms;
    int count; /* of the records that it is asked for */
    int64_t until_us;
    uint64_t anonymous; /* bytes of the kernel that are its own */
    uint64_t shared;    /* bytes of memory that others have too, where the copy began */
    uint64_t memory;    /* bytes that the copy may take */
    struct buf text;    /* records as they came, each with its length */
    size_t whole_len;   /* of which so many bytes are whole records */
    int whole;          /* so many; the first one is our own, see tell_shared() */
    const char *why;    /* we ended it for that */
};

/* ---- memory */

struct pages {
    uint64_t anonymous, data, mapped;
};

/* What a process has of its own, in bytes. False when it is gone. */
static bool count_pages(const char *pid, struct pages *ret)
{
    char path[64], text[256];
    unsigned long size, resident, shared, code, library, data;
    (void)snprintf(path, sizeof path, "/proc/%.16s/statm", pid);
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    if (sscanf(text, "%lu %lu %lu %lu %lu %lu", &size, &resident, &shared, &code, &library,
               &data) != 6)
        return false;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *ret = (struct pages){.anonymous = resident > shared ? (resident - shared) * page : 0,
                          .data = data * page,
                          .mapped = size * page};
    return true;
}

/* Bytes of a process that lie in memory which others can have as well: shared mappings without a file,
 * files of memory file systems. Other files' pages cost nothing: they go when they are in the way. */
static uint64_t count_shared(const char *pid)
{
    static const char wanted[] = "\nRssShmem:";
    char path[64], text[4096];
    (void)snprintf(path, sizeof path, "/proc/%.16s/status", pid);
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    const char *found = strstr(text, wanted);
    return found ? strtoull(found + sizeof wanted - 1, NULL, 10) << 10 : 0;
}

/* All that processes of this session have of their own, and what lies in its memory file systems: more
 * than what cannot be taken from them, for pages that several have count for each. UINT64_MAX when it
 * cannot be told, as in containers. */
static uint64_t count_all(void)
{
    static const char *const mounts[] = {"/tmp", "/dev/shm"};
    uint64_t sum = 0;
    DIR *all = opendir("/proc");
    struct pages pages;
    if (!all)
        return UINT64_MAX;
    for (struct dirent *d; (d = readdir(all)) != NULL;)
        if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && count_pages(d->d_name, &pages))
            sum += pages.anonymous;
    (void)closedir(all);
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        struct statvfs vfs;
        if (statvfs(mounts[i], &vfs) == 0)
            sum += (uint64_t)(vfs.f_blocks - vfs.f_bfree) * vfs.f_frsize;
    }
    return sum;
}

/* How much the copy may take; 0: too little is left for one. What the engine knows to be in use counts
 * cached files, which go when they are in the way; hence the second look, when the first says no. */
static uint64_t find_memory(uint64_t anonymous, uint64_t room, uint64_t limit)
{
    uint64_t needed = anonymous + MARGIN;
    if (limit == 0)
        return LOOK_MEMORY_MAX;
    if (room < needed + LOOK_MEMORY_MIN) {
        uint64_t used = count_all();
        room = used < limit ? limit - used : 0;
    }
    if (room < needed + LOOK_MEMORY_MIN)
        return 0;
    return room - needed < LOOK_MEMORY_MAX ? room - needed : LOOK_MEMORY_MAX;
}

/* ---- the copy */

static void limit(int resource, uint64_t most)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now))
        return;
    if (now.rlim_cur > most)
        now.rlim_cur = most;
    now.rlim_max = now.rlim_cur;
    (void)setrlimit((__rlimit_resource_t)resource, &now); /* less than before: always granted */
}

static void place_descriptors(int pipe)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < PIPE_FD; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            (void)close(fd);
    if (pipe != PIPE_FD && dup2(pipe, PIPE_FD) < 0)
        _exit(UNFENCED);
    (void)close_range(PIPE_FD + 1, ~0U, 0);
}

static void fence(void)
{
    static const struct landlock_rule rules[] = {{"/", LANDLOCK_READ, false},
                                                 {"/dev/null", LANDLOCK_DEV, true}};
    const char *path;
    int why = landlock_restrict(rules, sizeof rules / sizeof *rules, &path);
    if (why)
        _exit(UNFENCED);
}

static void send_record(const char *at, Py_ssize_t len)
{
    uint8_t head[HEAD];
    put_u32(head, len < UINT32_MAX ? (uint32_t)len : UINT32_MAX);
    if (write(PIPE_FD, head, sizeof head) != sizeof head)
        _exit(1);
    while (len > 0) {
        ssize_t n = write(PIPE_FD, at, (size_t)len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1);
        at += n;
        len -= n;
    }
}

static PyObject *tell(PyObject *self, PyObject *bytes)
{
    (void)self;
    char *at;
    Py_ssize_t len;
    if (PyBytes_AsStringAndSize(bytes, &at, &len))
        return NULL;
    send_record(at, len);
    Py_RETURN_NONE;
}

/* Before any code of the session runs: only here is it known what the copy was given. */
static void tell_shared(void)
{
    uint64_t shared = count_shared("self");
    send_record((const char *)&shared, sizeof shared);
}

static _Noreturn void be_asked(PyObject *function, const struct look *l, const struct pages *was,
                               bool has_threads, const sigset_t *signals)
{
    static PyMethodDef method = {"tell", tell, METH_O, "One record of the answer."};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)setsid(); /* not in containers, where a group is what gets killed */
    control_leave();
    place_descriptors(l->pipe);
    if (has_threads)
        PyOS_AfterFork_Child();
    (void)PyGC_Disable(); /* it would write to every page there is */
    fence();
    limit(RLIMIT_NPROC, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, FILES_MAX);
    limit(RLIMIT_DATA, was->data + l->memory);
    limit(RLIMIT_AS, was->mapped + l->memory);
    tell_shared();
    signals_let(*signals);
    PyObject *told = PyCFunction_New(&method, NULL);
    PyObject *done = told ? PyObject_CallOneArg(function, told) : NULL;
    _exit(done ? 0 : 1);
}

/* ---- the kernel */

/* Takes note of the records that are whole. False when what has come is beyond its bounds. */
static bool count_records(struct look *l)
{
    while (l->text.len - l->whole_len >= HEAD) {
        const uint8_t *at = (const uint8_t *)l->text.bytes + l->whole_len;
        uint32_t len = get_u32(at);
        if (len > LOOK_RECORD_MAX || l->whole > l->count)
            return false;
        if (l->text.len - l->whole_len - HEAD < len)
            break;
        if (l->whole == 0)
            memcpy(&l->shared, at + HEAD, sizeof l->shared);
        l->whole++;
        l->whole_len += HEAD + len;
    }
    return true;
}

static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static bool takes_too_much(const struct look *l)
{
    char pid[16];
    struct pages pages;
    (void)snprintf(pid, sizeof pid, "%d", (int)l->pid);
    if (!count_pages(pid, &pages))
        return false;
    uint64_t shared = l->whole > 0 ? growth(count_shared(pid), l->shared) : 0;
    return growth(pages.anonymous, l->anonymous) + shared > l->memory;
}

static const char too_long[] = "it took too long";

/* The pipe is closed: it has ended or is about to, unless its code has closed the pipe. */
static void await_end(struct look *l, int64_t until_us)
{
    scoped(fd_closep) int process = (int)syscall(SYS_pidfd_open, l->pid, 0);
    struct pollfd ended = {.fd = process, .events = POLLIN};
    if (process < 0 || poll(&ended, 1, clock_poll_ms(until_us)) <= 0)
        l->why = too_long;
}

/* Until the copy has ended, or l->why says why it has to. */
static void listen_to(struct look *l)
{
    char chunk[CHUNK];
    int64_t each_us = clock_us() + (int64_t)l->each_ms * 1000;
    int64_t look_us = clock_us() + FAULT_LOOK_MS * 1000;
    for (;;) {
        int64_t now_us = clock_us(), until_us = each_us < l->until_us ? each_us : l->until_us;
        struct pollfd ready = {.fd = l->pipe, .events = POLLIN};
        if (now_us >= until_us) {
            l->why = each_us <= l->until_us ? too_long : "there was no time left for it";
            return;
        }
        if (now_us >= look_us) { /* however much it has to say meanwhile */
            if (takes_too_much(l)) {
                l->why = "it took too much memory";
                return;
            }
            look_us = clock_us() + FAULT_LOOK_MS * 1000;
        }
        if (poll(&ready, 1, clock_poll_ms(until_us < look_us ? until_us : look_us)) <= 0)
            continue;
        ssize_t n = read(l->pipe, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            await_end(l, until_us);
            return;
        }
        size_t before = l->whole_len;
        buf_add(&l->text, chunk, (size_t)n);
        if (l->text.failed || !count_records(l)) {
            l->why = "it is too long";
            return;
        }
        if (l->whole_len > before)
            each_us = clock_us() + (int64_t)l->each_ms * 1000;
    }
}

/* Ends the copy and says what had ended it already, in `text`; NULL when it came to its end. */
static const char *reap(const struct look *l, char *text, size_t size)
{
    siginfo_t info = {0};
    int got;
    if (l->why)
        (void)kill(l->pid, SIGKILL); /* nobody else reaps it, so it is still this one */
    do
        got = waitid(P_PID, (id_t)l->pid, &info, WEXITED | __WALL);
    while (got && errno == EINTR);
    if (l->why)
        return l->why;
    if (got || (info.si_code == CLD_EXITED && info.si_status == 0))
        return NULL;
    if (info.si_code != CLD_EXITED)
        (void)snprintf(text, size, "its code ended the process: %s", strsignal(info.si_status));
    else if (info.si_status == UNFENCED)
        return unfenced;
    else
        (void)snprintf(text, size, "its code ended the process with status %d", info.si_status);
    return text;
}

static PyObject *records_of(const struct look *l)
{
    PyObject *list = PyList_New(0);
    for (size_t at = OWN_LEN; list && at < l->whole_len;) {
        uint32_t len = get_u32((const uint8_t *)l->text.bytes + at);
        PyObject *record = PyBytes_FromStringAndSize(l->text.bytes + at + HEAD, (Py_ssize_t)len);
        if (!record || PyList_Append(list, record))
            Py_CLEAR(list);
        Py_XDECREF(record);
        at += HEAD + len;
    }
    return list;
}

static PyObject *no_copy(const char *why)
{
    PyErr_SetString(PyExc_OSError, why);
    return NULL;
}

/* One that could be cloned is there, and has been waited for, when this returns. */
static PyObject *ask_copy(struct look *l, PyObject *function, const struct pages *was)
{
    char text[128];
    int ends[2];
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    bool has_threads = PyThreadState_Next(PyInterpreterState_ThreadHead(interpreter)) != NULL;
    if (!has_threads && workers_all_threads() > 1)
        workers_stop();
    if (pipe2(ends, O_CLOEXEC))
        return no_copy("no copy of the session could be made: it has too many open files");
    sigset_t before = signals_hold();
    /* No signal for its end: the session's code would hear of it, and os.wait() see it. */
    long pid = raw6(SYS_clone, 0, 0, 0, 0, 0, 0);
    if (pid == 0) {
        l->pipe = ends[1];
        be_asked(function, l, was, has_threads, &before);
    }
    (void)close(ends[1]);
    const char *why = NULL;
    if (pid > 0) {
        l->pid = (pid_t)pid;
        l->pipe = ends[0];
        PyThreadState *thread = PyEval_SaveThread();
        listen_to(l);
        why = reap(l, text, sizeof text);
        PyEval_RestoreThread(thread);
    }
    (void)close(ends[0]);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return no_copy("no copy of the session could be made: too many processes, or no memory");
    if (why == unfenced)
        return no_copy(why);
    PyObject *records = records_of(l);
    return records ? Py_BuildValue("(Nz)", records, why) : NULL;
}

PyObject *native_look(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *function;
    int count, each_ms, all_ms;
    unsigned long long room_kib, limit_kib;
    struct pages pages = {0};
    if (!PyArg_ParseTuple(args, "OiiiKK:look", &function, &count, &each_ms, &all_ms, &room_kib,
                          &limit_kib))
        return NULL;
    if (landlock_abi() == 0)
        return no_copy(
            "objects are asked in a copy of the session only where Landlock can fence it in");
    if (!count_pages("self", &pages))
        return no_copy("no copy of the session could be made");
    struct look l = {.each_ms = each_ms,
                     .count = count,
                     .until_us = clock_us() + (int64_t)all_ms * 1000,
                     .anonymous = pages.anonymous,
                     .memory = find_memory(pages.anonymous, room_kib << 10, limit_kib << 10),
                     .text = BUF_INIT(LOOK_TEXT_MAX)};
    if (l.memory == 0)
        return no_copy("there is too little memory left for a copy of the session");
    PyObject *answer = ask_copy(&l, function, &pages);
    buf_done(&l.text);
    return answer;
}
