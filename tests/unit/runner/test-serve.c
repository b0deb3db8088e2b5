/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-runner-command-private.h"

/* The server as its own process, ended while it is busy. */

typedef struct {
  char *folder;
  char *socket;
  pid_t pid;
  FILE *client;
} Server;

static void
start_server (Server *server)
{
  char *argv[5];
  int ready[2];
  char word[6];

  server->folder = g_dir_make_tmp ("ow-serve-XXXXXX", NULL);
  g_assert_nonnull (server->folder);
  server->socket = g_build_filename (server->folder, "socket", NULL);
  argv[0] = (char *) "--socket";
  argv[1] = server->socket;
  argv[2] = (char *) "--folder";
  argv[3] = server->folder;
  argv[4] = NULL;
  g_assert_cmpint (pipe (ready), ==, 0);
  server->pid = fork ();
  g_assert_cmpint (server->pid, >=, 0);
  if (server->pid == 0)
    {
      dup2 (ready[1], STDOUT_FILENO);
      _exit (ow_runner_serve (4, argv));
    }
  close (ready[1]);
  g_assert_cmpint (read (ready[0], word, sizeof word), ==, 6);
  close (ready[0]);
}

static void
read_line (Server *server,
           char   *line,
           int     size)
{
  g_assert_nonnull (fgets (line, size, server->client));
}

static void
connect_client (Server *server)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  char line[4096];
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  g_strlcpy (address.sun_path, server->socket, sizeof address.sun_path);
  g_assert_cmpint (connect (fd, (struct sockaddr *) &address, sizeof address), ==, 0);
  server->client = fdopen (fd, "r+");
  g_assert_nonnull (server->client);
  read_line (server, line, sizeof line);
  g_assert_nonnull (strstr (line, "hello"));
  fprintf (server->client,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
           "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
           "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}}\n");
  fflush (server->client);
  read_line (server, line, sizeof line);
}

static void
stop_server (Server *server)
{
  int status = -1;

  kill (server->pid, SIGTERM);
  g_assert_cmpint (waitpid (server->pid, &status, 0), ==, server->pid);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  fclose (server->client);
  g_assert_cmpint (g_access (server->socket, F_OK), !=, 0);
  g_rmdir (server->folder);
  g_free (server->socket);
  g_free (server->folder);
}

/* SIGTERM while a command writes without end: what it wrote last must not be given to a
 * call that is gone. Under the sanitizers a wrong order of ending is a fault here. */
static void
test_end_while_busy (gconstpointer data)
{
  static char line[1 << 20];
  const char *call = data;
  Server server = { 0 };

  start_server (&server);
  connect_client (&server);
  fprintf (server.client,
           "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{%s,"
           "\"_meta\":{\"openworker/callId\":\"busy\"}}}\n", call);
  fflush (server.client);
  read_line (&server, line, sizeof line);
  g_assert_nonnull (strstr (line, "notifications/openworker/output"));
  stop_server (&server);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/serve/end/shell",
                        "\"name\":\"shell\",\"arguments\":{\"command\":\"yes\"}",
                        test_end_while_busy);
  g_test_add_data_func ("/serve/end/exec",
                        "\"name\":\"exec\",\"arguments\":{\"argv\":[\"yes\"]}",
                        test_end_while_busy);
  return g_test_run ();
}
