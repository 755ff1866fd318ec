/* bake.c -- starts the kernel program the way it has to be started to become an image.
 *
 * The C library finds the vDSO, code the OS lends every process, by the auxiliary vector, and keeps
 * addresses in it. Those would be wrong under another version of the OS. So the vector we hand on does
 * not mention it, and an image outlives an update of the OS; what it costs is a system call whenever
 * the code asks for the time.
 *
 * Since the vector is made before any instruction of a program runs, this program does what exec
 * would do: it maps the dynamic linker and gives it a stack of its own making.
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>

#include "image/format.h"
#include "image/loader/loader.h"
#include "image/places.h"
#include "image/raw.h"

#define LINKER "/lib64/ld-linux-x86-64.so.2"
#define KERNEL "/opt/cicada/kernel" /* ROOT_KERNEL of sandbox/root.h */

enum {
    SEGMENTS_MAX = 16,
    WORDS_MAX = 2048,    /* of the stack we make: arguments, environment, vector */
    KEPT_FREE = 1 << 20, /* below the vDSO: another version of the OS may have a larger one */
};

_Noreturn void loader_jump(uint64_t entry, const void *stack);

static uint64_t down(uint64_t n)
{
    return n / IMAGE_PAGE * IMAGE_PAGE;
}

static uint64_t up(uint64_t n)
{
    return down(n + IMAGE_PAGE - 1);
}

static int protection(uint32_t flags)
{
    return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
           (flags & PF_X ? PROT_EXEC : 0);
}

static uint64_t map_or_fail(uint64_t at, uint64_t len, int prot, int flags, int fd, uint64_t offset)
{
    long got = raw_mmap(at, len, prot, flags, fd, offset);
    if (got < 0 && got > -4096)
        loader_fail("map the dynamic linker: error", got);
    return (uint64_t)got;
}

static void map_segment(int fd, uint64_t base, const Elf64_Phdr *p)
{
    uint64_t start = down(p->p_vaddr), file_end = p->p_vaddr + p->p_filesz;
    (void)map_or_fail(base + start, up(file_end) - start, protection(p->p_flags),
                      MAP_PRIVATE | MAP_FIXED, fd, down(p->p_offset));
    if (p->p_memsz == p->p_filesz)
        return;
    for (uint64_t at = file_end; at < up(file_end); at++)
        *(volatile char *)(uintptr_t)(base + at) = 0;
    uint64_t end = p->p_vaddr + p->p_memsz;
    if (end > up(file_end))
        (void)map_or_fail(base + up(file_end), up(end) - up(file_end), protection(p->p_flags),
                          MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
}

/* Maps the dynamic linker as exec would. Returns its entry. */
static uint64_t map_linker(void)
{
    long fd = raw_open(LINKER, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr head;
    Elf64_Phdr segments[SEGMENTS_MAX];
    if (fd < 0 || raw_pread_all((int)fd, &head, sizeof head, 0) || head.e_machine != EM_X86_64 ||
        head.e_phnum > SEGMENTS_MAX || head.e_phentsize != sizeof *segments ||
        raw_pread_all((int)fd, segments, head.e_phnum * sizeof *segments, head.e_phoff))
        loader_fail("read the dynamic linker: error", fd);
    uint64_t span = 0;
    for (size_t i = 0; i < head.e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr + segments[i].p_memsz > span)
            span = segments[i].p_vaddr + segments[i].p_memsz;
    uint64_t base = map_or_fail(0, up(span), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < head.e_phnum; i++)
        if (segments[i].p_type == PT_LOAD)
            map_segment((int)fd, base, &segments[i]);
    (void)raw_close((int)fd);
    return base + head.e_entry;
}

/* What will be on the stack, from its lower end: words as exec leaves them, then the arguments' text.
 * It lies on the real stack, which is part of the image; this program is not. */
struct top {
    uint64_t words[WORDS_MAX];
    char text[256];
};

static uint64_t keep_text(struct top *top, size_t *used, const char *text)
{
    uint64_t at = raw_address(top->text + *used);
    do
        top->text[(*used)++] = *text;
    while (*text++);
    return at;
}

/* A stack for `ld.so --argv0 python3 KERNEL bake`, and the vector without the vDSO. The linker, seeing
 * its own entry in the vector, knows that it was not started for another program. */
static void make_stack(struct top *top, const struct start *s, uint64_t entry)
{
    static const char *const arguments[] = {"python3", LINKER, "--argv0",
                                            "python3", KERNEL, "bake"};
    enum { ARGUMENTS = sizeof arguments / sizeof *arguments };
    size_t n = 1, used = 0, count = 0;
    while (s->env[count])
        count++;
    if (count > WORDS_MAX / 2)
        loader_fail("the environment is too large", 0);
    (void)keep_text(top, &used, arguments[0]); /* what /proc/self/cmdline shows */
    top->words[0] = ARGUMENTS - 1;
    for (size_t i = 1; i < ARGUMENTS; i++)
        top->words[n++] = keep_text(top, &used, arguments[i]);
    top->words[n++] = 0;
    for (size_t i = 0; i < count; i++)
        top->words[n++] = raw_address(s->env[i]);
    top->words[n++] = 0;
    for (const uint64_t *a = s->auxv; n + 4 < WORDS_MAX; a += 2) {
        top->words[n++] = a[0] == AT_SYSINFO_EHDR ? AT_IGNORE : a[0];
        top->words[n++] = a[0] == AT_ENTRY ? entry : a[1];
        if (a[0] == AT_NULL)
            return;
    }
    loader_fail("the auxiliary vector is too large", 0);
}

static uint64_t end_of_environment(const struct start *s)
{
    const char *last = s->env[0];
    for (size_t i = 0; s->env[i]; i++)
        last = s->env[i];
    while (last && *last)
        last++;
    return raw_address(last);
}

/* The heap goes where nothing is in its way; exec has put it behind this program. */
static void move_heap(const struct top *top, const struct start *s)
{
    struct prctl_mm_map map = {.start_code = LOADER_START,
                               .end_code = LOADER_START + 1,
                               .start_data = LOADER_START,
                               .end_data = LOADER_START + 1,
                               .start_brk = HEAP_START,
                               .brk = HEAP_START,
                               .start_stack = raw_address(top->words),
                               .arg_start = raw_address(top->text),
                               .arg_end = raw_address(top->text) + sizeof "python3",
                               .env_start = raw_address(s->env[0]),
                               .env_end = end_of_environment(s),
                               .exe_fd = (uint32_t)-1};
    long failed = raw6(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, raw_address(&map), sizeof map, 0, 0);
    if (failed)
        loader_fail("move the heap: error", failed);
}

_Noreturn void loader_bake(const struct start *s)
{
    _Alignas(16) struct top top;
    /* Nothing of the image may lie where a larger vDSO would. image/bake.c knows it and leaves it out. */
    (void)map_or_fail(0, KEPT_FREE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t entry = map_linker();
    make_stack(&top, s, entry);
    move_heap(&top, s);
    loader_jump(entry, top.words);
}
