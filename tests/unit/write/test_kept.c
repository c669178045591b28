/* server/write/kept: what changes remember of what they erase is one account. */
#include "server/write/kept.h"

#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define ROOM 1000

START_TEST(changes_remember_so_much_together)
{
    struct zd_test_plane plane;
    struct zd_kept one;
    struct zd_kept other;
    zd_test_plane_open(&plane, 0);
    plane.server.memory.kept_bytes = ROOM;
    zd_kept_init(&one, &plane.dataset);
    zd_kept_init(&other, &plane.dataset);
    zd_kept_foresee(&one, ROOM - 1);
    ck_assert(zd_kept_has_room(&other));
    zd_kept_foresee(&one, 1);
    ck_assert(!zd_kept_has_room(&other));
    zd_kept_forget(&one, ROOM);
    ck_assert(zd_kept_has_room(&other));
    zd_kept_done(&one);
    zd_kept_done(&other);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, changes_remember_so_much_together);
}
