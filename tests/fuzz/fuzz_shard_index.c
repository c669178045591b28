/* Indexes of shards: a byte that picks the array, eight bytes of where the shard begins and of how
 * long it is, then its decoded index. Whatever an index says, what is read lies in the shard. */
#include "core/array/layout.h"
#include "core/base/num.h"
#include "core/codec/shard_index.h"
#include "core/dialect/dialect.h"
#include "tests/fuzz/input.h"

#define CHUNK_BYTES_MAX (1U << 20)
#define SHARD_BYTES_MAX (UINT64_C(1) << 62)

#define ARRAY(codecs)                                                                              \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[30,12],\"data_type\":\"uint16\","       \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[16,6]}},"            \
    "\"chunk_key_encoding\":\"default\",\"fill_value\":7,\"codecs\":[" codecs "]}"
#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define ORDER "{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}"
#define ZSTD  "{\"name\":\"zstd\",\"configuration\":{\"level\":1,\"checksum\":false}}"
#define SHARD(shape, codecs, index, location)                                                      \
    "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape                     \
    ",\"codecs\":[" codecs "],\"index_codecs\":[" index "],\"index_location\":\"" location "\"}}"

static const char *const documents[] = {
    ARRAY(SHARD("[8,2]", BYTES, BYTES, "end")),
    ARRAY(SHARD("[8,2]", BYTES "," ZSTD, BYTES, "start")),
    ARRAY(SHARD("[8,2]", BYTES "," ZSTD, BYTES ",\"crc32c\"", "end")),
    ARRAY(ORDER "," SHARD("[2,8]", BYTES, BYTES, "end")),
    ARRAY(SHARD("[8,6]", SHARD("[2,2]", BYTES, BYTES, "start"), BYTES, "end")),
};

static struct zd_layout *open_layout(const char *document)
{
    const struct zd_reading reading = {
        .zep10 = true, .limits = {.bytes_max = 4096, .nodes_max = 1000, .depth_max = 32}};
    const struct zd_documents texts = {.text = {zd_span_of(document)}, .present = {true}};
    ZD_AUTO(zd_meta) meta = NULL;
    struct zd_layout *layout = NULL;
    zd_fuzz_insist(zd_dialect_find("v3")->parse(&texts, &reading, &meta, NULL) == ZD_OK);
    zd_fuzz_insist(zd_layout_new(meta, CHUNK_BYTES_MAX, &layout, NULL) == ZD_OK);
    return layout;
}

static bool is_within(struct zd_byte_range inner, struct zd_byte_range outer)
{
    return inner.first >= outer.first && inner.len <= outer.len &&
           inner.first - outer.first <= outer.len - inner.len;
}

/* Every inner chunk of the shard that holds chunk 0, 0. */
static void find_all(
    const struct zd_level *level, const struct zd_buf *index, struct zd_byte_range shard)
{
    for (uint64_t y = 0; y < level->ratio[0]; y++) {
        for (uint64_t x = 0; x < level->ratio[1]; x++) {
            const uint64_t chunk[ZD_RANK_MAX] = {y, x};
            struct zd_byte_range range;
            const enum zd_status status = zd_layout_find(level, index, shard, chunk, &range, NULL);
            zd_fuzz_insist(status == ZD_OK ? is_within(range, shard)
                                           : status == ZD_NOT_FOUND || status == ZD_CORRUPT);
        }
    }
}

/* The index as it was stored: the decoded one, through its own codecs. */
static struct zd_buf *encode_index(const struct zd_level *level, struct zd_span input)
{
    const size_t len = (size_t)level->shard->n_chunks * ZD_SHARD_ENTRY_BYTES;
    struct zd_buf *encoded = NULL;
    ZD_AUTO(zd_buf) index = zd_buf_new(len);
    zd_fuzz_insist(index != NULL);
    for (size_t i = 0; i < len; i++) {
        index->data[i] = i < input.len ? input.ptr[i] : 0xff;
    }
    index->len = len;
    zd_fuzz_insist(zd_chain_encode(level->shard->index, index, &encoded, NULL) == ZD_OK);
    zd_fuzz_insist(encoded->len == level->shard->index_bytes);
    return encoded;
}

static void check_level(
    const struct zd_level *level, struct zd_byte_range shard, struct zd_span input)
{
    struct zd_byte_range at = {0};
    struct zd_error err = {0};
    if (zd_layout_index_range(level, shard, &at, &err) != ZD_OK) {
        zd_fuzz_insist(err.status == ZD_CORRUPT && shard.len < level->shard->index_bytes);
        return;
    }
    zd_fuzz_insist(is_within(at, shard) && at.len == level->shard->index_bytes);
    ZD_AUTO(zd_buf) encoded = encode_index(level, input);
    ZD_AUTO(zd_buf) index = NULL;
    if (zd_layout_index_decode(level, encoded, &index, &err) == ZD_OK) {
        find_all(level, index, shard);
    } else {
        zd_fuzz_insist(err.status == ZD_CORRUPT && (err.facts.set & ZD_FACT_NAME) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct zd_layout *layouts[ZD_COUNT_OF(documents)];
    struct zd_span input = {.ptr = data, .len = len};
    const size_t i = zd_fuzz_byte(&input) % ZD_COUNT_OF(documents);
    if (layouts[i] == NULL) {
        layouts[i] = open_layout(documents[i]);
    }
    const struct zd_byte_range shard = {
        .first = zd_fuzz_u64(&input) % SHARD_BYTES_MAX,
        .len = zd_fuzz_u64(&input) % SHARD_BYTES_MAX,
    };
    for (uint32_t n = 0; n + 1 < layouts[i]->n_levels; n++) {
        check_level(&layouts[i]->level[n], shard, input);
    }
    return 0;
}
