/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-args-private.h"
#include "ow-runner-file-private.h"
#include "ow-runner-path-private.h"
#include "ow-runner-tool-private.h"
#include "ow-runner-utf8-private.h"

#define DEFAULT_LINES  2000
#define MAX_LINES      20000
/* Of one line are shown. */
#define MAX_LINE_BYTES 2000
#define MAX_TEXT_BYTES (256u * 1024u)
/* Looked at for the count of lines and for an offset far down. */
#define MAX_SCAN_BYTES (256u * 1024u * 1024u)
#define CHUNK_BYTES    (64u * 1024u)

typedef struct {
  OwRunnerBuffer text;
  json_int_t   first;       /* line to begin with */
  json_int_t   limit;
  json_int_t   shown;
  json_int_t   line;        /* the one that bytes come for now, from 1 */
  char         held[MAX_LINE_BYTES + 4]; /* its beginning */
  size_t       held_length;
  size_t       line_length;
  bool         ends_cr;     /* its last byte so far is CR */
  json_int_t   crlf;
  bool         escaped;
  bool         bom;
  bool         full;        /* the text takes no more */
  bool         partial;     /* the scan ended before the file did */
} Reader;

/* The number in front of a line, six places wide at least: done for each line of a file. */
static void
show_number (Reader *self,
             bool    valid)
{
  char number[32];
  char *at = number + sizeof number;
  long long left = (long long) self->line;

  *--at = '\0';
  *--at = '\t';
  if (!valid)
    *--at = '!';
  for (int places = 0; left > 0 || places < 6; places++)
    {
      *--at = left > 0 || places == 0 ? (char) ('0' + left % 10) : ' ';
      left /= 10;
    }
  ow_runner_buffer_append (&self->text, at);
}

static void
show_line (Reader *self,
           size_t  length)
{
  size_t mark = self->text.length;
  size_t rest = self->line_length;
  bool valid;

  if (length > MAX_LINE_BYTES)
    length = MAX_LINE_BYTES - ow_runner_utf8_incomplete (self->held, MAX_LINE_BYTES);
  rest -= length + (self->ends_cr && length < self->line_length ? 1 : 0);
  valid = ow_runner_utf8_is_valid (self->held, length);

  show_number (self, valid);
  ow_runner_buffer_bytes (&self->text, self->held, length, NULL);
  if (rest > 0)
    ow_runner_buffer_printf (&self->text, " … [%zu more bytes in this line]", rest);
  ow_runner_buffer_append (&self->text, "\n");
  self->full = self->text.cut;
  if (self->full)
    {
      self->text.length = mark;
      return;
    }
  self->escaped = self->escaped || !valid;
  self->shown++;
}

static void
finish_line (Reader *self,
             bool    ended)
{
  size_t length = self->held_length;

  self->ends_cr = self->ends_cr && ended;
  if (self->ends_cr)
    {
      self->crlf++;
      if (length == self->line_length)
        length--;
    }
  if (self->line >= self->first && self->shown < self->limit && !self->full)
    show_line (self, length);
  self->line++;
  self->held_length = 0;
  self->line_length = 0;
  self->ends_cr = false;
}

static void
take_piece (Reader     *self,
            const char *data,
            size_t      length)
{
  size_t room = sizeof self->held - self->held_length;

  if (length == 0)
    return;
  memcpy (self->held + self->held_length, data, length < room ? length : room);
  self->held_length += length < room ? length : room;
  self->line_length += length;
  self->ends_cr = data[length - 1] == '\r';
}

static void
take_chunk (Reader     *self,
            const char *data,
            size_t      length)
{
  while (length > 0)
    {
      const char *end = memchr (data, '\n', length);
      size_t piece = end != NULL ? (size_t) (end - data) : length;

      take_piece (self, data, piece);
      if (end == NULL)
        return;
      finish_line (self, true);
      data += piece + 1;
      length -= piece + 1;
    }
}

static void
answer_binary (const OwRunnerPath *path,
               const char         *kind,
               const struct stat  *status,
               OwRunnerToolResult *result)
{
  char *size = ow_runner_buffer_size ((unsigned long long) status->st_size);
  bool utf16 = strcmp (kind, "UTF-16 text") == 0;
  json_t *structured = json_object ();
  OwRunnerBuffer text;

  ow_runner_buffer_init (&text, OW_RUNNER_TEXT_MAX);
  ow_runner_buffer_printf (&text, "%s is not shown: %s, %s (%lld bytes). %s", path->shown, kind,
                           size,
                           (long long) status->st_size,
                           utf16 ? "Convert it with the shell: iconv -f UTF-16 -t UTF-8 FILE"
                               : "Use the shell to look into it (file, xxd, unzip -l …).");
  free (size);
  json_object_set_new (structured, "lines", json_integer (0));
  json_object_set_new (structured, "total_lines", json_integer (0));
  json_object_set_new (structured, "cut", json_true ());
  json_object_set_new (structured, "kind", json_string (kind));
  json_object_set_new (structured, "size", json_integer ((json_int_t) status->st_size));
  ow_runner_args_answer (result, &text, structured);
}

static void
say_what_is_left (Reader    *self,
                  json_int_t total,
                  bool       cut)
{
  const char *exactly = self->partial ? "more than " : "";

  if (self->shown == 0 && total == 0 && !self->partial)
    ow_runner_buffer_append (&self->text, "[The file is empty.]\n");
  else if (self->shown == 0)
    ow_runner_buffer_printf (&self->text, "[Nothing from line %lld on was found: the file has "
                             "%s%lld lines%s.]\n", (long long) self->first, exactly,
                             (long long) total,
                             self->partial ? ", and only its first 256 MiB are looked at; use the "
                             "shell (tail, sed) beyond" : "");
  else if (cut)
    ow_runner_buffer_printf (&self->text, "[Cut: lines %lld to %lld of %s%lld are shown. Go on "
                             "with offset %lld.]\n", (long long) self->first,
                             (long long) (self->first + self->shown - 1), exactly,
                             (long long) total,
                             (long long) (self->first + self->shown));
  if (self->escaped)
    ow_runner_buffer_append (&self->text, "[Lines with ! hold bytes that are not UTF-8 text; they "
                             "stand as \\xNN.]\n");
  if (self->crlf > 0 && self->crlf == total)
    ow_runner_buffer_append (&self->text, "[Line ends are CRLF.]\n");
  else if (self->crlf > 0)
    ow_runner_buffer_printf (&self->text, "[%lld of the line ends are CRLF.]\n",
                             (long long) self->crlf);
  if (self->bom)
    ow_runner_buffer_append (&self->text, "[The file begins with a byte-order mark.]\n");
}

static void
answer (Reader             *self,
        OwRunnerToolResult *result)
{
  json_int_t total = self->line - 1;
  bool cut = self->partial || self->first - 1 + self->shown < total;
  json_t *structured = json_object ();

  self->text.max = OW_RUNNER_TEXT_MAX;
  say_what_is_left (self, total, cut);
  json_object_set_new (structured, "lines", json_integer (self->shown));
  json_object_set_new (structured, "total_lines", json_integer (total));
  json_object_set_new (structured, "cut", json_boolean (cut));
  ow_runner_args_answer (result, &self->text, structured);
}

/* Reads the whole file piece by piece: memory stays the same whatever its size. */
static void
read_lines (const OwRunnerPath *path,
            int                 fd,
            const struct stat  *status,
            Reader             *reader,
            OwRunnerToolResult *result)
{
  char *chunk = ow_runner_buffer_alloc (CHUNK_BYTES);
  size_t scanned = 0;
  const char *kind = NULL;
  ssize_t got;

  while ((got = ow_runner_file_read (fd, chunk, CHUNK_BYTES)) > 0)
    {
      size_t skip = 0;

      if (scanned == 0)
        {
          kind = ow_runner_file_binary_kind (chunk, (size_t) got < 8192 ? (size_t) got : 8192);
          if (kind != NULL)
            break;
          reader->bom = got >= 3 && memcmp (chunk, "\xef\xbb\xbf", 3) == 0;
          skip = reader->bom ? 3 : 0;
        }
      scanned += (size_t) got;
      take_chunk (reader, chunk + skip, (size_t) got - skip);
      if (scanned >= MAX_SCAN_BYTES)
        break;
    }
  free (chunk);

  if (got < 0)
    {
      ow_runner_args_fail (result, "%s could not be read to its end: %s. Try again, or look at it "
                           "with the shell.", path->shown, strerror (errno));
    }
  else if (kind != NULL)
    {
      answer_binary (path, kind, status, result);
    }
  else
    {
      reader->partial = got > 0 && (off_t) scanned < status->st_size;
      if (reader->line_length > 0)
        finish_line (reader, false);
      answer (reader, result);
    }
}

void
ow_tool_read (const OwRunnerRoots *roots,
              const json_t        *arguments,
              OwRunnerToolResult  *result)
{
  const char *name;
  size_t length;
  OwRunnerPath path;
  struct stat status;
  Reader *reader;
  int fd;

  reader = ow_runner_buffer_alloc (sizeof *reader);
  memset (reader, 0, sizeof *reader);
  reader->first = 1;
  reader->limit = DEFAULT_LINES;
  reader->line = 1;
  ow_runner_buffer_init (&reader->text, MAX_TEXT_BYTES);
  if (ow_runner_args_string (arguments, "path", &name, &length, result) &&
      ow_runner_args_int (arguments, "offset", 1, INT64_MAX / 2, &reader->first, result) &&
      ow_runner_args_int (arguments, "limit", 1, INT64_MAX / 2, &reader->limit, result) &&
      ow_runner_path_parse (&path, roots, name, length, result))
    {
      if (reader->limit > MAX_LINES)
        reader->limit = MAX_LINES;
      fd = ow_runner_file_open (&path, roots, &status, result);
      if (fd >= 0)
        {
          read_lines (&path, fd, &status, reader, result);
          close (fd);
        }
      ow_runner_path_clear (&path);
    }
  ow_runner_buffer_clear (&reader->text);
  free (reader);
}
