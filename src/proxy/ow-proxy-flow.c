/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-flow-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void
ow_proxy_flow_clear (OwProxyFlow *self)
{
  free (self->data);
  memset (self, 0, sizeof *self);
}

void
ow_proxy_flow_drop (OwProxyFlow *self)
{
  free (self->data);
  self->data = NULL;
  self->begin = self->end = 0;
  self->read_end = self->ended = true;
}

static void
make_room (OwProxyFlow *self)
{
  if (self->data == NULL)
    self->data = malloc (OW_PROXY_FLOW_BYTES);
  if (self->data == NULL)
    abort ();
  if (self->begin > 0)
    memmove (self->data, self->data + self->begin, self->end - self->begin);
  self->end -= self->begin;
  self->begin = 0;
}

bool
ow_proxy_flow_put (OwProxyFlow *self,
                   const char  *data,
                   size_t       length)
{
  make_room (self);
  if (length > OW_PROXY_FLOW_BYTES - self->end)
    return false;
  if (length > 0)
    memcpy (self->data + self->end, data, length);
  self->end += length;
  return true;
}

bool
ow_proxy_flow_wants_to_read (const OwProxyFlow *self)
{
  return !self->read_end && self->end - self->begin < OW_PROXY_FLOW_BYTES;
}

bool
ow_proxy_flow_wants_to_write (const OwProxyFlow *self)
{
  return self->end > self->begin || (self->read_end && !self->ended);
}

bool
ow_proxy_flow_read (OwProxyFlow *self,
                    int          fd,
                    bool        *moved)
{
  size_t room;
  ssize_t got;

  make_room (self);
  room = OW_PROXY_FLOW_BYTES - self->end;
  if (room > self->left)
    room = (size_t) self->left;
  got = room > 0 ? recv (fd, self->data + self->end, room, MSG_DONTWAIT) : 0;
  if (got < 0)
    return errno == EAGAIN || errno == EINTR;

  if (got == 0)
    {
      self->read_end = true;
      self->keep_open = self->keep_open && self->left == 0;
      return true;
    }
  *moved = true;
  self->end += (size_t) got;
  self->got += (uint64_t) got;
  if (self->left != UINT64_MAX)
    self->left -= (uint64_t) got;
  if (self->left == 0)
    self->read_end = true;
  return true;
}

bool
ow_proxy_flow_write (OwProxyFlow *self,
                     int          fd,
                     bool        *moved)
{
  if (self->end > self->begin)
    {
      ssize_t done = send (fd, self->data + self->begin, self->end - self->begin,
                           MSG_NOSIGNAL | MSG_DONTWAIT);

      if (done < 0)
        return errno == EAGAIN || errno == EINTR;
      *moved = true;
      self->begin += (size_t) done;
      self->sent += (uint64_t) done;
    }
  if (self->begin < self->end)
    return true;

  free (self->data);
  self->data = NULL;
  self->begin = self->end = 0;
  if (self->read_end && !self->ended)
    {
      self->ended = true;
      if (!self->keep_open)
        shutdown (fd, SHUT_WR);
    }
  return true;
}
