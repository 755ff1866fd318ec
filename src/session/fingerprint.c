#include "session/fingerprint.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "image/format.h"

enum { PROGRAM_HEADERS_MAX = 64, NOTES_MAX = 4096 };

static int read_at(int fd, void *bytes, size_t len, uint64_t offset, struct err *e)
{
    ssize_t n = pread(fd, bytes, len, (off_t)offset);
    if (n < 0)
        return err_sys(e, errno, "read");
    return (size_t)n == len ? 0 : err_set(e, ERR_INVALID, "the file is cut off");
}

/* Looks for the build id among the notes of one segment. */
static bool find_id(const char *notes, size_t len, char ret[BUILD_ID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= len;) {
        Elf64_Nhdr head;
        memcpy(&head, notes + at, sizeof head);
        size_t name = at + sizeof head, text = name + (((size_t)head.n_namesz + 3) & ~(size_t)3);
        size_t next = text + (((size_t)head.n_descsz + 3) & ~(size_t)3);
        if (next > len)
            return false;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
            memcmp(notes + name, "GNU", 4) == 0 && head.n_descsz > 0 &&
            head.n_descsz <= (BUILD_ID_SIZE - 1) / 2) {
            for (size_t i = 0; i < head.n_descsz; i++) {
                uint8_t byte = (uint8_t)notes[text + i];
                ret[2 * i] = digits[byte >> 4];
                ret[2 * i + 1] = digits[byte & 15];
            }
            ret[2 * (size_t)head.n_descsz] = '\0';
            return true;
        }
        at = next;
    }
    return false;
}

int build_id_read(const char *path, char ret[BUILD_ID_SIZE], struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr head;
    Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
    if (fd < 0)
        return err_sys(e, errno, "open a program");
    if (read_at(fd, &head, sizeof head, 0, e))
        return -1;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof *segments || head.e_phnum > PROGRAM_HEADERS_MAX)
        return err_set(e, ERR_INVALID, "not a 64-bit program");
    if (read_at(fd, segments, head.e_phnum * sizeof *segments, head.e_phoff, e))
        return -1;
    for (size_t i = 0; i < head.e_phnum; i++) {
        char notes[NOTES_MAX];
        if (segments[i].p_type != PT_NOTE || segments[i].p_filesz > sizeof notes)
            continue;
        if (read_at(fd, notes, segments[i].p_filesz, segments[i].p_offset, e))
            return -1;
        if (find_id(notes, segments[i].p_filesz, ret))
            return 0;
    }
    return err_set(e, ERR_INVALID, "the program has no build id; link it with --build-id");
}

/* Registers of the leaves that name features. Of leaf 1 not EBX, in which each core has a number of
 * its own, and of leaf 13 not the sizes that depend on what is switched on at the moment. */
static int hash_cpu(char ret[HASH_HEX_SIZE], struct err *e)
{
    enum { EAX = 1, EBX = 2, ECX = 4, EDX = 8 };
    static const struct {
        uint32_t leaf, sub, registers;
    } wanted[] = {{1, 0, ECX | EDX},         {7, 0, EBX | ECX | EDX}, {7, 1, EAX},
                  {0xd, 0, EAX | ECX},       {0xd, 1, EAX},           {0x19, 0, EBX},
                  {0x80000001, 0, ECX | EDX}};
    scoped(hash_done) struct hash h = {0};
    uint8_t digest[HASH_LEN];
    if (hash_init(&h, e))
        return -1;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        uint32_t r[4] = {0};
        (void)__get_cpuid_count(wanted[i].leaf, wanted[i].sub, &r[0], &r[1], &r[2], &r[3]);
        for (size_t j = 0; j < 4; j++)
            r[j] = wanted[i].registers & 1u << j ? r[j] : 0;
        if (hash_add(&h, r, sizeof r, e))
            return -1;
    }
    if (hash_end(&h, digest, e))
        return -1;
    hash_hex(digest, ret);
    return 0;
}

int fingerprint_take(const char *kernel_path, const char *load_path, struct fingerprint *ret,
                     struct err *e)
{
    struct fingerprint f = {.format = IMAGE_VERSION};
    if (build_id_read(kernel_path, f.kernel, e))
        return err_wrap(e, "cicada-kernel");
    if (build_id_read(load_path, f.loader, e))
        return err_wrap(e, "cicada-load");
    if (hash_cpu(f.cpu, e))
        return -1;
    *ret = f;
    return 0;
}

bool fingerprint_equal(const struct fingerprint *a, const struct fingerprint *b)
{
    return a->format == b->format && strcmp(a->kernel, b->kernel) == 0 &&
           strcmp(a->loader, b->loader) == 0 && strcmp(a->cpu, b->cpu) == 0;
}
