#include "sample.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/parse.h"

double sample_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

void sample_print(const char *series, double start_us)
{
    printf("%s %.2f\n", series, sample_now_us() - start_us);
}

static int serve_one(const struct command *commands, void *arg, char *line, struct err *e)
{
    char *count_text = strchr(line, ' ');
    if (!count_text)
        return err_set(e, ERR_INVALID, "a command is NAME COUNT");
    *count_text++ = '\0';
    count_text[strcspn(count_text, "\n")] = '\0';

    uint64_t count = 0;
    if (parse_u64(count_text, 1, 1000000, &count, e))
        return -1;
    for (const struct command *c = commands; c->name; c++)
        if (strcmp(c->name, line) == 0)
            return c->measure(arg, count, e);
    return err_set(e, ERR_INVALID, "no command %s", line);
}

int sample_serve(const struct command *commands, void *arg)
{
    char line[128];
    while (fgets(line, sizeof line, stdin)) {
        struct err e = {0};
        if (serve_one(commands, arg, line, &e)) {
            fprintf(stderr, "%s: %s\n", line, e.text);
            return 1;
        }
        printf("done\n");
        fflush(stdout);
    }
    return 0;
}
