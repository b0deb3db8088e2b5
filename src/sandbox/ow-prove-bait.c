/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-prove-bait-private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "base/ow-random.h"

#define RANDOM_BYTES 12
#define NOBODY       65534

/* --- files --- */

static gboolean
make_file (const char *path,
           const char *content)
{
  gsize length = strlen (content);
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  gboolean written;

  if (fd < 0)
    return FALSE;
  written = write (fd, content, length) == (ssize_t) length;
  close (fd);
  return written;
}

static gboolean
file_holds (const char *path,
            const char *content)
{
  g_autoptr (GBytes) bytes = ow_file_read (path, 4096, NULL);
  gsize length = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;

  return data != NULL && length == strlen (content) && memcmp (data, content, length) == 0;
}

static gboolean
try_writing_in (const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "control", NULL);
  gboolean made = make_file (path, "control");

  return made && unlink (path) == 0;
}

/* Opened and closed; never written to. */
static void
try_proc_sys (OwProveBait *self)
{
  int fd = open (OW_PROVE_BAIT_PROC_SYS, O_WRONLY | O_CLOEXEC);

  self->proc_sys_there = access (OW_PROVE_BAIT_PROC_SYS, F_OK) == 0;
  self->proc_sys_writable = fd >= 0;
  if (fd >= 0)
    close (fd);
}

static gboolean
ow_prove_bait_make_files (OwProveBait *self,
                          const char  *parent)
{
  g_autofree char *template = g_build_filename (parent, "openworker-prove-XXXXXX", NULL);
  g_autofree char *canary = NULL;

  if (g_mkdtemp_full (template, 0700) == NULL)
    return FALSE;
  self->base = realpath (template, NULL);
  if (self->base == NULL)
    {
      g_rmdir (template);
      return FALSE;
    }
  self->writable = g_build_filename (self->base, "writable", NULL);
  self->read_only = g_build_filename (self->base, "read-only", NULL);
  self->known = g_build_filename (self->writable, "known", NULL);
  if (g_mkdir (self->writable, 0700) < 0 || g_mkdir (self->read_only, 0700) < 0
      || !make_file (self->known, self->token))
    return FALSE;
  self->known_readable = file_holds (self->known, self->token);
  self->read_only_writable = try_writing_in (self->read_only);

  canary = g_strdup_printf ("%s/.openworker-canary-%s", g_get_home_dir (), self->token);
  if (make_file (canary, self->token))
    self->canary = g_steal_pointer (&canary);
  self->canary_readable = self->canary != NULL && file_holds (self->canary, self->token);
  return TRUE;
}

/* --- listeners --- */

/* Connects to the listener's own address, as anybody outside could. */
static gboolean
answers (int                    listener,
         const struct sockaddr *address,
         socklen_t              length)
{
  int fd = socket (address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  gboolean connected;

  if (fd < 0)
    return FALSE;
  connected = connect (fd, address, length) == 0 || errno == EINPROGRESS;
  connected = connected && ow_prove_bait_touched (listener);
  close (fd);
  return connected;
}

gboolean
ow_prove_bait_touched (int listener)
{
  int fd = accept4 (listener, NULL, NULL, SOCK_CLOEXEC);

  if (fd < 0)
    return FALSE;
  close (fd);
  return TRUE;
}

static int
make_listener (struct sockaddr *address,
               socklen_t       *length)
{
  int fd = socket (address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

  if (fd >= 0 && bind (fd, address, *length) == 0 && listen (fd, 8) == 0
      && getsockname (fd, address, length) == 0)
    return fd;
  if (fd >= 0)
    close (fd);
  return -1;
}

static void
ow_prove_bait_listen (OwProveBait *self)
{
  struct sockaddr_in loopback = { .sin_family = AF_INET };
  struct sockaddr_un abstract = { .sun_family = AF_UNIX };
  socklen_t length = sizeof loopback;

  loopback.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  self->loopback_fd = make_listener ((struct sockaddr *) &loopback, &length);
  self->loopback_port = ntohs (loopback.sin_port);
  self->loopback_answers = self->loopback_fd >= 0
                           && answers (self->loopback_fd, (struct sockaddr *) &loopback, length);

  self->abstract = g_strconcat ("openworker-prove-", self->token, NULL);
  memcpy (abstract.sun_path + 1, self->abstract, strlen (self->abstract));
  length = (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + strlen (self->abstract));
  self->abstract_fd = make_listener ((struct sockaddr *) &abstract, &length);
  self->abstract_answers = self->abstract_fd >= 0
                           && answers (self->abstract_fd, (struct sockaddr *) &abstract, length);
}

/* Connecting a datagram socket asks for a route and sends nothing. */
static gboolean
has_route (void)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons (443) };
  int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  gboolean routed;

  inet_pton (AF_INET, OW_PROVE_BAIT_ADDRESS, &address.sin_addr);
  routed = fd >= 0 && connect (fd, (struct sockaddr *) &address, sizeof address) == 0;
  if (fd >= 0)
    close (fd);
  return routed;
}

/* --- the face --- */

OwProveBait *
ow_prove_bait_new (const char *parent,
                   GError    **error)
{
  g_autoptr (OwProveBait) self = g_new0 (OwProveBait, 1);
  int saved;

  self->loopback_fd = -1;
  self->abstract_fd = -1;
  self->token = ow_random_hex (RANDOM_BYTES, error);
  if (self->token == NULL)
    {
      g_prefix_error (error, "The wall cannot be proven: ");
      return NULL;
    }
  self->host = g_strconcat ("ow-", self->token, ".example.com", NULL);
  errno = 0;
  if (!ow_prove_bait_make_files (self, parent))
    {
      saved = errno;
      ow_error_setf (error, OW_ERROR_FAILED, "Make room there, or set TMPDIR to another folder.",
                     "The wall cannot be proven: no temporary folder can be made in %s (%s)",
                     parent, g_strerror (saved));
      return NULL;
    }
  try_proc_sys (self);
  ow_prove_bait_listen (self);
  self->has_route = has_route ();
  return g_steal_pointer (&self);
}

/* What sudo says of who called it, or else what the kernel gives who is nobody. */
static guint
get_caller (const char *variable)
{
  const char *text = g_getenv (variable);
  guint64 value = NOBODY;

  if (text == NULL || !g_ascii_string_to_unsigned (text, 10, 1, G_MAXINT32, &value, NULL))
    value = NOBODY;
  return (guint) value;
}

gboolean
ow_prove_bait_give_away (OwProveBait *self,
                         GError     **error)
{
  const char *paths[] = { self->writable, self->read_only, self->known };
  uid_t uid = get_caller ("SUDO_UID");
  gid_t gid = get_caller ("SUDO_GID");

  for (gsize i = 0; geteuid () == 0 && i < G_N_ELEMENTS (paths); i++)
    if (lchown (paths[i], uid, gid) < 0)
      {
        int saved = errno;

        ow_error_setf (error, OW_ERROR_FAILED, "Run it as an ordinary account.",
                       "The wall cannot be proven: no folder of an ordinary account can be made "
                       "(%s)", g_strerror (saved));
        return FALSE;
      }
  return TRUE;
}

void
ow_prove_bait_free (OwProveBait *self)
{
  if (self->canary != NULL)
    unlink (self->canary);
  if (self->base != NULL)
    ow_file_remove_tree (self->base, NULL);
  if (self->loopback_fd >= 0)
    close (self->loopback_fd);
  if (self->abstract_fd >= 0)
    close (self->abstract_fd);
  free (self->base);
  g_free (self->writable);
  g_free (self->read_only);
  g_free (self->token);
  g_free (self->known);
  g_free (self->canary);
  g_free (self->host);
  g_free (self->abstract);
  g_free (self);
}
