/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-proxy-request-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PROGRAM_MARK 0x01

#define MAX_HEADERS 128
#define MAX_METHOD 32

typedef struct {
  const char *data;
  size_t      length;
} Text;

typedef struct {
  Text name;
  Text value;
} Header;

typedef struct {
  bool host;
  bool length;
  bool chunked;
} Seen;

static bool
is_token_byte (char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c != '\0' && strchr ("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool
is_token (Text text)
{
  for (size_t i = 0; i < text.length; i++)
    {
      if (!is_token_byte (text.data[i]))
        return false;
    }
  return text.length > 0;
}

static bool
equals (Text        text,
        const char *word)
{
  return text.length == strlen (word) && strncasecmp (text.data, word, text.length) == 0;
}

static Text
trim (Text text)
{
  while (text.length > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
    {
      text.data++;
      text.length--;
    }
  while (text.length > 0 &&
         (text.data[text.length - 1] == ' ' || text.data[text.length - 1] == '\t'))
    text.length--;
  return text;
}

/* Finds the end of the head and looks at each byte of it on the way, so that a fault is
 * told as soon as it is there. */
static OwProxyRequestStatus
scan (const char  *data,
      size_t       length,
      size_t      *head_length,
      const char **fault)
{
  size_t limit = length < OW_PROXY_REQUEST_MAX_HEAD ? length : OW_PROXY_REQUEST_MAX_HEAD;

  *fault = "The head holds a control character, or a line that does not end with CR LF.";
  for (size_t i = 0; i < limit; i++)
    {
      unsigned char c = (unsigned char) data[i];

      if (c == '\n' && (i == 0 || data[i - 1] != '\r'))
        return OW_PROXY_REQUEST_MALFORMED;
      if (c != '\n' && i > 0 && data[i - 1] == '\r')
        return OW_PROXY_REQUEST_MALFORMED;
      if ((c < ' ' && c != '\r' && c != '\n' && c != '\t') || c == 0x7f)
        return OW_PROXY_REQUEST_MALFORMED;
      if (c == '\n' && i >= 3 && data[i - 2] == '\n')
        {
          *head_length = i + 1;
          return OW_PROXY_REQUEST_GOOD;
        }
      if (c == '\n' && i == 1)
        return OW_PROXY_REQUEST_MALFORMED;
    }
  *fault = "The head is longer than 16 KiB.";
  return length >= OW_PROXY_REQUEST_MAX_HEAD ? OW_PROXY_REQUEST_TOO_LONG
                                             : OW_PROXY_REQUEST_INCOMPLETE;
}

/* host:port, or host alone where @default_port is not 0. */
static bool
parse_authority (OwProxyRequest *self,
                 Text            authority,
                 unsigned int    default_port)
{
  const char *end = authority.data + authority.length;
  const char *colon = NULL;

  if (authority.length > 0 && authority.data[0] == '[')
    {
      const char *bracket = memchr (authority.data, ']', authority.length);

      if (bracket == NULL)
        return false;
      if (bracket + 1 < end && bracket[1] != ':')
        return false;
      colon = bracket + 1 < end ? bracket + 1 : NULL;
    }
  else
    {
      colon = memchr (authority.data, ':', authority.length);
    }

  self->port = default_port;
  if (colon != NULL)
    self->port = ow_host_name_parse_port (colon + 1, (size_t) (end - colon - 1));
  if (self->port == 0)
    return false;
  return ow_host_name_parse (&self->host, authority.data,
                             (size_t) ((colon != NULL ? colon : end) - authority.data));
}

static bool
parse_target (OwProxyRequest *self,
              Text            target)
{
  size_t authority;

  for (size_t i = 0; i < target.length; i++)
    {
      if (target.data[i] <= ' ' || target.data[i] > '~' || target.data[i] == '#')
        return false;
    }
  if (self->is_connect)
    return parse_authority (self, target, 0);

  if (target.length < 7 || strncasecmp (target.data, "http://", 7) != 0)
    return false;
  target.data += 7;
  target.length -= 7;
  for (authority = 0; authority < target.length; authority++)
    {
      if (target.data[authority] == '/' || target.data[authority] == '?')
        break;
    }
  self->path = target.data + authority;
  self->path_length = target.length - authority;
  return parse_authority (self, (Text) { target.data, authority }, 80);
}

static const char *
parse_request_line (OwProxyRequest *self,
                    Text            line)
{
  const char *first = memchr (line.data, ' ', line.length);
  const char *last = memrchr (line.data, ' ', line.length);
  Text method, target, version;

  if (first == NULL || first == last)
    return "The request line is not a method, a target and a version.";
  method = (Text) { line.data, (size_t) (first - line.data) };
  target = (Text) { first + 1, (size_t) (last - first - 1) };
  version = (Text) { last + 1, (size_t) (line.data + line.length - last - 1) };
  if (!is_token (method) || method.length > MAX_METHOD)
    return "The request's method is not a name.";
  if (version.length != 8 || (memcmp (version.data, "HTTP/1.1", 8) != 0 &&
                              memcmp (version.data, "HTTP/1.0", 8) != 0))
    return "The request is not HTTP/1.1 or HTTP/1.0.";

  self->method = method.data;
  self->method_length = method.length;
  self->is_connect = method.length == 7 && memcmp (method.data, "CONNECT", 7) == 0;
  if (!parse_target (self, target))
    return self->is_connect ? "The target of CONNECT is not host:port."
                            : "The target is not http://host[:port]/path.";
  return NULL;
}

static bool
parse_header (Text    line,
              Header *header)
{
  const char *colon = memchr (line.data, ':', line.length);

  if (colon == NULL)
    return false;
  header->name = (Text) { line.data, (size_t) (colon - line.data) };
  header->value = trim ((Text) { colon + 1, (size_t) (line.data + line.length - colon - 1) });
  /* No token begins with a blank, so a folded line is refused here too. */
  return is_token (header->name);
}

static bool
parse_length (OwProxyRequest *self,
              Text            value)
{
  if (value.length == 0 || value.length > 18)
    return false;
  self->body_length = 0;
  for (size_t i = 0; i < value.length; i++)
    {
      if (value.data[i] < '0' || value.data[i] > '9')
        return false;
      self->body_length = self->body_length * 10 + (uint64_t) (value.data[i] - '0');
    }
  return true;
}

/* Each of the headers that says where a request begins or ends may come once. */
static const char *
look_at_header (OwProxyRequest *self,
                const Header   *header,
                Seen           *seen)
{
  if (equals (header->name, "Host"))
    {
      if (seen->host)
        return "The request has two Host headers.";
      seen->host = true;
    }
  else if (equals (header->name, "Content-Length"))
    {
      if (seen->length || !parse_length (self, header->value))
        return "The request's Content-Length is not one number.";
      seen->length = true;
    }
  else if (equals (header->name, "Transfer-Encoding"))
    {
      if (seen->chunked || !equals (header->value, "chunked"))
        return "The request's Transfer-Encoding is not \"chunked\".";
      seen->chunked = true;
    }
  return NULL;
}

/* The next line of a head that scan() has accepted, where each CR has its LF; the two
 * are passed over. */
static Text
next_line (const char **cursor)
{
  const char *end = rawmemchr (*cursor, '\r');
  Text line = { *cursor, (size_t) (end - *cursor) };

  *cursor = end + 2;
  return line;
}

static OwProxyRequestStatus
parse_headers (OwProxyRequest *self,
               const char     *cursor,
               const char    **fault)
{
  Seen seen = { 0 };
  unsigned int n_headers = 0;

  for (Text line = next_line (&cursor); line.length > 0; line = next_line (&cursor))
    {
      Header header;

      *fault = "A header is not a name, a colon and a value.";
      if (!parse_header (line, &header))
        return OW_PROXY_REQUEST_MALFORMED;
      *fault = "The request has too many headers.";
      if (++n_headers > MAX_HEADERS)
        return OW_PROXY_REQUEST_MALFORMED;
      *fault = look_at_header (self, &header, &seen);
      if (*fault != NULL)
        return OW_PROXY_REQUEST_MALFORMED;
    }

  *fault = "The request gives its body's length in two ways.";
  if (seen.length && seen.chunked)
    return OW_PROXY_REQUEST_MALFORMED;
  *fault = "CONNECT takes no body.";
  if (self->is_connect && (seen.chunked || self->body_length > 0))
    return OW_PROXY_REQUEST_MALFORMED;
  *fault = "A request through this proxy needs a Content-Length for its body.";
  if (seen.chunked)
    return OW_PROXY_REQUEST_CHUNKED;
  *fault = "";
  return OW_PROXY_REQUEST_GOOD;
}

OwProxyRequestStatus
ow_proxy_request_parse (OwProxyRequest *self,
                        const char     *data,
                        size_t          length,
                        const char    **fault)
{
  OwProxyRequestStatus status;
  const char *cursor = data;
  size_t head_length = 0;

  memset (self, 0, sizeof *self);
  status = scan (data, length, &head_length, fault);
  if (status != OW_PROXY_REQUEST_GOOD)
    return status;

  /* From here on a search for the end of a line always comes to one. */
  self->head_length = head_length;
  *fault = parse_request_line (self, next_line (&cursor));
  if (*fault != NULL)
    return OW_PROXY_REQUEST_MALFORMED;
  self->headers = cursor;
  return parse_headers (self, cursor, fault);
}

/* Whether a Connection header names @name as one for this hop only. */
static bool
is_named_by_connection (const OwProxyRequest *self,
                        Text                  name)
{
  const char *cursor = self->headers;

  for (Text line = next_line (&cursor); line.length > 0; line = next_line (&cursor))
    {
      Header header;

      if (!parse_header (line, &header) || !equals (header.name, "Connection"))
        continue;
      while (header.value.length > 0)
        {
          const char *comma = memchr (header.value.data, ',', header.value.length);
          size_t part = comma != NULL ? (size_t) (comma - header.value.data) : header.value.length;
          Text word = trim ((Text) { header.value.data, part });

          if (word.length == name.length && strncasecmp (word.data, name.data, name.length) == 0)
            return true;
          header.value.data += comma != NULL ? part + 1 : part;
          header.value.length -= comma != NULL ? part + 1 : part;
        }
    }
  return false;
}

static bool
is_for_this_hop (const OwProxyRequest *self,
                 Text                  name)
{
  static const char *const hop[] = {
    "Host", "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authorization",
    "Proxy-Authenticate", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "HTTP2-Settings",
  };

  for (size_t i = 0; i < sizeof hop / sizeof hop[0]; i++)
    {
      if (equals (name, hop[i]))
        return true;
    }
  /* The length is what both sides keep to; nobody may have it taken off. */
  return !equals (name, "Content-Length") && is_named_by_connection (self, name);
}

char *
ow_proxy_request_forward (const OwProxyRequest *self,
                          size_t               *length)
{
  bool brackets = strchr (self->host.text, ':') != NULL;
  const char *cursor = self->headers;
  char *head = NULL;
  FILE *out = open_memstream (&head, length);

  if (out == NULL)
    abort ();
  fprintf (out, "%.*s %s%.*s HTTP/1.1\r\n", (int) self->method_length, self->method,
           self->path_length == 0 || self->path[0] != '/' ? "/" : "",
           (int) self->path_length, self->path);
  fprintf (out, "Host: %s%s%s", brackets ? "[" : "", self->host.text, brackets ? "]" : "");
  if (self->port != 80)
    fprintf (out, ":%u", self->port);
  fputs ("\r\n", out);
  for (Text line = next_line (&cursor); line.length > 0; line = next_line (&cursor))
    {
      Header header;

      if (parse_header (line, &header) && !is_for_this_hop (self, header.name))
        fprintf (out, "%.*s: %.*s\r\n", (int) header.name.length, header.name.data,
                 (int) header.value.length, header.value.data);
    }
  fputs ("Connection: close\r\n\r\n", out);
  if (fclose (out) != 0)
    abort ();
  return head;
}

OwProxyRequestStatus
ow_proxy_request_parse_program (const char *data,
                                size_t      available,
                                size_t     *length)
{
  *length = 0;
  if (available == 0 || data[0] != PROGRAM_MARK)
    return OW_PROXY_REQUEST_GOOD;
  for (size_t i = 1; i < available && i <= OW_PROXY_REQUEST_MAX_PROGRAM + 1; i++)
    {
      unsigned char c = (unsigned char) data[i];

      if (c == '\n')
        {
          *length = i + 1;
          return OW_PROXY_REQUEST_GOOD;
        }
      if (c < 0x20 || c == 0x7f)
        return OW_PROXY_REQUEST_MALFORMED;
    }
  return available <= OW_PROXY_REQUEST_MAX_PROGRAM + 1 ? OW_PROXY_REQUEST_INCOMPLETE
                                                       : OW_PROXY_REQUEST_MALFORMED;
}
