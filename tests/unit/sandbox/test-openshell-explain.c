/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-error.h"
#include "openshell/fake-command.h"
#include "ow-openshell-explain-private.h"
#include "ow-openshell-refuse-private.h"

#define NAME "ow-0123456789ab"

/* A gateway with the sandbox in phase $PHASE, and a command in it that ends with $STATUS. */
static const char gateway[] =
  "case \"$1 $2\" in\n"
  "  'sandbox get') echo '{\"name\":\"" NAME "\",\"phase\":\"'$PHASE'\"}' ;;\n"
  "  'sandbox provider') echo 'No providers attached to sandbox " NAME ".' ;;\n"
  "  'sandbox exec') exit $STATUS ;;\n"
  "  *) exit 2 ;;\n"
  "esac\n";

static GError *
explain (gboolean      selinux,
         const char   *phase,
         int           status,
         const GError *failure)
{
  g_autofree char *script = g_strdup_printf ("PHASE=%s STATUS=%d\n%s", phase, status, gateway);
  g_autoptr (FakeCommand) fake = fake_command_new (script);
  g_autoptr (OwOpenshellFacts) facts = g_new0 (OwOpenshellFacts, 1);
  g_autoptr (GAsyncResult) result = NULL;

  facts->refs = 1;
  facts->openshell = g_object_ref (fake->openshell);
  facts->selinux = selinux;
  ow_openshell_explain_async (facts, NAME, failure, NULL, fake_command_keep, &result);
  fake_command_wait (&result);
  return ow_openshell_explain_finish (result);
}

static GError *
refused (void)
{
  return g_error_new_literal (OW_ERROR, OW_ERROR_REFUSED,
                              "the sandbox does not hold the folder /srv/work");
}

/* A13: there it is not about who owns the folder, and both are told. */
static void
test_enforced (void)
{
  g_autoptr (GError) failure = refused ();
  g_autoptr (GError) error = explain (TRUE, "Ready", 0, failure);

  g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_true (g_str_has_prefix (error->message, OW_OPENSHELL_REFUSED ": "));
  g_assert_nonnull (strstr (error->message, failure->message));
  g_assert_nonnull (strstr (error->message, "SELinux"));
  g_assert_nonnull (strstr (error->message, "ausearch"));
}

/* SELinux is blamed for a refusal where it is enforced, and for nothing else. */
static void
test_blameless (void)
{
  g_autoptr (GError) failure = refused ();
  g_autoptr (GError) stopped = g_error_new_literal (OW_ERROR, OW_ERROR_INTERRUPTED, "stopped");
  g_autoptr (GError) off = explain (FALSE, "Ready", 0, failure);
  g_autoptr (GError) other = explain (TRUE, "Ready", 0, stopped);

  g_assert_error (off, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_cmpstr (off->message, ==, failure->message);
  g_assert_error (other, OW_ERROR, OW_ERROR_INTERRUPTED);
  g_assert_cmpstr (other->message, ==, stopped->message);
}

/* Where the inside has ended, or runs nothing, that is the cause, whatever is enforced. */
static void
test_inside (void)
{
  static const struct { const char *phase; int status; const char *word; } rows[] = {
    { "Error", 0, "(phase Error)" },
    { "Completed", 0, "(phase Completed)" },
    { "Ready", 7, "status 7" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) failure = refused ();
      g_autoptr (GError) error = explain (i % 2 == 0, rows[i].phase, rows[i].status, failure);

      g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
      g_assert_true (g_str_has_prefix (error->message, OW_OPENSHELL_REFUSED ": "));
      g_assert_nonnull (strstr (error->message, rows[i].word));
      g_assert_null (strstr (error->message, "SELinux"));
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openshell-explain/A13/enforced", test_enforced);
  g_test_add_func ("/openshell-explain/A13/blameless", test_blameless);
  g_test_add_func ("/openshell-explain/inside", test_inside);
  return g_test_run ();
}
