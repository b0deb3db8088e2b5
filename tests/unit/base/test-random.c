/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-random.h"

#include <string.h>

static void
test_form (void)
{
  static const gsize sizes[] = { 1, 6, 16, 300 };

  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *text = ow_random_hex (sizes[i], &error);

      g_assert_no_error (error);
      g_assert_cmpuint (strlen (text), ==, 2 * sizes[i]);
      g_assert_cmpuint (strspn (text, "0123456789abcdef"), ==, 2 * sizes[i]);
    }
}

static void
test_never_twice (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < 10000; i++)
    g_assert_true (g_hash_table_add (seen, ow_random_hex (8, NULL)));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/random/form", test_form);
  g_test_add_func ("/random/never-twice", test_never_twice);
  return g_test_run ();
}
