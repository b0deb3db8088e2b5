/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-call-private.h"

#include <string.h>
#include <sys/wait.h>

#include "base/ow-error.h"
#include "base/ow-process.h"
#include "base/ow-text.h"
#include "openshell/ow-openshell-names.h"

/* Longest part of the command's own words in a sentence, in characters. */
#define DETAIL_CHARS 600
#define LINE_CAP     2048

/* Kept as the data of the task. */
typedef struct {
  const char             *what;
  OwOpenshellAnswerFunc   answer;
  OwOpenshellProgressFunc progress;
  gpointer                progress_data;
  GString                *line;   /* (owned) of progress, not whole yet */
  gint64                  begun;
  guint                   deadline_ms;
} Call;

static void
call_free (gpointer data)
{
  Call *call = data;

  g_string_free (call->line, TRUE);
  g_free (call);
}

static GError *
make_error (const char       *what,
            OwOpenshellFault  fault,
            const char       *introduction,
            const char       *detail)
{
  g_autoptr (GError) parts = NULL;
  g_autofree char *cut = ow_text_shorten (detail != NULL ? detail : "", DETAIL_CHARS, TRUE);
  g_autofree char *why = NULL;

  if (*cut != '\0')
    why = g_strdup_printf ("%s (%s%s)", ow_openshell_fault_why (fault), introduction, cut);
  ow_error_set (&parts, OW_ERROR_FAILED, what,
                why != NULL ? why : ow_openshell_fault_why (fault),
                ow_openshell_fault_next (fault));
  return g_error_new_literal (OW_OPENSHELL_ERROR, (int) fault, parts->message);
}

GError *
ow_openshell_call_error (const char       *what,
                         OwOpenshellFault  fault,
                         const char       *note)
{
  return make_error (what, fault, "", note);
}

GError *
ow_openshell_call_error_said (const char       *what,
                              OwOpenshellFault  fault,
                              const char       *said)
{
  return make_error (what, fault, "openshell said: ", said);
}

GError *
ow_openshell_call_error_of (const char              *what,
                            const OwOpenshellAnswer *answer)
{
  g_autofree char *plain = ow_openshell_text_plain (answer->errors,
                                                    (gssize) answer->errors_length);
  OwOpenshellFault fault = ow_openshell_fault_of_text (answer->errors);
  g_autofree char *nothing = NULL;

  /* What a shell and the kernel say of a program that is not there or cannot be run. */
  if (fault == OW_OPENSHELL_FAULT_OTHER && (answer->status == 127 || answer->status == 126))
    fault = OW_OPENSHELL_FAULT_NOT_INSTALLED;
  if (*plain != '\0')
    return ow_openshell_call_error_said (what, fault, plain);

  nothing = answer->status < 0 ? g_strdup ("it was killed and said nothing")
                               : g_strdup_printf ("it said nothing and ended with status %d",
                                                  answer->status);
  return ow_openshell_call_error (what, fault, nothing);
}

gboolean
ow_openshell_call_failed (const OwOpenshellAnswer *answer)
{
  g_autofree char *plain = NULL;

  if (answer->status != 0)
    return TRUE;
  plain = ow_text_strip_ansi (answer->errors);
  return g_str_has_prefix (plain, "Error:") || strstr (plain, "\nError:") != NULL;
}

json_t *
ow_openshell_call_json (const char               *what,
                        const OwOpenshellAnswer  *answer,
                        GError                  **error)
{
  char reason[OW_WIRE_ERROR_SIZE] = "";
  json_t *value = NULL;

  if (answer->cut)
    g_strlcpy (reason, "more than this program takes", sizeof reason);
  else
    value = ow_json_parse (answer->output, answer->output_length, reason);
  if (value == NULL)
    {
      g_autofree char *visible = ow_text_visible (reason);

      g_propagate_error (error, ow_openshell_call_error (what, OW_OPENSHELL_FAULT_UNREADABLE,
                                                         visible));
    }
  return value;
}

gboolean
ow_openshell_call_check_name (GTask      *task,
                              const char *what,
                              const char *name)
{
  if (ow_openshell_name_is_safe (name))
    return TRUE;

  g_task_return_error (task, ow_openshell_call_error (what, OW_OPENSHELL_FAULT_INVALID,
                                                      "it is no sandbox's name"));
  return FALSE;
}

static void
tell_line (Call *call)
{
  g_autofree char *stripped = ow_text_strip_ansi (call->line->str);
  g_autofree char *visible = NULL;

  g_string_truncate (call->line, 0);
  g_strstrip (stripped);
  if (*stripped == '\0')
    return;
  visible = ow_text_visible (stripped);
  call->progress (visible, call->progress_data);
}

/* A line is over at LF and at CR: what redraws itself is progress too. */
static void
on_output (const char *data,
           gsize       length,
           gpointer    user_data)
{
  Call *call = g_task_get_task_data (user_data);

  for (gsize i = 0; i < length; i++)
    {
      if (data[i] == '\n' || data[i] == '\r')
        tell_line (call);
      else if (data[i] != '\0' && call->line->len < LINE_CAP)
        g_string_append_c (call->line, data[i]);
    }
}

/* Why there is no answer; takes @reason. */
static GError *
explain_no_answer (Call   *call,
                   GError *reason)
{
  g_autoptr (GError) cause = reason;
  GError *error = NULL;

  if (g_error_matches (cause, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    {
      ow_error_set (&error, OW_ERROR_INTERRUPTED, call->what, "it was stopped", NULL);
      return error;
    }
  if (g_error_matches (cause, OW_ERROR, OW_ERROR_TIMED_OUT))
    {
      g_autofree char *seconds = g_strdup_printf ("for %u.%u seconds", call->deadline_ms / 1000,
                                                  call->deadline_ms % 1000 / 100);

      return ow_openshell_call_error (call->what, OW_OPENSHELL_FAULT_NO_ANSWER, seconds);
    }
  return ow_openshell_call_error (call->what, OW_OPENSHELL_FAULT_NOT_INSTALLED, cause->message);
}

/* With a NUL behind it; those inside stay. */
static char *
copy_bytes (GBytes *bytes,
            gsize  *length)
{
  const char *data = g_bytes_get_data (bytes, length);
  char *copy = g_malloc (*length + 1);

  if (*length > 0)
    memcpy (copy, data, *length);
  copy[*length] = '\0';
  return copy;
}

static void
on_run (GObject      *object,
        GAsyncResult *result,
        gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Call *call = g_task_get_task_data (task);
  GError *reason = NULL;
  g_autoptr (OwProcessResult) run = ow_process_run_finish (result, &reason);
  OwOpenshellAnswer answer = { 0 };
  g_autofree char *output = NULL;
  g_autofree char *errors = NULL;

  if (run == NULL)
    {
      g_task_return_error (task, explain_no_answer (call, reason));
      return;
    }

  if (call->progress != NULL && call->line->len > 0)
    tell_line (call);
  answer.status = WIFEXITED (run->status) ? WEXITSTATUS (run->status) : -1;
  output = copy_bytes (run->output, &answer.output_length);
  errors = copy_bytes (run->error_output, &answer.errors_length);
  answer.output = output;
  answer.errors = errors;
  answer.cut = run->cut;
  answer.elapsed_ms = (guint64) (g_get_monotonic_time () - call->begun) / 1000;
  call->answer (task, &answer);
}

GTask *
ow_openshell_call_task (OwOpenshell         *self,
                        gpointer             tag,
                        GCancellable        *cancellable,
                        GAsyncReadyCallback  callback,
                        gpointer             user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);

  g_task_set_source_tag (task, tag);
  g_task_set_check_cancellable (task, FALSE);
  return task;
}

void
ow_openshell_call_run (GTask                 *task,
                       const OwOpenshellCall *asked)
{
  OwOpenshell *self = g_task_get_source_object (task);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  OwProcessOptions options = { 0 };
  Call *call = g_new0 (Call, 1);

  call->what = asked->what;
  call->answer = asked->answer;
  call->progress = asked->progress;
  call->progress_data = asked->progress_data;
  call->line = g_string_new (NULL);
  call->begun = g_get_monotonic_time ();
  call->deadline_ms = asked->deadline_ms;
  /* Replaces that of a call before it, which is over. */
  g_task_set_task_data (task, call, call_free);

  g_ptr_array_add (argv, (gpointer) ow_openshell_get_program (self));
  for (guint i = 0; asked->arguments[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer) asked->arguments[i]);
  g_ptr_array_add (argv, NULL);
  options.argv = (const char * const *) argv->pdata;
  options.envp = ow_openshell_get_environment (self);
  /* One that hangs would hang for ever. */
  options.dies_with_us = TRUE;
  if (call->progress != NULL)
    {
      options.output_func = on_output;
      options.output_data = task;
    }
  ow_process_run_async (&options, asked->deadline_ms,
                        asked->cap > 0 ? asked->cap : OW_OPENSHELL_CAP,
                        g_task_get_cancellable (task), on_run, task);
}
