/* Consolidated metadata: any text as the block of a group. What is listed are paths of descendants,
 * each once, with documents that make nodes; and a listing fit to be written is listed whole. */
#include <string.h>

#include "core/base/num.h"
#include "core/dialect/dialect.h"
#include "core/dialect/node_name.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 15)
#define SMALL_BYTES_MAX 512 /* of one document: more is read as a large block is */
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

static void check_path(struct zd_span path)
{
    for (size_t at = 0;; at++) {
        const uint8_t *slash = memchr(path.ptr + at, '/', path.len - at);
        const size_t end = slash == NULL ? path.len : (size_t)(slash - path.ptr);
        const struct zd_span name = {.ptr = path.ptr + at, .len = end - at};
        zd_fuzz_insist(zd_node_name_is_valid(name));
        at = end;
        if (at == path.len) {
            return;
        }
    }
}

static void check_node(const struct zd_meta *meta, const struct zd_stored_entry *entry)
{
    const struct zd_reading reading = reading_of(ZD_JUDGE_READ);
    struct zd_stored_entry found;
    ZD_AUTO(zd_meta) node = NULL;
    check_path(entry->path);
    zd_fuzz_insist(zd_stored_listing_find(meta->listing, entry->path, &found));
    zd_fuzz_insist(found.document.ptr == entry->document.ptr);
    zd_fuzz_insist(meta->dialect->parse_entry(entry, &reading, &node, NULL) == ZD_OK);
    zd_fuzz_insist(zd_meta_is_refused(node) || node->type != ZD_NODE_UNKNOWN);
    zd_fuzz_insist(zd_meta_is_refused(node) || entry->is_group == (node->type == ZD_NODE_GROUP));
}

/* How many nodes it lists: each is found by its path, so that no two have the same. */
static size_t walk(const struct zd_meta *meta)
{
    const size_t n = zd_stored_listing_count(meta->listing);
    for (size_t i = 0; i < n; i++) {
        const struct zd_stored_entry entry = zd_stored_listing_entry(meta->listing, i);
        check_node(meta, &entry);
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
