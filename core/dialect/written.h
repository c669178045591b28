/* The elements that a write brings to an array, for extensions that must know them before they are
 * stored.
 */
#ifndef ZD_CORE_DIALECT_WRITTEN_H
#define ZD_CORE_DIALECT_WRITTEN_H

#include "core/dialect/meta.h"

/** Gathered while the elements of a write pass by: by value. Parts of it, one a thread, are joined.
 */
struct zd_written {
    bool is_wanted; /* some extension asks; else all of these do nothing */
    struct zd_summary summary;
};

/** Nothing is written yet. */
void zd_written_init(struct zd_written *written, const struct zd_meta *meta);

/**
 * These elements are about to be stored: those of a slice as they came, or of a chunk as they were
 * decoded, by whatever route. Of a chunk at the edge, what lies outside the array counts too: a
 * larger shape would show it.
 */
void zd_written_add(struct zd_written *written, const void *elements, uint64_t n_elements);

/** Add what another one of the same array gathered. */
void zd_written_join(struct zd_written *written, const struct zd_written *other);

/**
 * The member `extensions` that the array's document needs before any element is stored. So no
 * reader ever finds an element that contradicts the document. Ask again of the fresh document when
 * another writer has changed it: bounds only ever widen.
 *
 * @param meta           of the array as its document stands now
 * @param ret_extensions owned; NULL: the document is right as it is
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_written_before(const struct zd_written *written, const struct zd_meta *meta,
    struct zd_json **ret_extensions, struct zd_error *err);

#endif
