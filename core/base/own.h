/* Ownership: release by scope, and the one allocator that tests can count and break. */
#ifndef ZD_CORE_BASE_OWN_H
#define ZD_CORE_BASE_OWN_H

#include <stddef.h>
#include <stdint.h>

/**
 * Declares a pointer that is released when its scope ends, on every path:
 * `ZD_AUTO(zd_buf) out = zd_buf_new(n);`. The type's header says ZD_OWN(zd_buf, zd_buf_unref).
 */
#define ZD_AUTO(type) __attribute__((cleanup(type##_auto_release))) struct type *

/** Makes ZD_AUTO(type) possible: release is the type's free/unref/close, which accepts NULL. */
#define ZD_OWN(type, release)                                                                      \
    static inline void type##_auto_release(struct type **held)                                     \
    {                                                                                              \
        release(*held);                                                                            \
    }                                                                                              \
    struct type

/** Hands a pointer over: its value, and NULL stays behind. */
#define ZD_TAKE(held)                                                                              \
    ({                                                                                             \
        __typeof__(held) zd_taken_ = (held);                                                       \
        (held) = NULL;                                                                             \
        zd_taken_;                                                                                 \
    })

/** The object that embeds a member: `ZD_CONTAINER(link, struct zd_waiter, link)`. */
#define ZD_CONTAINER(member_pointer, type, member)                                                 \
    ((type *)(void *)((char *)(member_pointer) - offsetof(type, member)))

/**
 * Memory. All of ours comes from here, so that tests can count it and make the n-th request fail.
 * NULL when there is none; a size of 0 counts as 1. Owned: give it to zd_free. Thread: any.
 */
void *zd_alloc(size_t len) __attribute__((malloc, alloc_size(1)));
void *zd_alloc_zero(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2)));
void *zd_realloc(void *held, size_t len) __attribute__((alloc_size(2)));
char *zd_strdup(const char *text) __attribute__((malloc));
char *zd_strndup(const char *text, size_t len) __attribute__((malloc));
void zd_free(void *held);

/** How many times memory was asked for since the process began. Thread: any. */
uint64_t zd_alloc_count(void);

/** For tests: the n-th request from now (1 = the next) fails, and only that one; 0 = none. */
void zd_alloc_fail_at(uint64_t n);

/** A string that ZD_AUTO can hold: `ZD_AUTO_TEXT name = zd_strdup(...)`. */
#define ZD_AUTO_TEXT __attribute__((cleanup(zd_own_text_release))) char *
static inline void zd_own_text_release(char **held)
{
    zd_free(*held);
}

#endif
