/* Which client asks: judged when the head of a request is there. */
#include "server/request/identity.h"

#include <stddef.h>

void zd_identity_judge(const struct zd_request *req, struct zd_identity *ret_identity)
{
    (void)req;
    *ret_identity = (struct zd_identity){.name = NULL};
}
