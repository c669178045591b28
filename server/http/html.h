/* Text in pages of HTML. Pure. Thread: any. */
#ifndef ZD_HTTP_HTML_H
#define ZD_HTTP_HTML_H

#include "core/base/text.h"

/** Add text, with the characters escaped that have a meaning in elements and in attributes between
 * double quotes. Failures stick in the text. */
void zd_html_add(struct zd_text *page, const char *text);

#endif
