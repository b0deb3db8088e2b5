/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-traffic-private.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct _OwProxyTrafficHost {
  char         *name;   /* (owned) */
  unsigned int  port;
  uint64_t      up;
  uint64_t      down;
  uint64_t      n_connections;
  unsigned int  n_open;
  bool          untold; /* its line does not have all of the above */
  int64_t       due;    /* its next line, not before */
};

struct _OwProxyTraffic {
  OwProxyReport      *report;
  OwProxyTrafficHost *hosts[OW_PROXY_TRAFFIC_MAX_HOSTS + 1]; /* (owned) */
  size_t              n_hosts;
  bool                untold; /* one of them is */
};

OwProxyTraffic *
ow_proxy_traffic_new (OwProxyReport *report)
{
  OwProxyTraffic *self = calloc (1, sizeof *self);

  if (self == NULL)
    abort ();
  self->report = report;
  return self;
}

void
ow_proxy_traffic_free (OwProxyTraffic *self)
{
  for (size_t i = 0; i < self->n_hosts; i++)
    {
      free (self->hosts[i]->name);
      free (self->hosts[i]);
    }
  free (self);
}

static OwProxyTrafficHost *
find_host (OwProxyTraffic *self,
           const char     *name,
           unsigned int    port)
{
  for (size_t i = 0; i < self->n_hosts; i++)
    if (self->hosts[i]->port == port && strcmp (self->hosts[i]->name, name) == 0)
      return self->hosts[i];
  return NULL;
}

static OwProxyTrafficHost *
add_host (OwProxyTraffic *self,
          const char     *name,
          unsigned int    port)
{
  OwProxyTrafficHost *host = calloc (1, sizeof *host);

  if (host == NULL)
    abort ();
  host->name = strdup (name);
  if (host->name == NULL)
    abort ();
  host->port = port;
  self->hosts[self->n_hosts++] = host;
  return host;
}

OwProxyTrafficHost *
ow_proxy_traffic_open (OwProxyTraffic   *self,
                       const OwHostName *name,
                       unsigned int      port)
{
  OwProxyTrafficHost *host = find_host (self, name->text, port);

  if (host == NULL && self->n_hosts < OW_PROXY_TRAFFIC_MAX_HOSTS)
    host = add_host (self, name->text, port);
  if (host == NULL)
    host = find_host (self, "", 0);
  if (host == NULL)
    host = add_host (self, "", 0);
  host->n_open++;
  host->n_connections++;
  host->untold = self->untold = true;
  return host;
}

void
ow_proxy_traffic_count (OwProxyTraffic     *self,
                        OwProxyTrafficHost *host,
                        uint64_t            up,
                        uint64_t            down)
{
  if (up == 0 && down == 0)
    return;
  host->up += up;
  host->down += down;
  host->untold = self->untold = true;
}

void
ow_proxy_traffic_close (OwProxyTraffic     *self,
                        OwProxyTrafficHost *host)
{
  host->n_open--;
  if (host->n_open == 0 && host->untold)
    host->due = 0;
}

static void
tell (OwProxyTraffic     *self,
      OwProxyTrafficHost *host)
{
  json_t *line = json_pack ("{s:s, s:i, s:I, s:I, s:I}", "traffic", host->name,
                            "port", (int) host->port,
                            "up", (json_int_t) host->up, "down", (json_int_t) host->down,
                            "connections", (json_int_t) host->n_connections);

  host->untold = false;
  ow_proxy_report_take (self->report, line);
}

int64_t
ow_proxy_traffic_tell (OwProxyTraffic *self,
                       int64_t         now)
{
  int64_t next = INT64_MAX;

  if (!self->untold)
    return next;
  for (size_t i = 0; i < self->n_hosts; i++)
    {
      OwProxyTrafficHost *host = self->hosts[i];

      if (!host->untold)
        continue;
      if (host->due <= now)
        {
          tell (self, host);
          host->due = now + OW_PROXY_TRAFFIC_LINE_MS;
        }
      else if (host->due < next)
        {
          next = host->due;
        }
    }
  self->untold = next != INT64_MAX;
  return next;
}

void
ow_proxy_traffic_flush (OwProxyTraffic *self)
{
  ow_proxy_traffic_tell (self, INT64_MAX - OW_PROXY_TRAFFIC_LINE_MS);
}
