/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-proof-record.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-paths.h"
#include "base/ow-process.h"
#include "ow-bubblewrap-args-private.h"
#include "ow-openshell-check-private.h"

#define VERSION_MS  10000
#define VERSION_CAP 4096
#define MAX_BYTES   65536

/* --- what is there now --- */

static void
set_text (json_t     *facts,
          const char *name,
          const char *text)
{
  if (text != NULL && *text != '\0')
    json_object_set_new (facts, name, json_string (text));
}

static void
on_version (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  json_t *facts = g_task_get_task_data (task);
  g_autoptr (OwProcessResult) done = ow_process_run_finish (result, NULL);
  gsize length = 0;
  const char *text = done != NULL ? g_bytes_get_data (done->output, &length) : NULL;
  g_autofree char *line = text != NULL ? g_strndup (text, length) : NULL;

  if (line != NULL && g_utf8_validate (line, -1, NULL))
    set_text (facts, "bubblewrap", g_strstrip (line));
  g_task_return_pointer (task, json_incref (facts), (GDestroyNotify) json_decref);
}

static void
on_checked (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  json_t *facts = g_task_get_task_data (task);
  g_autoptr (OwOpenshellFacts) found = ow_openshell_check_finish (result, NULL);

  if (found != NULL)
    {
      set_text (facts, "openshell", found->version);
      set_text (facts, "gateway", found->gateway->version);
      set_text (facts, "engine", found->engine != NULL ? found->engine->version
                                 : found->gateway->driver_version);
    }
  g_task_return_pointer (task, json_incref (facts), (GDestroyNotify) json_decref);
}

void
ow_proof_record_facts_async (OwProviderKind      kind,
                             GCancellable       *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer            user_data)
{
  GTask *task = g_task_new (NULL, cancellable, callback, user_data);
  json_t *facts = json_object ();
  struct utsname name;
  const char *argv[] = { OW_BUBBLEWRAP_PROGRAM, "--version", NULL };
  const char *envp[] = { "PATH=/usr/bin:/bin", NULL };
  OwProcessOptions options = { .argv = argv, .envp = envp, .stdout_pipe = TRUE };

  g_task_set_source_tag (task, ow_proof_record_facts_async);
  g_task_set_task_data (task, facts, (GDestroyNotify) json_decref);
  if (uname (&name) == 0)
    {
      g_autofree char *kernel = g_strdup_printf ("%s %s", name.release, name.version);

      set_text (facts, "kernel", kernel);
    }
  if (kind == OW_PROVIDER_BUBBLEWRAP)
    {
      ow_process_run_async (&options, VERSION_MS, VERSION_CAP, cancellable, on_version, task);
    }
  else if (kind == OW_PROVIDER_OPENSHELL)
    {
      ow_openshell_check_async (cancellable, on_checked, task);
    }
  else
    {
      g_task_return_pointer (task, json_incref (facts), (GDestroyNotify) json_decref);
      g_object_unref (task);
    }
}

json_t *
ow_proof_record_facts_finish (GAsyncResult *result,
                              GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- the file --- */

static char *
get_path (OwProviderKind kind)
{
  g_autofree char *dir = ow_paths_get_state_dir ();
  g_autofree char *name = g_strdup_printf ("proof-%s.json", ow_provider_kind_to_string (kind));

  return g_build_filename (dir, name, NULL);
}

gboolean
ow_proof_record_store (OwProviderKind kind,
                       const json_t  *claims,
                       const json_t  *facts,
                       GError       **error)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *when = g_date_time_format_iso8601 (now);
  g_autofree char *dir = ow_paths_get_state_dir ();
  g_autofree char *path = get_path (kind);
  g_autoptr (GBytes) bytes = NULL;
  json_t *failed = json_array ();
  json_t *record;
  size_t length = 0;
  char *text;

  for (size_t i = 0; i < json_array_size (claims); i++)
    if (!ow_json_get_bool (json_array_get (claims, i), "held", FALSE))
      json_array_append (failed, json_object_get (json_array_get (claims, i), "key"));
  record = json_pack ("{s:s, s:o, s:O}", "when", when, "failed", failed, "facts",
                      (json_t *) facts);
  text = ow_json_dump (record, &length);
  json_decref (record);
  if (text == NULL)
    {
      ow_error_set (error, OW_ERROR_FAILED, "The proof was not kept", "it cannot be written", NULL);
      return FALSE;
    }
  bytes = g_bytes_new_with_free_func (text, length, free, text);
  return ow_paths_ensure (dir, error) && ow_file_write_atomic (path, bytes, 0600, error);
}

/* NULL: there is none, or none that makes sense. */
static json_t *
load (OwProviderKind kind)
{
  g_autofree char *path = get_path (kind);
  g_autoptr (GBytes) bytes = ow_file_read (path, MAX_BYTES, NULL);
  char reason[OW_WIRE_ERROR_SIZE];
  gsize length = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;
  json_t *record = data != NULL ? ow_json_parse (data, length, reason) : NULL;

  if (record != NULL && ow_json_get_string (record, "when", NULL) != NULL &&
      json_is_array (json_object_get (record, "failed")) &&
      json_is_object (json_object_get (record, "facts")))
    return record;
  json_decref (record);
  return NULL;
}

static void
compare (json_t       *changed,
         const json_t *was,
         const json_t *is,
         const char   *what)
{
  const char *before = ow_json_get_string (was, what, NULL);
  const char *after = ow_json_get_string (is, what, NULL);

  if (g_strcmp0 (before, after) != 0)
    json_array_append_new (changed, json_pack ("{s:s, s:s*, s:s*}", "what", what, "was", before,
                                               "is", after));
}

json_t *
ow_proof_record_judge (OwProviderKind kind,
                       const json_t  *facts)
{
  static const char * const names[] = { "kernel", "bubblewrap", "openshell", "gateway", "engine" };
  json_t *record = load (kind);
  const json_t *failed = json_object_get (record, "failed");
  json_t *changed = json_array ();
  const char *state = "held";
  json_t *answer;

  for (gsize i = 0; record != NULL && i < G_N_ELEMENTS (names); i++)
    compare (changed, json_object_get (record, "facts"), facts, names[i]);
  if (record == NULL)
    state = "unknown";
  else if (json_array_size (failed) > 0)
    state = "missed";
  else if (json_array_size (changed) > 0)
    state = "stale";
  answer = json_pack ("{s:s, s:s, s:s*, s:o}", "provider", ow_provider_kind_to_string (kind),
                      "state", state, "when", ow_json_get_string (record, "when", NULL),
                      "changed", changed);
  json_object_set_new (answer, "failed", failed != NULL ? json_copy ((json_t *) failed)
                                                        : json_array ());
  json_decref (record);
  return answer;
}
