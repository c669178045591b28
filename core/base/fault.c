/* The faults of a document: all of them at once, each with its place. */
#include "core/base/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CAP 8

static void fault_done(struct zd_fault *fault)
{
    zd_free(fault->name);
    zd_free(fault->pointer);
    zd_free(fault->detail);
    zd_free(fault->expected);
    zd_free(fault->found);
}

static bool make_room(struct zd_faults *faults)
{
    const bool is_full = (faults->n_items & (faults->n_items - 1)) == 0; /* 0, 1, 2, 4, 8 ... */
    if (!is_full || (faults->n_items > 0 && faults->n_items < FIRST_CAP)) {
        return true;
    }
    const size_t cap = faults->n_items == 0 ? FIRST_CAP : faults->n_items * 2;
    struct zd_fault *grown = zd_realloc(faults->item, cap * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    faults->item = grown;
    return true;
}

/* NULL stays NULL; a copy that fails leaves NULL and clears *ok. */
static char *copy_text(const char *text, bool *ok)
{
    if (text == NULL) {
        return NULL;
    }
    char *copy = zd_strdup(text);
    *ok = *ok && copy != NULL;
    return copy;
}

static void count(struct zd_faults *faults, enum zd_severity severity)
{
    switch (severity) {
    case ZD_FAULT_INVALID:
        faults->n_invalid++;
        break;
    case ZD_FAULT_UNSUPPORTED:
        faults->n_unsupported++;
        break;
    case ZD_FAULT_WARNING:
        break;
    }
}

/* Warnings make room for what refuses, so that a document cannot hide why it is refused. */
static bool drop_warning(struct zd_faults *faults)
{
    for (size_t i = faults->n_items; i-- > 0;) {
        struct zd_fault *fault = &faults->item[i];
        if (fault->severity == ZD_FAULT_WARNING) {
            fault_done(fault);
            faults->n_items--;
            memmove(fault, fault + 1, (faults->n_items - i) * sizeof *fault);
            return true;
        }
    }
    return false;
}

void zd_faults_add(struct zd_faults *faults, enum zd_severity severity, const char *code,
    const char *name, const struct zd_pointer *at, const char *expected, const char *found,
    const char *format, ...)
{
    count(faults, severity);
    const bool is_full = faults->n_items == ZD_FAULTS_MAX;
    if (is_full && (severity == ZD_FAULT_WARNING || !drop_warning(faults))) {
        return;
    }
    char detail[ZD_ERROR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);

    bool ok = make_room(faults);
    struct zd_fault fault = {
        .severity = severity,
        .code = code,
        .name = copy_text(name, &ok),
        .pointer = copy_text(at->text, &ok),
        .detail = copy_text(detail, &ok),
        .expected = copy_text(expected, &ok),
        .found = copy_text(found, &ok),
        .is_of_listing = faults->judges_listing,
    };
    if (!ok) {
        fault_done(&fault);
        faults->out_of_memory = true;
        return;
    }
    faults->item[faults->n_items++] = fault;
}

static bool is_at(const char *pointer, const char *place, size_t place_len)
{
    return strncmp(pointer, place, place_len) == 0 &&
           (pointer[place_len] == '\0' || pointer[place_len] == '/');
}

void zd_faults_move(
    struct zd_faults *faults, const struct zd_pointer *from, const struct zd_pointer *to)
{
    const size_t len = strlen(from->text);
    for (size_t i = 0; i < faults->n_items; i++) {
        struct zd_fault *fault = &faults->item[i];
        if (!is_at(fault->pointer, from->text, len)) {
            continue;
        }
        const size_t bytes = strlen(to->text) + strlen(fault->pointer) - len + 1;
        char *moved = zd_alloc(bytes);
        if (moved == NULL) {
            faults->out_of_memory = true;
            return;
        }
        (void)snprintf(moved, bytes, "%s%s", to->text, fault->pointer + len);
        zd_free(fault->pointer);
        fault->pointer = moved;
    }
}

bool zd_faults_refuse(const struct zd_faults *faults)
{
    return faults->n_invalid > 0 || faults->n_unsupported > 0 || faults->out_of_memory;
}

bool zd_faults_have(const struct zd_faults *faults, enum zd_severity severity)
{
    for (size_t i = 0; i < faults->n_items; i++) {
        if (faults->item[i].severity == severity) {
            return true;
        }
    }
    return (severity == ZD_FAULT_INVALID && faults->n_invalid > 0) ||
           (severity == ZD_FAULT_UNSUPPORTED && faults->n_unsupported > 0);
}

static void tell(const struct zd_fault *fault, struct zd_error *err)
{
    zd_fact_pointer(err, fault->pointer);
    if (fault->name != NULL) {
        zd_fact_name(err, fault->name);
    }
    if (fault->expected != NULL) {
        zd_fact_expected(err, "%s", fault->expected);
    }
    if (fault->found != NULL) {
        zd_fact_found(err, "%s", fault->found);
    }
}

enum zd_status zd_faults_status(const struct zd_faults *faults, struct zd_error *err)
{
    if (faults->out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory to list the faults of a document");
    }
    if (!zd_faults_refuse(faults)) {
        return ZD_OK;
    }
    const bool is_invalid = faults->n_invalid > 0;
    const enum zd_severity severity = is_invalid ? ZD_FAULT_INVALID : ZD_FAULT_UNSUPPORTED;
    const enum zd_status status = is_invalid ? ZD_INVALID : ZD_UNSUPPORTED;
    for (size_t i = 0; i < faults->n_items; i++) {
        if (faults->item[i].severity == severity) {
            const enum zd_status failed = zd_fail(err, status, "%s", faults->item[i].detail);
            tell(&faults->item[i], err);
            return failed;
        }
    }
    return zd_fail(err, status, "the document has %zu faults beyond the %d listed",
        faults->n_invalid + faults->n_unsupported, ZD_FAULTS_MAX);
}

void zd_faults_done(struct zd_faults *faults)
{
    for (size_t i = 0; i < faults->n_items; i++) {
        fault_done(&faults->item[i]);
    }
    zd_free(faults->item);
    *faults = (struct zd_faults){0};
}
