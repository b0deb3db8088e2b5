/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "credentials/ow-credentials.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "base/ow-state.h"
#include "ow-credential-copy-private.h"
#include "ow-credential-finding-private.h"
#include "ow-credential-git-private.h"
#include "ow-credential-login-private.h"
#include "ow-credential-ssh-private.h"

#define DEADLINE_MS 30000
#define MAX_NAMED   20

OwCredentialsRequest *
ow_credentials_request_new (const char *person,
                            const char *home,
                            const char *runner)
{
  OwCredentialsRequest *request = g_new0 (OwCredentialsRequest, 1);

  request->person = g_strdup (person);
  request->home = g_strdup (home);
  request->runner = g_strdup (runner);
  request->kubeconfig = g_strdup (g_getenv ("KUBECONFIG"));
  request->entries =
    g_ptr_array_new_with_free_func ((GDestroyNotify) ow_config_credential_free);
  return request;
}

void
ow_credentials_request_free (OwCredentialsRequest *request)
{
  if (request == NULL)
    return;
  g_free (request->person);
  g_free (request->home);
  g_free (request->runner);
  g_free (request->kubeconfig);
  g_ptr_array_unref (request->entries);
  g_free (request);
}

void
ow_credentials_free (OwCredentials *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->shared);
  g_ptr_array_unref (self->hosts);
  g_ptr_array_unref (self->environment);
  g_ptr_array_unref (self->sentences);
  g_free (self->bin);
  g_free (self);
}

static OwCredentials *
new_credentials (void)
{
  OwCredentials *self = g_new0 (OwCredentials, 1);

  self->shared = g_ptr_array_new_with_free_func (g_free);
  self->hosts = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
  self->environment = g_ptr_array_new_with_free_func (g_free);
  self->sentences = g_ptr_array_new_with_free_func (g_free);
  return self;
}

/* What was left out since the last time, as one sentence. */
static void
tell_left_out (OwCredentials    *self,
               OwCredentialCopy *copy,
               const char       *of)
{
  GPtrArray *left_out = copy->left_out;
  g_autofree char *list = ow_credential_finding_join (left_out, ", ", MAX_NAMED);

  if (left_out->len > 0)
    g_ptr_array_add (self->sentences, g_strdup_printf ("Left out of %s: %s.", of, list));
  g_ptr_array_set_size (left_out, 0);
}

static void
add_hosts (OwCredentials *self,
           GPtrArray     *hosts)
{
  for (guint i = 0; hosts != NULL && i < hosts->len; i++)
    g_ptr_array_add (self->hosts, ow_host_copy (g_ptr_array_index (hosts, i)));
}

/* Takes @why, a sentence. */
static void
tell_not_shared (OwCredentials            *self,
                 const OwConfigCredential *entry,
                 char                     *why)
{
  g_autofree char *taken = why;

  g_ptr_array_add (self->sentences,
                   g_strdup_printf ("The credential \"%s\" is not shared with this session. %s",
                                    entry->name, taken));
}

/* Before what else there is to be told of it, from sentence @at on. */
static void
tell_shared (OwCredentials            *self,
             guint                     at,
             const OwConfigCredential *entry,
             const char               *sentence)
{
  g_autofree char *shown = ow_credential_copy_show (entry->path);

  g_ptr_array_add (self->shared, g_strdup (entry->name));
  g_ptr_array_insert (self->sentences, (gint) at,
                      g_strdup_printf ("Shared with this session, as a copy: the credential "
                                       "\"%s\" (%s). %s", entry->name, shown, sentence));
}

static void
take_ssh (OwCredentials              *self,
          OwCredentialCopy           *copy,
          const OwConfigCredential   *entry,
          const OwCredentialsRequest *request)
{
  g_autofree char *sentence = ow_credential_login_tell (entry);
  guint at = self->sentences->len;

  if (ow_credential_ssh_take (self, copy, entry, request) == 0)
    {
      tell_not_shared (self, entry, g_strdup ("There is nothing in ~/.ssh that can be copied."));
      return;
    }
  tell_shared (self, at, entry, sentence);
  add_hosts (self, entry->hosts);
}

static void
take_login (OwCredentials            *self,
            OwCredentialCopy         *copy,
            const OwConfigCredential *entry,
            const char               *kubeconfig)
{
  g_autoptr (GPtrArray) environment = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (OwCredentialLogin) login =
    ow_credential_login_share (copy, entry, kubeconfig, environment);
  gboolean usable = login->use == OW_CREDENTIAL_USE_ALL || login->use == OW_CREDENTIAL_USE_PART;

  if (!usable)
    {
      tell_not_shared (self, entry, g_strdup (login->sentence));
      return;
    }
  if (ow_credential_copy_add (copy, entry->path) == 0)
    {
      tell_not_shared (self, entry, g_strdup ("No file of it can be copied."));
      return;
    }
  tell_shared (self, self->sentences->len, entry, login->sentence);
  add_hosts (self, login->hosts);
  while (environment->len > 0)
    g_ptr_array_add (self->environment, g_ptr_array_steal_index (environment, 0));
}

static void
take_git (OwCredentials    *self,
          OwCredentialCopy *copy)
{
  gboolean has_ssh = self->bin != NULL;

  g_ptr_array_set_size (copy->left_out, 0);
  ow_credential_git_take (self, copy, has_ssh);
  tell_left_out (self, copy, "the settings of git");
}

static void
take_entry (OwCredentials              *self,
            OwCredentialCopy           *copy,
            const OwConfigCredential   *entry,
            const OwCredentialsRequest *request)
{
  g_autofree char *of = g_strdup_printf ("the credential \"%s\"", entry->name);

  g_ptr_array_set_size (copy->left_out, 0);
  if (entry->built_in && strcmp (entry->name, "ssh") == 0)
    take_ssh (self, copy, entry, request);
  else
    take_login (self, copy, entry, request->kubeconfig);
  tell_left_out (self, copy, of);
}

OwCredentials *
ow_credentials_take (const OwCredentialsRequest *request,
                     gint64                      deadline,
                     GCancellable               *cancellable,
                     GError                    **error)
{
  g_autoptr (OwCredentialCopy) copy = NULL;
  g_autoptr (OwCredentials) self = new_credentials ();

  copy = ow_credential_copy_new (request->person, request->home, request->uid, request->gid,
                                 deadline, cancellable, error);
  if (copy == NULL)
    return NULL;
  for (guint i = 0; i < request->entries->len && !ow_credential_copy_is_over (copy); i++)
    {
      const OwConfigCredential *entry = g_ptr_array_index (request->entries, i);

      if (entry->enabled)
        take_entry (self, copy, entry, request);
    }
  if (!ow_credential_copy_is_over (copy))
    take_git (self, copy);
  if (copy->failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&copy->failure));
      return NULL;
    }
  ow_state_reach ("credentials-copied");
  return g_steal_pointer (&self);
}

/* --- in a thread of its own --- */

typedef struct {
  OwCredentialsRequest *request;  /* (owned) */
  GCancellable         *inner;    /* (owned) what the thread looks at */
  gint64                deadline;
} Take;

/* One wait for the thread, in the caller's. */
typedef struct {
  GTask   *outer;   /* (owned) (nullable) NULL once answered */
  GCancellable *inner; /* (owned) */
  GSource *timeout; /* (owned) (nullable) */
  GSource *stopped; /* (owned) (nullable) */
} Wait;

static void
take_free (gpointer data)
{
  Take *take = data;

  ow_credentials_request_free (take->request);
  g_object_unref (take->inner);
  g_free (take);
}

static void
take_in_thread (GTask        *task,
                gpointer      source,
                gpointer      task_data,
                GCancellable *cancellable)
{
  Take *take = task_data;
  GError *error = NULL;
  OwCredentials *taken = ow_credentials_take (take->request, take->deadline, take->inner, &error);

  if (taken != NULL)
    g_task_return_pointer (task, taken, (GDestroyNotify) ow_credentials_free);
  else
    g_task_return_error (task, error);
}

static void
wait_unref (gpointer data)
{
  Wait *wait = data;

  g_clear_object (&wait->outer);
  g_object_unref (wait->inner);
}

static void
settle (Wait          *wait,
        OwCredentials *taken,
        GError        *error)
{
  GTask *outer = g_steal_pointer (&wait->outer);

  ow_source_clear (&wait->timeout);
  ow_source_clear (&wait->stopped);
  if (outer == NULL)
    {
      ow_credentials_free (taken);
      g_clear_error (&error);
      return;
    }
  if (taken != NULL)
    g_task_return_pointer (outer, taken, (GDestroyNotify) ow_credentials_free);
  else
    g_task_return_error (outer, error);
  g_object_unref (outer);
}

static void
on_taken (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  Wait *wait = user_data;
  GError *error = NULL;
  OwCredentials *taken = g_task_propagate_pointer (G_TASK (result), &error);

  settle (wait, taken, error);
  g_rc_box_release_full (wait, wait_unref);
}

static gboolean
on_timeout (gpointer user_data)
{
  Wait *wait = user_data;
  GError *error = NULL;

  g_cancellable_cancel (wait->inner);
  ow_error_set (&error, OW_ERROR_TIMED_OUT, "The session cannot be started",
                "copying the logins that are shared with it took too long",
                "Look whether the disk of the home answers, or switch the credential off.");
  settle (wait, NULL, error);
  return G_SOURCE_REMOVE;
}

static gboolean
on_stopped (gpointer user_data)
{
  Wait *wait = user_data;
  GError *error = NULL;

  g_cancellable_cancel (wait->inner);
  ow_error_set (&error, OW_ERROR_INTERRUPTED, "The sandbox was not started", "it was stopped",
                NULL);
  settle (wait, NULL, error);
  return G_SOURCE_REMOVE;
}

void
ow_credentials_take_async (OwCredentialsRequest *request,
                           GCancellable         *cancellable,
                           GAsyncReadyCallback   callback,
                           gpointer              user_data)
{
  g_autoptr (GTask) outer = g_task_new (NULL, cancellable, callback, user_data);
  Wait *wait = g_rc_box_new0 (Wait);
  Take *take = g_new0 (Take, 1);
  g_autoptr (GTask) inner = g_task_new (NULL, NULL, on_taken, wait);

  g_task_set_source_tag (outer, ow_credentials_take_async);
  g_task_set_check_cancellable (outer, FALSE);
  g_task_set_source_tag (inner, take_in_thread);
  wait->outer = g_steal_pointer (&outer);
  wait->inner = g_cancellable_new ();
  wait->timeout = ow_source_timeout (DEADLINE_MS, on_timeout, wait, NULL);
  wait->stopped = ow_source_cancelled (cancellable, on_stopped, wait, NULL);
  take->request = request;
  take->inner = g_object_ref (wait->inner);
  take->deadline = g_get_monotonic_time () + DEADLINE_MS * G_TIME_SPAN_MILLISECOND;
  g_task_set_task_data (inner, take, take_free);
  g_task_run_in_thread (inner, take_in_thread);
}

OwCredentials *
ow_credentials_take_finish (GAsyncResult *result,
                            GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
