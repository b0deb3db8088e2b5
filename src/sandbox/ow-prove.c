/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-prove.h"

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "ow-prove-bait-private.h"
#include "ow-sandbox-private.h"
#include "sandbox/ow-undo-folder.h"
#include "wire/ow-mcp.h"

/* The proxy's decision comes on another pipe than the runner's answer. */
#define DECISION_MS 10000

/* The words of our own proxy, and of OpenShell's (recorded from 0.0.112-dev). */
#define OWN_REFUSAL       "host_not_allowed"
#define OPENSHELL_REFUSAL "policy_denied"

typedef enum {
  TRIAL_FOLDER,
  TRIAL_HOME,
  TRIAL_READ_ONLY,
  TRIAL_PROC_SYS,
  TRIAL_HOST,
  TRIAL_DIRECT,     /* the other half of the claim "host" */
  TRIAL_LOOPBACK,
  TRIAL_ABSTRACT,
  N_TRIALS
} Trial;

typedef struct {
  OwSandbox   *sandbox;  /* (owned) */
  char        *session;  /* (owned) (nullable) */
  OwProveBait *bait;     /* (owned) */
  json_t      *claims;   /* (owned) */
  Trial        trial;
  json_t      *answer;   /* (owned) (nullable) of TRIAL_HOST, while its decision is awaited */
  const char  *refusal;  /* what the provider's proxy says of a host that is on no list */
  gboolean     ordinary; /* nothing of root's can be in a session of the provider's */
  gboolean     decided;  /* the proxy itself said that it refused the host */
  gboolean     host_held;
  char        *host_detail; /* (owned) */
  GSource     *waiting;  /* (owned) (nullable) */
  GError      *failure;  /* (owned) (nullable) */
} Prove;

static void ow_prove_next (GTask *task);

static void
prove_free (gpointer data)
{
  Prove *prove = data;

  ow_source_clear (&prove->waiting);
  if (prove->sandbox != NULL)
    g_signal_handlers_disconnect_by_data (prove->sandbox, prove);
  g_clear_object (&prove->sandbox);
  /* No store knows this session, and would remove what it leaves. */
  if (prove->session != NULL)
    ow_undo_folder_remove (prove->session, NULL);
  g_free (prove->session);
  g_clear_pointer (&prove->bait, ow_prove_bait_free);
  json_decref (prove->claims);
  json_decref (prove->answer);
  g_free (prove->host_detail);
  g_clear_error (&prove->failure);
  g_free (prove);
}

/* --- claims --- */

static void
add_claim (Prove      *prove,
           const char *key,
           const char *claim,
           gboolean    held,
           const char *detail)
{
  json_array_append_new (prove->claims,
                         json_pack ("{s:s, s:s, s:b, s:s}", "key", key, "claim", claim,
                                    "held", held, "detail", detail));
}

static const char *
answer_errno (const json_t *answer)
{
  return ow_json_get_string (answer, "errno", "no reason given");
}

/* A claim that something fails inside: it has to work outside, or nothing is shown. */
static void
judge_refusal (Prove        *prove,
               const json_t *answer,
               gboolean      control,
               const char   *key,
               const char   *claim,
               const char   *bait)
{
  gboolean ok = ow_json_get_bool (answer, "ok", TRUE) != 0;
  g_autofree char *detail = NULL;

  if (answer == NULL)
    detail = g_strdup ("not proven: the runner could not try it");
  else if (!control)
    detail = g_strdup_printf ("not proven: %s does not work outside either", bait);
  else if (ok)
    detail = g_strdup_printf ("%s works inside as it does outside", bait);
  else
    detail = g_strdup_printf ("%s works outside; inside: %.40s", bait, answer_errno (answer));
  add_claim (prove, key, claim, answer != NULL && control && !ok, detail);
}

static void
judge_folder (Prove        *prove,
              const json_t *answer)
{
  gboolean same = g_str_equal (ow_json_get_string (answer, "content", ""), prove->bait->token);

  add_claim (prove, "folder", "The session's folder is there",
             same && prove->bait->known_readable,
             same ? "files written on either side are read on the other"
                  : "a file in it cannot be read inside");
}

static void
judge_proc_sys (Prove        *prove,
                const json_t *answer)
{
  const OwProveBait *bait = prove->bait;

  judge_refusal (prove, answer, bait->proc_sys_there, "proc_sys",
                 "The kernel's settings cannot be opened for writing",
                 bait->proc_sys_writable
                 ? "opening " OW_PROVE_BAIT_PROC_SYS " for writing"
                 : "finding " OW_PROVE_BAIT_PROC_SYS " (only root could open it for writing)");
}

static void
judge_listener (Prove        *prove,
                const json_t *answer,
                int           listener,
                gboolean      control,
                const char   *key,
                const char   *claim,
                const char   *bait)
{
  /* Whatever the runner says: a connection that came is one. */
  if (listener >= 0 && ow_prove_bait_touched (listener))
    add_claim (prove, key, claim, FALSE, "a connection from inside arrived at the listener");
  else
    judge_refusal (prove, answer, control, key, claim, bait);
}

/* Refused by the proxy, in its own words, and not by a name that does not resolve. */
static void
judge_host (Prove        *prove,
            const json_t *answer)
{
  gboolean refused = ow_json_get_int (answer, "status", 0) == 403
                     && strstr (ow_json_get_string (answer, "content", ""),
                                prove->refusal) != NULL;

  prove->host_held = refused && prove->decided;
  if (answer == NULL)
    prove->host_detail = g_strdup ("not proven: the runner could not try it");
  else if (!refused)
    prove->host_detail = g_strdup_printf ("inside there is no refusal by the proxy (status "
                                          "%d, %.40s)",
                                          (int) ow_json_get_int (answer, "status", 0),
                                          answer_errno (answer));
  else if (!prove->decided)
    prove->host_detail = g_strdup ("not proven: the proxy itself told of no refusal");
  else
    prove->host_detail = g_strdup_printf ("%s refused by the proxy with 403, in its own "
                                          "record too", prove->bait->host);
}

/* No machine has that address (RFC 5737), so "refused" too is the word of a filter on the way:
 * where there is none, nothing answers at all. */
static gboolean
is_unreachable (const json_t *answer)
{
  static const char * const names[] = {
    "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EACCES", "EPERM", "ECONNREFUSED", NULL
  };

  return ow_json_get_bool (answer, "ok", TRUE) == 0
         && g_strv_contains (names, answer_errno (answer));
}

static void
judge_direct (Prove        *prove,
              const json_t *answer)
{
  gboolean none = answer != NULL && is_unreachable (answer);
  const char *direct = !none ? "a connection that goes past the proxy is not refused"
                     : g_str_equal (answer_errno (answer), "ECONNREFUSED")
                     ? "a connection that goes past the proxy is refused"
                     : prove->bait->has_route
                     ? "past the proxy there is no way out, although this machine has one"
                     : "past the proxy there is no way out (this machine has none either)";
  g_autofree char *detail = g_strdup_printf ("%s; %s", prove->host_detail, direct);

  add_claim (prove, "host", "A host that is not on the list cannot be reached",
             prove->host_held && none, detail);
}

static void
ow_prove_judge (Prove        *prove,
                const json_t *answer)
{
  const OwProveBait *bait = prove->bait;

  switch (prove->trial)
    {
    case TRIAL_FOLDER:
      judge_folder (prove, answer);
      break;

    case TRIAL_HOME:
      judge_refusal (prove, answer, bait->canary_readable, "home",
                     "A file in the home folder cannot be read", "reading it");
      break;

    case TRIAL_READ_ONLY:
      judge_refusal (prove, answer, bait->read_only_writable, "read_only",
                     "A read-only folder cannot be written", "making a file in it");
      break;

    case TRIAL_PROC_SYS:
      judge_proc_sys (prove, answer);
      break;

    case TRIAL_HOST:
      judge_host (prove, answer);
      break;

    case TRIAL_DIRECT:
      judge_direct (prove, answer);
      break;

    case TRIAL_LOOPBACK:
      judge_listener (prove, answer, bait->loopback_fd, bait->loopback_answers, "loopback",
                      "This machine's 127.0.0.1 cannot be reached", "connecting to a listener");
      break;

    case TRIAL_ABSTRACT:
    case N_TRIALS:
    default:
      judge_listener (prove, answer, bait->abstract_fd, bait->abstract_answers,
                      "abstract_socket", "This machine's abstract sockets cannot be reached",
                      "connecting to one");
      break;
    }
}

/* --- trials --- */

static json_t *
ow_prove_question (const Prove *prove)
{
  const OwProveBait *bait = prove->bait;
  g_autofree char *path = NULL;

  switch (prove->trial)
    {
    case TRIAL_FOLDER:
      return json_pack ("{s:s, s:s}", "op", "read", "path", bait->known);

    case TRIAL_HOME:
      return json_pack ("{s:s, s:s}", "op", "read", "path",
                        bait->canary != NULL ? bait->canary : bait->base);

    case TRIAL_READ_ONLY:
      path = g_build_filename (bait->read_only, "made-inside", NULL);
      return json_pack ("{s:s, s:s, s:s}", "op", "create", "path", path, "content", "x");

    case TRIAL_PROC_SYS:
      return json_pack ("{s:s, s:s}", "op", "write", "path", OW_PROVE_BAIT_PROC_SYS);

    case TRIAL_HOST:
      return json_pack ("{s:s, s:s, s:i}", "op", "proxy", "host", bait->host, "port", 443);

    case TRIAL_DIRECT:
      return json_pack ("{s:s, s:s, s:i}", "op", "connect", "host", OW_PROVE_BAIT_ADDRESS,
                        "port", 443);

    case TRIAL_LOOPBACK:
      return json_pack ("{s:s, s:s, s:i}", "op", "connect", "host", "127.0.0.1",
                        "port", (int) bait->loopback_port);

    case TRIAL_ABSTRACT:
    case N_TRIALS:
    default:
      return json_pack ("{s:s, s:s}", "op", "abstract", "name", bait->abstract);
    }
}

static void
ow_prove_on_decision (OwSandbox  *sandbox,
                      const char *line,
                      gpointer    user_data)
{
  Prove *prove = user_data;
  char error[OW_WIRE_ERROR_SIZE];
  json_t *decision = ow_json_parse (line, strlen (line), error);

  if (g_str_equal (ow_json_get_string (decision, "host", ""), prove->bait->host)
      && g_str_equal (ow_json_get_string (decision, "decision", ""), "refuse")
      && g_str_equal (ow_json_get_string (decision, "reason", ""), "not_listed"))
    prove->decided = TRUE;
  json_decref (decision);
}

static void
ow_prove_conclude (GTask        *task,
                   const json_t *answer)
{
  Prove *prove = g_task_get_task_data (task);

  ow_prove_judge (prove, answer);
  prove->trial++;
  ow_prove_next (task);
}

typedef struct {
  GTask  *task;     /* (owned) */
  gint64  until_us;
} Wait;

static void
wait_free (gpointer data)
{
  Wait *wait = data;

  g_object_unref (wait->task);
  g_free (wait);
}

static gboolean
ow_prove_wait (gpointer user_data)
{
  Wait *wait = user_data;
  Prove *prove = g_task_get_task_data (wait->task);
  json_t *answer;

  if (!prove->decided && g_get_monotonic_time () < wait->until_us)
    return G_SOURCE_CONTINUE;
  ow_source_clear (&prove->waiting);
  answer = g_steal_pointer (&prove->answer);
  ow_prove_conclude (wait->task, answer);
  json_decref (answer);
  return G_SOURCE_REMOVE;
}

static void
ow_prove_answered (GObject      *source,
                   GAsyncResult *result,
                   gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Prove *prove = g_task_get_task_data (task);
  json_t *answer = ow_channel_request_finish (OW_CHANNEL (source), result, NULL);
  Wait *wait;

  if (prove->trial == TRIAL_HOST && answer != NULL && !prove->decided
      && ow_json_get_int (answer, "status", 0) == 403)
    {
      prove->answer = answer;
      wait = g_new0 (Wait, 1);
      wait->task = g_steal_pointer (&task);
      wait->until_us = g_get_monotonic_time () + DECISION_MS * 1000;
      prove->waiting = ow_source_timeout (20, ow_prove_wait, wait, wait_free);
      return;
    }
  ow_prove_conclude (task, answer);
  json_decref (answer);
}

static void
ow_prove_stopped (GObject      *source,
                  GAsyncResult *result,
                  gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Prove *prove = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;

  ow_sandbox_stop_finish (OW_SANDBOX (source), result, &error);
  if (prove->failure == NULL && error != NULL)
    prove->failure = g_steal_pointer (&error);
  /* Nothing of the baits is left when the result is there. */
  g_clear_pointer (&prove->bait, ow_prove_bait_free);
  if (prove->failure != NULL)
    g_task_return_error (task, g_steal_pointer (&prove->failure));
  else
    g_task_return_pointer (task, g_steal_pointer (&prove->claims), (GDestroyNotify) json_decref);
}

static void
ow_prove_next (GTask *task)
{
  Prove *prove = g_task_get_task_data (task);
  GCancellable *cancellable = g_task_get_cancellable (task);
  OwChannel *channel = ow_sandbox_get_channel (prove->sandbox);

  if (prove->failure == NULL && g_cancellable_is_cancelled (cancellable))
    ow_error_set (&prove->failure, OW_ERROR_INTERRUPTED, "The wall was not proven",
                  "it was stopped", NULL);
  if (prove->failure == NULL && prove->trial < N_TRIALS && channel == NULL)
    ow_error_set (&prove->failure, OW_ERROR_FAILED, "The wall was not proven",
                  "it has no connection to its inside", NULL);
  if (prove->failure != NULL || prove->trial == N_TRIALS)
    {
      ow_sandbox_stop_async (prove->sandbox, ow_prove_stopped, g_object_ref (task));
      return;
    }
  ow_channel_request_async (channel, OW_MCP_PROBE, ow_prove_question (prove), NULL,
                            ow_prove_answered, g_object_ref (task));
}

/* A folder that is not inside what it is to be is found before any trial: a session is refused
 * then, and that is the answer here. The names of the baits are random, and so tell the folder. */
static void
judge_failure (Prove *prove)
{
  const OwProveBait *bait = prove->bait;
  const char *message = prove->failure->message;

  if (!g_error_matches (prove->failure, OW_ERROR, OW_ERROR_REFUSED))
    return;
  if (strstr (message, bait->read_only) != NULL)
    add_claim (prove, "read_only", "A read-only folder cannot be written", FALSE, message);
  else if (strstr (message, bait->writable) != NULL)
    add_claim (prove, "folder", "The session's folder is there", FALSE, message);
  else
    return;
  g_clear_error (&prove->failure);
  prove->trial = N_TRIALS;
}

static void
ow_prove_started (GObject      *source,
                  GAsyncResult *result,
                  gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Prove *prove = g_task_get_task_data (task);

  ow_sandbox_start_finish (OW_SANDBOX (source), result, &prove->failure);
  if (prove->failure != NULL)
    judge_failure (prove);
  ow_prove_next (task);
}

/* --- the face --- */

static GPtrArray *
ow_prove_folders (const OwProveBait *bait,
                  GError           **error)
{
  g_autoptr (GPtrArray) folders = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);
  g_autofree char *read_only = g_strconcat (bait->read_only, ":ro", NULL);
  OwFolder *folder = ow_folder_open (bait->writable, error);

  if (folder == NULL)
    return NULL;
  g_ptr_array_add (folders, folder);
  folder = ow_folder_open (read_only, error);
  if (folder == NULL)
    return NULL;
  g_ptr_array_add (folders, folder);
  return g_steal_pointer (&folders);
}

/* The state folder would be the place, but no session may have a folder there. */
static GPtrArray *
ow_prove_lay_out (Prove   *prove,
                  GError **error)
{
  const char *parents[] = { g_get_tmp_dir (), "/var/tmp" };
  GPtrArray *folders = NULL;

  for (gsize i = 0; folders == NULL && i < G_N_ELEMENTS (parents); i++)
    {
      g_clear_error (error);
      g_clear_pointer (&prove->bait, ow_prove_bait_free);
      prove->bait = ow_prove_bait_new (parents[i], error);
      if (prove->bait != NULL && (!prove->ordinary || ow_prove_bait_give_away (prove->bait, error)))
        folders = ow_prove_folders (prove->bait, error);
    }
  return folders;
}

void
ow_prove_run_async (OwSandboxProvider  *provider,
                    GPtrArray          *hosts,
                    GCancellable       *cancellable,
                    GAsyncReadyCallback callback,
                    gpointer            user_data)
{
  g_autoptr (GTask) task = g_task_new (provider, cancellable, callback, user_data);
  Prove *prove = g_new0 (Prove, 1);
  GError *error = NULL;
  GPtrArray *folders;

  g_task_set_source_tag (task, ow_prove_run_async);
  g_task_set_check_cancellable (task, FALSE);
  g_task_set_task_data (task, prove, prove_free);
  prove->claims = json_array ();
  prove->ordinary = ow_sandbox_provider_get_level (provider) == OW_LEVEL_OPENSHELL;
  prove->refusal = prove->ordinary ? OPENSHELL_REFUSAL : OWN_REFUSAL;
  folders = ow_prove_lay_out (prove, &error);
  if (folders == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  prove->session = g_strconcat ("prove-", prove->bait->token, NULL);
  prove->sandbox = ow_sandbox_new (provider, prove->session, folders,
                                   hosts != NULL ? g_ptr_array_ref (hosts)
                                   : g_ptr_array_new_with_free_func ((GDestroyNotify)
                                                                     ow_host_free));
  g_signal_connect (prove->sandbox, "decision", G_CALLBACK (ow_prove_on_decision), prove);
  ow_sandbox_start_async (prove->sandbox, cancellable, ow_prove_started,
                          g_object_ref (task));
}

json_t *
ow_prove_run_finish (GAsyncResult *result,
                     GError      **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
