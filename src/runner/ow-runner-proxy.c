/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-proxy-private.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ow-runner-loop-private.h"

#define HEADER_MAX 8192u

uint16_t
ow_runner_proxy_port (const char *text)
{
  unsigned int port = 0;

  if (*text == '\0')
    return 0;
  for (; *text != '\0'; text++)
    {
      if (!isdigit ((unsigned char) *text))
        return 0;
      port = port * 10 + (unsigned int) (*text - '0');
      if (port > 65535)
        return 0;
    }
  return (uint16_t) port;
}

static int
wait_for (int     fd,
          short   events,
          int64_t deadline)
{
  struct pollfd pollfd = { .fd = fd, .events = events };
  int64_t left = deadline - ow_runner_loop_now ();

  return left <= 0 ? 0 : poll (&pollfd, 1, (int) left);
}

static bool
make_address (const char              *host,
              uint16_t                 port,
              struct sockaddr_storage *address,
              socklen_t               *length)
{
  struct sockaddr_in *v4 = (struct sockaddr_in *) address;
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *) address;

  memset (address, 0, sizeof *address);
  if (port == 0)
    return false;
  if (inet_pton (AF_INET, host, &v4->sin_addr) == 1)
    {
      v4->sin_family = AF_INET;
      v4->sin_port = htons (port);
      *length = sizeof *v4;
      return true;
    }
  if (inet_pton (AF_INET6, host, &v6->sin6_addr) == 1)
    {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons (port);
      *length = sizeof *v6;
      return true;
    }
  return false;
}

int
ow_runner_proxy_dial (const char *host,
                      uint16_t    port,
                      int         timeout_ms)
{
  int64_t deadline = ow_runner_loop_now () + timeout_ms;
  struct sockaddr_storage address;
  socklen_t length;
  socklen_t error_length = sizeof (int);
  int error = 0;
  int fd;

  if (!make_address (host, port, &address, &length))
    {
      errno = EINVAL;
      return -1;
    }
  fd = socket (address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return -1;
  if (connect (fd, (struct sockaddr *) &address, length) == 0)
    return fd;
  error = errno;
  if (error == EINPROGRESS)
    {
      if (wait_for (fd, POLLOUT, deadline) <= 0)
        error = ETIMEDOUT;
      else if (getsockopt (fd, SOL_SOCKET, SO_ERROR, &error, &error_length) < 0)
        error = errno;
    }
  if (error == 0)
    return fd;
  close (fd);
  errno = error;
  return -1;
}

bool
ow_runner_proxy_parse (const char *url,
                       char        host[64],
                       uint16_t   *port)
{
  const char *start;
  const char *end;
  char digits[8];
  size_t length;

  if (strncmp (url, "http://", 7) != 0)
    return false;
  start = url + 7;
  if (*start == '[')
    {
      end = strchr (++start, ']');
      if (end == NULL || end[1] != ':')
        return false;
    }
  else
    {
      end = strchr (start, ':');
      if (end == NULL)
        return false;
    }
  length = (size_t) (end - start);
  if (length == 0 || length >= 64)
    return false;
  memcpy (host, start, length);
  host[length] = '\0';
  start = end + (*end == ']' ? 2 : 1);
  length = strspn (start, "0123456789");
  if (length == 0 || length >= sizeof digits
      || (start[length] != '\0' && strcmp (start + length, "/") != 0))
    return false;
  memcpy (digits, start, length);
  digits[length] = '\0';
  *port = ow_runner_proxy_port (digits);
  return *port != 0;
}

static const char *
get_proxy_url (void)
{
  static const char *const names[] = { "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy" };

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    {
      const char *value = getenv (names[i]);

      if (value != NULL && *value != '\0')
        return value;
    }
  return NULL;
}

static bool
write_all (int         fd,
           const char *data,
           size_t      length,
           int64_t     deadline)
{
  while (length > 0)
    {
      ssize_t n = write (fd, data, length);

      if (n > 0)
        {
          data += n;
          length -= (size_t) n;
        }
      else if (n < 0 && errno != EAGAIN && errno != EINTR)
        return false;
      else if (wait_for (fd, POLLOUT, deadline) <= 0)
        return false;
    }
  return true;
}

/* Reads to the end of the header. What came behind it goes to the body. */
static bool
read_header (int                  fd,
             int64_t              deadline,
             char                *header,
             OwRunnerProxyAnswer *answer)
{
  size_t length = 0;
  char *end = NULL;

  while (end == NULL && length < HEADER_MAX)
    {
      ssize_t got;

      if (wait_for (fd, POLLIN, deadline) <= 0)
        return false;
      got = read (fd, header + length, HEADER_MAX - length);
      if (got < 0 && (errno == EAGAIN || errno == EINTR))
        continue;
      if (got <= 0)
        return false;
      length += (size_t) got;
      header[length] = '\0';
      end = strstr (header, "\r\n\r\n");
    }
  if (end == NULL || sscanf (header, "HTTP/1.%*1[01] %3d ", &answer->status) != 1
      || answer->status < 100)
    return false;
  end += 4;
  answer->body_length = length - (size_t) (end - header);
  if (answer->body_length > sizeof answer->body)
    answer->body_length = sizeof answer->body;
  memcpy (answer->body, end, answer->body_length);
  return true;
}

static void
read_body (int                  fd,
           int64_t              deadline,
           OwRunnerProxyAnswer *answer)
{
  int64_t soon = ow_runner_loop_now () + 1000;

  if (soon < deadline)
    deadline = soon;
  while (answer->body_length < sizeof answer->body && wait_for (fd, POLLIN, deadline) > 0)
    {
      ssize_t got = read (fd, answer->body + answer->body_length,
                          sizeof answer->body - answer->body_length);

      if (got <= 0)
        break;
      answer->body_length += (size_t) got;
    }
}

static bool
fail (OwRunnerProxyAnswer *answer,
      int                  fd,
      const char          *reason)
{
  snprintf (answer->reason, sizeof answer->reason, "%.255s", reason);
  if (fd >= 0)
    close (fd);
  answer->fd = -1;
  return false;
}

bool
ow_runner_proxy_connect (const char          *host,
                         uint16_t             port,
                         int                  timeout_ms,
                         OwRunnerProxyAnswer *answer)
{
  int64_t deadline = ow_runner_loop_now () + timeout_ms;
  const char *url = get_proxy_url ();
  bool is_v6 = strchr (host, ':') != NULL;
  char header[HEADER_MAX + 1];
  char proxy_host[64];
  uint16_t proxy_port;
  int n;
  int fd;

  memset (answer, 0, sizeof *answer);
  answer->fd = -1;
  if (url == NULL)
    return fail (answer, -1, "No proxy is named: HTTPS_PROXY and HTTP_PROXY are not set.");
  if (!ow_runner_proxy_parse (url, proxy_host, &proxy_port))
    return fail (answer, -1, "The proxy in HTTPS_PROXY or HTTP_PROXY is not of the form "
                 "http://ADDRESS:PORT.");
  if (*host == '\0' || strlen (host) > 255 || strpbrk (host, " \t\r\n/@[]") != NULL || port == 0)
    return fail (answer, -1, "The host or the port is none.");
  fd = ow_runner_proxy_dial (proxy_host, proxy_port, timeout_ms);
  if (fd < 0)
    {
      snprintf (header, sizeof header, "The proxy at %s:%u cannot be reached: %s.", proxy_host,
                (unsigned int) proxy_port, strerror (errno));
      return fail (answer, -1, header);
    }
  n = snprintf (header, sizeof header, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n\r\n",
                is_v6 ? "[" : "", host, is_v6 ? "]" : "", (unsigned int) port,
                is_v6 ? "[" : "", host, is_v6 ? "]" : "", (unsigned int) port);
  if (!write_all (fd, header, (size_t) n, deadline)
      || !read_header (fd, deadline, header, answer))
    return fail (answer, fd, "The proxy broke off without an answer.");
  if (answer->status >= 200 && answer->status < 300)
    {
      answer->fd = fd;
      return true;
    }
  read_body (fd, deadline, answer);
  snprintf (header, sizeof header, "The proxy refused %.200s:%u (HTTP status %d).", host,
            (unsigned int) port, answer->status);
  return fail (answer, fd, header);
}
