/* Configuration: a line for --set, a line of environment, then the file. What was accepted, written
 * as a file and read again, is the same configuration. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/num.h"
#include "server/config/config.h"
#include "tests/fuzz/input.h"

#define TEXT_BYTES_MAX (1U << 20)
#define PATH_BYTES     64

/* A file in memory; its path is that of its descriptor. */
static int write_file(struct zd_span text, char path[PATH_BYTES])
{
    const int fd = memfd_create("config", MFD_CLOEXEC);
    zd_fuzz_insist(fd >= 0);
    zd_fuzz_insist(write(fd, text.ptr, text.len) == (ssize_t)text.len);
    (void)snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
    return fd;
}

static enum zd_status read_config(struct zd_span file, char *set, char *variable,
    struct zd_config *ret_config, struct zd_error *err)
{
    char path[PATH_BYTES];
    char name[] = "zarrd";
    char config_option[] = "--config";
    char set_option[] = "--set";
    char *const argv[] = {name, config_option, path, set_option, set};
    char *const environment[] = {variable, NULL};
    enum zd_command command;
    const int n = set[0] == '\0' ? 3 : 5;
    const int fd = write_file(file, path);
    const enum zd_status status = zd_config_read(n, argv, environment, &command, ret_config, err);
    (void)close(fd);
    return status;
}

static void emit(const struct zd_config *config, struct zd_text *text)
{
    struct zd_emit to;
    zd_emit_init(&to, text, false);
    zd_config_emit(config, &to);
    zd_fuzz_insist(text->status == ZD_OK);
}

static void check_bounds(const struct zd_config *config)
{
    const uint64_t *cache = &config->settings.cache_decoded_bytes;
    zd_fuzz_insist(config->n_listen >= 1 && *cache <= (UINT64_C(1) << 50));
    for (size_t i = 0; i < config->n_datasets; i++) {
        zd_fuzz_insist(config->dataset[i].name[0] != '\0' && config->dataset[i].location != NULL);
    }
}

static void check_again(const struct zd_config *config)
{
    char nothing[] = "";
    struct zd_config again;
    ZD_SCOPED_TEXT(written, TEXT_BYTES_MAX);
    ZD_SCOPED_TEXT(rewritten, TEXT_BYTES_MAX);
    emit(config, &written);
    zd_fuzz_insist(read_config(zd_text_span(&written), nothing, nothing, &again, NULL) == ZD_OK);
    emit(&again, &rewritten);
    zd_fuzz_insist(zd_span_equal(zd_text_span(&written), zd_text_span(&rewritten)));
    zd_config_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    struct zd_config config;
    struct zd_error err = {0};
    ZD_AUTO_TEXT set = zd_fuzz_line(&input);
    ZD_AUTO_TEXT variable = zd_fuzz_line(&input);
    if (read_config(input, set, variable, &config, &err) != ZD_OK) {
        zd_fuzz_insist(err.status == ZD_INVALID && err.text[0] != '\0');
        return 0;
    }
    check_bounds(&config);
    check_again(&config);
    zd_config_done(&config);
    return 0;
}
