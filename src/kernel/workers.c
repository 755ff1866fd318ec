#include "kernel/workers.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { LIBRARIES_MAX = 16, OMP_PAUSE_HARD = 2 };

/* Names differ between builds: with 64-bit indices and in the wheels of numpy and scipy they have
 * something before or behind. */
static const char *const shut_down[] = {"blas_thread_shutdown_", "scipy_blas_thread_shutdown_",
                                        "blas_thread_shutdown_64_"};
static const char *const set_blas[] = {"openblas_set_num_threads", "openblas_set_num_threads64_",
                                       "scipy_openblas_set_num_threads",
                                       "scipy_openblas_set_num_threads64_"};
static const char *const set_omp[] = {"omp_set_num_threads"};
static const char *const pause_omp[] = {"omp_pause_resource_all"};

struct libraries {
    const char *names[LIBRARIES_MAX];
    void *handles[LIBRARIES_MAX];
    size_t count;
};

static int add_name(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    struct libraries *all = found;
    const char *name = strrchr(info->dlpi_name, '/');
    if (name && (strstr(name, "openblas") || strstr(name, "omp")) && all->count < LIBRARIES_MAX)
        all->names[all->count++] = info->dlpi_name;
    return 0;
}

/* Those that are loaded. Each handle has to be closed. */
static struct libraries find_libraries(void)
{
    struct libraries all = {.count = 0};
    (void)dl_iterate_phdr(add_name, &all);
    size_t opened = 0;
    for (size_t i = 0; i < all.count; i++) {
        void *handle = dlopen(all.names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (handle)
            all.handles[opened++] = handle;
    }
    all.count = opened;
    return all;
}

static void close_libraries(struct libraries *all)
{
    while (all->count > 0)
        (void)dlclose(all->handles[--all->count]);
}

/* Calls the first of these functions that a library has, with `argument`. */
static void call_each(const struct libraries *all, const char *const *names, size_t name_count,
                      int argument)
{
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < name_count; k++) {
            int (*function)(int) = (int (*)(int))dlsym(all->handles[i], names[k]);
            if (!function)
                continue;
            (void)function(argument);
            break;
        }
}

#define CALL_EACH(all, names, argument) \
    call_each(all, names, sizeof(names) / sizeof *(names), argument)

int workers_all_threads(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) ? -1 : (int)tasks.st_nlink - 2;
}

void workers_stop(void)
{
    struct libraries all = find_libraries();
    CALL_EACH(&all, pause_omp, OMP_PAUSE_HARD);
    CALL_EACH(&all, shut_down, 0);
    close_libraries(&all);
}

/* Being told a number, OpenBLAS starts its threads at once; they wait until they are needed only
 * after having been stopped. */
void workers_set(int count)
{
    struct libraries all = find_libraries();
    CALL_EACH(&all, set_omp, count);
    CALL_EACH(&all, set_blas, count);
    CALL_EACH(&all, shut_down, 0);
    close_libraries(&all);
}
