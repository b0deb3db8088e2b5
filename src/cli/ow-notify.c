/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-notify-private.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void
ow_notify_send (const char *state)
{
  const char *place = g_getenv ("NOTIFY_SOCKET");
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  size_t length = place != NULL ? strlen (place) : 0;
  int fd;

  if (length < 2 || length >= sizeof address.sun_path || (*place != '/' && *place != '@'))
    return;
  memcpy (address.sun_path, place, length);
  /* An abstract name begins with a NUL, and has no other end than its length. */
  if (*place == '@')
    address.sun_path[0] = '\0';
  fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return;
  if (sendto (fd, state, strlen (state), MSG_NOSIGNAL, (const struct sockaddr *) &address,
              (socklen_t) (offsetof (struct sockaddr_un, sun_path) + length)) < 0)
    g_debug ("nobody was told that %s", state);
  close (fd);
}
