/* The memory that the process may use, and how it is shared out. */
#include "server/runtime/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/base/text.h"

#define PATH_BYTES    4096
#define LINE_BYTES    4096
#define SHARES        8 /* of the memory: so many for the caches, so many for work */
#define CACHE_SHARES  3
#define WORK_SHARES   3
#define BODY_PART     32 /* one part is for the bodies of requests: each is held up to three times */
#define DOCUMENT_PART 4  /* one part is for large documents while they are read: few at a time */
#define CHANGE_PART   16 /* so many parts of these are for those that change */
#define CHANGE_PARTS  3
#define KEPT_PART     16 /* one part is for what is remembered of erased objects, */
#define KEPT_MAX      (UINT64_C(64) << 20) /* at most */
#define LISTING_PART  8                    /* one part is for names of remote stores */
#define PARSED_PART   8                    /* one part is for nodes in use */
#define ARENAS        2                    /* every arena keeps what its threads freed */

/* Chunks and bodies live for one request. Given back to the system each time, their pages would be
 * faulted in and cleared anew: more work than most requests are. */
#define REUSED_BYTES_MAX (4 << 20) /* of one allocation */
#define KEPT_BYTES_MAX   (8 << 20) /* free at the end of an arena */

/* The least limit so far, and whose it is. */
struct bound {
    const char *root;
    uint64_t bytes;
    const char *by;
};

static void apply(struct bound *bound, uint64_t bytes, const char *by)
{
    if (bytes > 0 && bytes < bound->bytes) {
        bound->bytes = bytes;
        bound->by = by;
    }
}

/* ---- control groups ---- */

/* A file that holds a number, or "max". */
static uint64_t read_limit(const char *path)
{
    char line[64];
    uint64_t bytes = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    const bool ok = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    if (!ok) {
        return 0;
    }
    line[strcspn(line, "\n")] = '\0';
    return zd_scan_whole_u64(zd_span_of(line), UINT64_MAX, &bytes) == ZD_OK ? bytes : 0;
}

/* The group and its parents up to the root: inside a container the path may be one of outside, and
 * only the root is there. */
static void apply_groups(
    struct bound *bound, const char *mount, const char *group, const char *file)
{
    ZD_SCOPED_TEXT(path, PATH_BYTES);
    size_t len = strlen(group);
    for (;;) {
        zd_text_clear(&path);
        zd_text_addf(&path, "%s%s%.*s/%s", bound->root, mount, (int)len, group, file);
        if (path.status == ZD_OK) {
            apply(bound, read_limit(path.at), "control group");
        }
        if (len == 0) {
            return;
        }
        do {
            len--;
        } while (len > 0 && group[len] != '/');
    }
}

static bool has_controller(const char *list, size_t len, const char *name)
{
    const size_t name_len = strlen(name);
    for (size_t at = 0; at < len;) {
        const size_t part = strcspn(list + at, ",:");
        if (part == name_len && memcmp(list + at, name, part) == 0) {
            return true;
        }
        at += part + 1;
    }
    return false;
}

/* "0::/path" is version 2, "9:memory:/path" version 1 (cgroups(7), /proc/pid/cgroup). */
static void apply_line(struct bound *bound, const char *line)
{
    const char *controllers = strchr(line, ':');
    const char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (group == NULL) {
        return;
    }
    controllers++;
    const size_t len = (size_t)(group - controllers);
    group++;
    if (len == 0) {
        apply_groups(bound, "/sys/fs/cgroup", group, "memory.max");
        apply_groups(bound, "/sys/fs/cgroup/unified", group, "memory.max");
    } else if (has_controller(controllers, len, "memory")) {
        apply_groups(bound, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    }
}

static void apply_control_groups(struct bound *bound)
{
    char line[LINE_BYTES];
    ZD_SCOPED_TEXT(path, PATH_BYTES);
    if (zd_text_addf(&path, "%s/proc/self/cgroup", bound->root) != ZD_OK) {
        return;
    }
    FILE *file = fopen(path.at, "re");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        apply_line(bound, line);
    }
    (void)fclose(file);
}

uint64_t zd_memory_find(const char *root, const char **bounded_by)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct bound bound = {.root = root, .bytes = UINT64_MAX, .by = "nothing"};
    struct rlimit limit;
    apply(&bound, (uint64_t)sysconf(_SC_PHYS_PAGES) * page, "machine");
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        apply(&bound, limit.rlim_cur, "address space");
    }
    apply_control_groups(&bound);
    *bounded_by = bound.by;
    return bound.bytes;
}

/* ---- shares ---- */

static uint64_t scale(uint64_t bytes, uint64_t share, uint64_t whole)
{
    return (uint64_t)((double)bytes * ((double)share / (double)whole));
}

void zd_memory_plan(const struct zd_settings *settings, uint64_t found, const char *bounded_by,
    struct zd_memory *ret_memory)
{
    const bool is_set = settings->memory_bytes != 0;
    const uint64_t bytes = is_set ? settings->memory_bytes : found;
    const uint64_t share = bytes / SHARES * CACHE_SHARES;
    *ret_memory = (struct zd_memory){
        .bytes = bytes,
        .bounded_by = is_set ? "memory.bytes" : bounded_by,
        .work_bytes = settings->admission_bytes != 0 ? settings->admission_bytes
                                                     : zd_max_u64(bytes / SHARES * WORK_SHARES, 1),
        .body_bytes = zd_max_u64(bytes / BODY_PART, settings->limits_body_bytes),
        .document_bytes = bytes / DOCUMENT_PART,
        .change_bytes = bytes / CHANGE_PART * CHANGE_PARTS,
        .kept_bytes = zd_min_u64(bytes / KEPT_PART, KEPT_MAX),
        .listing_bytes = bytes / LISTING_PART,
        .parsed_bytes = bytes / PARSED_PART,
        .decoded_bytes = settings->cache_decoded_bytes,
        .encoded_bytes = settings->cache_encoded_bytes,
        .metadata_bytes = settings->cache_metadata_bytes,
    };
    const uint64_t wanted =
        ret_memory->decoded_bytes + ret_memory->encoded_bytes + ret_memory->metadata_bytes;
    if (wanted > share) {
        ret_memory->decoded_bytes = scale(ret_memory->decoded_bytes, share, wanted);
        ret_memory->encoded_bytes = scale(ret_memory->encoded_bytes, share, wanted);
        ret_memory->metadata_bytes = scale(ret_memory->metadata_bytes, share, wanted);
        ret_memory->caches_shrank = true;
    }
}

/* ---- the allocator ---- */

void zd_memory_tune(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, ARENAS);
    (void)mallopt(M_MMAP_THRESHOLD, REUSED_BYTES_MAX);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES_MAX);
#endif
}

void zd_memory_give_back(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
