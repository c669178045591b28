/* A v3 document under judgement: helpers for its members. */
#ifndef ZD_CORE_DIALECT_V3_V3_JUDGE_H
#define ZD_CORE_DIALECT_V3_V3_JUDGE_H

#include "core/dialect/meta.h"
#include "core/extension/definition.h"

#define ZD_V3_FOUND_BYTES 24 /* of the longest integer, with its sign and NUL */

/** An array's document. A member of meta is valid once its flag is set. */
struct zd_v3_judge {
    const struct zd_json *document; /* borrowed, as all of these */
    struct zd_meta *meta;
    struct zd_faults *faults; /* of meta */
    enum zd_judgement judgement;
    bool has_shape;
    bool has_chunk;
    bool has_dtype;
    bool has_fill;
    uint32_t chunk_rank; /* that of the shape, unless one of them is faulty */
};

/** The place of the document itself. */
extern const struct zd_pointer zd_v3_whole;

/** The value for messages, if it is short; else its type. Borrowed from both.
 */
const char *zd_v3_judge_found(const struct zd_json *json, char space[ZD_V3_FOUND_BYTES]);

/** How grave a deviation is that can mean only one thing: a warning on reading, a fault to be
 * written. */
enum zd_severity zd_v3_judge_tolerated(const struct zd_v3_judge *judge);

/** A required member of the document, borrowed; or NULL, with a fault. */
const struct zd_json *zd_v3_judge_required(const struct zd_v3_judge *judge, const char *name);

/** Faults: another type is expected there; the name is not known. */
void zd_v3_judge_wrong_type(const struct zd_v3_judge *judge, const struct zd_pointer *at,
    const char *expected, const struct zd_json *json);
void zd_v3_judge_unsupported(const struct zd_v3_judge *judge, enum zd_point point, const char *name,
    const struct zd_pointer *at);

/** A list of lengths, rank entries; false with all its faults. */
bool zd_v3_judge_extents(const struct zd_v3_judge *judge, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t ret_length[ZD_RANK_MAX], uint32_t *ret_rank);

/**
 * An extension definition of which must_understand must not be false: to be written that is a
 * fault; on reading it matters only where the name is unknown, and then the node is refused anyway.
 * False with a fault.
 * @param member what it is called in messages
 */
bool zd_v3_judge_definition_at(const struct zd_v3_judge *judge, const struct zd_json *json,
    const struct zd_pointer *at, const char *member, struct zd_definition *ret_definition);

/** The same of a required member of the document. */
bool zd_v3_judge_definition(
    const struct zd_v3_judge *judge, const char *member, struct zd_definition *ret_definition);

/** A configuration may have those members; each other one is a fault.
 * @param known names, ended by NULL */
void zd_v3_judge_configuration(const struct zd_v3_judge *judge, const struct zd_json *configuration,
    const struct zd_pointer *definition_at, const char *const *known);

/** Give an object a member: a list of n lengths. @retval ZD_NO_MEMORY */
ZD_RESULT zd_v3_judge_set_extents(
    struct zd_json *object, const char *name, const uint64_t *length, uint32_t n);

/** Give a document an extension definition. @param configuration taken over @retval ZD_NO_MEMORY */
ZD_RESULT zd_v3_judge_set_definition(
    struct zd_json *document, const char *member, const char *name, struct zd_json *configuration);

#endif
