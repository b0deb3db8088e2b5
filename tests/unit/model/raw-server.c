/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "raw-server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct _RawServer {
  const RawAnswer *answers;
  guint            n_answers;
  int              listener;
  char            *url;       /* (owned) */
  GThread         *thread;    /* (owned) */
  GMutex           lock;
  GPtrArray       *requests;  /* (owned) */
  gint             closing;   /* atomic */
};

static gboolean
is_closing (RawServer *self)
{
  return g_atomic_int_get (&self->closing) != 0;
}

/* Up to the end of headers and of as many bytes as they tell. */
static char *
read_request (int fd)
{
  GString *text = g_string_new (NULL);

  while (TRUE)
    {
      const char *end = strstr (text->str, "\r\n\r\n");
      const char *told = strcasestr (text->str, "\r\nContent-Length:");
      gsize       body = told != NULL ? (gsize) strtoul (told + 17, NULL, 10) : 0;
      char        buffer[65536];
      ssize_t     got;

      if (end != NULL && text->len >= (gsize) (end + 4 - text->str) + body)
        break;
      got = read (fd, buffer, sizeof buffer);
      if (got <= 0)
        break;
      g_string_append_len (text, buffer, got);
    }
  return g_string_free (text, FALSE);
}

static gboolean
send_all (int         fd,
          const char *data,
          gsize       length)
{
  while (length > 0)
    {
      ssize_t sent = send (fd, data, length, MSG_NOSIGNAL);

      if (sent <= 0)
        return FALSE;
      data += sent;
      length -= (gsize) sent;
    }
  return TRUE;
}

static gboolean
send_piece (int         fd,
            const char *data,
            gsize       length,
            gboolean    chunked)
{
  g_autofree char *size = g_strdup_printf ("%" G_GSIZE_MODIFIER "x\r\n", length);

  if (!chunked)
    return send_all (fd, data, length);
  return send_all (fd, size, strlen (size)) && send_all (fd, data, length) &&
         send_all (fd, "\r\n", 2);
}

static gboolean
send_body (RawServer       *self,
           int              fd,
           const RawAnswer *answer)
{
  gsize length = answer->length > 0 ? answer->length : strlen (answer->body);
  gsize chunk = answer->chunk > 0 ? answer->chunk : MAX (length, 1);

  for (guint i = 0; i <= answer->repeat; i++)
    {
      for (gsize at = 0; at < length; at += chunk)
        {
          if (answer->delay_ms > 0)
            g_usleep (answer->delay_ms * 1000);
          if (is_closing (self) ||
              !send_piece (fd, answer->body + at, MIN (chunk, length - at), answer->chunked))
            return FALSE;
        }
    }
  return !answer->chunked || answer->cut || answer->hold || send_all (fd, "0\r\n\r\n", 5);
}

static void
hold (RawServer *self,
      int        fd)
{
  struct pollfd wait = { .fd = fd, .events = POLLIN };
  char byte;

  while (!is_closing (self))
    {
      if (poll (&wait, 1, 20) > 0 && read (fd, &byte, 1) <= 0)
        return;
    }
}

static void
serve (RawServer *self,
       int        fd)
{
  const RawAnswer *answer;
  char *request = read_request (fd);

  if (*request == '\0')
    {
      g_free (request);
      return;
    }
  g_mutex_lock (&self->lock);
  answer = &self->answers[MIN (self->requests->len, self->n_answers - 1)];
  g_ptr_array_add (self->requests, request);
  g_mutex_unlock (&self->lock);
  if (answer->head != NULL)
    {
      g_autofree char *head = g_strconcat (answer->head, answer->chunked
                                           ? "\r\nTransfer-Encoding: chunked\r\n\r\n" : "\r\n\r\n",
                                           NULL);

      if (!send_all (fd, head, strlen (head)) ||
          (answer->body != NULL && !send_body (self, fd, answer)))
        return;
    }
  if (answer->hold)
    hold (self, fd);
}

static gpointer
run (gpointer user_data)
{
  RawServer *self = user_data;

  while (!is_closing (self))
    {
      struct pollfd wait = { .fd = self->listener, .events = POLLIN };
      int fd;

      if (poll (&wait, 1, 20) <= 0)
        continue;
      fd = accept4 (self->listener, NULL, NULL, SOCK_CLOEXEC);
      if (fd < 0)
        continue;
      serve (self, fd);
      close (fd);
    }
  return NULL;
}

RawServer *
raw_server_new (const RawAnswer *answers,
                guint            n_answers)
{
  RawServer *self = g_new0 (RawServer, 1);
  struct sockaddr_in address = { .sin_family = AF_INET };
  socklen_t size = sizeof address;

  address.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  self->answers = answers;
  self->n_answers = n_answers;
  self->listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (self->listener, >=, 0);
  g_assert_cmpint (bind (self->listener, (struct sockaddr *) &address, size), ==, 0);
  g_assert_cmpint (listen (self->listener, 16), ==, 0);
  g_assert_cmpint (getsockname (self->listener, (struct sockaddr *) &address, &size), ==, 0);
  self->url = g_strdup_printf ("http://127.0.0.1:%u", ntohs (address.sin_port));
  self->requests = g_ptr_array_new_with_free_func (g_free);
  g_mutex_init (&self->lock);
  self->thread = g_thread_new ("raw-server", run, self);
  return self;
}

void
raw_server_free (RawServer *self)
{
  g_atomic_int_set (&self->closing, 1);
  /* Wakes the thread, which waits for the next one. */
  shutdown (self->listener, SHUT_RDWR);
  g_thread_join (self->thread);
  close (self->listener);
  g_ptr_array_unref (self->requests);
  g_mutex_clear (&self->lock);
  g_free (self->url);
  g_free (self);
}

const char *
raw_server_get_url (RawServer *self)
{
  return self->url;
}

guint
raw_server_get_n_requests (RawServer *self)
{
  guint n;

  g_mutex_lock (&self->lock);
  n = self->requests->len;
  g_mutex_unlock (&self->lock);
  return n;
}

char *
raw_server_get_request (RawServer *self,
                        guint      n)
{
  char *request;

  g_mutex_lock (&self->lock);
  request = g_strdup (g_ptr_array_index (self->requests, n));
  g_mutex_unlock (&self->lock);
  return request;
}
