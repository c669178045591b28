/* Settings from their four sources, and errors in each. */
#include "server/config/config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/store/contract/store_impl.h"
#include "server/config/config_args.h"
#include "server/config/dataset_config.h"
#include "server/config/help_rows.h"
#include "tests/support/unit.h"

static char *const nothing[] = {NULL};

static enum zd_status read_words(const char *const *words, char *const *environment,
    struct zd_config *config, struct zd_error *err)
{
    char *argv[16] = {(char *)(uintptr_t)"zarrd"};
    int argc = 1;
    for (; *words != NULL; words++) {
        argv[argc++] = (char *)(uintptr_t)*words;
    }
    enum zd_command command;
    return zd_config_read(argc, argv, environment, &command, config, err);
}

/* Writes a configuration file; its name is returned. */
static const char *file_of(const char *document)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/zarrd-test-config-%ld", (long)getpid());
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(document, file);
    fclose(file);
    return path;
}

static enum zd_status read_document(
    const char *document, struct zd_config *config, struct zd_error *err)
{
    const char *words[] = {"--config", file_of(document), NULL};
    const enum zd_status status = read_words(words, nothing, config, err);
    (void)unlink(words[1]);
    return status;
}

static const struct {
    const char *words[6];
    const char *fault; /* part of the message; NULL: accepted */
} lines[] = {
    {{"/data/era.zarr"}, NULL},
    {{"-w", "/data/era.zarr"}, NULL},
    {{"--listen=[::]:80", "x=/d"}, NULL},
    {{"-l127.0.0.1:1", "-l", "127.0.0.1:2", "/d"}, NULL},
    {{"--set", "cache.decoded_bytes=0", "/d"}, NULL},
    {{"--set", "cache.decoded_bytes=1024GiB", "/d"}, NULL},
    {{"--set", "log.format=json", "/d"}, NULL},
    {{"--", "x=-d"}, NULL},
    {{NULL}, "nothing to serve"},
    {{"--nope", "/d"}, "unknown option"},
    {{"-x", "/d"}, "unknown option"},
    {{"-", "/d"}, "unknown option"},
    {{"/d", "--set"}, "needs KEY=VALUE"},
    {{"/d", "--writable=1"}, "takes no value"},
    {{"--set", "cache.decoded_bytes", "/d"}, "KEY=VALUE"},
    {{"--set", "cache.nope=1", "/d"}, "unknown setting"},
    {{"--set", "nope=1", "/d"}, "unknown setting"},
    {{"--set", "cache.decoded_bytes=1025GiB", "/d"}, "0 to 1024GiB"},
    {{"--set", "cache.decoded_bytes=-1", "/d"}, "0 to 1024GiB"},
    {{"--set", "cache.decoded_bytes=1kB", "/d"}, "0 to 1024GiB"},
    {{"--set", "cache.decoded_bytes=17179869184GiB", "/d"}, "0 to 1024GiB"}, /* 2^64 */
    {{"--set", "limits.document_depth=7", "/d"}, "8 to 96"},
    {{"--set", "limits.document_depth=97", "/d"}, "8 to 96"},
    {{"--set", "limits.document_depth=8KiB", "/d"}, "8 to 96"},
    {{"--set", "log.format=xml", "/d"}, "text or json"},
    {{"--set", "log.format=tex", "/d"}, "text or json"},
    {{"--set", "log.format=", "/d"}, "text or json"},
    {{"--set", "log.requests=maybe", "/d"}, "true or false"},
    {{"/a/x.zarr", "/b/x.zip"}, "two datasets are named 'x'"},
    {{"--health", "http://127.0.0.1:1/"}, NULL},
    {{"--health"}, "needs URL"},
    {{"x="}, "no location"},
    {{"--config", "/no/such/file"}, "cannot be opened"},
};

START_TEST(command_lines_are_judged)
{
    struct zd_config config;
    struct zd_error err = {0};
    const enum zd_status status = read_words(lines[_i].words, nothing, &config, &err);
    if (lines[_i].fault == NULL) {
        ck_assert_msg(status == ZD_OK, "row %d: %s", _i, err.text);
        zd_config_done(&config);
    } else {
        ck_assert_msg(status == ZD_INVALID, "row %d is accepted", _i);
        ck_assert_msg(strstr(err.text, lines[_i].fault) != NULL, "row %d: %s", _i, err.text);
    }
}
END_TEST

static const struct {
    const char *word;
    const char *name;
    const char *location;
} locations[] = {
    {"/data/era.zarr", "era", "/data/era.zarr"}, {"/data/era.zarr/", "era", "/data/era.zarr/"},
    {"/data/cells.n5", "cells", "/data/cells.n5"}, {"arch.zip", "arch", "arch.zip"},
    {"/data/a.b.zarr", "a.b", "/data/a.b.zarr"}, {"mem:", "mem", "mem:"},
    {"work=mem:", "work", "mem:"}, {"s3://bucket/prefix", "prefix", "s3://bucket/prefix"},
    {"/data/a=b.zarr/x", "x", "/data/a=b.zarr/x"}, /* a path before '=' is no name */
};

START_TEST(datasets_are_named_after_their_location)
{
    struct zd_config config;
    const char *words[] = {locations[_i].word, NULL};
    ck_assert_int_eq(read_words(words, nothing, &config, NULL), ZD_OK);
    ck_assert_uint_eq(config.n_datasets, 1);
    ck_assert_str_eq(config.dataset[0].name, locations[_i].name);
    ck_assert_str_eq(config.dataset[0].location, locations[_i].location);
    zd_config_done(&config);
}
END_TEST

static const struct {
    const char *document;
    const char *fault; /* part of the message; NULL: accepted */
    const char *pointer;
} documents[] = {
    {"{}", NULL, NULL},
    {"{\"datasets\": {\"a\": {\"location\": \"mem:\", \"writable\": true}}}", NULL, NULL},
    {"{\"cache\": {\"decoded_bytes\": \"1MiB\", \"encoded_bytes\": 5}}", NULL, NULL},
    {"{\"listen\": [\"127.0.0.1:0\", \"[::1]:0\"]}", NULL, NULL},
    {"{", "line 1", NULL},
    {"[]", "expected an object", ""},
    {"{\"nope\": {}}", "unknown setting", "/nope"},
    {"{\"cache\": {\"nope\": 1}}", "unknown setting", "/cache/nope"},
    {"{\"cache\": 1}", "expected an object", "/cache"},
    {"{\"cache\": {\"decoded_bytes\": true}}", "cache.decoded_bytes", "/cache/decoded_bytes"},
    {"{\"cache\": {\"decoded_bytes\": -1}}", "'-1'", "/cache/decoded_bytes"},
    {"{\"cache\": {\"decoded_bytes\": 1.5}}", "0 to 1024GiB", "/cache/decoded_bytes"},
    {"{\"http\": {\"connections\": \"5\"}}", "16 to 1000000", "/http/connections"},
    {"{\"http\": {\"connections\": 15}}", "16 to 1000000", "/http/connections"},
    {"{\"http\": {\"cors_origin\": \"a\\nb\"}}", "a string", "/http/cors_origin"},
    {"{\"http\": {\"cors_origins\": \"https://a.example http://[::1]:80  *\"}}", NULL, NULL},
    {"{\"http\": {\"cors_origins\": \"https://a.example/\"}}", "separated by spaces",
        "/http/cors_origins"},
    {"{\"http\": {\"cors_origins\": \"a.example\"}}", "origins", "/http/cors_origins"},
    {"{\"http\": {\"cors_origins\": \"https://A.example\"}}", "origins", "/http/cors_origins"},
    {"{\"http\": {\"cors_origins\": \"https://a.example,https://b.example\"}}", "origins",
        "/http/cors_origins"},
    {"{\"http\": {\"cors_origins\": \"https://\"}}", "origins", "/http/cors_origins"},
    {"{\"http\": {\"cors_origins\": \"https://a.example:\"}}", "origins", "/http/cors_origins"},
    {"{\"http\": {\"hosts\": \"a.example  b-c_d *\"}}", NULL, NULL},
    {"{\"http\": {\"hosts\": \"a.example:80\"}}", "such as data.example", "/http/hosts"},
    {"{\"http\": {\"hosts\": \"A.example\"}}", "without ports", "/http/hosts"},
    {"{\"http\": {\"hosts\": \"https://a.example\"}}", "names", "/http/hosts"},
    {"{\"http\": {\"hosts\": \"a,b\"}}", "separated by spaces", "/http/hosts"},
    {"{\"http\": {\"trusted_proxies\": \"10.0.0.0/8  ::1 ::ffff:0:0/96\"}}", NULL, NULL},
    {"{\"http\": {\"trusted_proxies\": \"proxy.example\"}}", "addresses or prefixes",
        "/http/trusted_proxies"},
    {"{\"http\": {\"trusted_proxies\": \"10.0.0.0/33\"}}", "192.0.2.7", "/http/trusted_proxies"},
    {"{\"cache\": {\"decoded_bytes\": \"1GB\"}}", "0 to 1024GiB (bytes, or with KiB, MiB, GiB)",
        "/cache/decoded_bytes"},
    {"{\"//\": 1, \"http\": {\"//connections\": 1}, \"datasets\": {\"//x\": 1, \"a\": "
     "{\"//\": \"b\", \"location\": \"mem:\"}}}",
        NULL, NULL},
    {"{\"listen\": \"x\"}", "an array", "/listen"},
    {"{\"listen\": [1]}", "a string", "/listen/0"},
    {"{\"listen\": []}", "no address", NULL},
    {"{\"datasets\": {\"a\": {}}}", "no location", NULL},
    {"{\"datasets\": {\"a\": 1}}", "an object", "/datasets/a"},
    {"{\"datasets\": {\"-a\": {\"location\": \"x\"}}}", "is not a valid dataset name", NULL},
    {"{\"datasets\": {\"a\": {\"location\": 1}}}", "a string", "/datasets/a/location"},
    {"{\"datasets\": {\"a\": {\"writeable\": 1}}}", "unknown setting", "/datasets/a/writeable"},
    {"{\"datasets\": {\"a\": {\"writable\": 1}}}", "true or false", "/datasets/a/writable"},
    {"{\"datasets\": {\"a\": {\"extensions\": \"x\"}}}", "\"zep10\" or \"strict\"",
        "/datasets/a/extensions"},
    {"{\"datasets\": {\"a\": {\"revalidate_ms\": -1}}}", "milliseconds",
        "/datasets/a/revalidate_ms"},
    {"{\"datasets\": {\"a\": {\"location\": \"mem:\", \"options\": {}}}}", NULL, NULL},
    {"{\"datasets\": {\"a\": {\"location\": \"mem:\", \"options\": 1}}}", "an object",
        "/datasets/a/options"},
    {"{\"datasets\": {\"a\": {\"options\": {\"x\": 1}, \"location\": \"mem:\"}}}",
        "/datasets/a/options/x: mem does not define the member \"x\"; expected one of bytes",
        "/datasets/a/options/x"},
    {"{\"datasets\": {\"a\": {\"location\": \"mem:\", \"store_403\": \"absent\"}}}",
        "mem does not define the member \"store_403\"", "/datasets/a/store_403"},
    {"{\"datasets\": {\"a\": {\"location\": \"s3://lake/p\", \"store_403\": \"absent\"}}}", NULL,
        NULL},
    {"{\"datasets\": {\"a\": {\"location\": \"s3://lake\", \"secret_access_key\": \"hidden\"}}}",
        "unknown setting /datasets/a/secret_access_key", "/datasets/a/secret_access_key"},
    {"{\"datasets\": {\"a\": {\"location\": \"s3://key:hidden@lake\"}}}",
        "the location names no bucket", "/datasets/a"},
    {"{\"datasets\": {\"a\": {\"location\": \"s3://lake\", \"endpoint\": \"http://a:hidden@b\"}}}",
        "endpoint: expected", "/datasets/a"},
    {"{\"datasets\": {\"a\": {\"location\": \"http://a:hidden@b\"}}}", "a user or a password",
        "/datasets/a"},
    {"{\"datasets\": {\"a\": {\"n5_axes\": \"dimensions\", \"location\": \"mem:\"}}}", NULL, NULL},
    {"{\"datasets\": {\"a\": {\"n5_axes\": \"reversed\", \"location\": \"mem:\"}}}", NULL, NULL},
    {"{\"datasets\": {\"a\": {\"n5_axes\": \"zyx\"}}}", "\"dimensions\" or \"reversed\"",
        "/datasets/a/n5_axes"},
    {"{\"datasets\": {\"a\": {\"n5_axes\": true}}}", "\"dimensions\" or \"reversed\"",
        "/datasets/a/n5_axes"},
};

START_TEST(files_are_judged)
{
    struct zd_config config;
    struct zd_error err = {0};
    const enum zd_status status = read_document(documents[_i].document, &config, &err);
    if (documents[_i].fault == NULL) {
        ck_assert_msg(status == ZD_OK, "%s: %s", documents[_i].document, err.text);
        zd_config_done(&config);
        return;
    }
    ck_assert_msg(status == ZD_INVALID, "%s is accepted", documents[_i].document);
    ck_assert_msg(strstr(err.text, documents[_i].fault) != NULL, "%s", err.text);
    if (documents[_i].pointer != NULL) {
        ck_assert_str_eq(err.facts.pointer, documents[_i].pointer);
    }
}
END_TEST

START_TEST(later_sources_win)
{
    char *const environment[] = {
        (char *)(uintptr_t)"ZARRD_CACHE_DECODED_BYTES=2MiB",
        (char *)(uintptr_t)"ZARRD_CACHE_ENCODED_BYTES=3MiB",
        (char *)(uintptr_t)"ZARRD_SERVICE_HOST=10.0.0.1", /* Kubernetes */
        (char *)(uintptr_t)"PATH=/bin",
        NULL,
    };
    const char *words[] = {"--set", "cache.encoded_bytes=4MiB", "--config",
        file_of("{\"listen\": [\"127.0.0.1:9\"], \"cache\": {\"decoded_bytes\": 1, "
                "\"encoded_bytes\": 1, \"metadata_bytes\": \"1MiB\"}}"),
        "-l", "127.0.0.1:10", NULL};
    struct zd_config config;
    struct zd_error err = {0};
    ck_assert_msg(read_words(words, environment, &config, &err) == ZD_OK, "%s", err.text);
    (void)unlink(words[3]);
    ck_assert_uint_eq(config.settings.cache_metadata_bytes, ZD_MIB);
    ck_assert_uint_eq(config.settings.cache_decoded_bytes, 2 * ZD_MIB);
    ck_assert_uint_eq(config.settings.cache_encoded_bytes, 4 * ZD_MIB);
    ck_assert_uint_eq(config.n_listen, 1);
    ck_assert_str_eq(config.listen[0], "127.0.0.1:10");
    zd_config_done(&config);
}
END_TEST

START_TEST(a_variable_without_its_setting_is_refused)
{
    char *const environment[] = {(char *)(uintptr_t)"ZARRD_CACHE_DECODED=1", NULL};
    const char *words[] = {"/d", NULL};
    struct zd_config config;
    struct zd_error err = {0};
    ck_assert_int_eq(read_words(words, environment, &config, &err), ZD_INVALID);
    ck_assert(strstr(err.text, "ZARRD_CACHE_DECODED") != NULL);
}
END_TEST

START_TEST(written_bytes_read_back_the_same)
{
    struct zd_config config;
    struct zd_error err = {0};
    const char *document =
        "{\"datasets\": {\"a\": {\"location\": \"mem:\", \"title\": \"A\", \"extensions\": "
        "\"strict\", \"revalidate_ms\": 7, \"options\": {}}},"
        "\"http\": {\"stream_bytes\": 70000, \"show_locations\": true}}";
    ck_assert_msg(read_document(document, &config, &err) == ZD_OK, "%s", err.text);
    ck_assert(config.dataset[0].strict);
    ZD_SCOPED_TEXT(first, 1U << 16);
    struct zd_emit emit;
    zd_emit_init(&emit, &first, false);
    zd_config_emit(&config, &emit);
    zd_config_done(&config);
    ck_assert_msg(read_document(first.at, &config, &err) == ZD_OK, "%s", err.text);
    ZD_SCOPED_TEXT(second, 1U << 16);
    zd_emit_init(&emit, &second, false);
    zd_config_emit(&config, &emit);
    ck_assert_str_eq(first.at, second.at);
    zd_config_done(&config);
}
END_TEST

static void emit_config(const struct zd_config *config, struct zd_text *text)
{
    struct zd_emit emit;
    zd_emit_init(&emit, text, true);
    zd_config_emit(config, &emit);
    zd_text_add_char(text, '\n');
}

static void read_file(const char *document, struct zd_text *ret_emitted)
{
    struct zd_config config;
    struct zd_error err = {0};
    ck_assert_msg(read_document(document, &config, &err) == ZD_OK, "%s", err.text);
    emit_config(&config, ret_emitted);
    zd_config_done(&config);
}

START_TEST(the_commented_part_of_the_example_file_is_valid)
{
    ZD_SCOPED_TEXT(all, 1U << 16);
    ZD_AUTO(zd_buf) file = zd_unit_file("config/zarrd.json");
    for (size_t i = 0; i < file->len; i++) {
        const bool is_comment = i + 3 <= file->len && memcmp(file->data + i, "\"//", 3) == 0;
        zd_text_add_char(&all, (char)file->data[i]);
        i += is_comment ? 2 : 0;
    }
    struct zd_config config;
    struct zd_error err = {0};
    ck_assert_msg(read_document(all.at, &config, &err) == ZD_OK, "%s", err.text);
    ck_assert_uint_eq(config.n_datasets, 5);
    zd_config_done(&config);
}
END_TEST

/* With its comment and without. */
START_TEST(the_example_file_is_the_table_and_one_dataset)
{
    struct zd_config config;
    zd_unit_config(&config);
    ZD_SCOPED_TEXT(defaults, 1U << 16);
    ZD_SCOPED_TEXT(with_comment, 1U << 16);
    ZD_SCOPED_TEXT(plain, 1U << 16);
    ZD_SCOPED_TEXT(without_comment, 1U << 16);
    ZD_AUTO(zd_buf) file = zd_unit_file("config/zarrd.json");
    emit_config(&config, &defaults);
    zd_config_done(&config);
    zd_text_add_bytes(&with_comment, file->data, file->len);
    const char *slashes = strstr(with_comment.at, "//");
    ck_assert_ptr_nonnull(slashes);
    const char *remote = strstr(with_comment.at, ",\n    \"//lake\"");
    ck_assert_ptr_nonnull(remote);
    const char *rest = strstr(remote, "\n  },");
    ck_assert_ptr_nonnull(rest);
    zd_text_add_bytes(&plain, with_comment.at, (size_t)(slashes - with_comment.at));
    zd_text_add_bytes(&plain, slashes + 2, (size_t)(remote - slashes) - 2);
    zd_text_add(&plain, rest);
    read_file(plain.at, &without_comment);
    ck_assert_str_eq(plain.at, without_comment.at);
    zd_text_clear(&plain);
    read_file(with_comment.at, &plain);
    ck_assert_str_eq(plain.at, defaults.at);
}
END_TEST

START_TEST(help_and_the_example_file_name_every_member_of_a_dataset)
{
    ZD_SCOPED_TEXT(help, 1U << 16);
    ZD_SCOPED_TEXT(members, 1U << 16);
    ZD_SCOPED_TEXT(file_text, 1U << 16);
    ZD_AUTO(zd_buf) file = zd_unit_file("config/zarrd.json");
    zd_text_add_bytes(&file_text, file->data, file->len);
    zd_config_args_help(&help);
    zd_dataset_config_help(&members);
    ck_assert_ptr_nonnull(strstr(help.at, members.at));
    size_t n = 0;
    for (const char *line = members.at; *line != '\0'; line += strcspn(line, "\n") + 1) {
        ZD_SCOPED_TEXT(name, 64);
        if (strspn(line, " ") > 2) {
            continue; /* the meaning goes on */
        }
        line += strspn(line, " ");
        zd_text_addf(&name, "\"%.*s\": ", (int)strcspn(line, " "), line);
        ck_assert_msg(strstr(file_text.at, name.at) != NULL, "the file has no %s", name.at);
        n++;
    }
    ck_assert_uint_ge(n, 24);
}
END_TEST

START_TEST(help_names_every_location_and_setting)
{
    ZD_SCOPED_TEXT(text, 1U << 16);
    zd_config_args_help(&text);
    for (size_t i = 0; zd_stores[i] != NULL; i++) {
        const char *usage = strstr(text.at, zd_stores[i]->usage);
        ck_assert_ptr_nonnull(usage);
        const char *behind = usage + strlen(zd_stores[i]->usage);
        ck_assert_msg(*behind == ' ' || *behind == '\n', "no space behind %s", zd_stores[i]->usage);
    }
    ck_assert_int_eq(text.status, ZD_OK);
    for (const char *line = text.at; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const int len = (int)strcspn(line, "\n");
        ck_assert_msg(len <= ZD_HELP_ROW_CHARS, "too wide: %.*s", len, line);
    }
#define ZD_SIZE(group, name, initial, least, most, meaning)                                        \
    ck_assert(strstr(text.at, #group "." #name) != NULL);
#define ZD_COUNT(group, name, initial, least, most, meaning)                                       \
    ck_assert(strstr(text.at, #group "." #name) != NULL);
#define ZD_FLAG(group, name, initial, meaning) ck_assert(strstr(text.at, #group "." #name) != NULL);
#define ZD_WORD(group, name, initial, choices, meaning)                                            \
    ck_assert(strstr(text.at, #group "." #name) != NULL);
#define ZD_ORIGINS(group, name, initial, meaning)                                                  \
    ck_assert(strstr(text.at, #group "." #name) != NULL);
#define ZD_HOSTS(group, name, initial, meaning)                                                    \
    ck_assert(strstr(text.at, #group "." #name) != NULL);
#define ZD_NETWORKS(group, name, initial, meaning)                                                 \
    ck_assert(strstr(text.at, #group "." #name) != NULL);
#include "server/config/config.def"
#undef ZD_SIZE
#undef ZD_COUNT
#undef ZD_FLAG
#undef ZD_WORD
#undef ZD_ORIGINS
#undef ZD_HOSTS
#undef ZD_NETWORKS
}
END_TEST

static enum zd_status read_everything(void *context)
{
    (void)context;
    const char *words[] = {
        "-l", "127.0.0.1:1", "--port-file", "p", "--set", "log.format=json", "a=/x", NULL};
    struct zd_config config;
    ZD_TRY(read_words(words, nothing, &config, NULL));
    zd_config_done(&config);
    return ZD_OK;
}

static enum zd_status read_health(void *unused)
{
    (void)unused;
    const char *words[] = {"--health", "http://127.0.0.1:1/", NULL};
    struct zd_config config;
    ZD_TRY(read_words(words, nothing, &config, NULL));
    ck_assert_str_eq(config.health_url, words[1]);
    zd_config_done(&config);
    return ZD_OK;
}

START_TEST(missing_memory_is_reported)
{
    zd_unit_with_failing_memory(read_everything, NULL);
    zd_unit_with_failing_memory(read_health, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, command_lines_are_judged, 0, ZD_COUNT_OF(lines));
    tcase_add_loop_test(tests, datasets_are_named_after_their_location, 0, ZD_COUNT_OF(locations));
    tcase_add_loop_test(tests, files_are_judged, 0, ZD_COUNT_OF(documents));
    tcase_add_test(tests, later_sources_win);
    tcase_add_test(tests, a_variable_without_its_setting_is_refused);
    tcase_add_test(tests, written_bytes_read_back_the_same);
    tcase_add_test(tests, the_example_file_is_the_table_and_one_dataset);
    tcase_add_test(tests, the_commented_part_of_the_example_file_is_valid);
    tcase_add_test(tests, help_names_every_location_and_setting);
    tcase_add_test(tests, help_and_the_example_file_name_every_member_of_a_dataset);
    tcase_add_test(tests, missing_memory_is_reported);
}
