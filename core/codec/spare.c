/* Unused contexts of compression libraries. */
#include "core/codec/spare.h"

#include <stddef.h>

void *zd_spares_take(struct zd_spares *spares)
{
    void *context = NULL;
    for (size_t i = 0; i < ZD_SPARES_MAX && context == NULL; i++) {
        if (atomic_load_explicit(&spares->slot[i], memory_order_relaxed) != NULL) {
            context = atomic_exchange_explicit(&spares->slot[i], NULL, memory_order_acquire);
        }
    }
    return context;
}

void *zd_spares_give(struct zd_spares *spares, void *context)
{
    for (size_t i = 0; i < ZD_SPARES_MAX; i++) {
        void *nothing = NULL;
        if (atomic_compare_exchange_strong_explicit(
                &spares->slot[i], &nothing, context, memory_order_release, memory_order_relaxed)) {
            return NULL;
        }
    }
    return context;
}
