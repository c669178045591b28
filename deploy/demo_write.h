/* Writing a hierarchy: documents and chunks by the program's own dialect, codecs and store. */
#ifndef ZD_DEPLOY_DEMO_WRITE_H
#define ZD_DEPLOY_DEMO_WRITE_H

#include "core/base/json.h"
#include "core/store/contract/store.h"

#define ZD_DEMO_NODES_MAX 64

/** A node that was added: its path ("" is the root) and its document without consolidated part. */
struct zd_demo_node {
    char *path;               /* owned */
    struct zd_json *document; /* owned */
};

/** A hierarchy under construction. */
struct zd_demo {
    uv_loop_t loop;
    struct zd_store *store;
    struct zd_demo_node node[ZD_DEMO_NODES_MAX];
    size_t n_nodes;
    uint64_t n_objects; /* written so far */
    uint64_t n_bytes;
};

/** An array and how to compute it. All borrowed. */
struct zd_demo_array {
    const char *path;
    const char *document; /* final v3; judged as a document that asks to be stored */
    /** Make an element: at[0 .. rank) are its coordinates, ret_bytes takes its bytes. */
    void (*element)(const void *context, const uint64_t *at, void *ret_bytes);
    const void *context;
};

/** Begin in a directory that exists. */
ZD_RESULT zd_demo_open(struct zd_demo *demo, const char *directory, struct zd_error *err);
void zd_demo_close(struct zd_demo *demo); /* accepts a zeroed demo, and one that did not open */

/** Add a group; its document is written by zd_demo_finish. @param attributes a JSON object */
ZD_RESULT zd_demo_add_group(
    struct zd_demo *demo, const char *path, const char *attributes, struct zd_error *err);

/** Compute, encode and write all chunks of an array but those of the fill value, then its document.
 */
ZD_RESULT zd_demo_add_array(
    struct zd_demo *demo, const struct zd_demo_array *array, struct zd_error *err);

/** Write the groups, each with the consolidated metadata of what is below it. */
ZD_RESULT zd_demo_finish(struct zd_demo *demo, struct zd_error *err);

/** The parts of the demo hierarchy. */
ZD_RESULT zd_demo_add_solar(struct zd_demo *demo, struct zd_error *err);
ZD_RESULT zd_demo_add_pyramid(struct zd_demo *demo, struct zd_error *err);
ZD_RESULT zd_demo_add_cities(struct zd_demo *demo, struct zd_error *err);
ZD_RESULT zd_demo_add_types(struct zd_demo *demo, struct zd_error *err);

#endif
