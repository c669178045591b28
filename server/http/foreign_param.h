/* Parameter names of other servers, and our names for them. Thread: any. */
#ifndef ZD_HTTP_FOREIGN_PARAM_H
#define ZD_HTTP_FOREIGN_PARAM_H

/** A parameter of another server, and ours. Everything is static. */
struct zd_foreign_param {
    const char *name; /* elsewhere */
    const char *ours;
    const char *example; /* a query with ours */
};

/**
 * Find what an unknown parameter is called here.
 *
 * @param name    as sent; in any case
 * @param allowed what the route takes, ended by NULL
 * @return the first row of that name whose own parameter is allowed; NULL: there is none, or the
 *         name is allowed itself
 */
const struct zd_foreign_param *zd_foreign_param_find(const char *name, const char *const *allowed);

#endif
