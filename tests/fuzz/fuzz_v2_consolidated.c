/* `.zmetadata` of v2: any text beside a group. The group is never refused for it; what is listed
 * are paths, each once, with documents that make nodes; and a listing fit to be written is listed
 * whole.
 */
#include <string.h>

#include "core/dialect/node_keys.h"
#include "core/dialect/v2/v2_consolidated.h"
#include "core/dialect/v2/v2_documents.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 15)
#define SMALL_BYTES_MAX 512 /* of one document */

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
    const struct zd_documents documents = {
        .text = {[ZD_V2_GROUP] = zd_span_of("{\"zarr_format\":2}"), [ZD_V2_LISTING] = text},
        .present = {[ZD_V2_GROUP] = true, [ZD_V2_LISTING] = true},
    };
    struct zd_meta *meta = NULL;
    zd_fuzz_insist(zd_dialect_find("v2")->parse(&documents, &reading, &meta, NULL) == ZD_OK);
    return meta;
}

static void check_node(const struct zd_meta *meta, const struct zd_stored_entry *entry)
{
    const struct zd_reading reading = reading_of(ZD_JUDGE_READ);
    struct zd_stored_entry found;
    ZD_AUTO(zd_meta) node = NULL;
    zd_fuzz_insist(
        entry->path.len == 0 || zd_stored_listing_is_path(entry->path, zd_node_keys_is_name));
    zd_fuzz_insist(zd_stored_listing_find(meta->listing, entry->path, &found));
    zd_fuzz_insist(found.document.ptr == entry->document.ptr);
    zd_fuzz_insist(found.attributes.ptr == entry->attributes.ptr);
    zd_fuzz_insist(meta->dialect->parse_entry(entry, &reading, &node, NULL) == ZD_OK);
    zd_fuzz_insist(entry->is_group == (node->type == ZD_NODE_GROUP));
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
    const struct zd_span text = {.ptr = data, .len = len};
    ZD_AUTO(zd_meta) written = parse(text, ZD_JUDGE_WRITE);
    ZD_AUTO(zd_meta) meta = parse(text, ZD_JUDGE_READ);
    zd_fuzz_insist(!zd_meta_is_refused(meta));
    zd_fuzz_insist(meta->has_listing != meta->has_unread_listing);
    const size_t n_listed = walk(meta);
    if (!zd_meta_is_refused(written)) {
        zd_fuzz_insist(meta->has_listing && walk(written) == n_listed);
    }
    return 0;
}
