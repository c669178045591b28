/* Changes to an object as it is written: what is not changed keeps its bytes and its place. */
#ifndef ZD_CORE_BASE_JSON_EDIT_H
#define ZD_CORE_BASE_JSON_EDIT_H

#include "core/base/json.h"
#include "core/base/text.h"

/** The fate of a member. */
enum zd_json_fate {
    ZD_JSON_STAYS,
    ZD_JSON_GOES,
    ZD_JSON_CHANGES,
};

/** A change to the members of one object. */
struct zd_json_edit {
    /** Asked of each member, in their order. */
    enum zd_json_fate (*judge)(void *context, const char *name);
    /** Adds the new value of one that changes. @param value its text before */
    void (*change)(void *context, const char *name, struct zd_span value, struct zd_text *out);
    /** Then asked again and again: the name of a further member, whose value `change` adds (value
     * is empty); NULL ends. May be NULL. */
    const char *(*more)(void *context);
    void *context;
};

/**
 * Write an object with its members changed. Spaces around members that stay are kept.
 *
 * @param object text of a JSON object, and nothing else: it was parsed before
 * @param out    added to; failures stick there
 * Thread: any.
 */
void zd_json_edit(struct zd_span object, const struct zd_json_edit *edit, struct zd_text *out);

/**
 * A merge patch (RFC 7396) of a text.
 *
 * @param target text of any JSON value: it was parsed before
 * @param patch  any value; borrowed
 * @param out    added to; failures stick there
 * Thread: any.
 */
void zd_json_merge(struct zd_span target, const struct zd_json *patch, struct zd_text *out);

#endif
