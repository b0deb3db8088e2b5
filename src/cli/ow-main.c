/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ow-face-private.h"
#include "ow-output-private.h"

/* How long what just ended may take to be gone before it counts as running. */
#define SETTLE_MS 500

static const struct
{
  const char    *name;
  const char    *second; /* (nullable) */
  OwFaceKind     kind;   /* which engine it needs; a command's own options may change it */
  OwFaceCommand  command;
  const char    *summary;
} COMMANDS[] = {
  { "run", NULL, OW_FACE_COMMAND, ow_command_run, "do one task with an agent in a sandbox" },
  { "attach", NULL, OW_FACE_VISITOR, ow_command_attach,
    "follow a session, answer and steer it" },
  { "approvals", NULL, OW_FACE_VISITOR, ow_command_approvals,
    "what agents ask for: show, allow, deny" },
  { "sessions", NULL, OW_FACE_VISITOR, ow_command_sessions,
    "list sessions; show, undo, resume, delete one" },
  { "up", NULL, OW_FACE_UP, ow_command_up, "be the engine of this machine, without a window" },
  { "status", NULL, OW_FACE_VISITOR, ow_command_status,
    "whether an engine runs, and what it does" },
  { "model", NULL, OW_FACE_VISITOR, ow_command_model, "add, list, test and remove models" },
  { "credential", NULL, OW_FACE_VISITOR, ow_command_credential,
    "the logins that sandboxes get a copy of" },
  { "machine", "sandbox", OW_FACE_VISITOR, ow_command_machine_sandbox,
    "the settings of the sandbox on this machine" },
  { "sandbox", "exec", OW_FACE_VISITOR, ow_command_sandbox_exec, "run one command in a sandbox" },
  { "sandbox", "prove", OW_FACE_VISITOR, ow_command_sandbox_prove,
    "try what a sandbox must not allow" },
  { "sandbox", "explain", OW_FACE_VISITOR, ow_command_sandbox_explain,
    "what a session could reach, and why" },
  { "sandbox", "list", OW_FACE_VISITOR, ow_command_sandbox_list, "list the sandboxes" },
  { "sandbox", "show", OW_FACE_VISITOR, ow_command_sandbox_show,
    "show one of them" },
  { "sandbox", "delete", OW_FACE_VISITOR, ow_command_sandbox_delete,
    "delete one of them" },
  { "sandbox", "reap", OW_FACE_VISITOR, ow_command_sandbox_reap, "remove what killed runs left" },
  { "sandbox", "traffic", OW_FACE_VISITOR, ow_command_sandbox_traffic,
    "show what left this machine in a session" },
  { "sandbox", "logs", OW_FACE_VISITOR, ow_command_sandbox_logs,
    "show what a session's sandbox logged" },
  { "sandbox", "programs", OW_FACE_VISITOR, ow_command_sandbox_programs,
    "share programs of yours with sandboxes" },
  { "sandbox", "allow", OW_FACE_VISITOR, ow_command_sandbox_allow,
    "let a session reach one more host" },
  { "audit", NULL, OW_FACE_VISITOR, ow_command_audit,
    "show and verify the record of what agents did" },
};

/* "openworker sandbox exec" for the entry at @i. (transfer full) */
static char *
full_name (guint i)
{
  return g_strjoin (" ", "openworker", COMMANDS[i].name, COMMANDS[i].second, NULL);
}

static void
print_help (void)
{
  g_print ("Usage: openworker COMMAND [OPTION…]\n\n"
           "Lets an AI agent work in your folders, behind a wall.\n\nCommands:\n");
  for (guint i = 0; i < G_N_ELEMENTS (COMMANDS); i++)
    {
      g_autofree char *name = full_name (i);

      g_print ("  %-16s %s\n", name + strlen ("openworker "), COMMANDS[i].summary);
    }
  g_print ("\n“openworker COMMAND --help” tells more. Exit status: 0 done, 1 failed, 2 wrong "
           "usage,\n69 refused, 130 interrupted.\n");
}

/* Descriptors 0, 1 and 2 must exist, or the next file opened becomes "stdout". */
static gboolean
ensure_standard_fds (void)
{
  for (int fd = 0; fd <= 2; fd++)
    {
      if (fcntl (fd, F_GETFD) >= 0 || errno != EBADF)
        continue;
      if (open ("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
        return FALSE;
    }
  return TRUE;
}

/* The engine takes JSON, which cannot carry other bytes: a word that could not be handed on
 * would be a word left out. */
static gboolean
are_utf8 (char **words)
{
  for (guint i = 0; words[i] != NULL; i++)
    if (!g_utf8_validate (words[i], -1, NULL))
      return FALSE;
  return TRUE;
}

static gboolean
asks_for_help (const char *word)
{
  return g_str_equal (word, "--help") || g_str_equal (word, "-h") || g_str_equal (word, "help");
}

static void
print_group_help (const char *group)
{
  g_print ("Usage: openworker %s COMMAND [OPTION…]\n\nCommands:\n", group);
  for (guint i = 0; i < G_N_ELEMENTS (COMMANDS); i++)
    if (g_str_equal (COMMANDS[i].name, group))
      g_print ("  %-16s %s\n", COMMANDS[i].second, COMMANDS[i].summary);
  g_print ("\n“openworker %s COMMAND --help” tells more.\n", group);
}

/* @word, which follows the @group's name, is none of its commands. */
static void
dispatch_group (OwFace     *face,
                const char *group,
                const char *word) /* (nullable) */
{
  g_autofree char *name = g_strjoin (" ", "openworker", group, NULL);

  g_set_prgname (name);
  if (word == NULL)
    {
      ow_face_usage (face, "“%s” needs one of its own commands after it.", group);
    }
  else if (!asks_for_help (word))
    {
      ow_face_usage (face, "“%s” has no command “%s”.", group, word);
    }
  else
    {
      print_group_help (group);
      ow_face_finish (face, 0);
    }
}

static void
dispatch (OwFace  *face,
          int      argc,
          char   **argv)
{
  gboolean group = FALSE;

  g_set_prgname ("openworker");
  if (argc < 2)
    {
      print_help ();
      ow_face_finish (face, 2);
      return;
    }
  if (!are_utf8 (argv + 1))
    {
      ow_face_usage (face, "The command has a word that is not UTF-8.");
      return;
    }
  if (asks_for_help (argv[1]))
    {
      print_help ();
      ow_face_finish (face, 0);
      return;
    }
  if (g_str_equal (argv[1], "--version"))
    {
      g_print ("openworker %s\n", OW_VERSION);
      ow_face_finish (face, 0);
      return;
    }

  for (guint i = 0; i < G_N_ELEMENTS (COMMANDS); i++)
    {
      int used = COMMANDS[i].second != NULL ? 2 : 1;
      g_autofree char *name = NULL;

      if (!g_str_equal (argv[1], COMMANDS[i].name))
        continue;
      group = TRUE;
      if (used == 2 && (argc < 3 || !g_str_equal (argv[2], COMMANDS[i].second)))
        continue;
      /* What --help calls the command. */
      name = full_name (i);
      g_set_prgname (name);
      face->kind = COMMANDS[i].kind;
      COMMANDS[i].command (face, argc - used, argv + used);
      return;
    }
  if (group)
    dispatch_group (face, argv[1], argv[2]);
  else
    ow_face_usage (face, "There is no command “%s”.", argv[1]);
}

typedef struct
{
  OwFace *face;
  guint   interrupts;
  guint   timer; /* 0: none */
  gboolean left;
} Leaving;

static void
closed (GObject      *source,
        GAsyncResult *result,
        gpointer      user_data)
{
  Leaving *leaving = user_data;
  g_autoptr (GError) error = NULL;

  if (!ow_shared_engine_close_finish (OW_SHARED_ENGINE (source), result, &error))
    g_printerr ("openworker: %s\n", error->message);
  leaving->left = TRUE;
  g_main_loop_quit (leaving->face->loop);
}

static gboolean
say_what_holds (gpointer user_data)
{
  Leaving *leaving = user_data;
  guint n = ow_shared_engine_get_n_running (leaving->face->engine);

  leaving->timer = 0;
  if (n > 0 && !leaving->face->parks)
    g_printerr ("openworker: %u %s here; this program stays until %s. Ctrl+C parks %s and "
                "ends it.\n", n, n == 1 ? "session of another face runs" : "sessions of other "
                "faces run", n == 1 ? "it has ended" : "they have ended", n == 1 ? "it" : "them");
  return G_SOURCE_REMOVE;
}

/* The first interrupt here parks what still runs; who does not want to wait for that either
 * gives another one. */
static gboolean
on_interrupt (gpointer user_data)
{
  Leaving *leaving = user_data;

  if (leaving->interrupts++ > 0 || leaving->face->parks)
    g_main_loop_quit (leaving->face->loop);
  else
    ow_shared_engine_close_async (leaving->face->engine, TRUE, closed, leaving);
  return G_SOURCE_CONTINUE;
}

/* Other faces' sessions may run in this process: they must not end with it. */
static void
leave (OwFace *face)
{
  Leaving leaving = { .face = face };

  if (face->engine == NULL)
    return;
  ow_output_watch (on_interrupt, &leaving);
  ow_shared_engine_close_async (face->engine, face->parks, closed, &leaving);
  leaving.timer = g_timeout_add (SETTLE_MS, say_what_holds, &leaving);
  g_main_loop_run (face->loop);
  if (leaving.left)
    g_clear_object (&face->engine);
  g_clear_handle_id (&leaving.timer, g_source_remove);
}

int
main (int    argc,
      char **argv)
{
  OwFace face = { OW_FACE_VISITOR, NULL, NULL, -1, FALSE };

  /* Before anything else: keys leave the environment. */
  ow_shared_engine_prepare_process ();
  signal (SIGPIPE, SIG_IGN);
  /* A file that may not grow is an error of the write, not our end. */
  signal (SIGXFSZ, SIG_IGN);
  if (!ensure_standard_fds ())
    return 1;
  setlocale (LC_ALL, "");
  ow_output_init ();

  face.loop = g_main_loop_new (NULL, FALSE);
  dispatch (&face, argc, argv);
  if (face.status < 0)
    g_main_loop_run (face.loop);

  leave (&face);
  g_main_loop_unref (face.loop);
  return ow_output_finish (face.status);
}
