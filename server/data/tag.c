/* Entity tags of stored objects and nodes, and of answers made from them. */
#include "server/data/tag.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"

void zd_tag_format(char to[ZD_TAG_BYTES], uint64_t hash, const char *suffix)
{
    snprintf(to, ZD_TAG_BYTES, "\"%016llx-%.40s\"", (unsigned long long)hash, suffix);
}

void zd_tag_object(char to[ZD_TAG_BYTES], const struct zd_stat *stat)
{
    struct zd_hash hash = {0};
    char size[24];
    zd_hash_add_u64(&hash, stat->generation.word[0]);
    zd_hash_add_u64(&hash, stat->generation.word[1]);
    snprintf(size, sizeof size, "%llu", (unsigned long long)stat->size);
    zd_tag_format(to, hash.value, size);
}

void zd_tag_code(char to[ZD_TAG_BYTES], const char *etag, enum zd_coding coding)
{
    const size_t len = strlen(etag);
    if (len < 2) {
        to[0] = '\0';
        return;
    }
    snprintf(to, ZD_TAG_BYTES, "%.*s-%s\"", (int)(len - 1), etag, zd_compress_name(coding));
}

enum zd_status zd_tag_judge_write(
    const struct zd_conditions *conditions, const char *etag, int64_t mtime_ms)
{
    char form[ZD_CODINGS][ZD_TAG_BYTES];
    const char *forms[ZD_CODINGS] = {etag};
    for (size_t i = ZD_PLAIN + 1; etag != NULL && i < ZD_CODINGS; i++) {
        zd_tag_code(form[i], etag, (enum zd_coding)i);
        forms[i] = form[i];
    }
    const struct zd_validators now = {
        .etag = forms,
        .n_etags = ZD_CODINGS,
        .mtime_ms = mtime_ms,
        .exists = etag != NULL,
    };
    return zd_conditions_judge_write(conditions, &now);
}

uint64_t zd_tag_documents(const struct zd_stat *stat, uint32_t n)
{
    struct zd_hash hash = {0};
    for (uint32_t i = 0; i < n; i++) {
        zd_hash_add_u64(&hash, stat[i].generation.word[0]);
        zd_hash_add_u64(&hash, stat[i].generation.word[1]);
    }
    return hash.value;
}

void zd_tag_node(char to[ZD_TAG_BYTES], enum zd_node_type type, uint64_t documents)
{
    struct zd_hash hash = {0};
    if (type == ZD_NODE_GROUP) {
        zd_hash_add(&hash, zd_span_of("metadata")); /* as handler_nodes begins it */
    }
    zd_hash_add_u64(&hash, documents);
    zd_hash_add(&hash, zd_span_of(""));
    zd_tag_format(to, hash.value, "node");
}
