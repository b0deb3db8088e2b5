/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/ow-audit.h"
#include "consent/ow-consent.h"
#include "events/ow-event-list.h"
#include "sandbox/ow-network-profile.h"
#include "sandbox/ow-sandbox.h"
#include "tools/ow-tool-call.h"

/* Raises one wall as a session does and measures calls at OwToolCall, next to the
 * disk's sync, raw pipes and a bare bwrap. Prints "NAME MILLISECONDS" lines; after
 * "ready 0" it waits for a line, so that the caller can look at the runner's memory.
 *
 * bench-tool-call WORKSPACE FOLDER [PROVIDER] */

#define N_CALLS 30
#define N_BARE  5

typedef struct {
  GAsyncResult *result;
} Wait;

static void
on_done (GObject      *source,
         GAsyncResult *result,
         gpointer      user_data)
{
  Wait *wait = user_data;

  wait->result = g_object_ref (result);
}

static GAsyncResult *
wait_for (Wait *wait)
{
  while (wait->result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return g_steal_pointer (&wait->result);
}

static G_GNUC_NORETURN void
give_up (const char   *what,
         const GError *error)
{
  fprintf (stderr, "bench-tool-call: %s: %s\n", what, error != NULL ? error->message : "?");
  exit (1);
}

static void
print_figure (const char *name,
              gint64      since)
{
  printf ("%s %.4f\n", name, (double) (g_get_monotonic_time () - since) / 1000.0);
}

static void
measure_sync (const char *workspace)
{
  g_autofree char *path = g_build_filename (workspace, "sync", NULL);
  char line[400];
  int fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

  memset (line, 'x', sizeof line);
  for (guint i = 0; i < N_CALLS; i++)
    {
      gint64 begun = g_get_monotonic_time ();

      if (write (fd, line, sizeof line) != sizeof line || fdatasync (fd) != 0)
        give_up ("sync", NULL);
      print_figure ("sync", begun);
    }
  close (fd);
}

static void
measure_raw_pipe (void)
{
  char *argv[] = { (char *) "/bin/cat", NULL };
  posix_spawn_file_actions_t actions;
  char line[200];
  int to[2], from[2];
  pid_t pid;

  if (pipe2 (to, O_CLOEXEC) != 0 || pipe2 (from, O_CLOEXEC) != 0)
    give_up ("pipe", NULL);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, to[0], 0);
  posix_spawn_file_actions_adddup2 (&actions, from[1], 1);
  if (posix_spawn (&pid, argv[0], &actions, NULL, argv, NULL) != 0)
    give_up ("cat", NULL);
  memset (line, 'x', sizeof line);
  for (guint i = 0; i < N_CALLS; i++)
    {
      gint64 begun = g_get_monotonic_time ();
      size_t got = 0;

      if (write (to[1], line, sizeof line) != sizeof line)
        give_up ("pipe", NULL);
      while (got < sizeof line)
        {
          ssize_t n = read (from[0], line + got, sizeof line - got);

          if (n <= 0)
            give_up ("pipe", NULL);
          got += (size_t) n;
        }
      print_figure ("raw_pipe", begun);
    }
  close (to[0]);
  close (to[1]);
  close (from[0]);
  close (from[1]);
  waitpid (pid, NULL, 0);
  posix_spawn_file_actions_destroy (&actions);
}

static void
measure_bare_bwrap (void)
{
  char *argv[] = {
    (char *) "/usr/bin/bwrap", (char *) "--unshare-all", (char *) "--unshare-user",
    (char *) "--ro-bind", (char *) "/", (char *) "/", (char *) "/bin/true", NULL,
  };

  for (guint i = 0; i < N_BARE; i++)
    {
      gint64 begun = g_get_monotonic_time ();
      int status;
      pid_t pid;

      if (posix_spawn (&pid, argv[0], NULL, NULL, argv, NULL) != 0 ||
          waitpid (pid, &status, 0) != pid || status != 0)
        give_up ("bwrap", NULL);
      print_figure ("bare_bwrap", begun);
    }
}

typedef struct {
  OwEventList *events;
  OwConsent   *consent;
  OwAudit     *audit;
  OwSandbox   *sandbox;
} Bench;

static void
call (Bench      *bench,
      const char *tool,
      const char *arguments)
{
  char problem[OW_WIRE_ERROR_SIZE];
  json_t *value = ow_json_parse (arguments, strlen (arguments), problem);
  g_autoptr (OwToolCall) tool_call = NULL;
  g_autoptr (OwToolResult) result = NULL;
  g_autoptr (GAsyncResult) done = NULL;
  g_autoptr (GError) error = NULL;
  Wait wait = { NULL };

  tool_call = ow_tool_call_new (bench->events, bench->consent, bench->audit,
                                OW_TOOL_HOST (bench->sandbox), tool, value, NULL);
  ow_tool_call_run_async (tool_call, NULL, on_done, &wait);
  done = wait_for (&wait);
  result = ow_tool_call_run_finish (tool_call, done, &error);
  if (result == NULL || result->outcome != OW_OUTCOME_OK)
    give_up (result != NULL ? result->text : tool, error);
  json_decref (value);
}

static OwSandbox *
new_sandbox (OwProviderKind kind,
             const char    *folder)
{
  g_autoptr (OwSandboxProvider) provider = NULL;
  g_autoptr (GError) error = NULL;
  GPtrArray *folders = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);
  OwFolder *opened;

  provider = ow_sandbox_provider_for_kind (kind, &error);
  if (provider == NULL)
    give_up ("provider", error);
  opened = ow_folder_open (folder, &error);
  if (opened == NULL)
    give_up ("folder", error);
  g_ptr_array_add (folders, opened);
  return ow_sandbox_new (provider, "bench", folders,
                         ow_network_profile_hosts (OW_PROFILE_STRICT, NULL));
}

static void
start (Bench *bench)
{
  g_autoptr (GAsyncResult) done = NULL;
  g_autoptr (GError) error = NULL;
  Wait wait = { NULL };

  ow_sandbox_start_async (bench->sandbox, NULL, on_done, &wait);
  done = wait_for (&wait);
  if (!ow_sandbox_start_finish (bench->sandbox, done, &error))
    give_up ("start", error);
}

static void
stop (Bench *bench)
{
  g_autoptr (GAsyncResult) done = NULL;
  g_autoptr (GError) error = NULL;
  Wait wait = { NULL };

  ow_sandbox_stop_async (bench->sandbox, on_done, &wait);
  done = wait_for (&wait);
  if (!ow_sandbox_stop_finish (bench->sandbox, done, &error))
    give_up ("stop", error);
}

int
main (int    argc,
      char **argv)
{
  g_autofree char *audit_path = NULL;
  g_autoptr (GError) error = NULL;
  Bench bench = { NULL };
  OwProviderKind kind = OW_PROVIDER_BUBBLEWRAP;
  gint64 begun;

  if (argc < 3 || argc > 4 || (argc == 4 && !ow_provider_kind_from_string (argv[3], &kind)))
    return 2;
  setvbuf (stdout, NULL, _IOLBF, 0);
  audit_path = g_build_filename (argv[1], "audit.jsonl", NULL);

  begun = g_get_monotonic_time ();
  bench.events = ow_event_list_new ("bench");
  bench.consent = ow_consent_new (bench.events, OW_APPROVE_SANDBOXED);
  bench.audit = ow_audit_open (audit_path, &error);
  if (bench.audit == NULL)
    give_up ("audit", error);
  bench.sandbox = new_sandbox (kind, argv[2]);
  start (&bench);
  print_figure ("session_start", begun);
  call (&bench, "shell", "{\"command\":\"true\"}");
  print_figure ("first_result", begun);

  for (guint i = 0; i < N_CALLS; i++)
    {
      begun = g_get_monotonic_time ();
      call (&bench, "list", "{\"path\":\".\"}");
      print_figure ("tool_call_read", begun);
      begun = g_get_monotonic_time ();
      call (&bench, "shell", "{\"command\":\"true\"}");
      print_figure ("tool_call_synced", begun);
    }
  measure_sync (argv[1]);
  measure_raw_pipe ();
  measure_bare_bwrap ();

  printf ("ready 0\n");
  getchar ();
  stop (&bench);
  g_object_unref (bench.sandbox);
  g_object_unref (bench.consent);
  g_object_unref (bench.audit);
  g_object_unref (bench.events);
  return 0;
}
