/* Shared by the codecs that put a checksum of four bytes in front of the data or behind it. */
#ifndef ZD_CORE_CODEC_CHECKSUM_H
#define ZD_CORE_CODEC_CHECKSUM_H

#include "core/codec/parameter.h"

#define ZD_CHECKSUM_BYTES sizeof(uint32_t)

/** A codec's checksum; static. */
struct zd_checksum_kind {
    const char *codec; /* its name */
    bool is_at_start;  /* where it is when nothing is said */
    /** @param state the codec's */
    uint32_t (*of)(const void *state, struct zd_span data);
};

/** The state of such a codec, or the first member of it. */
struct zd_checksum {
    const struct zd_checksum_kind *kind;
    bool is_at_start;
    struct zd_repr decoded;
};

/** The encoded representation: four bytes more. */
struct zd_repr zd_checksum_encoded(const struct zd_repr *decoded);

/** Judge numcodecs' parameter `location`, if it is there: "start" or "end". */
void zd_checksum_location(const struct zd_parameters *parameters,
    const struct zd_checksum_kind *kind, bool *ret_is_at_start);

/** open of a codec that has no other parameter, and no other state: zd_free closes it. Thread: any.
 */
ZD_RESULT zd_checksum_open(const struct zd_checksum_kind *kind,
    const struct zd_codec_config *config, struct zd_repr *ret_encoded, void **ret_state,
    struct zd_faults *faults);
#define ZD_CHECKSUM_SCHEMA                                                                         \
    "{\"type\":\"object\",\"properties\":{\"location\":{\"enum\":[\"start\",\"end\"]}},"           \
    "\"additionalProperties\":false}"

/** decode, encode and configuration of all of them. Thread: any. */
ZD_RESULT zd_checksum_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err);
ZD_RESULT zd_checksum_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err);
ZD_RESULT zd_checksum_configuration(const void *state, struct zd_json **ret_json);

#endif
