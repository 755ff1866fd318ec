/* Prints the programs a session is filtered by, as the kernel would get them: a line with the name
 * and length of each, then one line per instruction. */
#include <stdio.h>

#include "base/err.h"
#include "sandbox/filter.h"

static void print(const char *name, struct filter program)
{
    printf("%s %u\n", name, program.count);
    for (unsigned i = 0; i < program.count; i++) {
        const struct sock_filter *insn = &program.insns[i];
        printf("%u %u %u %u\n", insn->code, insn->jt, insn->jf, insn->k);
    }
}

static int print_outer(const char *name, const struct filter_policy *policy)
{
    struct filter program;
    struct err e = {0};
    if (filter_build(policy, &program, &e)) {
        fprintf(stderr, "%s: %s\n", name, e.text);
        return 1;
    }
    print(name, program);
    filter_done(&program);
    return 0;
}

int main(void)
{
    static const struct filter_policy full = {
        .sockets = true, .new_groups = true, .memfd = true, .affinity = true};
    static const struct filter_policy container = {0};
    if (print_outer("full", &full) || print_outer("container", &container))
        return 1;
    print("seal", filter_seal());
    print("parked", filter_parked());
    print("init", filter_init());
    return 0;
}
