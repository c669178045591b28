/*
 * The whole server with faults: every allocation and every store operation of every kind of request
 * fails in turn. What a client gets is the right answer, a problem of class 5xx, or a connection
 * that ends before the answer is whole; and the next request is answered right. Memory that
 * libmicrohttpd takes is not ours to refuse.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "tests/support/serve.h"
#include "tests/support/store_fault.h"
#include "tests/support/unit.h"
#include "server/data/catalog.h"

#define FAULTS_MAX        5000
#define PROBLEM_NODES_MAX 1000
#define SHOWN_BYTES_MAX   1000

/* Every fault is met, but by the thread sanitizer, ten times slower: that sees the same threads at
 * every eighth, the first by chance. */
#ifdef __SANITIZE_THREAD__
#define FAULTS_STEP 8
#else
#define FAULTS_STEP 1
#endif

#define STORES     ZD_BINARY_DIR "/corpus/stores/v3/"
#define END        " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
#define GET(path)  "GET " path END "\r\n"
#define HEAD(path) "HEAD " path END "\r\n"
#define POST(path, length, body)                                                                   \
    "POST " path END "Content-Type: application/json\r\nContent-Length: " length "\r\n\r\n" body

/* Where one of many cannot be read, a listing says so of that one and goes on. */
static const char *const unknown[] = {"\"dialect\":null", "\"dialect\": null", "\"node_type\":null",
    "\"code\":\"store_error\"", "\"code\":\"store_timeout\"", "\"code\":\"overloaded\""};

static const char *const requests[] = {
    /* documents that need no store */
    GET("/"),
    GET("/v1"),
    GET("/v1/datasets"),
    GET("/v1/datasets/codecs?pretty=1"),
    GET("/v1/extensions"),
    GET("/v1/limits"),
    GET("/openapi.json"),
    GET("/livez"),
    GET("/readyz"),
    "OPTIONS /v1" END "\r\n",
    /* nodes and listings */
    GET("/v1/datasets/consolidated/nodes/"),
    GET("/v1/datasets/codecs/nodes/gzip_6"),
    HEAD("/v1/datasets/codecs/nodes/gzip_6"),
    GET("/v1/datasets/codecs/nodes/gzip_6?fields=metadata.attributes,array.shape"),
    GET("/v1/datasets/metadata/nodes/names"),
    GET("/v1/datasets/consolidated/tree/"),
    GET("/v1/datasets/consolidated/tree/?mode=live&check=1"),
    GET("/v1/datasets/consolidated/tree/?mode=stored&format=zarr"),
    GET("/v1/datasets/metadata/tree/?depth=1&limit=3&match=n*"),
    GET("/v1/datasets/metadata/tree/?format=zmetadata"),
    /* slices: each format, each kind of chunk */
    GET("/v1/datasets/codecs/slices/gzip_6"),
    GET("/v1/datasets/codecs/slices/gzip_6?slice=0:9,3&format=json"),
    GET("/v1/datasets/codecs/slices/gzip_6?slice=15:18&format=csv"),
    GET("/v1/datasets/codecs/slices/zstd_3_ck?slice=::-3,2:9&format=npy"),
    HEAD("/v1/datasets/codecs/slices/zstd_3_ck?slice=5"),
    GET("/v1/datasets/codecs/slices/crc32c_zstd_crc32c?slice=3,3"),
    GET("/v1/datasets/codecs/slices/transpose_102?slice=1"),
    GET("/v1/datasets/codecs/slices/bytes_big_u4?slice=2:4"),
    GET("/v1/datasets/blosc/slices/lz4_shuffle_4?slice=60:70,5:9"),
    GET("/v1/datasets/blosc/slices/lz4_shuffle_4"),
    GET("/v1/datasets/sharding/slices/nested?slice=7:9,7:9"),
    GET("/v1/datasets/sharding/slices/zstd_end_crc?slice=0:20,::5"),
    GET("/v1/datasets/sharding/slices/blosc_start_crc?slice=5,5"),
    GET("/v1/datasets/sharding/slices/missing_inner?format=csv"),
    GET("/v1/datasets/sharding/slices/compressed_shard?slice=1"),
    GET("/v1/datasets/codecs/slices/gzip_1?expected_shape=40,31&slice=:"),
    "GET /v1/datasets/codecs/slices/gzip_6" END "Range: bytes=100-199\r\n\r\n",
    "GET /v1/datasets/codecs/slices/gzip_6" END "If-None-Match: *\r\n\r\n",
    POST("/v1/datasets/codecs/slices/gzip_6", "34",
        "{\"slice\":[\"0\",\"1:3\"],\"ints\":\"number\"}"),
    /* chunks, alone and many */
    GET("/v1/datasets/codecs/chunks/gzip_6?index=0,0"),
    GET("/v1/datasets/codecs/chunks/gzip_6?index=2,0&decoded=1"),
    GET("/v1/datasets/sharding/chunks/nested?index=1,1&level=inner"),
    GET("/v1/datasets/sharding/chunks/zstd_end_crc?index=0,0&level=outer"),
    GET("/v1/datasets/codecs/chunks/gzip_6?present=1"),
    POST("/v1/datasets/codecs/chunks/gzip_6", "35", "{\"indices\":[[0,0],[2,0],[1,0],[0,0]]}"),
    POST("/v1/datasets/codecs/chunks/gzip_6", "40", "{\"indices\":[[0,0],[1,0]],\"decoded\":true}"),
    /* stored keys */
    GET("/zarr/codecs/gzip_6/zarr.json"),
    HEAD("/zarr/codecs/gzip_6/c/0/0"),
    GET("/zarr/codecs/gzip_6/c/1/0"),
    GET("/zarr/codecs/"),
    "GET /zarr/codecs/gzip_6/c/0/0" END "Range: bytes=-20\r\n\r\n",
    "GET /zarr/codecs/gzip_6/c/0/0" END "Range: bytes=5-9\r\nIf-Range: \"x\"\r\n\r\n",
    "GET /zarr/codecs/gzip_6/c/0/0" END "If-None-Match: *\r\n\r\n",
    /* problems */
    GET("/zarr/codecs/gzip_6/c/99/0"),
    GET("/v1/datasets/codecs/nodes/nothing"),
    GET("/v1/datasets/codecs/slices/gzip_6?slice=99"),
    GET("/v1/datasets/codecs/slices/gzip_6?slice=a"),
    GET("/v1/datasets/codecs/slices/gzip_6?typo=1"),
    GET("/v1/datasets/nothing/nodes/"),
    GET("/v1/nothing"),
    GET("/%00"),
    "DELETE /zarr/codecs/zarr.json" END "\r\n",
    "GET /zarr/codecs/gzip_6/c/0/0" END "If-Match: \"x\"\r\n\r\n",
    "GET /zarr/codecs/gzip_6/c/0/0" END "Range: bytes=999999-\r\n\r\n",
    POST("/v1/datasets/codecs/slices/gzip_6", "2", "[]"),
};

#define DATASET(name, more) "\"" name "\":{\"location\":\"" STORES name "\"" more "}"
#define CONFIG(http, more)                                                                         \
    "{\"listen\":[\"127.0.0.1:0\"],\"http\":{\"server_timing\":false" http                         \
    "},\"log\":{\"requests\":false,\"level\":\"error\"},\"datasets\":"                             \
    "{" DATASET("codecs", more) "," DATASET("sharding", more) "," DATASET(                         \
        "blosc", more) "," DATASET("metadata", more) "," DATASET("consolidated", more) "}}"

/* Cached objects are trusted, or asked for again each time; then longer answers are streamed too.
 */
static const char trusting[] = CONFIG("", ",\"revalidate_ms\":3600000");
static const char asking[] = CONFIG(",\"stream_bytes\":4096", ",\"revalidate_ms\":0");

/* A way to serve a request. */
struct way {
    const char *name;
    const char *config;
    bool is_cold; /* nothing is cached before the fault */
    bool is_slow; /* the store answers in a later turn of the loop */
};

static const struct way ways[] = {
    {.name = "cold", .config = trusting, .is_cold = true},
    {.name = "cold and slow", .config = trusting, .is_cold = true, .is_slow = true},
    {.name = "warm", .config = trusting},
    {.name = "asked again, slow", .config = asking, .is_slow = true},
};

/* A request with a fault. */
struct trial {
    struct zd_test_serve *serve;
    const struct way *way;
    const char *request;
    const struct zd_test_answer *right;
    uint64_t n;            /* which allocation or operation fails */
    enum zd_status status; /* of the operation */
};

/* How much of an answer a message has room for. */
static int shown(size_t len)
{
    return (int)zd_min_u64(len, SHOWN_BYTES_MAX);
}

static const char *line_of(const struct trial *trial)
{
    static char line[256];
    (void)snprintf(line, sizeof line, "%s, %s number %llu of: %.*s", trial->way->name,
        trial->status == ZD_OK ? "allocation" : zd_status_name(trial->status),
        (unsigned long long)trial->n, (int)strcspn(trial->request, "\r"), trial->request);
    return line;
}

/* A 304 need not repeat more than the validators: what it repeats may depend on what is cached. */
static bool is_same(const struct zd_test_answer *a, const struct zd_test_answer *b)
{
    static const char etag[] = "\r\nETag: ";
    if (a->is_whole && a->status == 304 && b->status == 304) {
        const char *tag_a = strstr(a->bytes, etag);
        const char *tag_b = strstr(b->bytes, etag);
        return tag_a != NULL && tag_b != NULL &&
               strncmp(tag_a, tag_b, strcspn(tag_b + strlen(etag), "\r") + strlen(etag)) == 0;
    }
    return a->is_whole && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* The code of a problem document; fails the test when it is none. */
static struct zd_json *read_problem(const struct trial *trial, const struct zd_test_answer *answer)
{
    const struct zd_json_limits limits = {
        .bytes_max = answer->body.len, .nodes_max = PROBLEM_NODES_MAX, .depth_max = 16};
    struct zd_json *problem = NULL;
    ck_assert_msg(zd_json_parse(answer->body, &limits, &problem, NULL) == ZD_OK &&
                      zd_json_string(zd_json_member(problem, "code")) != NULL,
        "%s: no problem document: %.*s", line_of(trial), shown(answer->len), answer->bytes);
    return problem;
}

static bool has_same_code(
    const struct trial *trial, const struct zd_test_answer *a, const struct zd_test_answer *b)
{
    ZD_AUTO(zd_json) first = read_problem(trial, a);
    ZD_AUTO(zd_json) second = read_problem(trial, b);
    return strcmp(zd_json_string(zd_json_member(first, "code")),
               zd_json_string(zd_json_member(second, "code"))) == 0;
}

/* The same, but for what a tag was made of: a listing's is of all that was asked on the way. */
static bool is_alike(const struct zd_test_answer *a, const struct zd_test_answer *b)
{
    return is_same(a, b) ||
           (a->status == b->status && a->len == b->len && zd_span_equal(a->body, b->body));
}

static bool is_unknown(const struct zd_test_answer *answer)
{
    for (size_t i = 0; i < ZD_COUNT_OF(unknown); i++) {
        if (answer->status == 200 && strstr(answer->bytes, unknown[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void check_fault(const struct trial *trial, const struct zd_test_answer *answer)
{
    if (!answer->is_whole || is_alike(answer, trial->right) || is_unknown(answer)) {
        return;
    }
    const bool is_head = strncmp(trial->request, "HEAD ", 5) == 0;
    if (answer->status >= 500 && !is_head) {
        zd_json_unref(read_problem(trial, answer));
        return;
    }
    /* A problem may be told with less detail, but it is the same one. */
    ck_assert_msg(answer->status >= 500 || (answer->status >= 400 && !is_head &&
                                               answer->status == trial->right->status &&
                                               has_same_code(trial, answer, trial->right)),
        "%s: a wrong answer: %.*s\nright is: %.*s", line_of(trial), shown(answer->len),
        answer->bytes, shown(trial->right->len), trial->right->bytes);
}

/* A request without a fault. */
static void check_right(const struct trial *trial)
{
    struct zd_test_answer answer;
    zd_store_fault_set((struct zd_store_fault){.is_slow = trial->way->is_slow});
    zd_test_serve_ask(trial->serve, trial->request, &answer);
    ck_assert_msg(is_same(&answer, trial->right), "after %s: %.*s\nright is: %.*s", line_of(trial),
        shown(answer.len), answer.bytes, shown(trial->right->len), trial->right->bytes);
    zd_test_answer_done(&answer);
}

/* Whether the fault was met. */
static bool try_allocation(const struct trial *trial, struct zd_test_answer *ret_answer)
{
    zd_store_fault_set((struct zd_store_fault){.is_slow = trial->way->is_slow});
    const uint64_t before = zd_alloc_count();
    zd_alloc_fail_at(trial->n);
    zd_test_serve_ask(trial->serve, trial->request, ret_answer);
    zd_alloc_fail_at(0);
    return zd_alloc_count() - before >= trial->n;
}

static bool try_operation(const struct trial *trial, struct zd_test_answer *ret_answer)
{
    zd_store_fault_set((struct zd_store_fault){
        .n = trial->n, .status = trial->status, .is_slow = trial->way->is_slow});
    zd_test_serve_ask(trial->serve, trial->request, ret_answer);
    return zd_store_fault_count() >= trial->n;
}

static bool run_trial(const struct trial *trial)
{
    struct zd_test_answer answer;
    if (trial->way->is_cold) {
        zd_test_serve_forget(trial->serve);
    }
    const bool was_met =
        trial->status == ZD_OK ? try_allocation(trial, &answer) : try_operation(trial, &answer);
    check_fault(trial, &answer);
    ck_assert_msg(was_met || is_same(&answer, trial->right), "without a fault, %s: %.*s",
        line_of(trial), shown(answer.len), answer.bytes);
    zd_test_answer_done(&answer);
    check_right(trial);
    return was_met;
}

/* Every fault of that kind in turn. */
static void run_trials(struct trial *trial)
{
    trial->n = 1 + zd_unit_random() % FAULTS_STEP;
    for (; trial->n < FAULTS_MAX; trial->n += FAULTS_STEP) {
        if (!run_trial(trial)) {
            return;
        }
    }
    ck_abort_msg("%s: still a fault", line_of(trial));
}

static void open_server(struct zd_test_serve *serve, const char *config)
{
    ck_assert_int_eq(zd_test_serve_open(serve, config), ZD_OK);
    for (size_t i = 0; i < serve->server->n_datasets; i++) {
        zd_store_break(serve->server->dataset[i]->store);
    }
}

static void ask_right(struct trial *trial, struct zd_test_answer *ret_right)
{
    zd_store_fault_set((struct zd_store_fault){.is_slow = trial->way->is_slow});
    zd_test_serve_ask(trial->serve, trial->request, ret_right);
    trial->right = ret_right;
    ck_assert_msg(ret_right->is_whole && ret_right->status < 500, "%s: %.*s", line_of(trial),
        shown(ret_right->len), ret_right->bytes);
}

static void run_way(const struct way *way, const enum zd_status *kinds, size_t n_kinds)
{
    struct zd_test_serve serve;
    open_server(&serve, way->config);
    for (size_t i = 0; i < ZD_COUNT_OF(requests); i++) {
        struct zd_test_answer right;
        struct trial trial = {.serve = &serve, .way = way, .request = requests[i]};
        ask_right(&trial, &right);
        for (size_t k = 0; k < n_kinds; k++) {
            trial.status = kinds[k];
            run_trials(&trial);
        }
        zd_test_answer_done(&right);
    }
    zd_test_serve_close(&serve);
}

START_TEST(a_failed_allocation_is_no_wrong_answer)
{
    static const enum zd_status kinds[] = {ZD_OK};
    run_way(&ways[_i], kinds, ZD_COUNT_OF(kinds));
}
END_TEST

START_TEST(a_failed_store_is_no_wrong_answer)
{
    static const enum zd_status kinds[] = {ZD_STORE, ZD_NO_MEMORY, ZD_TIMEOUT};
    run_way(&ways[_i], kinds, ZD_COUNT_OF(kinds));
}
END_TEST

START_TEST(a_start_without_memory_fails_or_serves)
{
    for (uint64_t n = 1; n < FAULTS_MAX; n++) {
        struct zd_test_serve serve;
        const uint64_t before = zd_alloc_count();
        zd_alloc_fail_at(n);
        const enum zd_status status = zd_test_serve_open(&serve, trusting);
        zd_alloc_fail_at(0);
        const bool was_met = zd_alloc_count() - before >= n;
        if (status == ZD_OK) {
            struct zd_test_answer answer;
            zd_test_serve_ask(&serve, GET("/v1/datasets/codecs/nodes/"), &answer);
            ck_assert_msg(answer.is_whole && answer.status == 200, "start, allocation %llu: %.*s",
                (unsigned long long)n, shown(answer.len), answer.bytes);
            zd_test_answer_done(&answer);
            zd_test_serve_close(&serve);
        }
        if (!was_met) {
            ck_assert_int_eq(status, ZD_OK);
            return;
        }
    }
    ck_abort_msg("still a fault");
}
END_TEST

START_TEST(a_reload_without_memory_changes_all_or_nothing)
{
    static const char fewer[] =
        "{\"listen\":[\"127.0.0.1:0\"],\"datasets\":{" DATASET("codecs", "") "}}";
    struct zd_test_serve serve;
    open_server(&serve, trusting);
    bool was_met = true;
    for (uint64_t n = 1; was_met; n++) {
        struct zd_test_answer answer;
        zd_test_serve_configure(&serve, n % 2 == 0 ? trusting : fewer);
        const uint64_t before = zd_alloc_count();
        zd_alloc_fail_at(n);
        const enum zd_status status = zd_test_serve_reload(&serve);
        zd_alloc_fail_at(0);
        was_met = zd_alloc_count() - before >= n;
        ck_assert_msg(
            status == ZD_OK || (was_met && status == ZD_NO_MEMORY), "%s", zd_status_name(status));
        zd_test_serve_ask(&serve, GET("/v1/datasets/codecs/slices/gzip_6?slice=0"), &answer);
        ck_assert_msg(answer.is_whole && answer.status == 200, "reload, allocation %llu: %.*s",
            (unsigned long long)n, shown(answer.len), answer.bytes);
        zd_test_answer_done(&answer);
    }
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_failed_allocation_is_no_wrong_answer, 0, ZD_COUNT_OF(ways));
    tcase_add_loop_test(tests, a_failed_store_is_no_wrong_answer, 0, ZD_COUNT_OF(ways));
    tcase_add_test(tests, a_start_without_memory_fails_or_serves);
    tcase_add_test(tests, a_reload_without_memory_changes_all_or_nothing);
}
