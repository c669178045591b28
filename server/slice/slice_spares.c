/* Slices that have ended, for those that come next: the struct is large, and allocating it would be
 * a part of the cost of a small answer. */
#include "server/slice/slice.h"

#include "server/runtime/server.h"

#define SPARES_MAX 16 /* of a server, */
#define PARTS_MAX  64 /* each with the memory of so many parts */

static void free_slice(struct zd_slice *slice)
{
    zd_fetch_done(&slice->read.fetch);
    zd_free(slice);
}

struct zd_slice *zd_slice_take_spare(struct zd_server *server)
{
    struct zd_list *link = zd_list_pop_front(&server->spare_slices);
    if (link == NULL) {
        return zd_alloc_zero(1, sizeof(struct zd_slice));
    }
    server->n_spare_slices--;
    struct zd_slice *slice = ZD_CONTAINER(link, struct zd_slice, spare);
    const struct zd_fetch fetch = {
        .want = slice->read.fetch.want, .n_room = slice->read.fetch.n_room};
    *slice = (struct zd_slice){.read.fetch = fetch};
    return slice;
}

void zd_slice_keep_spare(struct zd_server *server, struct zd_slice *slice)
{
    if (server->n_spare_slices == SPARES_MAX || slice->read.fetch.n_room > PARTS_MAX) {
        free_slice(slice);
        return;
    }
    server->n_spare_slices++;
    zd_list_push_front(&server->spare_slices, &slice->spare);
}

void zd_slices_done(struct zd_server *server)
{
    for (struct zd_list *link; (link = zd_list_pop_front(&server->spare_slices)) != NULL;) {
        free_slice(ZD_CONTAINER(link, struct zd_slice, spare));
    }
    server->n_spare_slices = 0;
}
