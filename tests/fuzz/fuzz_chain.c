/* Fuzzes core/codec: any bytes decode to whole chunks or are refused, and what was decoded is
 * encoded to something that decodes to the same. The first byte of the input names the chain. */
#include "core/base/num.h"
#include "core/codec/chain.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 16)

#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define INDEX "[" BYTES ",\"crc32c\"]"
#define GZIP  "{\"name\":\"gzip\",\"configuration\":{\"level\":1}}"
#define ZSTD  "{\"name\":\"zstd\",\"configuration\":{\"level\":1}}"
#define BLOSC                                                                                      \
    "{\"name\":\"blosc\",\"configuration\":{\"cname\":\"lz4\",\"clevel\":1,\"shuffle\":"           \
    "\"shuffle\",\"typesize\":2,\"blocksize\":0}}"
#define SHARD(shape, codecs, index)                                                                \
    "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape                     \
    ",\"codecs\":" codecs ",\"index_codecs\":" index "}}"

static const char *const lists[] = {
    "[" BYTES "]",
    "[" BYTES "," GZIP "]",
    "[" BYTES "," ZSTD "]",
    "[" BYTES "," BLOSC "]",
    "[" BYTES ",\"crc32c\"]",
    "[" BYTES "," GZIP "," ZSTD "," BLOSC "]",
    "[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}," BYTES "," ZSTD "]",
    "[" SHARD("[8,2]", "[" BYTES "," ZSTD "]", "[" BYTES "]") "]",
    "[" SHARD(
        "[8,2]", "[" SHARD("[2,2]", "[" BYTES "," BLOSC "]", "[" BYTES "]") "]", "[" BYTES "]") "]",
    "[" SHARD("[8,2]", "[" BYTES "]", INDEX) "," GZIP "]",
};

static struct zd_chain *open_chain(const char *list)
{
    static const uint16_t fill = 7;
    const struct zd_json_limits limits = {.bytes_max = 4096, .nodes_max = 1000, .depth_max = 32};
    ZD_AUTO(zd_json) codecs = NULL;
    zd_fuzz_insist(zd_json_parse(zd_span_of(list), &limits, &codecs, NULL) == ZD_OK);
    struct zd_repr decoded = {.rank = 2, .shape = {16, 6}, .fill = &fill, .size_is_exact = true};
    zd_fuzz_insist(zd_dtype_find("uint16", &decoded.dtype) == ZD_OK);
    zd_fuzz_insist(!zd_codec_repr_overflows(&decoded, &decoded.size));
    const struct zd_chain_config config = {.codecs = codecs, .decoded = &decoded};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    zd_fuzz_insist(zd_chain_open(&config, &chain, &faults) == ZD_OK);
    return chain;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > INPUT_BYTES_MAX) {
        return 0;
    }
    ZD_AUTO(zd_chain) chain = open_chain(lists[data[0] % ZD_COUNT_OF(lists)]);
    ZD_AUTO(zd_buf) encoded = zd_buf_copy((struct zd_span){.ptr = data + 1, .len = size - 1});
    ZD_AUTO(zd_buf) decoded = NULL;
    const enum zd_status status = zd_chain_decode(chain, encoded, &decoded, NULL);
    zd_fuzz_insist(status == ZD_OK || status == ZD_CORRUPT);
    if (status == ZD_OK) {
        ZD_AUTO(zd_buf) again = NULL;
        ZD_AUTO(zd_buf) same = NULL;
        zd_fuzz_insist(decoded->len == zd_chain_decoded(chain)->size);
        zd_fuzz_insist(zd_chain_encode(chain, decoded, &again, NULL) == ZD_OK);
        zd_fuzz_insist(again->len <= zd_chain_encoded(chain)->size);
        zd_fuzz_insist(zd_chain_decode(chain, again, &same, NULL) == ZD_OK);
        zd_fuzz_insist(zd_span_equal(zd_buf_span(decoded), zd_buf_span(same)));
    }
    return 0;
}
