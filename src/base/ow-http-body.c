/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-http-body-private.h"

#include <string.h>

/* A line with a chunk's size, extensions and all. */
#define LINE_MAX_BYTES    4096
#define TRAILER_MAX_BYTES 16384
/* What is no content may be this much more than sixteen times the content: tokens come in chunks
 * of a few bytes, each with some of framing, but nobody sends a body of framing alone. */
#define OVERHEAD_MAX      (1024 * 1024)
#define OVERHEAD_FACTOR   16

#define NO_CHUNKS "its chunks are not as HTTP has them"

enum {
  SIZE,
  EXTENSION,
  SIZE_END,
  CONTENT,
  CONTENT_RETURN,
  CONTENT_END,
  TRAILER_START,
  TRAILER,
  TRAILER_END,
  LAST_END,
};

/* The headers' values: all the same number, as digits and nothing else. */
static gboolean
parse_length (const char *text,
              guint64    *length)
{
  g_auto (GStrv) values = g_strsplit (text, ",", 16);
  guint i;

  for (i = 0; values[i] != NULL; i++)
    {
      char *value = g_strstrip (values[i]);
      guint64 number;

      if (*value == '\0' || strspn (value, "0123456789") != strlen (value)
          || !g_ascii_string_to_unsigned (value, 10, 0, G_MAXINT64, &number, NULL)
          || (i > 0 && number != *length))
        return FALSE;
      *length = number;
    }
  return i > 0;
}

const char *
ow_http_body_start (OwHttpBody *body,
                    guint       status,
                    const char *encoding,
                    const char *length)
{
  g_autofree char *coding = g_strstrip (g_strdup (encoding != NULL ? encoding : "identity"));

  memset (body, 0, sizeof *body);
  body->kind = OW_HTTP_BODY_LENGTH;
  if (status == 204 || status == 304)
    body->done = TRUE;
  else if (g_ascii_strcasecmp (coding, "chunked") == 0)
    body->kind = OW_HTTP_BODY_CHUNKS;
  else if (g_ascii_strcasecmp (coding, "identity") != 0)
    return "it is encoded in a way that was not asked for";
  else if (length == NULL)
    body->kind = OW_HTTP_BODY_CLOSE;
  else if (!parse_length (length, &body->left))
    return "what it says of its length is no number";
  else
    body->done = body->left == 0;
  return NULL;
}

static gboolean
take_size (OwHttpBody *body,
           char        byte)
{
  int digit = g_ascii_xdigit_value (byte);

  if (digit >= 0)
    {
      /* Sixteen digits can be more than the length that a file may have. */
      if (body->left > (G_MAXINT64 >> 4))
        return FALSE;
      body->left = body->left << 4 | (guint64) digit;
      body->digits++;
      return TRUE;
    }
  if (body->digits == 0)
    return FALSE;
  body->state = byte == '\r' ? SIZE_END : EXTENSION;
  return byte == '\r' || byte == ';' || byte == ' ' || byte == '\t';
}

static gboolean
take_extension (OwHttpBody *body,
                char        byte)
{
  if (byte == '\r')
    body->state = SIZE_END;
  return byte == '\r' || byte == '\t' || !g_ascii_iscntrl (byte);
}

static gboolean
take_trailer (OwHttpBody *body,
              char        byte)
{
  if (byte == '\r')
    body->state = body->state == TRAILER_START ? LAST_END : TRAILER_END;
  else
    body->state = TRAILER;
  return byte != '\n' && byte != '\0' && ++body->trailer <= TRAILER_MAX_BYTES;
}

static gboolean
take_line_end (OwHttpBody *body,
               char        byte)
{
  if (byte != '\n')
    return FALSE;

  body->line = 0;
  if (body->state == SIZE_END)
    body->state = body->left > 0 ? CONTENT : TRAILER_START;
  else if (body->state == TRAILER_END)
    body->state = TRAILER_START;
  else if (body->state == LAST_END)
    body->done = TRUE;
  else
    {
      body->state = SIZE;
      body->digits = 0;
    }
  return TRUE;
}

/* One byte that is no content; FALSE: it does not belong there. */
static gboolean
take_framing (OwHttpBody *body,
              char        byte)
{
  if (++body->line > LINE_MAX_BYTES
      || ++body->overhead > OVERHEAD_MAX + OVERHEAD_FACTOR * body->content)
    return FALSE;

  switch (body->state)
    {
    case SIZE:
      return take_size (body, byte);
    case EXTENSION:
      return take_extension (body, byte);
    case CONTENT_RETURN:
      body->state = CONTENT_END;
      return byte == '\r';
    case TRAILER_START:
    case TRAILER:
      return take_trailer (body, byte);
    default:
      return take_line_end (body, byte);
    }
}

const char *
ow_http_body_take (OwHttpBody  *body,
                   const char **data,
                   gsize       *length,
                   const char **piece,
                   gsize       *piece_length)
{
  *piece = *data;
  *piece_length = 0;

  while (*length > 0 && !body->done && body->kind == OW_HTTP_BODY_CHUNKS
         && body->state != CONTENT)
    {
      if (!take_framing (body, **data))
        return NO_CHUNKS;
      (*data)++;
      (*length)--;
    }
  if (*length == 0 || body->done)
    return NULL;

  *piece = *data;
  *piece_length = body->kind == OW_HTTP_BODY_CLOSE ? *length : MIN (*length, body->left);
  *data += *piece_length;
  *length -= *piece_length;
  body->content += *piece_length;
  if (body->kind == OW_HTTP_BODY_CLOSE)
    return NULL;

  body->left -= *piece_length;
  if (body->left == 0 && body->kind == OW_HTTP_BODY_CHUNKS)
    body->state = CONTENT_RETURN;
  else if (body->left == 0)
    body->done = TRUE;
  return NULL;
}

const char *
ow_http_body_end (OwHttpBody *body)
{
  if (body->done)
    return NULL;

  switch (body->kind)
    {
    case OW_HTTP_BODY_CLOSE:
      /* libsoup takes a connection that ended within the headers for the end of these. */
      return body->content > 0 ? NULL : "the connection ended before anything of it came";
    case OW_HTTP_BODY_CHUNKS:
      return "the connection ended before the chunk that ends it";
    case OW_HTTP_BODY_LENGTH:
      break;
    }
  return "the connection ended before the length that it told";
}
