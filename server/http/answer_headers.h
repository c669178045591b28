/* The headers of answers, from which Access-Control-Expose-Headers is made. Thread: any. */
#ifndef ZD_HTTP_ANSWER_HEADERS_H
#define ZD_HTTP_ANSWER_HEADERS_H

#include "core/base/text.h"

/** Whether the header is listed; names are case-insensitive. */
bool zd_answer_headers_have(const char *name);

/** Add the names of the headers that scripts of other origins may read, as one list. */
void zd_answer_headers_add_exposed(struct zd_text *text);

#endif
