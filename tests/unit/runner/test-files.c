/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "files-fixture.h"

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  files_add_path_tests ();
  files_add_kind_tests ();
  files_add_bound_tests ();
  files_add_text_tests ();
  files_add_change_tests ();
  files_add_search_tests ();
  return g_test_run ();
}
