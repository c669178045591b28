/* Finds the wires of this thread's connections by descriptor. */
#include "server/front/descriptors.h"

#include <assert.h>
#include <string.h>

#include "core/base/own.h"

#define TABLE_LEAST 64

static _Thread_local struct {
    struct zd_wire **at;
    size_t n;
    size_t n_open;
} table;

static bool grow_table(size_t n_least)
{
    size_t n = table.n < TABLE_LEAST ? TABLE_LEAST : table.n;
    while (n < n_least) {
        n *= 2;
    }
    struct zd_wire **at = zd_realloc(table.at, n * sizeof *at);
    if (at == NULL) {
        return false;
    }
    memset(at + table.n, 0, (n - table.n) * sizeof *at);
    table.at = at;
    table.n = n;
    return true;
}

struct zd_wire *zd_descriptors_find(int fd)
{
    return fd >= 0 && (size_t)fd < table.n ? table.at[fd] : NULL;
}

bool zd_descriptors_add(int fd, struct zd_wire *wire)
{
    assert(zd_descriptors_find(fd) == NULL);
    if ((size_t)fd >= table.n && !grow_table((size_t)fd + 1)) {
        return false;
    }
    table.at[fd] = wire;
    table.n_open++;
    return true;
}

void zd_descriptors_remove(int fd)
{
    table.at[fd] = NULL;
    table.n_open--;
}

void zd_descriptors_done(void)
{
    if (table.n_open == 0) {
        zd_free(table.at);
        table.at = NULL;
        table.n = 0;
    }
}
