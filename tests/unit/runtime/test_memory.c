/* server/runtime/memory: what bounds the process, and who gets which share. */
#include "server/runtime/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

#define MIB (UINT64_C(1) << 20)

static char root[] = ZD_BINARY_DIR "/memory-XXXXXX";

/* A file below the root, with the directories before it. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + sizeof root; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(full, 0755);
            *at = '/';
        }
    }
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Each row: /proc/self/cgroup, a limit's file and its text; what is found? 0: the machine's. */
static const struct {
    const char *groups;
    const char *path;
    const char *text;
    uint64_t bytes;
} facts[] = {
    {"0::/\n", "/sys/fs/cgroup/memory.max", "1048576\n", MIB},
    {"0::/\n", "/sys/fs/cgroup/memory.max", "max\n", 0},
    {"0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max", "1048576\n", MIB},
    {"0::/a/b\n", "/sys/fs/cgroup/a/memory.max", "1048576\n", MIB}, /* a parent's holds too */
    {"0::/a/b\n", "/sys/fs/cgroup/memory.max", "1048576\n", MIB},   /* as seen in a container */
    {"0::/a/b\n", "/sys/fs/cgroup/unified/a/memory.max", "1048576\n", MIB},
    {"0::/a/b\n", "/sys/fs/cgroup/c/memory.max", "1048576\n", 0}, /* another one's */
    {"9:memory:/x\n", "/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1048576\n", MIB},
    {"9:cpu,memory:/x\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n", MIB},
    {"9:memory:/x\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n", 0},
    {"9:memoryless:/x\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n", 0},
    {"8:cpu:/\n9:memory:/\n0::/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n",
        MIB},
    {"0::/\n", "/sys/fs/cgroup/memory.max", "", 0},
    {"0::/\n", "/sys/fs/cgroup/memory.max", "0\n", 0}, /* nobody could live with that */
    {"0::/\n", "/sys/fs/cgroup/memory.max", "-1\n", 0},
    {"0::/\n", "/sys/fs/cgroup/memory.max", "99999999999999999999\n", 0},
    {"", "/sys/fs/cgroup/memory.max", "1048576\n", 0},
    {"nonsense\n:\n", "/sys/fs/cgroup/memory.max", "1048576\n", 0},
};

START_TEST(the_least_limit_is_found)
{
    const char *machine_by;
    const char *by;
    ck_assert_ptr_nonnull(mkdtemp(root));
    const uint64_t machine = zd_memory_find(root, &machine_by);
    ck_assert_uint_gt(machine, 0);
    put("/proc/self/cgroup", facts[_i].groups);
    put(facts[_i].path, facts[_i].text);
    const uint64_t found = zd_memory_find(root, &by);
    ck_assert_uint_eq(found, facts[_i].bytes == 0 ? machine : facts[_i].bytes);
    ck_assert_str_eq(by, facts[_i].bytes == 0 ? machine_by : "control group");
    char command[512];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Each row: settings and what was found; the shares. In MiB. */
static const struct {
    uint64_t memory;
    uint64_t admission;
    uint64_t caches[3];
    uint64_t found;
    uint64_t work;
    uint64_t shares[3];
} plans[] = {
    {0, 0, {256, 64, 64}, 8192, 3072, {256, 64, 64}},  /* all fits */
    {0, 0, {256, 64, 64}, 1024, 384, {256, 64, 64}},   /* just so */
    {0, 0, {256, 64, 64}, 512, 192, {128, 32, 32}},    /* they shrink together */
    {512, 0, {256, 64, 64}, 8192, 192, {128, 32, 32}}, /* what is set goes first */
    {0, 100, {256, 64, 64}, 512, 100, {128, 32, 32}},
    {0, 0, {0, 0, 1}, 8, 3, {0, 0, 1}},
    {0, 0, {UINT64_MAX >> 40, 0, 0}, 800, 300, {300, 0, 0}},
};

START_TEST(caches_and_requests_share_the_memory)
{
    struct zd_settings settings = {
        .memory_bytes = plans[_i].memory * MIB,
        .admission_bytes = plans[_i].admission * MIB,
        .cache_decoded_bytes = plans[_i].caches[0] * MIB,
        .cache_encoded_bytes = plans[_i].caches[1] * MIB,
        .cache_metadata_bytes = plans[_i].caches[2] * MIB,
        .limits_body_bytes = MIB,
    };
    struct zd_memory memory;
    zd_memory_plan(&settings, plans[_i].found * MIB, "test", &memory);
    ck_assert_uint_eq(memory.work_bytes, plans[_i].work * MIB);
    ck_assert_uint_eq(memory.body_bytes, zd_max_u64(memory.bytes / 32, settings.limits_body_bytes));
    ck_assert_uint_eq(memory.document_bytes, memory.bytes / 4);
    ck_assert_uint_eq(memory.change_bytes, memory.bytes / 16 * 3);
    ck_assert_uint_eq(memory.kept_bytes, zd_min_u64(memory.bytes / 16, 64 * MIB));
    ck_assert_uint_eq(memory.parsed_bytes, memory.bytes / 8);
    ck_assert_uint_eq(memory.listing_bytes, memory.bytes / 8);
    ck_assert_uint_eq(memory.decoded_bytes, plans[_i].shares[0] * MIB);
    ck_assert_uint_eq(memory.encoded_bytes, plans[_i].shares[1] * MIB);
    ck_assert_uint_eq(memory.metadata_bytes, plans[_i].shares[2] * MIB);
    ck_assert_int_eq(memory.caches_shrank, plans[_i].shares[0] != plans[_i].caches[0]);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, the_least_limit_is_found, 0, (int)ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, caches_and_requests_share_the_memory, 0, (int)ZD_COUNT_OF(plans));
}
