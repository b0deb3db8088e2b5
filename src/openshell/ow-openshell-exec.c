/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-call-private.h"

#include <string.h>

#include "base/ow-text.h"

#define WHAT_EXEC  "The command did not run in the sandbox"
#define OUTPUT_CAP 65536
/* What the gateway gets to end the command by itself before our own deadline. */
#define GRACE_MS   2000
/* The gateway's own status for a command that was stopped at its timeout. */
#define STATUS_TIMEOUT 124

typedef struct {
  int     status;
  GBytes *output;  /* (owned) */
} Outcome;

static void
outcome_free (gpointer data)
{
  Outcome *outcome = data;

  g_bytes_unref (outcome->output);
  g_free (outcome);
}

static char **
exec_argv (OwOpenshell        *self,
           const char         *name,
           const char         *tty,
           const char         *timeout,
           const char * const *command)
{
  g_autoptr (GStrvBuilder) argv = g_strv_builder_new ();

  if (self != NULL)
    g_strv_builder_add (argv, ow_openshell_get_program (self));
  g_strv_builder_add_many (argv, "sandbox", "exec", "-n", name, tty, NULL);
  if (timeout != NULL)
    g_strv_builder_add_many (argv, "--timeout", timeout, NULL);
  g_strv_builder_add (argv, "--");
  for (guint i = 0; command[i] != NULL; i++)
    g_strv_builder_add (argv, command[i]);
  return g_strv_builder_end (argv);
}

char **
ow_openshell_stream_argv (OwOpenshell        *self,
                          const char         *name,
                          const char * const *command)
{
  return exec_argv (self, name, "--tty", NULL, command);
}

char **
ow_openshell_once_argv (OwOpenshell        *self,
                        const char         *name,
                        const char * const *command)
{
  return exec_argv (self, name, "--no-tty", NULL, command);
}

/* Whether the status is the relay's and not the command's: it is always 1 then, with an error of
 * openshell's own on stderr. The inside can forge that, and only fails itself by it. */
static gboolean
is_of_relay (const OwOpenshellAnswer *answer)
{
  g_autofree char *plain = NULL;

  if (answer->status < 0)
    return TRUE;
  if (answer->status != 1)
    return FALSE;
  plain = ow_text_strip_ansi (answer->errors);
  return g_str_has_prefix (plain, "Error:   × ") || strstr (plain, "\nError:   × ") != NULL;
}

static void
on_exec (GTask                   *task,
         const OwOpenshellAnswer *answer)
{
  gint64 *timeout = g_object_get_data (G_OBJECT (task), "timeout");
  Outcome *outcome;

  if (is_of_relay (answer))
    {
      g_task_return_error (task, ow_openshell_call_error_of (WHAT_EXEC, answer));
      return;
    }
  if (answer->status == STATUS_TIMEOUT && (gint64) answer->elapsed_ms >= *timeout)
    {
      g_task_return_error (task, ow_openshell_call_error (WHAT_EXEC, OW_OPENSHELL_FAULT_NO_ANSWER,
                                                          "the command was stopped in time"));
      return;
    }
  outcome = g_new0 (Outcome, 1);
  outcome->status = answer->status;
  outcome->output = g_bytes_new (answer->output, answer->output_length);
  g_task_return_pointer (task, outcome, outcome_free);
}

void
ow_openshell_exec_async (OwOpenshell         *self,
                         const char          *name,
                         const char * const  *command,
                         guint                deadline_ms,
                         GCancellable        *cancellable,
                         GAsyncReadyCallback  callback,
                         gpointer             user_data)
{
  guint seconds = MAX (1, deadline_ms / 1000);
  g_autofree char *timeout = g_strdup_printf ("%u", seconds);
  g_auto (GStrv) arguments = exec_argv (NULL, name, "--no-tty", timeout, command);
  OwOpenshellCall call = { .arguments = (const char * const *) arguments, .what = WHAT_EXEC,
                           .answer = on_exec, .deadline_ms = seconds * 1000 + GRACE_MS,
                           .cap = OUTPUT_CAP };
  g_autoptr (GTask) task =
    ow_openshell_call_task (self, ow_openshell_exec_async, cancellable, callback,
                            user_data);
  gint64 timeout_ms = (gint64) seconds * 1000;
  if (!ow_openshell_call_check_name (task, WHAT_EXEC, name))
    return;
  g_object_set_data_full (G_OBJECT (task), "timeout", g_memdup2 (&timeout_ms, sizeof timeout_ms),
                          g_free);
  ow_openshell_call_run (g_steal_pointer (&task), &call);
}

gboolean
ow_openshell_exec_finish (OwOpenshell   *self,
                          GAsyncResult  *result,
                          int           *status,
                          GBytes       **output,
                          GError       **error)
{
  Outcome *outcome;

  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  outcome = g_task_propagate_pointer (G_TASK (result), error);
  if (outcome == NULL)
    return FALSE;
  if (status != NULL)
    *status = outcome->status;
  if (output != NULL)
    *output = g_bytes_ref (outcome->output);
  outcome_free (outcome);
  return TRUE;
}
