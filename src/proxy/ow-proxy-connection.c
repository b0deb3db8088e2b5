/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-connection-private.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-proxy-flow-private.h"
#include "ow-proxy-refusal-private.h"
#include "ow-proxy-request-private.h"
#include "wire/ow-address.h"

#define HEAD_MS (30 * 1000)
#define RESOLVE_MS (10 * 1000)
#define CONNECT_MS (10 * 1000)
#define IDLE_MS (60 * 60 * 1000)
/* How long a refused client may take to read why, and then to go. */
#define REPLY_MS (5 * 1000)

typedef enum {
  STATE_HEAD,
  STATE_RESOLVE,
  STATE_CONNECT,
  STATE_RELAY,
  STATE_REPLY,
  STATE_OVER,
} State;

struct _OwProxyConnection {
  const OwProxyContext *context;
  uint64_t              ticket;
  State                 state;
  int64_t               deadline;
  int                   client;
  bool                  client_gone;
  int                   host;             /* -1: not connected to */
  char                 *head;             /* (owned, nullable) until it was sent on */
  size_t                head_length;
  bool                  named;            /* no line with a program comes any more */
  char                  program[OW_PROXY_REQUEST_MAX_PROGRAM + 1];
  OwProxyRequest        request;
  bool                  private_too;
  OwProxyAnswer         answer;           /* only the addresses that may be connected to */
  size_t                next_address;
  int64_t               connect_deadline; /* of all addresses together */
  OwProxyFlow           up;               /* from the client to the host */
  OwProxyFlow           down;
  OwProxyTrafficHost   *traffic;          /* (nullable) while it is connected */
  uint64_t              counted_up;       /* what traffic has of this connection */
  uint64_t              counted_down;
};

static int64_t
after (const OwProxyConnection *self,
       int64_t                  now,
       int64_t                  ms)
{
  return now + (int64_t) ((double) ms * self->context->time_scale);
}

OwProxyConnection *
ow_proxy_connection_new (const OwProxyContext *context,
                         int                   client,
                         uint64_t              ticket,
                         int64_t               now)
{
  OwProxyConnection *self = calloc (1, sizeof *self);

  if (self == NULL)
    abort ();
  self->head = malloc (OW_PROXY_REQUEST_MAX_HEAD);
  if (self->head == NULL)
    abort ();
  self->context = context;
  self->ticket = ticket;
  self->client = client;
  self->host = -1;
  self->deadline = after (self, now, HEAD_MS);
  return self;
}

static void
close_host (OwProxyConnection *self)
{
  if (self->host >= 0)
    close (self->host);
  self->host = -1;
}

static void
count_traffic (OwProxyConnection *self)
{
  if (self->traffic == NULL)
    return;
  ow_proxy_traffic_count (self->context->traffic, self->traffic, self->up.sent - self->counted_up,
                          self->down.got - self->counted_down);
  self->counted_up = self->up.sent;
  self->counted_down = self->down.got;
}

void
ow_proxy_connection_free (OwProxyConnection *self)
{
  count_traffic (self);
  if (self->traffic != NULL)
    ow_proxy_traffic_close (self->context->traffic, self->traffic);
  close_host (self);
  close (self->client);
  free (self->head);
  ow_proxy_flow_clear (&self->up);
  ow_proxy_flow_clear (&self->down);
  free (self);
}

uint64_t
ow_proxy_connection_get_ticket (const OwProxyConnection *self)
{
  return self->ticket;
}

int64_t
ow_proxy_connection_get_deadline (const OwProxyConnection *self)
{
  return self->deadline;
}

bool
ow_proxy_connection_is_over (const OwProxyConnection *self)
{
  return self->state == STATE_OVER;
}

static void
report (OwProxyConnection     *self,
        bool                   allow,
        const char            *reason,
        const struct sockaddr *address)
{
  char text[OW_ADDRESS_TEXT_SIZE] = "";
  const OwProxyDecision decision = {
    .allow = allow,
    .host = self->request.host.text,
    .port = self->request.port,
    .reason = reason,
    .address = text,
    .program = self->program,
  };

  if (address != NULL)
    ow_address_to_text (address, text);
  ow_proxy_report_add (self->context->report, &decision);
}

static void refuse (OwProxyConnection *self, int64_t now, OwProxyRefusal refusal,
                    const struct sockaddr *address, const char *format, ...)
__attribute__ ((format (printf, 5, 6)));

static void
refuse (OwProxyConnection     *self,
        int64_t                now,
        OwProxyRefusal         refusal,
        const struct sockaddr *address,
        const char            *format,
        ...)
{
  char detail[512];
  char *response;
  size_t length;
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (detail, sizeof detail, format, arguments);
  va_end (arguments);
  report (self, false, ow_proxy_refusal_to_reason (refusal), address);

  close_host (self);
  response = ow_proxy_refusal_to_response (refusal, detail, &length);
  ow_proxy_flow_put (&self->down, response, length);
  self->down.read_end = true;
  free (response);
  self->state = STATE_REPLY;
  self->deadline = after (self, now, REPLY_MS);
}

/* Begins to connect to the next address that is left. Each gets an even share of the
 * time that is left, so that a silent one does not use up the others'. */
static bool
try_next_address (OwProxyConnection *self,
                  int64_t            now)
{
  while (self->next_address < self->answer.n_addresses)
    {
      size_t left = self->answer.n_addresses - self->next_address;
      const struct sockaddr_storage *address = &self->answer.addresses[self->next_address++];
      socklen_t length = address->ss_family == AF_INET ? sizeof (struct sockaddr_in)
                                                       : sizeof (struct sockaddr_in6);

      close_host (self);
      self->host = socket (address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (self->host < 0)
        continue;
      setsockopt (self->host, IPPROTO_TCP, TCP_NODELAY, &(int) { 1 }, sizeof (int));
      if (connect (self->host, (const struct sockaddr *) address, length) < 0 &&
          errno != EINPROGRESS)
        continue;
      self->state = STATE_CONNECT;
      self->deadline = now + (self->connect_deadline - now) / (int64_t) left;
      return true;
    }
  return false;
}

static void
connect_failed (OwProxyConnection *self,
                int64_t            now,
                int                number)
{
  const OwProxyAnswer *answer = &self->answer;

  if (now < self->connect_deadline && try_next_address (self, now))
    return;
  refuse (self, now, OW_PROXY_REFUSAL_CONNECT,
          (const struct sockaddr *) &answer->addresses[answer->n_addresses - 1],
          "%s:%u could not be connected to: %s", self->request.host.text, self->request.port,
          strerror (number));
}

/* Keeps the addresses that may be connected to. Returns the first of the others. */
static struct sockaddr_storage
keep_allowed (OwProxyConnection   *self,
              const OwProxyAnswer *answer)
{
  struct sockaddr_storage refused = { 0 };

  self->answer.n_addresses = 0;
  for (size_t i = 0; i < answer->n_addresses; i++)
    {
      const struct sockaddr_storage *address = &answer->addresses[i];
      OwAddressKind kind = ow_address_classify ((const struct sockaddr *) address);

      if (kind == OW_ADDRESS_PUBLIC ||
          (kind == OW_ADDRESS_PRIVATE && self->private_too))
        self->answer.addresses[self->answer.n_addresses++] = *address;
      else if (refused.ss_family == AF_UNSPEC)
        refused = *address;
    }
  return refused;
}

void
ow_proxy_connection_resolved (OwProxyConnection   *self,
                              const OwProxyAnswer *answer,
                              int64_t              now)
{
  struct sockaddr_storage refused;

  if (self->state != STATE_RESOLVE)
    return;
  if (answer->n_addresses == 0)
    {
      refuse (self, now, OW_PROXY_REFUSAL_RESOLVE, NULL,
              "%s could not be resolved by the machine that this session runs on",
              self->request.host.text);
      return;
    }
  refused = keep_allowed (self, answer);
  if (self->answer.n_addresses == 0)
    {
      refuse (self, now, OW_PROXY_REFUSAL_ADDRESS, (const struct sockaddr *) &refused,
              "%s stands for an address that sessions may not reach (of this machine, or of a "
              "private network)", self->request.host.text);
      return;
    }
  self->next_address = 0;
  self->connect_deadline = after (self, now, CONNECT_MS);
  if (!try_next_address (self, now))
    connect_failed (self, now, errno);
}

static void
start_resolving (OwProxyConnection *self,
                 int64_t            now)
{
  const OwProxyRequest *request = &self->request;

  if (!ow_host_list_allows (self->context->list, &request->host, request->port,
                            &self->private_too))
    {
      refuse (self, now, OW_PROXY_REFUSAL_NOT_LISTED, NULL,
              "%s:%u is not on this session's list of hosts", request->host.text, request->port);
      return;
    }
  self->state = STATE_RESOLVE;
  self->deadline = after (self, now, RESOLVE_MS);
  if (!ow_proxy_resolver_start (self->context->resolver, self->ticket, &request->host,
                                request->port))
    refuse (self, now, OW_PROXY_REFUSAL_RESOLVE, NULL,
            "%s was not resolved: too many names are being resolved", request->host.text);
}

/* Takes the line with the program off the front. False: there is no request to look at. */
static bool
take_program (OwProxyConnection *self,
              int64_t            now)
{
  size_t length;

  if (self->named)
    return true;
  switch (ow_proxy_request_parse_program (self->head, self->head_length, &length))
    {
    case OW_PROXY_REQUEST_GOOD:
      break;
    case OW_PROXY_REQUEST_INCOMPLETE:
      return false;
    default:
      refuse (self, now, OW_PROXY_REFUSAL_MALFORMED, NULL, "%s",
              "The line before the request is none that this proxy knows.");
      return false;
    }
  self->named = true;
  if (length > 2)
    memcpy (self->program, self->head + 1, length - 2);
  self->head_length -= length;
  memmove (self->head, self->head + length, self->head_length);
  return self->head_length > 0;
}

static void
read_head (OwProxyConnection *self,
           int64_t            now)
{
  ssize_t got = recv (self->client, self->head + self->head_length,
                      OW_PROXY_REQUEST_MAX_HEAD - self->head_length, MSG_DONTWAIT);
  OwProxyRequest request;
  OwProxyRequestStatus status;
  const char *fault = "";

  if (got <= 0)
    {
      if (got == 0 || (errno != EAGAIN && errno != EINTR))
        self->state = STATE_OVER;
      return;
    }
  self->head_length += (size_t) got;
  if (!take_program (self, now))
    return;
  status = ow_proxy_request_parse (&request, self->head, self->head_length, &fault);
  switch (status)
    {
    case OW_PROXY_REQUEST_GOOD:
      self->request = request;
      start_resolving (self, now);
      break;
    case OW_PROXY_REQUEST_INCOMPLETE:
      break;
    case OW_PROXY_REQUEST_MALFORMED:
      refuse (self, now, OW_PROXY_REFUSAL_MALFORMED, NULL, "%s", fault);
      break;
    case OW_PROXY_REQUEST_TOO_LONG:
      refuse (self, now, OW_PROXY_REFUSAL_TOO_LONG, NULL, "%s", fault);
      break;
    case OW_PROXY_REQUEST_CHUNKED:
      refuse (self, now, OW_PROXY_REFUSAL_CHUNKED, NULL, "%s", fault);
      break;
    }
}

/* The bytes that came behind the head are the tunnel's, or the body's as far as it goes:
 * what a client sends behind its one request goes nowhere. */
static void
start_relay (OwProxyConnection *self,
             int64_t            now)
{
  static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
  const OwProxyRequest *request = &self->request;
  size_t rest = self->head_length - request->head_length;

  self->up.left = UINT64_MAX;
  self->down.left = UINT64_MAX;
  if (request->is_connect)
    {
      ow_proxy_flow_put (&self->down, established, sizeof established - 1);
    }
  else
    {
      size_t length = 0;
      char *head = ow_proxy_request_forward (request, &length);

      ow_proxy_flow_put (&self->up, head, length);
      free (head);
      if (rest > request->body_length)
        rest = (size_t) request->body_length;
      self->up.left = request->body_length - rest;
      self->up.read_end = self->up.left == 0;
      self->up.keep_open = true;
    }
  ow_proxy_flow_put (&self->up, self->head + request->head_length, rest);
  free (self->head);
  self->head = NULL;
  self->state = STATE_RELAY;
  self->deadline = after (self, now, IDLE_MS);
  self->traffic = ow_proxy_traffic_open (self->context->traffic, &request->host, request->port);
}

static void
finish_connect (OwProxyConnection *self,
                int64_t            now)
{
  socklen_t length = sizeof (int);
  int number = 0;

  if (getsockopt (self->host, SOL_SOCKET, SO_ERROR, &number, &length) < 0)
    number = errno;
  if (number != 0)
    {
      connect_failed (self, now, number);
      return;
    }
  report (self, true, "listed",
          (const struct sockaddr *) &self->answer.addresses[self->next_address - 1]);
  start_relay (self, now);
}

static short
client_events (const OwProxyConnection *self)
{
  switch (self->state)
    {
    case STATE_HEAD:
      return POLLIN;
    case STATE_REPLY:
    case STATE_RELAY:
      return (ow_proxy_flow_wants_to_read (&self->up) ? POLLIN : 0) |
             (ow_proxy_flow_wants_to_write (&self->down) ? POLLOUT : 0);
    case STATE_RESOLVE:
    case STATE_CONNECT:
    case STATE_OVER:
      break;
    }
  return 0;
}

static short
host_events (const OwProxyConnection *self)
{
  if (self->state == STATE_CONNECT)
    return POLLOUT;
  if (self->state != STATE_RELAY)
    return 0;
  return (ow_proxy_flow_wants_to_read (&self->down) ? POLLIN : 0) |
         (ow_proxy_flow_wants_to_write (&self->up) ? POLLOUT : 0);
}

void
ow_proxy_connection_prepare (const OwProxyConnection *self,
                             struct pollfd            polled[2])
{
  bool full = self->state == STATE_RELAY && !self->up.read_end;

  polled[0] = (struct pollfd) { .fd = self->client, .events = client_events (self) };
  polled[1] = (struct pollfd) { .fd = self->host, .events = host_events (self) };
  /* A hang-up is told whether asked for or not, again and again. The client's is wanted
   * except while bytes of its own are still to be read; the host's comes as an end. */
  if (self->client_gone || (polled[0].events == 0 && full))
    polled[0].fd = -1;
  if (polled[1].events == 0)
    polled[1].fd = -1;
}

static void
read_reply_rest (OwProxyConnection *self,
                 short              events)
{
  char ignored[4096];
  bool moved;
  ssize_t got;

  if ((events & (POLLHUP | POLLERR)) ||
      ((events & POLLOUT) && !ow_proxy_flow_write (&self->down, self->client, &moved)))
    {
      self->state = STATE_OVER;
      return;
    }
  /* Closing while bytes of the client's are unread would cut off the answer. */
  if (events & POLLIN)
    {
      got = recv (self->client, ignored, sizeof ignored, MSG_DONTWAIT);
      self->up.read_end = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    }
  if (self->up.read_end && self->down.ended)
    self->state = STATE_OVER;
}

static void
relay_up (OwProxyConnection *self,
          short              client,
          short              host,
          bool              *moved)
{
  if ((client & (POLLIN | POLLHUP | POLLERR)) && ow_proxy_flow_wants_to_read (&self->up) &&
      !ow_proxy_flow_read (&self->up, self->client, moved))
    self->client_gone = self->up.read_end = true;
  else if ((client & (POLLHUP | POLLERR)) && self->up.read_end)
    self->client_gone = true;
  if ((host & (POLLOUT | POLLHUP | POLLERR)) == 0 || !ow_proxy_flow_wants_to_write (&self->up))
    return;
  /* A host may stop reading and still have an answer to give. */
  if (!ow_proxy_flow_write (&self->up, self->host, moved))
    ow_proxy_flow_drop (&self->up);
}

static bool
relay_down (OwProxyConnection *self,
            short              client,
            short              host,
            bool              *moved)
{
  if ((host & (POLLIN | POLLHUP | POLLERR)) && ow_proxy_flow_wants_to_read (&self->down) &&
      !ow_proxy_flow_read (&self->down, self->host, moved))
    return false;
  if ((client & POLLOUT) && !self->client_gone &&
      !ow_proxy_flow_write (&self->down, self->client, moved))
    self->client_gone = true;
  return true;
}

static void
relay (OwProxyConnection *self,
       short              client,
       short              host,
       int64_t            now)
{
  bool moved = false;
  bool good;

  relay_up (self, client, host, &moved);
  good = relay_down (self, client, host, &moved);
  count_traffic (self);
  if (moved)
    self->deadline = after (self, now, IDLE_MS);
  if (!good)
    self->state = STATE_OVER;
  /* What a client sent before it went is still the host's. */
  else if (self->client_gone)
    self->state = ow_proxy_flow_wants_to_write (&self->up) ? STATE_RELAY : STATE_OVER;
  /* The one answer is through, or both sides have come to their end. */
  else if (self->down.ended && (self->up.ended || !self->request.is_connect))
    self->state = STATE_OVER;
}

void
ow_proxy_connection_handle (OwProxyConnection  *self,
                            const struct pollfd polled[2],
                            int64_t             now)
{
  short client = polled[0].fd >= 0 ? polled[0].revents : 0;
  short host = polled[1].fd >= 0 ? polled[1].revents : 0;

  if (client == 0 && host == 0)
    return;
  switch (self->state)
    {
    case STATE_HEAD:
      read_head (self, now);
      break;
    case STATE_RESOLVE:
      if (client & (POLLHUP | POLLERR))
        self->state = STATE_OVER;
      break;
    case STATE_CONNECT:
      if (client & (POLLHUP | POLLERR))
        self->state = STATE_OVER;
      else if (host != 0)
        finish_connect (self, now);
      break;
    case STATE_RELAY:
      relay (self, client, host, now);
      break;
    case STATE_REPLY:
      read_reply_rest (self, client);
      break;
    case STATE_OVER:
      break;
    }
}

void
ow_proxy_connection_expire (OwProxyConnection *self,
                            int64_t            now)
{
  if (now < self->deadline)
    return;
  if (self->state == STATE_HEAD && self->head_length > 0)
    refuse (self, now, OW_PROXY_REFUSAL_SLOW, NULL, "The head of the request took too long.");
  else if (self->state == STATE_RESOLVE)
    refuse (self, now, OW_PROXY_REFUSAL_RESOLVE, NULL, "%s was not resolved in time",
            self->request.host.text);
  else if (self->state == STATE_CONNECT)
    connect_failed (self, now, ETIMEDOUT);
  else
    self->state = STATE_OVER;
}

void
ow_proxy_connection_list_changed (OwProxyConnection *self,
                                  int64_t            now)
{
  const OwProxyRequest *request = &self->request;
  bool needed_private = self->private_too;
  bool allowed;

  if (self->state != STATE_RESOLVE && self->state != STATE_CONNECT && self->state != STATE_RELAY)
    return;
  allowed = ow_host_list_allows (self->context->list, &request->host, request->port,
                                 &self->private_too);
  if (allowed && (self->state == STATE_RESOLVE || self->private_too || !needed_private))
    return;
  if (self->state == STATE_RELAY)
    self->state = STATE_OVER;
  else
    refuse (self, now, OW_PROXY_REFUSAL_NOT_LISTED, NULL,
            "%s:%u is no longer on this session's list of hosts", request->host.text,
            request->port);
}
