/* Unused contexts of compression libraries: they are costly to make, so the next one takes
 * them. */
#ifndef ZD_CORE_CODEC_SPARE_H
#define ZD_CORE_CODEC_SPARE_H

#include <stdatomic.h>

#define ZD_SPARES_MAX 8 /* about as many as threads decode at once */

/** Some contexts of one kind; static memory, so all empty at first. */
struct zd_spares {
    _Atomic(void *) slot[ZD_SPARES_MAX];
};

/** A context for the caller alone, as its last user left it; NULL: there is none, make one. Thread:
 * any. */
void *zd_spares_take(struct zd_spares *spares);

/**
 * Give back a context, so that later calls can reuse it.
 * @param context owned
 * @return NULL, or the context when there is no room: the caller frees it
 * Thread: any.
 */
void *zd_spares_give(struct zd_spares *spares, void *context);

#endif
