/* Parts of a Blosc 1 frame: some bytes decoded without the rest. */
#ifndef ZD_CORE_CODEC_BLOSC_PART_H
#define ZD_CORE_CODEC_BLOSC_PART_H

#include "core/base/buf.h"
#include "core/base/status.h"

/** The 16 bytes at the front of a frame. */
struct zd_blosc_header {
    uint32_t compressor_version;
    uint32_t flags;
    uint32_t typesize; /* 1 .. 255 */
    uint32_t nbytes;   /* decoded */
    uint32_t blocksize;
    uint32_t cbytes; /* of the whole frame */
};

#define ZD_BLOSC_SHUFFLED      0x01U
#define ZD_BLOSC_STORED        0x02U
#define ZD_BLOSC_BITSHUFFLED   0x04U
#define ZD_BLOSC_RESERVED      0x08U
#define ZD_BLOSC_UNSPLIT       0x10U
#define ZD_BLOSC_FORMAT(flags) ((flags) >> 5)

/** Fails with ZD_CORRUPT: what the frame breaks, and the number found there. Thread: any. */
ZD_RESULT zd_blosc_corrupt(struct zd_error *err, const char *what, uint64_t found);

/**
 * Whether parts of a frame can be decoded here: it is stored, or LZ4 without bit shuffle, cut in
 * the way that all versions of the library agree on. Parts of other frames are cut from the whole.
 */
bool zd_blosc_has_parts(const struct zd_blosc_header *header);

/**
 * Decode some bytes. Every block begins anew, and so does each of its streams: of those that hold
 * wanted bytes no more is decoded than lies before the last one wanted. What is not needed is not
 * looked at, so that a fault there goes unseen.
 *
 * @param header  of the frame; was checked: nbytes is what is expected, cbytes the frame's length,
 *                blocksize not 0 unless it is stored; zd_blosc_has_parts
 * @param frame   borrowed
 * @param run     within nbytes, not empty
 * @param to      run.len bytes
 * @retval ZD_CORRUPT   what the whole frame's decoding would be told, of the part that is needed
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_blosc_decode_part(const struct zd_blosc_header *header, struct zd_span frame,
    struct zd_byte_range run, uint8_t *to, struct zd_error *err);

#endif
