/* The documents of a node of v2. */
#include "core/dialect/v2/v2_documents.h"

const char *const zd_v2_document_names[ZD_V2_N_DOCUMENTS] = {
    [ZD_V2_ARRAY] = ".zarray",
    [ZD_V2_GROUP] = ".zgroup",
    [ZD_V2_ATTRIBUTES] = ".zattrs",
    [ZD_V2_LISTING] = ".zmetadata",
};
