/* Generic extensions as plug-ins: one file each. */
#ifndef ZD_CORE_EXTENSION_EXTENSION_H
#define ZD_CORE_EXTENSION_EXTENSION_H

#include "core/base/fault.h"
#include "core/extension/definition.h"
#include "core/grid/grid.h"
#include "core/grid/summary.h"

/** The node that has an extension, as hooks see it: how it is stored is not theirs to know.
 * Everything borrowed. */
struct zd_subject {
    const struct zd_grid *grid; /* NULL: a group, which has none of these */
    const struct zd_dtype *dtype;
    const void *fill; /* dtype->bytes */
    bool is_stored;   /* of validate: the document is not about to be written, so that spellings
                         which no writer may use are tolerated */
    bool is_faulty;   /* of zd_applied_add: what is said above is not known; no hook sees that */
};

/**
 * How a node is to be interpreted, after its extensions have been applied. Zeroed: as its document
 * says without extensions. Lists and elements are borrowed from the states of the extensions.
 */
struct zd_view {
    /* array */
    bool has_origin;
    uint64_t origin[ZD_RANK_MAX]; /* the stored element that clients call 0; zeros without one */
    const void *min;  /* no element but NaN and the fill value lies below it; NULL: not known */
    const void *max;  /* nor above it */
    bool skips_empty; /* a chunk of nothing but the fill value is never stored */
    /* group: paths relative to it, without slash at either end */
    const char *const *level; /* arrays through which the group can be sliced, the finest first */
    uint32_t n_levels;
    const struct zd_pointer *level_at; /* where the document lists them */
    bool needs_levels;                 /* it is not stored unless all of them are arrays */
};

/** A level of a group, as far as it is known, for the hook `select`. */
struct zd_choice_level {
    bool is_array;       /* it is there, and can be sliced */
    bool is_counted;     /* the slice that is asked can be had of it */
    uint64_t n_elements; /* of that answer; UINT64_MAX when they are more */
};

/** The request's choice among the levels of a group. */
struct zd_choice {
    bool has_number; /* a level was named */
    uint64_t number;
    uint64_t n_elements_max;
    const struct zd_choice_level *level; /* n_levels of them, borrowed */
    uint32_t n_levels;
};

/** A group's statement about a node below it. Zeroed: none. Borrowed from the state. */
struct zd_listing {
    const char *tier; /* "slow", or NULL */
};

/**
 * A generic extension (ZEP 10): one file core/extension/extension_NAME.c that defines one such
 * table; nothing else changes. Every hook is optional, pure and may run on any thread; `state` is
 * what validate made. The hooks of a node's extensions run in the order of its document. Start
 * from extension_template.c.
 */
struct zd_extension {
    const char *name;
    bool on_array;
    bool on_group;
    bool must_be_understood; /* must_understand false is a fault of the document */
    bool may_repeat;         /* several entries of that name are none (ZEP 10 leaves it to each) */
    const char *schema; /* JSON Schema of the configuration (core/base/json_schema.h): served, and
                           judged by before validate is called; an absent configuration counts as
                           an object without members */

    /**
     * Judge what the schema cannot say, for a node whose other members are good, and keep what the
     * other hooks need.
     * @param at        of the configuration: faults point at or below it
     * @param ret_state owned; freed with zd_free, or with `close`; NULL = none needed
     * @retval ZD_INVALID the faults say what
     */
    ZD_RESULT (*validate)(const struct zd_json *configuration, const struct zd_pointer *at,
        const struct zd_subject *subject, void **ret_state, struct zd_faults *faults);
    void (*close)(void *state); /* accepts NULL */

    /** Change the view of the node. */
    void (*view)(const void *state, const struct zd_subject *subject, struct zd_view *view);

    /**
     * For a group that has levels: choose the level that answers.
     * @retval ZD_OUT_OF_BOUNDS there is no level of that number; facts index, size
     * @retval ZD_TOO_LARGE     every answer has more elements; facts limit, requested
     */
    ZD_RESULT (*select)(const void *state, const struct zd_choice *choice, uint32_t *ret_level,
        struct zd_error *err);

    /**
     * Elements of the array are about to be stored: what the configuration must say before they
     * are, so that it is true at every moment.
     * @param written all that is about to be stored; its extremes leave NaN and the fill value out
     * @param ret_configuration owned; NULL: as it is
     */
    ZD_RESULT (*before_write)(const void *state, const struct zd_subject *subject,
        const struct zd_summary *written, struct zd_json **ret_configuration, struct zd_error *err);

    /** For a group: its statement about a node below, at that path relative to it. */
    void (*listing)(const void *state, const char *path, struct zd_listing *listing);
};

/** All generic extensions, ended by NULL; generated from the files core/extension/extension_*.c. */
extern const struct zd_extension *const zd_extensions[];

/** The extension of that name for that kind of node, or NULL. Thread: any. */
const struct zd_extension *zd_extension_find(const char *name, bool is_array);

#endif
