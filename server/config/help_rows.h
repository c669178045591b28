/* Rows of --help: a name and its meaning beside it. Thread: any. */
#ifndef ZD_CONFIG_HELP_ROWS_H
#define ZD_CONFIG_HELP_ROWS_H

#include "core/base/text.h"

#define ZD_HELP_ROW_CHARS 100

/**
 * Add a row: the name, then the meaning, wrapped between words. Every line has at most
 * ZD_HELP_ROW_CHARS characters, unless a single word has more.
 * @param name, meaning  borrowed
 */
void zd_help_row_add(struct zd_text *text, const char *name, const char *meaning);

#endif
