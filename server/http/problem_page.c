/* Problems for people: a page instead of a problem document. */
#include "server/http/problem_page.h"

#include <string.h>

#include "core/base/num.h"
#include "server/http/escape.h"
#include "server/http/html.h"

#define DOCUMENT_BYTES_MAX (1U << 20)

/* The remedy for a person with a browser. A code has no row where the detail has the remedy. */
static const struct {
    const char *code;
    const char *remedy;
} remedies[] = {
    {"unauthorized", "Add your token to the URL, as ?access_token=TOKEN."},
    {"forbidden", "Use a token that covers this path. The issuer of your token can give you one."},
    {"unknown_parameter", "The API page lists the parameters of each resource."},
    {"bad_parameter", "The API page lists the values of each parameter."},
    {"no_such_route", "The API page lists all resources."},
    {"dataset_not_found", "The start page lists the datasets."},
    {"node_not_found", "The dataset's tree lists its nodes."},
    {"chunk_absent", "Every element of that chunk is the fill value. A slice returns it."},
    {"misdirected", "Add the host to http.hosts, or use an IP address."},
    {"rate_limited", "Wait for the seconds in Retry-After, then reload."},
    {"overloaded", "Reload in a moment."},
    {"draining", "Reload in a moment. Another server takes over."},
    {"store_timeout", "Reload in a moment."},
};

static const char *remedy_of(const char *code)
{
    for (size_t i = 0; i < ZD_COUNT_OF(remedies); i++) {
        if (strcmp(remedies[i].code, code) == 0) {
            return remedies[i].remedy;
        }
    }
    return NULL;
}

static void add_item(struct zd_text *page, const char *text)
{
    zd_text_add(page, "<li><code>");
    zd_escape_html(page, text);
    zd_text_add(page, "</code></li>\n");
}

/* Add links to the answers that would be right. */
static void add_choices(const struct zd_problem *problem, struct zd_text *page)
{
    const struct zd_json *suggestions = zd_json_member(problem->extra, "suggestions");
    const size_t n = zd_json_count(suggestions);
    if (n == 0 && problem->allowed == NULL) {
        return;
    }
    zd_text_add(page, "<p>Possible here:</p>\n<ul>\n");
    for (size_t i = 0; i < n; i++) {
        const char *text = zd_json_string(zd_json_element(suggestions, i));
        add_item(page, text == NULL ? "" : text);
    }
    for (size_t i = 0; problem->allowed != NULL && problem->allowed[i] != NULL; i++) {
        add_item(page, problem->allowed[i]);
    }
    zd_text_add(page, "</ul>\n");
}

void zd_problem_page_add(const struct zd_problem *problem, const char *instance, const char *prefix,
    struct zd_text *page)
{
    const struct zd_problem_kind *kind = zd_problem_kind_of(problem);
    const char *remedy = remedy_of(kind->code);
    ZD_SCOPED_TEXT(document, DOCUMENT_BYTES_MAX);
    zd_problem_add_pretty(problem, instance, &document);
    zd_text_addf(page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\"><title>%u %s</title>\n"
        "<style>" ZD_HTML_STYLE "</style></head>\n<body><h1>%s</h1>\n<p>",
        kind->http_status, kind->title, kind->title);
    char detail[ZD_PROBLEM_DETAIL_BYTES];
    zd_escape_html(page, zd_problem_public_detail(problem, detail));
    zd_text_add(page, "</p>\n");
    add_choices(problem, page);
    zd_text_addf(page, "<p>%s</p>\n<pre>", remedy == NULL ? "" : remedy);
    if (document.status == ZD_OK) {
        zd_escape_html(page, document.at);
    } else {
        page->status = document.status; /* it would not be whole */
    }
    zd_text_addf(page,
        "</pre>\n<p><a href=\"%s/\">Start page</a> <a href=\"%s/docs\">API</a></p>\n"
        "</body></html>\n",
        prefix, prefix);
}
