/* A doubly linked list through members of its elements: no allocation, removal in one step. */
#ifndef ZD_CORE_BASE_LIST_H
#define ZD_CORE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/** A list's head, or an element's link; next == NULL means that the link is in no list. */
struct zd_list {
    struct zd_list *next;
    struct zd_list *prev;
};

static inline void zd_list_init(struct zd_list *head)
{
    head->next = head;
    head->prev = head;
}

static inline bool zd_list_is_empty(const struct zd_list *head)
{
    return head->next == head;
}

static inline bool zd_list_is_linked(const struct zd_list *link)
{
    return link->next != NULL;
}

static inline void zd_list_insert_after(struct zd_list *place, struct zd_list *link)
{
    link->next = place->next;
    link->prev = place;
    place->next->prev = link;
    place->next = link;
}

static inline void zd_list_push_front(struct zd_list *head, struct zd_list *link)
{
    zd_list_insert_after(head, link);
}

static inline void zd_list_push_back(struct zd_list *head, struct zd_list *link)
{
    zd_list_insert_after(head->prev, link);
}

/** Takes a link out of its list; a link that is in none stays so. */
static inline void zd_list_remove(struct zd_list *link)
{
    if (link->next != NULL) {
        link->prev->next = link->next;
        link->next->prev = link->prev;
        link->next = NULL;
        link->prev = NULL;
    }
}

/** The first link, taken out; NULL when the list is empty. */
static inline struct zd_list *zd_list_pop_front(struct zd_list *head)
{
    struct zd_list *first = head->next;
    if (first == head) {
        return NULL;
    }
    zd_list_remove(first);
    return first;
}

/** Moves all links of a list to another one, which is not initialised yet. */
static inline void zd_list_take_all(struct zd_list *from, struct zd_list *to)
{
    zd_list_init(to);
    if (!zd_list_is_empty(from)) {
        *to = *from;
        to->next->prev = to;
        to->prev->next = to;
        zd_list_init(from);
    }
}

#endif
