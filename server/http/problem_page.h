/* Problems for people: a page instead of a problem document. Thread: any. */
#ifndef ZD_HTTP_PROBLEM_PAGE_H
#define ZD_HTTP_PROBLEM_PAGE_H

#include "server/http/problem.h"

/**
 * Add the page: title, detail, what to do about it, and the problem document.
 *
 * @param instance the request's id
 * @param prefix   what stands before the paths of links; needs no escape
 */
void zd_problem_page_add(const struct zd_problem *problem, const char *instance, const char *prefix,
    struct zd_text *page);

#endif
