/* Tables (layout=table): one row an element, with one column a dimension and then its value.
 * Thread: any. */
#ifndef ZD_FORMAT_TABLE_H
#define ZD_FORMAT_TABLE_H

#include "server/format/format.h"

extern const struct zd_format zd_table_csv;  /* RFC 4180; a header line, if the answer has one */
extern const struct zd_format zd_table_json; /* {"columns": [..], "rows": [[..], ..]} */

#endif
