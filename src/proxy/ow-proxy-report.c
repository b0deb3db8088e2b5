/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-report-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/ow-rpc.h"

struct _OwProxyReport {
  int          fd;
  json_t      *lines[OW_PROXY_REPORT_MAX_LINES]; /* a ring */
  size_t       first;
  size_t       n_lines;
  json_int_t   dropped;
  char        *writing;                          /* (nullable) a line that is half out */
  size_t       length;
  size_t       written;
};

OwProxyReport *
ow_proxy_report_new (int fd)
{
  OwProxyReport *self = calloc (1, sizeof *self);

  if (self == NULL)
    abort ();
  self->fd = fd;
  return self;
}

static json_t *
take_first (OwProxyReport *self)
{
  json_t *line = self->lines[self->first];

  self->first = (self->first + 1) % OW_PROXY_REPORT_MAX_LINES;
  self->n_lines--;
  return line;
}

void
ow_proxy_report_free (OwProxyReport *self)
{
  while (self->n_lines > 0)
    json_decref (take_first (self));
  free (self->writing);
  free (self);
}

void
ow_proxy_report_add (OwProxyReport         *self,
                     const OwProxyDecision *decision)
{
  json_t *line = json_pack ("{s:s, s:s, s:i, s:s}",
                            "decision", decision->allow ? "allow" : "refuse",
                            "host", decision->host,
                            "port", (int) decision->port,
                            "reason", decision->reason);

  if (decision->address != NULL && decision->address[0] != '\0')
    json_object_set_new (line, "address", json_string (decision->address));
  /* NULL where it is no UTF-8: it names nothing then. */
  if (decision->program != NULL && decision->program[0] != '\0')
    json_object_set_new (line, "program", json_string (decision->program));
  ow_proxy_report_take (self, line);
}

void
ow_proxy_report_take (OwProxyReport *self,
                      json_t        *line)
{
  if (self->n_lines == OW_PROXY_REPORT_MAX_LINES)
    {
      json_decref (take_first (self));
      self->dropped++;
    }
  self->lines[(self->first + self->n_lines++) % OW_PROXY_REPORT_MAX_LINES] = line;
}

bool
ow_proxy_report_wants_to_write (const OwProxyReport *self)
{
  return self->writing != NULL || self->n_lines > 0;
}

static void
begin_line (OwProxyReport *self)
{
  json_t *line = take_first (self);

  if (self->dropped > 0)
    json_object_set_new (line, "dropped", json_integer (self->dropped));
  self->dropped = 0;
  self->writing = ow_rpc_line (line, &self->length);
  self->written = 0;
}

bool
ow_proxy_report_write (OwProxyReport *self)
{
  ssize_t done;

  if (self->writing == NULL && self->n_lines > 0)
    begin_line (self);
  if (self->writing == NULL)
    return true;

  /* A line is shorter than PIPE_BUF, so that this does not wait even though the
   * descriptor, which may be shared, is left in its blocking mode. */
  done = write (self->fd, self->writing + self->written, self->length - self->written);
  if (done < 0)
    return errno == EINTR || errno == EAGAIN;
  self->written += (size_t) done;
  if (self->written == self->length)
    {
      free (self->writing);
      self->writing = NULL;
    }
  return true;
}
