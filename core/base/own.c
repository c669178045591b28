/* The allocator: malloc with a counter, and a fault that tests can set. */
#include "core/base/own.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t n_asked;
static _Atomic uint64_t fail_at; /* value of n_asked whose request fails; 0 = none */

static bool refuse(void)
{
    const uint64_t n = atomic_fetch_add_explicit(&n_asked, 1, memory_order_relaxed) + 1;
    return n == atomic_load_explicit(&fail_at, memory_order_relaxed);
}

void *zd_alloc(size_t len)
{
    return refuse() ? NULL : malloc(len == 0 ? 1 : len);
}

void *zd_alloc_zero(size_t count, size_t size)
{
    const bool nothing = count == 0 || size == 0;
    return refuse() ? NULL : calloc(nothing ? 1 : count, nothing ? 1 : size);
}

void *zd_realloc(void *held, size_t len)
{
    return refuse() ? NULL : realloc(held, len == 0 ? 1 : len);
}

char *zd_strndup(const char *text, size_t len)
{
    char *copy = zd_alloc(len + 1);
    if (copy != NULL) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

char *zd_strdup(const char *text)
{
    return zd_strndup(text, strlen(text));
}

void zd_free(void *held)
{
    free(held);
}

uint64_t zd_alloc_count(void)
{
    return atomic_load_explicit(&n_asked, memory_order_relaxed);
}

void zd_alloc_fail_at(uint64_t n)
{
    const uint64_t now = atomic_load_explicit(&n_asked, memory_order_relaxed);
    atomic_store_explicit(&fail_at, n == 0 ? 0 : now + n, memory_order_relaxed);
}
