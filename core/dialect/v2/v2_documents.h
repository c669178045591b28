/* The documents of a node of v2 (Zarr v2, Metadata), in the order of the dialect's document keys.
 */
#ifndef ZD_CORE_DIALECT_V2_V2_DOCUMENTS_H
#define ZD_CORE_DIALECT_V2_V2_DOCUMENTS_H

enum {
    ZD_V2_ARRAY,
    ZD_V2_GROUP,
    ZD_V2_ATTRIBUTES,
    ZD_V2_LISTING, /* of a group: consolidated metadata */
    ZD_V2_N_DOCUMENTS,
};

/** Their names: ".zarray" ... */
extern const char *const zd_v2_document_names[ZD_V2_N_DOCUMENTS];

#endif
