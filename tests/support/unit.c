/* Shared by unit tests: one suite a program, and the fault-injecting loop. */
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/config/config.h"

#define TIMEOUT_S      300
#define FAULTS_MAX     100000
#define FILE_BYTES_MAX (64U << 20)

static uint64_t random_state;

void zd_unit_with_failing_memory(enum zd_status (*work)(void *context), void *context)
{
    for (uint64_t n = 1; n < FAULTS_MAX; n++) {
        zd_alloc_fail_at(n);
        const enum zd_status status = work(context);
        zd_alloc_fail_at(0);
        if (status == ZD_OK) {
            return;
        }
        ck_assert_msg(status == ZD_NO_MEMORY, "allocation %llu failing gave %s",
            (unsigned long long)n, zd_status_name(status));
    }
    ck_abort_msg("still failing after %d allocations", FAULTS_MAX);
}

static int nibble(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = strchr(digits, c);
    return at == NULL || c == '\0' ? -1 : (int)(at - digits);
}

struct zd_buf *zd_unit_hex(const char *hex)
{
    struct zd_buf *buf = zd_buf_new(strlen(hex) / 2 + 1);
    ck_assert_ptr_nonnull(buf);
    while (*hex != '\0') {
        if (*hex == ' ') {
            hex++;
            continue;
        }
        const int high = nibble(hex[0]);
        const int low = high < 0 ? -1 : nibble(hex[1]);
        ck_assert_msg(low >= 0, "bad hexadecimal text at %s", hex);
        buf->data[buf->len++] = (uint8_t)(high * 16 + low);
        hex += 2;
    }
    return buf;
}

struct zd_buf *zd_unit_file(const char *path)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s%s", path[0] == '/' ? "" : ZD_SOURCE_DIR,
        path[0] == '/' ? "" : "/", path);
    FILE *file = fopen(whole, "rb");
    ck_assert_msg(file != NULL, "cannot open %s", whole);
    fseek(file, 0, SEEK_END);
    const long len = ftell(file);
    ck_assert(len >= 0 && (unsigned long)len <= FILE_BYTES_MAX);
    rewind(file);
    struct zd_buf *buf = zd_buf_new((size_t)len);
    ck_assert_ptr_nonnull(buf);
    buf->len = fread(buf->data, 1, (size_t)len, file);
    fclose(file);
    ck_assert_uint_eq(buf->len, (size_t)len);
    return buf;
}

void zd_unit_config(struct zd_config *ret_config)
{
    static char program[] = "zarrd";
    static char option[] = "--check-config";
    static char *const argv[] = {program, option};
    static char *const environment[] = {NULL};
    enum zd_command command;
    const enum zd_status status =
        zd_config_read(ZD_COUNT_OF(argv), argv, environment, &command, ret_config, NULL);
    ck_assert_int_eq(status, ZD_OK);
}

uint64_t zd_unit_random(void)
{
    /* xorshift64*: good enough for cases, the same on every machine. */
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

int main(void)
{
    const char *seed = getenv("ZD_SEED");
    random_state = seed == NULL ? (uint64_t)time(NULL) : strtoull(seed, NULL, 10);
    random_state |= 1;
    printf("seed: ZD_SEED=%llu\n", (unsigned long long)random_state);
    Suite *suite = suite_create("zarrd");
    TCase *tests = tcase_create("unit");
    tcase_set_timeout(tests, TIMEOUT_S);
    zd_unit_tests(tests);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
