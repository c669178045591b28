/* Bodies of JSON, whole and in pieces: a line that names a data type, then the rank, three lengths,
 * the length of a piece and the room for elements, a byte each. The verdict is the same, and so are
 * the elements. */
#include <stdlib.h>
#include <string.h>

#include "core/base/num.h"
#include "server/format/text_reader.h"
#include "tests/fuzz/input.h"

#define RANK_MAX          3
#define LENGTH_MAX        8
#define ELEMENT_BYTES_MAX 64

struct shape {
    uint32_t rank;
    uint64_t length[RANK_MAX];
    uint64_t n;
};

/* The outcome of a body. */
struct verdict {
    enum zd_status status;
    struct zd_error err;
    uint8_t *element; /* owned */
    size_t n_bytes;
};

static enum zd_status feed(
    struct zd_text_reader *reader, struct zd_span piece, uint64_t room, struct zd_error *err)
{
    while (piece.len > 0) {
        size_t used = 0;
        reader->n_room = reader->n_room == 0 ? room : reader->n_room;
        const enum zd_status status = zd_text_reader_feed(reader, piece, &used, err);
        if (status != ZD_OK) {
            return status;
        }
        zd_fuzz_insist(used <= piece.len && (used == piece.len || reader->n_room == 0));
        piece.ptr += used;
        piece.len -= used;
    }
    return ZD_OK;
}

static struct verdict judge(const struct zd_dtype *dtype, const struct shape *shape,
    struct zd_span text, size_t piece_len, uint64_t room)
{
    struct verdict verdict = {.element = calloc(shape->n + 1, dtype->bytes)};
    struct zd_text_reader reader;
    zd_fuzz_insist(verdict.element != NULL);
    zd_text_reader_init(&reader, dtype, shape->rank, shape->length);
    reader.to = verdict.element;
    for (size_t at = 0; at < text.len && verdict.status == ZD_OK; at += piece_len) {
        const struct zd_span piece = {
            .ptr = text.ptr + at, .len = zd_min_u64(piece_len, text.len - at)};
        verdict.status = feed(&reader, piece, room, &verdict.err);
    }
    if (verdict.status == ZD_OK) {
        reader.n_room = reader.n_room == 0 ? room : reader.n_room;
        verdict.status = zd_text_reader_end(&reader, &verdict.err);
    }
    verdict.n_bytes = (size_t)(reader.to - verdict.element);
    zd_fuzz_insist(verdict.n_bytes <= shape->n * dtype->bytes);
    zd_fuzz_insist(verdict.status != ZD_OK || verdict.n_bytes == shape->n * dtype->bytes);
    zd_text_reader_done(&reader);
    return verdict;
}

static void check(const struct zd_dtype *dtype, const struct shape *shape, struct zd_span text,
    size_t piece_len, uint64_t room)
{
    struct verdict whole = judge(dtype, shape, text, text.len + 1, shape->n + 1);
    struct verdict cut = judge(dtype, shape, text, piece_len, room);
    zd_fuzz_insist(whole.status == ZD_OK || whole.err.text[0] != '\0');
    zd_fuzz_insist(cut.status == whole.status && strcmp(cut.err.text, whole.err.text) == 0);
    zd_fuzz_insist(cut.n_bytes == whole.n_bytes);
    zd_fuzz_insist(memcmp(cut.element, whole.element, whole.n_bytes) == 0);
    free(whole.element);
    free(cut.element);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    ZD_AUTO_TEXT name = zd_fuzz_line(&input);
    struct zd_dtype dtype;
    struct shape shape = {.n = 1};
    if (zd_fuzz_dtype(name, &dtype) != ZD_OK || dtype.bytes > ELEMENT_BYTES_MAX) {
        return 0;
    }
    shape.rank = zd_fuzz_byte(&input) % (RANK_MAX + 1);
    for (uint32_t d = 0; d < RANK_MAX; d++) {
        shape.length[d] = zd_fuzz_byte(&input) % LENGTH_MAX;
        shape.n *= d < shape.rank ? shape.length[d] : 1;
    }
    const size_t piece_len = 1 + (size_t)zd_fuzz_byte(&input);
    const uint64_t room = 1 + (uint64_t)zd_fuzz_byte(&input);
    check(&dtype, &shape, input, piece_len, room);
    return 0;
}
