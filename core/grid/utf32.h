/* Text of fixed length: code points in elements (UTF-32), UTF-8 outside. */
#ifndef ZD_CORE_GRID_UTF32_H
#define ZD_CORE_GRID_UTF32_H

#include "core/base/text.h"

/** Add the text of an element, without the zeros at its end; what is no character becomes U+FFFD.
 * @param element little-endian; a multiple of 4 bytes. Failures stick in the text. Thread: any. */
void zd_utf32_add(struct zd_span element, struct zd_text *text);

/** How many bytes an element needs for text that is UTF-8. Thread: any. */
size_t zd_utf32_len(struct zd_span utf8);

/** An element of len bytes from text that is UTF-8. @return false: it does not fit. Thread: any. */
bool zd_utf32_read(struct zd_span utf8, uint8_t *to, size_t len);

/** Whether all of it are characters: no surrogates, nothing above U+10FFFF. Thread: any. */
bool zd_utf32_is_valid(struct zd_span element);

#endif
