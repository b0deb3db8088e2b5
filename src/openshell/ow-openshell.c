/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell.h"

#include <string.h>

#include "base/ow-program.h"
#include "base/ow-text.h"
#include "ow-openshell-call-private.h"

#define GATEWAY "OPENSHELL_GATEWAY"
#define WHAT_VERSION "OpenShell's version is not known"

struct _OwOpenshell {
  GObject parent_instance;

  char  *program;      /* (owned) */
  char **environment;  /* (owned) */
  char  *pinned;       /* (owned) (nullable) */
};

G_DEFINE_FINAL_TYPE (OwOpenshell, ow_openshell, G_TYPE_OBJECT)

static void
ow_openshell_finalize (GObject *object)
{
  OwOpenshell *self = OW_OPENSHELL (object);

  g_free (self->program);
  g_strfreev (self->environment);
  g_free (self->pinned);
  G_OBJECT_CLASS (ow_openshell_parent_class)->finalize (object);
}

static void
ow_openshell_class_init (OwOpenshellClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_openshell_finalize;
}

/* What the command finds its gateway, certificates and state by, and nothing else: no proxy, no
 * key of ours, no library to preload. */
static gboolean
is_wanted (const char *name)
{
  static const char * const names[] = {
    "HOME", "USER", "LOGNAME", "PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
    "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
  };

  if (g_str_has_prefix (name, "OPENSHELL_"))
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (names[i], name) == 0)
      return TRUE;
  return FALSE;
}

static char **
make_environment (void)
{
  g_auto (GStrv) ours = g_get_environ ();
  char **environment = g_new0 (char *, 1);

  for (guint i = 0; ours[i] != NULL; i++)
    {
      const char *equals = strchr (ours[i], '=');
      g_autofree char *name = equals != NULL ? g_strndup (ours[i], equals - ours[i]) : NULL;

      if (name != NULL && is_wanted (name))
        environment = g_environ_setenv (environment, name, equals + 1, TRUE);
    }
  environment = g_environ_setenv (environment, "HOME", g_get_home_dir (), FALSE);
  environment = g_environ_setenv (environment, "LC_ALL", "C.UTF-8", TRUE);
  environment = g_environ_setenv (environment, "NO_COLOR", "1", TRUE);
  return g_environ_setenv (environment, "TERM", "dumb", TRUE);
}

static void
ow_openshell_init (OwOpenshell *self)
{
  self->environment = make_environment ();
}

OwOpenshell *
ow_openshell_new (const char *program)
{
  OwOpenshell *self = g_object_new (OW_TYPE_OPENSHELL, NULL);

  self->program = g_strdup (program);
  return self;
}

OwOpenshell *
ow_openshell_find (GError **error)
{
  static const char * const places[] = { "/usr/bin", "/usr/local/bin", NULL, "/snap/bin" };
  g_autofree char *on_path = ow_program_find ("openshell");
  g_autofree char *of_home = g_build_filename (g_get_home_dir (), ".local", "bin", NULL);

  if (on_path != NULL)
    return ow_openshell_new (on_path);
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *program = g_build_filename (places[i] != NULL ? places[i] : of_home,
                                                   "openshell", NULL);

      if (ow_program_is_good (program))
        return ow_openshell_new (program);
    }
  g_propagate_error (error, ow_openshell_call_error ("OpenShell is not installed",
                                                     OW_OPENSHELL_FAULT_NOT_INSTALLED, NULL));
  return NULL;
}

const char *
ow_openshell_get_program (OwOpenshell *self)
{
  return self->program;
}

const char * const *
ow_openshell_get_environment (OwOpenshell *self)
{
  return (const char * const *) self->environment;
}

void
ow_openshell_pin_gateway (OwOpenshell *self,
                          const char  *name)
{
  if (name[0] == '\0' || g_environ_getenv (self->environment, GATEWAY "_ENDPOINT") != NULL)
    return;
  self->environment = g_environ_setenv (self->environment, GATEWAY, name, TRUE);
  g_free (self->pinned);
  self->pinned = g_strdup (name);
}

const char *
ow_openshell_get_pinned (OwOpenshell *self)
{
  return self->pinned;
}

/* The last word of the line "openshell VERSION"; NULL where there is no such line. */
static char *
read_version (const char *output)
{
  g_autofree char *stripped = ow_text_strip_ansi (output);
  g_auto (GStrv) lines = g_strsplit (stripped, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *word;

      g_strstrip (lines[i]);
      word = strrchr (lines[i], ' ');
      if (g_str_has_prefix (lines[i], "openshell ") && g_ascii_isdigit (word[1]))
        return ow_text_visible (word + 1);
    }
  return NULL;
}

static void
on_version (GTask                   *task,
            const OwOpenshellAnswer *answer)
{
  char *version = answer->status == 0 ? read_version (answer->output) : NULL;

  if (version != NULL)
    g_task_return_pointer (task, version, g_free);
  else
    g_task_return_error (task, ow_openshell_call_error (WHAT_VERSION,
                                                        OW_OPENSHELL_FAULT_NOT_INSTALLED,
                                                        "it does not tell its version"));
}

void
ow_openshell_version_async (OwOpenshell         *self,
                            GCancellable        *cancellable,
                            GAsyncReadyCallback  callback,
                            gpointer             user_data)
{
  static const char * const arguments[] = { "--version", NULL };
  OwOpenshellCall call = { .arguments = arguments, .what = WHAT_VERSION, .answer = on_version,
                           .deadline_ms = OW_OPENSHELL_READ_MS };
  GTask *task = ow_openshell_call_task (self, ow_openshell_version_async, cancellable, callback,
                                        user_data);

  ow_openshell_call_run (task, &call);
}

char *
ow_openshell_version_finish (OwOpenshell   *self,
                             GAsyncResult  *result,
                             GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
