/* Text that grows up to a ceiling. */
#ifndef ZD_CORE_BASE_TEXT_H
#define ZD_CORE_BASE_TEXT_H

#include "core/base/buf.h"
#include "core/base/status.h"

/**
 * Text under construction, always ended by NUL. The first failure sticks (status) and later
 * additions do nothing, so a writer of many pieces may look at the status once, at the end.
 */
struct zd_text {
    char *at;       /* the text; "" before the first addition */
    size_t len;     /* bytes, without the NUL */
    size_t cap;     /* bytes held, with the NUL; 0 before the first addition */
    size_t len_max; /* the ceiling */
    enum zd_status status;
};

/** An empty text that never exceeds len_max bytes. Holds no memory yet. Thread: any. */
void zd_text_init(struct zd_text *text, size_t len_max);

/** Releases the memory; accepts a text that was only initialised or zeroed. Thread: any. */
void zd_text_done(struct zd_text *text);

/** Forgets the contents and the failure, keeps the memory. */
void zd_text_clear(struct zd_text *text);

/** Forgets all but the first len bytes; len <= text->len (asserted). */
void zd_text_cut(struct zd_text *text, size_t len);

/**
 * Add to the end. @retval ZD_TOO_LARGE past the ceiling @retval ZD_NO_MEMORY. On failure the text
 * keeps what it had. The result may be ignored if text->status is checked later. Thread: any.
 */
enum zd_status zd_text_add(struct zd_text *text, const char *piece);
enum zd_status zd_text_add_bytes(struct zd_text *text, const void *bytes, size_t len);
enum zd_status zd_text_add_char(struct zd_text *text, char c);
enum zd_status zd_text_add_u64(struct zd_text *text, uint64_t value);
enum zd_status zd_text_addf(struct zd_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The contents, borrowed until the next addition. */
struct zd_span zd_text_span(const struct zd_text *text);

/**
 * The contents as a counted buffer (a copy of exactly that many bytes).
 *
 * @param ret_buf owned
 * @retval the text's own failure, when it has one, or ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_text_buf(const struct zd_text *text, struct zd_buf **ret_buf);

/**
 * The same without a copy: the text is empty afterwards, and has no failure. For long ones.
 *
 * @param ret_buf owned
 * @retval the text's own failure, when it has one, or ZD_NO_MEMORY; the text stays as it is
 * Thread: any.
 */
ZD_RESULT zd_text_take_buf(struct zd_text *text, struct zd_buf **ret_buf);

/** A struct zd_text of this scope, released at its end: `ZD_SCOPED_TEXT(key, 1024);`. */
#define ZD_SCOPED_TEXT(name, ceiling)                                                              \
    __attribute__((cleanup(zd_text_done))) struct zd_text name;                                    \
    zd_text_init(&(name), (ceiling))

#endif
