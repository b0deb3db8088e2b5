/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "http-tls.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-file.h"

#define NEW_KEY "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "

struct _Authority {
  char *dir;
  char *file;
  guint issued;
};

static void
run_script (Authority  *authority,
            const char *script)
{
  const char *const argv[] = { "/bin/sh", "-ec", script, NULL };
  g_autofree char *output = NULL;
  g_autoptr (GError) error = NULL;
  int status = -1;

  g_spawn_sync (authority->dir, (char **) argv, NULL, 0, NULL, NULL, NULL, &output, &status,
                &error);
  g_assert_no_error (error);
  if (status != 0)
    g_error ("%s: %s", script, output);
}

Authority *
authority_new (void)
{
  Authority *authority = g_new0 (Authority, 1);

  authority->dir = g_dir_make_tmp ("ow-http-XXXXXX", NULL);
  g_assert_nonnull (authority->dir);
  authority->file = g_build_filename (authority->dir, "ca.pem", NULL);
  run_script (authority,
              "openssl req -x509 " NEW_KEY "-keyout ca.key -out ca.pem -subj '/CN=Test' -days 3650\n"
              ": > index.txt; echo 01 > serial\n"
              "printf '[ca]\\ndefault_ca=c\\n[c]\\ndatabase=index.txt\\nnew_certs_dir=.\\n"
              "serial=serial\\ndefault_md=sha256\\npolicy=p\\nunique_subject=no\\n"
              "[p]\\ncommonName=supplied\\n' > ca.cnf\n");
  return authority;
}

void
authority_free (Authority *authority)
{
  g_assert_true (ow_file_remove_tree (authority->dir, NULL));
  g_free (authority->dir);
  g_free (authority->file);
  g_free (authority);
}

const char *
authority_get_file (Authority *authority)
{
  return authority->file;
}

GTlsCertificate *
authority_issue (Authority  *authority,
                 const char *names,
                 const char *from,
                 const char *to)
{
  g_autofree char *name = g_strdup_printf ("%u.pem", ++authority->issued);
  g_autofree char *path = g_build_filename (authority->dir, name, NULL);
  g_autofree char *script =
    g_strdup_printf ("openssl req " NEW_KEY "-keyout k -out r -subj '/CN=server'\n"
                     "echo subjectAltName=%s > e\n"
                     "openssl ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in r -notext "
                     "-startdate %s0101000000Z -enddate %s0101000000Z -extfile e -out c\n"
                     "cat c k > %s\n", names, from, to, name);
  g_autoptr (GError) error = NULL;
  GTlsCertificate *certificate;

  run_script (authority, script);
  certificate = g_tls_certificate_new_from_file (path, &error);
  g_assert_no_error (error);
  return certificate;
}

GTlsCertificate *
authority_issue_valid (Authority  *authority,
                       const char *names)
{
  return authority_issue (authority, names, "2020", "2090");
}

static gboolean
read_request (Server       *server,
              GInputStream *input)
{
  g_autoptr (GString) request = g_string_new (NULL);
  char buffer[4096];

  while (strstr (request->str, "\r\n\r\n") == NULL)
    {
      gssize got = g_input_stream_read (input, buffer, sizeof buffer, NULL, NULL);

      if (got <= 0)
        return FALSE;
      g_string_append_len (request, buffer, got);
    }
  server_keep_request (server, request->str);
  return TRUE;
}

void
serve_tls (Server       *server,
           int           fd,
           gconstpointer data)
{
  const TlsServe *serve = data;
  const char *const protocols[] = { "h2", "http/1.1", NULL };
  g_autoptr (GSocket) socket = g_socket_new_from_fd (dup (fd), NULL);
  g_autoptr (GSocketConnection) connection =
    g_socket_connection_factory_create_connection (socket);
  g_autoptr (GIOStream) tls = g_tls_server_connection_new (G_IO_STREAM (connection),
                                                           serve->certificate, NULL);

  g_tls_connection_set_advertised_protocols (G_TLS_CONNECTION (tls), protocols);
  if (!g_tls_connection_handshake (G_TLS_CONNECTION (tls), NULL, NULL))
    return;
  /* Only the one in which the framing of a body is checked. */
  g_assert_cmpstr (g_tls_connection_get_negotiated_protocol (G_TLS_CONNECTION (tls)), ==,
                   "http/1.1");
  while (serve->text == NULL && !server_is_ending (server))
    g_usleep (10000);
  if (serve->text == NULL || !read_request (server, g_io_stream_get_input_stream (tls)))
    return;
  g_output_stream_write_all (g_io_stream_get_output_stream (tls), serve->text,
                             strlen (serve->text), NULL, NULL, NULL);
  if (serve->rude)
    g_socket_shutdown (socket, TRUE, TRUE, NULL);
  g_io_stream_close (tls, NULL, NULL);
}
