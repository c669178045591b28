/* Keys of chunks: a byte of rank and one of encoding, then a key. A key that names a chunk names
 * one of the grid, and is the key that the chunk has. */
#include "core/dialect/chunk_key.h"
#include "core/store/contract/store.h"
#include "tests/fuzz/input.h"

#define RANKS 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    const uint32_t rank = zd_fuzz_byte(&input) % RANKS;
    const uint8_t encoding = zd_fuzz_byte(&input);
    static char suffix[] = ".bin";
    const struct zd_meta meta = {
        .type = ZD_NODE_ARRAY,
        .grid = {.rank = rank, .shape = {1, 1000, UINT64_MAX, 0}, .chunk = {1, 7, 1, 3}},
        .key_encoding = (encoding & 1) != 0 ? ZD_KEYS_V2 : ZD_KEYS_DEFAULT,
        .key_separator = (encoding & 2) != 0 ? '.' : '/',
        .key_suffix = (encoding & 4) != 0 ? suffix : NULL,
    };
    uint64_t index[ZD_RANK_MAX] = {0};
    if (zd_chunk_key_parse(&meta, input, index) == ZD_OK) {
        ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
        zd_fuzz_insist(zd_grid_check(&meta.grid, index, NULL) == ZD_OK);
        zd_fuzz_insist(zd_chunk_key_add(&meta, index, &key) == ZD_OK);
        zd_fuzz_insist(zd_span_equal(zd_text_span(&key), input));
    }
    return 0;
}
