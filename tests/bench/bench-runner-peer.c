/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the runner's calls are compared with: a plain loop in one process that reads a line of
 * JSON-RPC from stdin, finds id, name and path in it by looking for them, opens and reads the file
 * (or goes over the folder), and writes an answer of the same shape to stdout. It does nothing
 * else that the runner does: no JSON is parsed, no path is held below a folder, no child process
 * stands between a fault and the loop, nothing can be cancelled, and no result is kept.
 *
 * bench-runner-peer         answers until stdin ends
 * bench-runner-peer ready   says "ready" and waits for that end */

#define LINE_MAX_BYTES (256u * 1024)

static char answer[4 * LINE_MAX_BYTES];
static char line[LINE_MAX_BYTES];
static char content[64 * 1024];

static void
put_all (const char *data,
         size_t      length)
{
  while (length > 0)
    {
      ssize_t n = write (STDOUT_FILENO, data, length);

      if (n <= 0)
        exit (1);
      data += n;
      length -= (size_t) n;
    }
}

/* Text as it stands in a JSON string. */
static size_t
escape (char       *out,
        const char *text,
        size_t      length)
{
  size_t at = 0;

  for (size_t i = 0; i < length; i++)
    {
      unsigned char c = (unsigned char) text[i];

      if (c == '\n')
        {
          out[at++] = '\\';
          out[at++] = 'n';
        }
      else if (c < 0x20)
        {
          at += (size_t) sprintf (out + at, "\\u%04x", c);
        }
      else
        {
          if (c == '"' || c == '\\')
            out[at++] = '\\';
          out[at++] = (char) c;
        }
    }
  return at;
}

static size_t
read_file (const char *path)
{
  struct stat status;
  ssize_t n;
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

  if (fd < 0 || fstat (fd, &status) != 0 || !S_ISREG (status.st_mode))
    exit (1);
  n = read (fd, content, sizeof content);
  close (fd);
  return n < 0 ? 0 : (size_t) n;
}

static size_t
list_folder (const char *path)
{
  DIR *folder = opendir (path);
  struct dirent *entry;
  size_t length = 0;

  if (folder == NULL)
    exit (1);
  while ((entry = readdir (folder)) != NULL && length < sizeof content - 512)
    {
      if (entry->d_name[0] != '.')
        length += (size_t) sprintf (content + length, "%s\n", entry->d_name);
    }
  closedir (folder);
  return length;
}

static void
answer_call (const char *id)
{
  const char *name = strstr (line, "\"name\":\"");
  char *path = strstr (line, "\"path\":\"");
  char *end = path == NULL ? NULL : strchr (path + 8, '"');
  size_t at;
  size_t length;

  if (name == NULL || end == NULL)
    exit (1);
  *end = '\0';
  length = strncmp (name + 8, "list\"", 5) == 0 ? list_folder (path + 8) : read_file (path + 8);
  at = (size_t) sprintf (answer, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[{"
                         "\"type\":\"text\",\"text\":\"", atoi (id));
  at += escape (answer + at, content, length);
  at += (size_t) sprintf (answer + at, "\"}],\"structuredContent\":{},\"isError\":false}}\n");
  put_all (answer, at);
}

static void
answer_line (void)
{
  const char *id = strstr (line, "\"id\":");

  if (id == NULL)
    return;
  if (strstr (line, "\"method\":\"initialize\"") != NULL)
    {
      size_t at = (size_t) sprintf (answer, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{"
                                    "\"protocolVersion\":\"2025-06-18\"}}\n", atoi (id + 5));

      put_all (answer, at);
      return;
    }
  answer_call (id + 5);
}

int
main (int    argc,
      char **argv)
{
  static char buffer[LINE_MAX_BYTES];
  size_t filled = 0;
  ssize_t n;

  if (argc > 1)
    put_all ("ready\n", 6);
  while ((n = read (STDIN_FILENO, buffer + filled, sizeof buffer - filled)) > 0)
    {
      char *at = buffer;
      char *end;

      filled += (size_t) n;
      while ((end = memchr (at, '\n', filled - (size_t) (at - buffer))) != NULL)
        {
          memcpy (line, at, (size_t) (end - at));
          line[end - at] = '\0';
          answer_line ();
          at = end + 1;
        }
      filled -= (size_t) (at - buffer);
      memmove (buffer, at, filled);
    }
  return 0;
}
