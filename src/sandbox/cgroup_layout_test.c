/* What cgroup_layout.h promises, on layouts as they are found in the wild. */
#include "sandbox/cgroup_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"

static struct cgroup_layout parse(const char *mountinfo, const char *self_cgroup)
{
    struct cgroup_layout layout;
    struct err e = {0};
    assert_int_equal(cgroup_layout_parse(mountinfo, self_cgroup, &layout, &e), 0);
    return layout;
}

static void check(const struct cgroup_place *place, int version, unsigned controllers,
                  const char *top, const char *own)
{
    assert_int_equal(place->version, version);
    assert_int_equal(place->controllers, controllers);
    assert_string_equal(place->top, top);
    assert_string_equal(place->own, own);
}

static void version_1_has_a_hierarchy_per_controller(void **state)
{
    (void)state;
    scoped(cgroup_layout_done) struct cgroup_layout l = parse(
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
        "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
        "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n",
        "9:name=systemd:/\n8:pids:/\n4:memory:/service/a\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n");
    assert_int_equal(l.count, 4);
    check(&l.places[0], 1, CGROUP_CPU, "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu");
    check(&l.places[1], 1, CGROUP_CPUACCT, "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpuacct");
    check(&l.places[2], 1, CGROUP_MEMORY, "/sys/fs/cgroup/memory",
          "/sys/fs/cgroup/memory/service/a");
    check(&l.places[3], 1, CGROUP_PIDS, "/sys/fs/cgroup/pids", "/sys/fs/cgroup/pids");
}

static void version_2_is_one_hierarchy_that_does_not_name_its_controllers(void **state)
{
    (void)state;
    scoped(cgroup_layout_done) struct cgroup_layout l = parse(
        "25 23 0:22 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "
        "rw,nsdelegate,memory_recursiveprot\n",
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope\n");
    assert_int_equal(l.count, 1);
    check(&l.places[0], 2, 0, "/sys/fs/cgroup",
          "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope");
}

static void a_hybrid_has_both_and_controllers_may_share_a_hierarchy(void **state)
{
    (void)state;
    scoped(cgroup_layout_done) struct cgroup_layout l = parse(
        "30 25 0:26 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate\n"
        "31 25 0:27 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd\n"
        "35 25 0:31 / /sys/fs/cgroup/cpu,cpuacct rw shared:16 master:3 - cgroup cgroup "
        "rw,cpu,cpuacct\n"
        "36 25 0:32 / /sys/fs/cgroup/memory rw shared:17 - cgroup cgroup rw,memory\n",
        "12:cpuset:/\n5:cpu,cpuacct:/system.slice/x.service\n4:memory:/system.slice/x.service\n"
        "1:name=systemd:/system.slice/x.service\n0::/system.slice/x.service\n");
    assert_int_equal(l.count, 3);
    check(&l.places[0], 2, 0, "/sys/fs/cgroup/unified",
          "/sys/fs/cgroup/unified/system.slice/x.service");
    check(&l.places[1], 1, CGROUP_CPU | CGROUP_CPUACCT, "/sys/fs/cgroup/cpu,cpuacct",
          "/sys/fs/cgroup/cpu,cpuacct/system.slice/x.service");
    check(&l.places[2], 1, CGROUP_MEMORY, "/sys/fs/cgroup/memory",
          "/sys/fs/cgroup/memory/system.slice/x.service");
}

static void in_a_container_the_mounted_part_may_be_our_own_group(void **state)
{
    (void)state;
    scoped(cgroup_layout_done) struct cgroup_layout l =
        parse("735 734 0:32 /docker/4f1e /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
              "736 734 0:36 /docker/4f1e /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
              "737 734 0:29 /docker/4f1e /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
              "8:pids:/docker/4f1e\n4:memory:/docker/4f1e/deeper\n1:cpu:/docker/4f1eother\n");
    assert_int_equal(l.count, 3);
    check(&l.places[0], 1, CGROUP_MEMORY, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/deeper");
    check(&l.places[1], 1, CGROUP_PIDS, "/sys/fs/cgroup/pids", "/sys/fs/cgroup/pids");
    /* Outside of what is mounted: only the top is left. */
    check(&l.places[2], 1, CGROUP_CPU, "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu");
}

static void in_a_cgroup_namespace_a_path_above_its_root_is_not_visible(void **state)
{
    (void)state;
    scoped(cgroup_layout_done) struct cgroup_layout l =
        parse("40 30 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
              "41 30 0:31 /../../host /mnt/cgroup rw - cgroup2 cgroup rw\n",
              "0::/../sibling\n");
    assert_int_equal(l.count, 2);
    check(&l.places[0], 2, 0, "/sys/fs/cgroup", "/sys/fs/cgroup");
    check(&l.places[1], 2, 0, "/mnt/cgroup", "/mnt/cgroup");
}

static void read_only_mounts_are_left_out(void **state)
{
    (void)state;
    scoped(cgroup_layout_done) struct cgroup_layout l =
        parse("40 30 0:30 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
              "41 30 0:31 / /a ro - cgroup cgroup rw,memory\n"
              "42 30 0:31 / /b root,x - cgroup cgroup rw,memory\n",
              "0::/\n4:memory:/\n");
    assert_int_equal(l.count, 1);
    check(&l.places[0], 1, CGROUP_MEMORY, "/b", "/b");
}

static void escaped_characters_of_a_path_are_restored(void **state)
{
    (void)state;
    scoped(cgroup_layout_done) struct cgroup_layout l =
        parse("41 30 0:31 / /my\\040mount\\134\\11x rw - cgroup cgroup rw,pids\n", "1:pids:/a b\n");
    assert_int_equal(l.count, 1);
    check(&l.places[0], 1, CGROUP_PIDS, "/my mount\\\\11x", "/my mount\\\\11x/a b");
}

static void senseless_lines_are_skipped(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "\n\n",
        " - ",
        "1 2 3 - cgroup cgroup rw,memory\n",
        "1 2 3 4 5 - cgroup\n",
        "- - -",
        "x",
        "1 2 3 / /p rw -",
        "1 2 3 / /p rw - cgroup\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        scoped(cgroup_layout_done) struct cgroup_layout l = parse(lines[i], "4:memory:/\n");
        assert_int_equal(l.count, 0);
    }
    static const char *const groups[] = {"", "4", "4:memory", ":", "::", "\n\n:", "0:x:/y"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        scoped(cgroup_layout_done) struct cgroup_layout l =
            parse("41 30 0:31 / /a rw - cgroup cgroup rw,memory", groups[i]);
        assert_int_equal(l.count, 0);
    }
}

static void more_mounts_than_places_are_cut(void **state)
{
    (void)state;
    char mounts[8192] = "";
    for (int i = 0; i < 2 * CGROUP_PLACES_MAX; i++)
        memcpy(mounts + strlen(mounts), "1 2 0:3 / /a rw - cgroup cgroup rw,memory\n", 43);
    scoped(cgroup_layout_done) struct cgroup_layout l = parse(mounts, "4:memory:/\n");
    assert_int_equal(l.count, CGROUP_PLACES_MAX);
}

static void controllers_are_whole_words(void **state)
{
    (void)state;
    assert_int_equal(cgroup_controllers("cpuset cpu io memory pids\n", " \n"),
                     CGROUP_CPU | CGROUP_MEMORY | CGROUP_PIDS);
    assert_int_equal(cgroup_controllers("rw,cpu,cpuacct", ","), CGROUP_CPU | CGROUP_CPUACCT);
    assert_int_equal(cgroup_controllers("cpus,mem,memory2,,", ","), 0);
    assert_int_equal(cgroup_controllers("", ","), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_has_a_hierarchy_per_controller),
        cmocka_unit_test(version_2_is_one_hierarchy_that_does_not_name_its_controllers),
        cmocka_unit_test(a_hybrid_has_both_and_controllers_may_share_a_hierarchy),
        cmocka_unit_test(in_a_container_the_mounted_part_may_be_our_own_group),
        cmocka_unit_test(in_a_cgroup_namespace_a_path_above_its_root_is_not_visible),
        cmocka_unit_test(read_only_mounts_are_left_out),
        cmocka_unit_test(escaped_characters_of_a_path_are_restored),
        cmocka_unit_test(senseless_lines_are_skipped),
        cmocka_unit_test(more_mounts_than_places_are_cut),
        cmocka_unit_test(controllers_are_whole_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
