/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "ow-private-names-private.h"

/* A resolver that knows what the test says, and never answers for "silent.example". */
#define TEST_TYPE_RESOLVER (test_resolver_get_type ())
G_DECLARE_FINAL_TYPE (TestResolver, test_resolver, TEST, RESOLVER, GResolver)

struct _TestResolver {
  GResolver parent_instance;
  guint     asked;
  GTask    *silent; /* (owned) (nullable) the last that is not answered */
};

G_DEFINE_FINAL_TYPE (TestResolver, test_resolver, G_TYPE_RESOLVER)

static const struct {
  const char *name;
  const char *addresses[3];
} names[] = {
  { "public.example", { "203.0.113.5", NULL } },
  { "private.example", { "10.1.2.3", NULL } },
  { "mixed.example", { "203.0.113.5", "fd00::1", NULL } },
  { "own.example", { "127.0.0.1", NULL } },
  { "consented.example", { "10.1.2.3", NULL } },
};

static void
lookup_async (GResolver          *resolver,
              const char         *name,
              GCancellable       *cancellable,
              GAsyncReadyCallback callback,
              gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (resolver, cancellable, callback, user_data);
  GList *found = NULL;

  TEST_RESOLVER (resolver)->asked++;
  if (strcmp (name, "silent.example") == 0)
    {
      g_signal_connect_object (cancellable, "cancelled", G_CALLBACK (g_task_return_error_if_cancelled),
                               task, G_CONNECT_SWAPPED);
      g_set_object (&TEST_RESOLVER (resolver)->silent, task);
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    for (guint n = 0; strcmp (names[i].name, name) == 0 && names[i].addresses[n] != NULL; n++)
      found = g_list_append (found, g_inet_address_new_from_string (names[i].addresses[n]));
  if (found != NULL)
    g_task_return_pointer (task, found, (GDestroyNotify) g_resolver_free_addresses);
  else
    g_task_return_new_error (task, G_RESOLVER_ERROR, G_RESOLVER_ERROR_NOT_FOUND, "not known");
}

static GList *
lookup_finish (GResolver    *resolver,
               GAsyncResult *result,
               GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
test_resolver_class_init (TestResolverClass *klass)
{
  G_RESOLVER_CLASS (klass)->lookup_by_name_async = lookup_async;
  G_RESOLVER_CLASS (klass)->lookup_by_name_finish = lookup_finish;
}

static void
test_resolver_init (TestResolver *self)
{
}

static void
on_found (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  *(GPtrArray **) user_data = ow_private_names_find_finish (result);
}

static GPtrArray *
find (GPtrArray    *hosts,
      GCancellable *cancellable)
{
  GPtrArray *found = NULL;

  ow_private_names_find_async (hosts, cancellable, on_found, &found);
  while (found == NULL)
    g_main_context_iteration (NULL, TRUE);
  return found;
}

static GPtrArray *
make_hosts (const char * const *texts)
{
  GPtrArray *hosts = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);

  for (; *texts != NULL; texts++)
    g_ptr_array_add (hosts, ow_host_parse_as (*texts, g_str_has_prefix (*texts, "consented")
                                              ? OW_HOST_PRIVATE : OW_HOST_ADDRESS, NULL));
  return hosts;
}

static void
test_left_out (void)
{
  static const char * const texts[] = {
    "public.example", "private.example:8443", "mixed.example", "own.example", "consented.example",
    "nowhere.example", "*.private.example", "203.0.113.7", "github.com", NULL
  };
  g_autoptr (TestResolver) resolver = g_object_new (TEST_TYPE_RESOLVER, NULL);
  g_autoptr (GPtrArray) hosts = make_hosts (texts);
  g_autoptr (GPtrArray) found = NULL;
  g_autofree char *told = NULL;

  g_resolver_set_default (G_RESOLVER (resolver));
  found = find (hosts, NULL);
  g_assert_cmpuint (found->len, ==, 2);
  /* What a profile has, an address, a wildcard and what was consented to is not asked for. */
  g_assert_cmpuint (resolver->asked, ==, 5);
  told = ow_private_names_leave_out (hosts, found);
  g_assert_cmpuint (hosts->len, ==, 7);
  for (guint i = 0; i < hosts->len; i++)
    g_assert_null (strstr (((OwHost *) g_ptr_array_index (hosts, i))->host, "mixed"));
  g_assert_nonnull (strstr (told, "private.example:8443"));
  g_assert_nonnull (strstr (told, "mixed.example:443"));
  g_assert_nonnull (strstr (told, "--private"));
}

/* One that does not answer holds nothing up for long, and a stop not at all. */
static void
test_silent (void)
{
  static const char * const texts[] = { "silent.example", "private.example", NULL };
  g_autoptr (TestResolver) resolver = g_object_new (TEST_TYPE_RESOLVER, NULL);
  g_autoptr (GPtrArray) hosts = make_hosts (texts);
  g_autoptr (GCancellable) stopped = g_cancellable_new ();
  g_autoptr (GPtrArray) found = NULL;
  g_autoptr (GPtrArray) again = NULL;

  g_resolver_set_default (G_RESOLVER (resolver));
  found = find (hosts, NULL);
  g_assert_cmpuint (found->len, ==, 1);
  g_cancellable_cancel (stopped);
  again = find (hosts, stopped);
  g_assert_cmpuint (again->len, <=, 1);
  g_clear_object (&resolver->silent);
}

static void
test_none (void)
{
  g_autoptr (GPtrArray) found = find (NULL, NULL);

  g_assert_cmpuint (found->len, ==, 0);
  g_assert_null (ow_private_names_leave_out (NULL, found));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/private-names/S14/N03/left-out", test_left_out);
  g_test_add_func ("/private-names/S14/silent", test_silent);
  g_test_add_func ("/private-names/none", test_none);

  return g_test_run ();
}
