/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ow-runner-private.h"
#include "ow-runner-proxy-private.h"
#include "ow-runner-utf8-private.h"

/* One try of something from inside the sandbox, as plainly as it can be done: what
 * comes out proves a mount, or the wall. */

#define CONTENT_MAX 4096u
#define DIAL_MS     3000
#define PROXY_MS    10000

static json_t *
answer (bool        ok,
        int         error,
        const char *format,
        ...) __attribute__ ((format (printf, 3, 4)));

static json_t *
answer (bool        ok,
        int         error,
        const char *format,
        ...)
{
  json_t *object = json_object ();
  const char *name = ok || error == 0 ? NULL : strerrorname_np (error);
  char raw[1024];
  char text[1024];
  size_t length;
  size_t used;
  va_list args;

  va_start (args, format);
  vsnprintf (raw, sizeof raw, format, args);
  va_end (args);
  length = ow_runner_utf8_append (text, sizeof text, raw, strlen (raw), &used);
  json_object_set_new (object, "ok", json_boolean (ok));
  json_object_set_new (object, "errno", name == NULL ? json_null () : json_string (name));
  json_object_set_new (object, "detail", json_stringn (text, length));
  return object;
}

static json_t *
answer_errno (const char *what)
{
  int error = errno;

  return answer (false, error, "%s: %s", what, strerror (error));
}

static void
set_content (json_t     *object,
             const char *data,
             size_t      length)
{
  char text[3 * CONTENT_MAX];
  size_t used;
  size_t n = ow_runner_utf8_append (text, sizeof text, data, length, &used);

  json_object_set_new (object, "content", json_stringn (text, n));
}

static json_t *
probe_read (const char   *path,
            const json_t *params)
{
  char data[CONTENT_MAX];
  json_t *object;
  ssize_t got;
  int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

  if (fd < 0)
    return answer_errno ("open");
  got = read (fd, data, sizeof data);
  if (got < 0)
    {
      object = answer_errno ("read");
      close (fd);
      return object;
    }
  close (fd);
  object = answer (true, 0, "read %zd bytes", got);
  set_content (object, data, (size_t) got);
  return object;
}

static json_t *
probe_create (const char   *path,
              const json_t *params)
{
  const char *content = ow_json_get_string (params, "content", "");
  size_t length = strlen (content);
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  json_t *object;

  if (fd < 0)
    return answer_errno ("create");
  if (write (fd, content, length) != (ssize_t) length)
    object = answer_errno ("write");
  else
    object = answer (true, 0, "created");
  close (fd);
  return object;
}

static json_t *
probe_remove (const char   *path,
              const json_t *params)
{
  if (unlink (path) < 0)
    return answer_errno ("unlink");
  return answer (true, 0, "removed");
}

static json_t *
probe_write (const char   *path,
             const json_t *params)
{
  int fd = open (path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

  if (fd < 0)
    return answer_errno ("open for writing");
  close (fd);
  return answer (true, 0, "opened for writing");
}

static json_t *
probe_identity (const char   *path,
                const json_t *params)
{
  struct stat info;
  char number[32];
  json_t *object;
  int fd = open (path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

  if (fd < 0)
    return answer_errno ("open");
  if (fstat (fd, &info) < 0)
    {
      object = answer_errno ("stat");
      close (fd);
      return object;
    }
  close (fd);
  object = answer (true, 0, "identified");
  snprintf (number, sizeof number, "%" PRIuMAX, (uintmax_t) info.st_dev);
  json_object_set_new (object, "dev", json_string (number));
  snprintf (number, sizeof number, "%" PRIuMAX, (uintmax_t) info.st_ino);
  json_object_set_new (object, "ino", json_string (number));
  return object;
}

static uint16_t
get_port (const json_t *params)
{
  json_int_t port = ow_json_get_int (params, "port", 0);

  return port >= 1 && port <= 65535 ? (uint16_t) port : 0;
}

static json_t *
probe_connect (const char   *host,
               const json_t *params)
{
  int fd = ow_runner_proxy_dial (host, get_port (params), DIAL_MS);

  if (fd < 0)
    return answer_errno ("connect");
  close (fd);
  return answer (true, 0, "connected");
}

static json_t *
probe_proxy (const char   *host,
             const json_t *params)
{
  OwRunnerProxyAnswer reply;
  json_t *object;
  bool ok = ow_runner_proxy_connect (host, get_port (params), PROXY_MS, &reply);

  object = answer (ok, 0, "%s", ok ? "connected" : reply.reason);
  if (reply.status > 0)
    json_object_set_new (object, "status", json_integer (reply.status));
  set_content (object, reply.body, reply.body_length);
  if (ok)
    close (reply.fd);
  return object;
}

static json_t *
probe_abstract (const char   *name,
                const json_t *params)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  size_t length = strlen (name);
  int fd;
  json_t *object;

  if (length > sizeof address.sun_path - 1)
    return answer (false, ENAMETOOLONG, "the name is too long");
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return answer_errno ("socket");
  memcpy (address.sun_path + 1, name, length);
  if (connect (fd, (struct sockaddr *) &address,
               (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + length)) < 0)
    object = answer_errno ("connect");
  else
    object = answer (true, 0, "connected");
  close (fd);
  return object;
}

static const struct {
  const char *op;
  const char *member;
  json_t   *(*func) (const char   *value,
                     const json_t *params);
} ops[] = {
  { "read", "path", probe_read },
  { "create", "path", probe_create },
  { "remove", "path", probe_remove },
  { "write", "path", probe_write },
  { "identity", "path", probe_identity },
  { "connect", "host", probe_connect },
  { "proxy", "host", probe_proxy },
  { "abstract", "name", probe_abstract },
};

json_t *
ow_runner_probe (const json_t *params)
{
  const char *op = ow_json_get_string (params, "op", "");

  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
    {
      const char *value;

      if (strcmp (op, ops[i].op) != 0)
        continue;
      value = ow_json_get_string (params, ops[i].member, NULL);
      if (value == NULL || *value == '\0')
        return answer (false, EINVAL, "\"%s\" is missing", ops[i].member);
      return ops[i].func (value, params);
    }
  return answer (false, EINVAL, "there is no such probe");
}
