/* Attributes of arrays: whatever they say, elements of every type are decoded or refused, and what
 * is refused is told with its place. The first byte chooses the type. */
#include <string.h>

#include "core/compute/cf_decode.h"
#include "core/grid/scalar.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 16)
#define N_ELEMENTS      600

static const char *const types[] = {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32",
    "int64", "uint64", "float16", "float32", "float64", "complex64", "bfloat16", "int4", "r16"};

static void run(const struct zd_cf_decode *decode)
{
    static uint8_t from[N_ELEMENTS * 16];
    static uint8_t to[N_ELEMENTS * 16];
    uint64_t place = 0;
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(i * 37);
    }
    zd_dtype_settle(&decode->stored, from, N_ELEMENTS);
    if (!zd_cf_decode_run(decode, from, N_ELEMENTS, to, &place)) {
        zd_fuzz_insist(decode->way == ZD_CF_DECODE_TIMES && place < N_ELEMENTS);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct zd_json_limits limits = {
        .bytes_max = INPUT_BYTES_MAX, .nodes_max = INPUT_BYTES_MAX, .depth_max = 16};
    ZD_AUTO(zd_json) attributes = NULL;
    struct zd_cf_decode_array array = {0};
    struct zd_cf_decode decode;
    struct zd_error err = {0};
    const uint64_t fill[2] = {7, 0};
    if (len == 0) {
        return 0;
    }
    const struct zd_span text = {.ptr = data + 1, .len = len - 1};
    if (zd_json_parse(text, &limits, &attributes, NULL) != ZD_OK ||
        zd_dtype_find(types[data[0] % (sizeof types / sizeof types[0])], &array.dtype) != ZD_OK) {
        return 0;
    }
    array.attributes = attributes;
    array.fill = data[0] >= 0x80 ? fill : NULL;
    if (zd_cf_decode_init(&decode, &array, &err) != ZD_OK) {
        zd_fuzz_insist(err.status == ZD_INVALID && err.facts.pointer[0] == '/');
        return 0;
    }
    zd_fuzz_insist(decode.to.bytes <= 16);
    run(&decode);
    array.leaves_times = true;
    zd_fuzz_insist(zd_cf_decode_init(&decode, &array, NULL) == ZD_OK);
    run(&decode);
    return 0;
}
