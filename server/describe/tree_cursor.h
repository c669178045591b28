/* Cursors of listings: where the next page begins. Thread: any. */
#ifndef ZD_DESCRIBE_TREE_CURSOR_H
#define ZD_DESCRIBE_TREE_CURSOR_H

#include "core/base/text.h"

/** The cursor that continues after a path, and back. @param ret_path owned @retval ZD_INVALID */
enum zd_status zd_tree_cursor_add(const char *path, struct zd_text *text);
ZD_RESULT zd_tree_cursor_parse(struct zd_span cursor, char **ret_path, struct zd_error *err);

#endif
