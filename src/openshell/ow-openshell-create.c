/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-call-private.h"

#include <string.h>

#include "openshell/ow-openshell-names.h"

#define WHAT_CREATE "The sandbox was not made"

static void
add (GStrvBuilder *arguments,
     const char   *option,
     const char   *value)
{
  if (value == NULL)
    return;
  g_strv_builder_add (arguments, option);
  g_strv_builder_add (arguments, value);
}

static void
add_each (GStrvBuilder       *arguments,
          const char         *option,
          const char * const *values)
{
  for (guint i = 0; values != NULL && values[i] != NULL; i++)
    add (arguments, option, values[i]);
}

char **
ow_openshell_create_arguments (const OwOpenshellSpec *spec)
{
  g_autoptr (GStrvBuilder) arguments = g_strv_builder_new ();

  g_strv_builder_add_many (arguments, "sandbox", "create", "--name", spec->name, "--from",
                           spec->image, "--no-tty", "--detach", "--no-auto-providers", NULL);
  add (arguments, "--policy", spec->policy_file);
  add (arguments, "--driver-config-json", spec->driver_config);
  add_each (arguments, "--label", spec->labels);
  add_each (arguments, "--env", spec->environment);
  add (arguments, "--cpu", spec->cpu);
  add (arguments, "--memory", spec->memory);
  g_strv_builder_add (arguments, "--");
  for (guint i = 0; spec->command[i] != NULL; i++)
    g_strv_builder_add (arguments, spec->command[i]);
  return g_strv_builder_end (arguments);
}

/* Why the specification cannot be given to the command, or NULL. */
static const char *
refuse_spec (const OwOpenshellSpec *spec)
{
  if (!ow_openshell_name_is_valid (spec->name))
    return "the sandbox's name is not one that OpenShell takes";
  if (spec->image == NULL || spec->image[0] == '\0' || spec->image[0] == '-')
    return "the image has no name";
  for (guint i = 0; spec->labels != NULL && spec->labels[i] != NULL; i++)
    {
      const char *equals = strchr (spec->labels[i], '=');
      g_autofree char *key = equals != NULL ? g_strndup (spec->labels[i], equals - spec->labels[i])
                                            : NULL;

      if (key == NULL || *key == '\0' || !ow_openshell_label_is_valid (key) ||
          !ow_openshell_label_is_valid (equals + 1))
        return "a label is not one that OpenShell takes";
    }
  return NULL;
}

static void
on_create (GTask                   *task,
           const OwOpenshellAnswer *answer)
{
  if (ow_openshell_call_failed (answer))
    g_task_return_error (task, ow_openshell_call_error_of (WHAT_CREATE, answer));
  else
    g_task_return_boolean (task, TRUE);
}

void
ow_openshell_create_async (OwOpenshell             *self,
                           const OwOpenshellSpec   *spec,
                           OwOpenshellProgressFunc  progress,
                           gpointer                 progress_data,
                           GCancellable            *cancellable,
                           GAsyncReadyCallback      callback,
                           gpointer                 user_data)
{
  g_auto (GStrv) arguments = ow_openshell_create_arguments (spec);
  OwOpenshellCall call = { .what = WHAT_CREATE, .answer = on_create, .progress = progress,
                           .progress_data = progress_data,
                           .deadline_ms = OW_OPENSHELL_CREATE_MS };
  g_autoptr (GTask) task =
    ow_openshell_call_task (self, ow_openshell_create_async, cancellable, callback,
                            user_data);
  const char *refused = refuse_spec (spec);
  if (refused != NULL)
    {
      g_task_return_error (task, ow_openshell_call_error (WHAT_CREATE, OW_OPENSHELL_FAULT_INVALID,
                                                          refused));
      return;
    }
  call.arguments = (const char * const *) arguments;
  ow_openshell_call_run (g_steal_pointer (&task), &call);
}

gboolean
ow_openshell_create_finish (OwOpenshell   *self,
                            GAsyncResult  *result,
                            GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}
