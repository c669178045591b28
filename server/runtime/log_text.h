/* Text of strangers in lines that people read on a terminal.
 *
 * Characters that command a terminal, break a line, or change the order in which others are shown
 * are written as escapes: controls, marks of direction, invisible characters. Thread: any. */
#ifndef ZD_RUNTIME_LOG_TEXT_H
#define ZD_RUNTIME_LOG_TEXT_H

#include "core/base/emit.h"

/** Add a text for people: `\x1b` for a byte, `\u{202e}` for a character. */
void zd_log_text_add(struct zd_text *to, const char *from);

/** Add a member of a JSON object: its value survives, escaped as JSON escapes (\u202e). A text that
 * is no UTF-8 has `\xff` in its value. */
void zd_log_text_emit(struct zd_emit *emit, const char *name, const char *from);

#endif
