/* Consolidated metadata: any text as the block of a group. What is listed are paths of descendants,
 * each once, with documents that make nodes; and a listing fit to be written is listed whole. */
#include <string.h>

#include "core/base/num.h"
#include "core/dialect/dialect.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 15)
#define SMALL_BYTES_MAX 512 /* of one document: more is read as a large block is */
#define NODES_MAX       100
#define BEFORE          "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":"
#define AFTER           ",\"attributes\":{}}"

static struct zd_reading reading_of(enum zd_judgement judgement)
{
    return (struct zd_reading){
        .zep10 = true,
        .judgement = judgement,
        .limits = {.bytes_max = SMALL_BYTES_MAX, .nodes_max = 50, .depth_max = 16},
        .consolidated_bytes_max = INPUT_BYTES_MAX,
    };
}

static struct zd_meta *parse(struct zd_span text, enum zd_judgement judgement)
{
    const struct zd_reading reading = reading_of(judgement);
    const struct zd_documents documents = {.text = {text}, .present = {true}};
    struct zd_meta *meta = NULL;
    zd_fuzz_insist(zd_dialect_find("v3")->parse(&documents, &reading, &meta, NULL) == ZD_OK);
    return meta;
}

static void check_path(const char *path)
{
    for (const char *at = path;; at++) {
        const struct zd_span name = {.ptr = (const uint8_t *)at, .len = strcspn(at, "/")};
        zd_fuzz_insist(zd_dialect_node_name_is_valid(name));
        at += name.len;
        if (*at == '\0') {
            return;
        }
    }
}

static void check_node(const struct zd_meta *meta, const struct zd_stored_node *node)
{
    const struct zd_reading reading = reading_of(ZD_JUDGE_READ);
    ZD_AUTO(zd_meta) entry = NULL;
    check_path(node->path);
    zd_fuzz_insist(meta->dialect->parse_json(node->document, &reading, &entry, NULL) == ZD_OK);
    zd_fuzz_insist(zd_meta_is_refused(entry) || entry->type != ZD_NODE_UNKNOWN);
}

static bool is_among(char *const *paths, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(paths[i], path) == 0) {
            return true;
        }
    }
    return false;
}

/* How many nodes it lists; at most NODES_MAX are compared with each other. */
static size_t walk(const struct zd_meta *meta)
{
    char *paths[NODES_MAX];
    size_t n = 0;
    size_t iter = 0;
    struct zd_stored_node node;
    while (n < NODES_MAX && meta->dialect->stored_node(meta, &iter, &node) == ZD_OK) {
        check_node(meta, &node);
        zd_fuzz_insist(!is_among(paths, n, node.path));
        paths[n] = zd_strdup(node.path);
        zd_fuzz_insist(paths[n] != NULL);
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        zd_free(paths[i]);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len > INPUT_BYTES_MAX - sizeof BEFORE - sizeof AFTER) {
        return 0;
    }
    ZD_SCOPED_TEXT(text, INPUT_BYTES_MAX);
    zd_text_add(&text, BEFORE);
    zd_text_add_bytes(&text, data, len);
    zd_text_add(&text, AFTER);
    zd_fuzz_insist(text.status == ZD_OK);
    ZD_AUTO(zd_meta) written = parse(zd_text_span(&text), ZD_JUDGE_WRITE);
    ZD_AUTO(zd_meta) meta = parse(zd_text_span(&text), ZD_JUDGE_READ);
    const size_t n_listed = zd_meta_is_refused(meta) ? 0 : walk(meta);
    if (!zd_meta_is_refused(written)) {
        zd_fuzz_insist(meta->faults.n_invalid == 0);
        zd_fuzz_insist(walk(written) == n_listed);
    }
    return 0;
}
