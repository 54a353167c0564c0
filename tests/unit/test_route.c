/* The table of routes holds together: what must be guarded is, and no path slips into a route that is not its
 * own. */
#include "unit/unit.h"

#include <stdbool.h>

#include "http/handlers.h"
#include "http/route.h"
#include "http/site.h"

START_TEST(private_routes_are_guarded_and_others_not) {
    const struct route *route = &routes[_i];

    ck_assert_int_eq(route->guarded, route_private(route->path));
}
END_TEST

START_TEST(every_route_is_whole) {
    const struct route *route = &routes[_i];

    ck_assert_ptr_nonnull(route->handler);
    ck_assert_uint_ne(route->methods, 0);
    ck_assert_uint_gt(route->body_max, 0);
    ck_assert_int_eq(route->path[0], '/');
    if (route->guarded) ck_assert_int_ne(route->media, MEDIA_ANY);
    if (!route->covers) ck_assert_ptr_eq(route_find(route->path), route); /* no earlier one hides it */
}
END_TEST

static const struct {
    const char *path;
    bool private_path;
} privacy[] = {
    {"/admin", true},    {"/admin/x", true},        {"/ADMIN", true},      {"/Admin/Config", true},
    {"/lab", true},      {"/lab/state", true},      {"/config", true},     {"/config/", true},
    {"/configs", false}, {"/administrator", false}, {"/api/admin", false}, {"/", false},
    {"*", false},
};

START_TEST(private_paths) {
    ck_assert_int_eq(route_private(privacy[_i].path), privacy[_i].private_path);
}
END_TEST

static const struct {
    const char *path;
    void (*handler)(struct request *request);
} found[] = {
    {"/api", api_handle},
    {"/api/a/b", api_handle},
    {"/apix", NULL},
    {"/lab/events", events_handle},
    {"/lab/events/x", NULL},
    {"/lab/runs", lab_runs},
    {"/lab/state", lab_state},
    {"/check", check_handle},
    {"/check/x", NULL},
    {"/test", compat_test},
    {"/test/x", NULL},
    {"/config", compat_config},
    {"/config/x", NULL},
    {"/algorithms", info_algorithms},
    {"/healthz", info_health},
    {"/admin", NULL},
    {"/admin/config", admin_config},
    {"/admin/config/x", NULL},
    {"/admin/policies", admin_policy},
    {"/admin/policies/default", admin_policy},
    {"/admin/policiesx", NULL},
    {"/", site_handle},
    {"/nothing", NULL},
    {"/API", NULL},
    {"*", NULL},
};

START_TEST(paths_find_their_route) {
    const struct route *route = route_find(found[_i].path);

    if (found[_i].handler)
        ck_assert(route && route->handler == found[_i].handler);
    else
        ck_assert_ptr_null(route);
}
END_TEST

START_TEST(page_files_are_found) {
    ck_assert_uint_gt(site_file_count, 0);
    for (size_t i = 0; i < site_file_count; i++) {
        const struct route *route = route_find(site_files[i].path);
        ck_assert(route && route->handler == site_handle);
    }
}
END_TEST

START_TEST(allow_names_what_is_implied) {
    char allow[ROUTE_ALLOW_MAX];

    route_allow(HTTP_GET, allow, sizeof allow);
    ck_assert_str_eq(allow, "GET, HEAD, OPTIONS");
    route_allow(HTTP_POST, allow, sizeof allow);
    ck_assert_str_eq(allow, "POST, OPTIONS");
    route_allow(2 * HTTP_OTHER - 1, allow, sizeof allow);
    ck_assert_str_eq(allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("route");
    TCase *tcase = tcase_create("route");

    tcase_add_loop_test(tcase, private_routes_are_guarded_and_others_not, 0, (int)route_count);
    tcase_add_loop_test(tcase, every_route_is_whole, 0, (int)route_count);
    tcase_add_loop_test(tcase, private_paths, 0, sizeof privacy / sizeof *privacy);
    tcase_add_loop_test(tcase, paths_find_their_route, 0, sizeof found / sizeof *found);
    tcase_add_test(tcase, page_files_are_found);
    tcase_add_test(tcase, allow_names_what_is_implied);
    suite_add_tcase(suite, tcase);
    return unit_main(suite);
}
