/* Extension points, and the definitions that documents have there. */
#ifndef ZD_CORE_EXTENSION_DEFINITION_H
#define ZD_CORE_EXTENSION_DEFINITION_H

#include "core/base/fault.h"

/** Where a document may name an extension. */
enum zd_point {
    ZD_POINT_DATA_TYPE,
    ZD_POINT_CHUNK_GRID,
    ZD_POINT_CHUNK_KEY_ENCODING,
    ZD_POINT_CODEC,
    ZD_POINT_STORAGE_TRANSFORMER,
    ZD_POINT_GENERIC, /* an entry of `extensions` (ZEP 10) */
};

/** The code of a problem with an unknown name there: "unsupported_codec", "unsupported_grid" ... */
const char *zd_definition_unsupported_code(enum zd_point point);

/** An extension definition, taken apart (Zarr 3.1, extension definition). Everything borrowed from
 * the document. */
struct zd_definition {
    const char *name;
    const struct zd_json *configuration; /* an object, or NULL */
    bool must_understand;                /* true unless said otherwise */
    bool is_shorthand;                   /* a bare string */
    bool has_surplus; /* members beyond these, let pass because must_understand is false */
};

/**
 * Take an extension definition apart and judge its form: a string, or an object with name, optional
 * configuration (an object), optional must_understand (a boolean) and nothing else; a well-formed
 * name. Other members pass when reading and must_understand is false.
 *
 * @param json    borrowed; NULL or of a wrong type is a fault
 * @param strict  judge as a document to be written: names of the old class are faults too, on
 * reading a warning
 * @retval ZD_INVALID it has no name, or no configuration, by which it could be judged further;
 * other faults refuse the document, too, and the judgement goes on Thread: any.
 */
ZD_RESULT zd_definition_parse(const struct zd_json *json, const struct zd_pointer *at, bool strict,
    struct zd_definition *ret_definition, struct zd_faults *faults);

#endif
