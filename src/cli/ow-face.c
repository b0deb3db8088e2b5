/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-face-private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-output-private.h"

void
ow_face_finish (OwFace *face,
                int     status)
{
  if (face->status < 0)
    face->status = status;
  g_main_loop_quit (face->loop);
}

void
ow_face_fail (OwFace       *face,
              const GError *error)
{
  g_autofree char *text = NULL;

  /* What ends the face takes the commands that wait with it: they have nothing to add. */
  if (face->status >= 0)
    return;
  text = ow_text_visible (error->message);
  g_printerr ("openworker: %s\n", text);
  ow_face_finish (face, ow_error_exit_status (error));
}

void
ow_face_fail_data (OwFace *face)
{
  g_autoptr (GError) error = NULL;

  ow_error_set (&error, OW_ERROR_DATA, "The engine's answer cannot be used",
                "it is not what was asked for", NULL);
  ow_face_fail (face, error);
}

gboolean
ow_face_has_more (OwFace       *face,
                  const json_t *result,
                  json_int_t   *from)
{
  json_int_t next = ow_json_get_int (result, "next", 0);

  if (next == 0)
    return FALSE;
  if (next <= *from)
    {
      ow_face_fail_data (face);
      return FALSE;
    }
  *from = next;
  return TRUE;
}

void
ow_face_usage (OwFace     *face,
               const char *format,
               ...)
{
  g_autofree char *text = NULL;
  g_autofree char *visible = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  visible = ow_text_visible (text);
  /* The name of the command, as far as it is known. */
  g_printerr ("openworker: %s Try “%s --help”.\n", visible, g_get_prgname ());
  ow_face_finish (face, 2);
}

gboolean
ow_face_parse (OwFace              *face,
               const char          *parameters,
               const char          *summary,
               const GOptionEntry  *entries,
               gboolean             leading_only,
               int                 *argc,
               char              ***argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new (parameters);
  g_autoptr (GError) error = NULL;
  gboolean help = FALSE;
  GOptionEntry own[] = {
    { "help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this help", NULL },
    { NULL }
  };

  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_strict_posix (context, leading_only);
  g_option_context_set_summary (context, summary);
  if (entries != NULL)
    g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_main_entries (context, own, NULL);
  if (!g_option_context_parse (context, argc, argv, &error))
    {
      ow_face_usage (face, "%s.", error->message);
      return FALSE;
    }
  if (help)
    {
      g_autofree char *text = g_option_context_get_help (context, TRUE, NULL);

      g_print ("%s", text);
      ow_face_finish (face, 0);
      return FALSE;
    }
  return TRUE;
}

const char *
ow_face_take_verb (int    *argc,
                   char ***argv)
{
  if (*argc < 2 || *(*argv)[1] == '-')
    return NULL;
  (*argv)++;
  (*argc)--;
  return (*argv)[0];
}

json_t *
ow_face_words (char **words)
{
  json_t *array = json_array ();

  for (guint i = 0; words[i] != NULL; i++)
    json_array_append_new (array, json_string (words[i]));
  return array;
}

char *
ow_face_path (const char *path)
{
  return g_canonicalize_filename (path, NULL);
}

static void
opened (GObject      *source,
        GAsyncResult *result,
        gpointer      user_data)
{
  OwFace *face = user_data;
  g_autoptr (GError) error = NULL;

  if (!ow_shared_engine_open_finish (OW_SHARED_ENGINE (source), result, &error))
    ow_face_fail (face, error);
}

OwEngine *
ow_face_get_engine (OwFace *face)
{
  if (face->engine == NULL)
    {
      face->engine = ow_shared_engine_new (face->kind);
      ow_shared_engine_open_async (face->engine, NULL, opened, face);
    }
  return OW_ENGINE (face->engine);
}

typedef struct
{
  OwFace       *face;
  OwFaceOpened  func;
  gpointer      user_data;
} Opening;

static void
opened_for (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autofree Opening *opening = user_data;
  g_autoptr (GError) error = NULL;

  if (!ow_shared_engine_open_finish (OW_SHARED_ENGINE (source), result, &error))
    ow_face_fail (opening->face, error);
  else
    opening->func (opening->face, opening->user_data);
}

void
ow_face_open (OwFace       *face,
              OwFaceOpened  func,
              gpointer      user_data)
{
  Opening *opening = g_new0 (Opening, 1);

  *opening = (Opening) { face, func, user_data };
  face->engine = ow_shared_engine_new (face->kind);
  ow_shared_engine_open_async (face->engine, NULL, opened_for, opening);
}

gboolean
ow_face_is_alone (OwFace *face)
{
  return ow_shared_engine_get_role (face->engine) == OW_ENGINE_ALONE;
}

typedef struct
{
  OwFace       *face;
  OwFaceResult  done;
  gpointer      user_data;
} Call;

static void
command_done (GObject      *source,
              GAsyncResult *result,
              gpointer      user_data)
{
  g_autofree Call *call = user_data;
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (value == NULL)
    {
      ow_face_fail (call->face, error);
      return;
    }
  call->done (call->face, value, call->user_data);
  json_decref (value);
}

void
ow_face_command (OwFace       *face,
                 const char   *command,
                 json_t       *params,
                 OwFaceResult  done,
                 gpointer      user_data)
{
  Call *call = g_new0 (Call, 1);

  *call = (Call) { face, done, user_data };
  ow_engine_command_async (ow_face_get_engine (face), command, params, NULL, command_done, call);
}

static void
sent (GObject      *source,
      GAsyncResult *result,
      gpointer      user_data)
{
  g_autoptr (GError) error = NULL;
  json_t *value = ow_engine_command_finish (OW_ENGINE (source), result, &error);

  if (value == NULL && !GPOINTER_TO_INT (user_data))
    {
      g_autofree char *text = ow_text_visible (error->message);

      g_printerr ("openworker: %s\n", text);
    }
  json_decref (value);
}

void
ow_face_send (OwFace     *face,
              const char *command,
              json_t     *params,
              gboolean    quiet)
{
  ow_engine_command_async (ow_face_get_engine (face), command, params, NULL, sent,
                           GINT_TO_POINTER (quiet));
}

void
ow_face_print_json (const json_t *value)
{
  size_t length = 0;
  char *line = ow_json_dump (value, &length);
  g_autofree char *shown = line == NULL ? NULL : ow_text_escape_json (line);

  /* Not through g_print(): JSON is UTF-8 whatever the person's character set is. */
  if (shown != NULL && ow_output_write (STDOUT_FILENO, shown, strlen (shown)))
    ow_output_write (STDOUT_FILENO, "\n", 1);
  free (line);
}
