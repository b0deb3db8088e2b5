/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "ow-proxy-request-private.h"

typedef struct {
  const char *name;
  const char *head;
  gssize      length;       /* 0: up to the terminator */
  int         status;
  const char *host;         /* of a good one */
  guint       port;
} Case;

#define BYTES(text) text, sizeof (text) - 1
#define GOOD OW_PROXY_REQUEST_GOOD
#define BAD OW_PROXY_REQUEST_MALFORMED
#define END "\r\n\r\n"
#define HOST "\r\nHost: a\r\n"

static const Case cases[] = {
  { "connect", "CONNECT example.com:443 HTTP/1.1" HOST "\r\n", 0, GOOD, "example.com", 443 },
  { "connect-1.0", "CONNECT example.com:443 HTTP/1.0" END, 0, GOOD, "example.com", 443 },
  { "upper-case", "CONNECT EXAMPLE.Com:443 HTTP/1.1" END, 0, GOOD, "example.com", 443 },
  { "trailing-dot", "CONNECT example.com.:443 HTTP/1.1" END, 0, GOOD, "example.com", 443 },
  { "ipv4", "CONNECT 203.0.113.5:443 HTTP/1.1" END, 0, GOOD, "203.0.113.5", 443 },
  { "ipv6", "CONNECT [2001:DB8:0::1]:443 HTTP/1.1" END, 0, GOOD, "2001:db8::1", 443 },
  { "punycode", "CONNECT xn--bcher-kva.example:1 HTTP/1.1" END, 0, GOOD, "xn--bcher-kva.example", 1 },
  { "last-port", "CONNECT a:65535 HTTP/1.1" END, 0, GOOD, "a", 65535 },
  { "http", "GET http://example.com/x?y HTTP/1.1" HOST "\r\n", 0, GOOD, "example.com", 80 },
  { "http-port", "GET http://example.com:8080 HTTP/1.1" END, 0, GOOD, "example.com", 8080 },
  { "http-query", "GET http://example.com?y HTTP/1.1" END, 0, GOOD, "example.com", 80 },
  { "http-scheme-case", "GET HTTP://Example.com/ HTTP/1.1" END, 0, GOOD, "example.com", 80 },
  { "host-mismatch", "GET http://a.example/ HTTP/1.1\r\nHost: b.example" END, 0, GOOD, "a.example", 80 },
  { "length", "POST http://a/ HTTP/1.1\r\nContent-Length: 5" END "12345", 0, GOOD, "a", 80 },
  { "latin1-value", "GET http://a/ HTTP/1.1\r\nX: caf\xe9" END, 0, GOOD, "a", 80 },
  { "empty-value", "GET http://a/ HTTP/1.1\r\nX:" END, 0, GOOD, "a", 80 },

  { "incomplete", "CONNECT a:1 HTTP/1.1\r\n", 0, OW_PROXY_REQUEST_INCOMPLETE, NULL, 0 },
  { "empty", "", 0, OW_PROXY_REQUEST_INCOMPLETE, NULL, 0 },
  { "chunked", "POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked" END, 0,
    OW_PROXY_REQUEST_CHUNKED, NULL, 0 },

  { "bare-lf", "CONNECT a:1 HTTP/1.1\nHost: a\n\n", 0, BAD, NULL, 0 },
  { "bare-lf-later", "CONNECT a:1 HTTP/1.1\r\nHost: a\n\r\n", 0, BAD, NULL, 0 },
  { "bare-cr", "CONNECT a:1 HTTP/1.1\r\nHost: a\rX: b" END, 0, BAD, NULL, 0 },
  { "double-cr", "CONNECT a:1 HTTP/1.1\r\r\n\r\n", 0, BAD, NULL, 0 },
  { "nul", BYTES ("CONNECT a:1 HTTP/1.1\r\nX: \0" END), BAD, NULL, 0 },
  { "nul-in-target", BYTES ("CONNECT a\0b:1 HTTP/1.1" END), BAD, NULL, 0 },
  { "escape-byte", "CONNECT a:1 HTTP/1.1\r\nX: \x1b[2J" END, 0, BAD, NULL, 0 },
  { "delete-byte", "CONNECT a:1 HTTP/1.1\r\nX: \x7f" END, 0, BAD, NULL, 0 },
  { "fold", "CONNECT a:1 HTTP/1.1\r\nX: a\r\n b" END, 0, BAD, NULL, 0 },
  { "fold-tab", "CONNECT a:1 HTTP/1.1\r\nX: a\r\n\tb" END, 0, BAD, NULL, 0 },
  { "fold-first", "CONNECT a:1 HTTP/1.1\r\n X: a" END, 0, BAD, NULL, 0 },
  { "space-before-colon", "CONNECT a:1 HTTP/1.1\r\nHost : a" END, 0, BAD, NULL, 0 },
  { "no-colon", "CONNECT a:1 HTTP/1.1\r\nHost" END, 0, BAD, NULL, 0 },
  { "no-name", "CONNECT a:1 HTTP/1.1\r\n: x" END, 0, BAD, NULL, 0 },
  { "two-hosts", "CONNECT a:1 HTTP/1.1" HOST "hOST: a" END, 0, BAD, NULL, 0 },
  { "leading-line", "\r\nCONNECT a:1 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "two-spaces", "CONNECT  a:1 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "space-at-end", "CONNECT a:1 HTTP/1.1 " END, 0, BAD, NULL, 0 },
  { "tab-between", "CONNECT\ta:1\tHTTP/1.1" END, 0, BAD, NULL, 0 },
  { "no-version", "CONNECT a:1" END, 0, BAD, NULL, 0 },
  { "version-2", "CONNECT a:1 HTTP/2.0" END, 0, BAD, NULL, 0 },
  { "version-case", "CONNECT a:1 http/1.1" END, 0, BAD, NULL, 0 },
  { "version-long", "CONNECT a:1 HTTP/1.10" END, 0, BAD, NULL, 0 },
  { "preface-of-http2", "PRI * HTTP/2.0" END, 0, BAD, NULL, 0 },
  { "tls", BYTES ("\x16\x03\x01\x02\x00\x01"), BAD, NULL, 0 },
  { "origin-form", "GET / HTTP/1.1" HOST "\r\n", 0, BAD, NULL, 0 },
  { "asterisk-form", "OPTIONS * HTTP/1.1" HOST "\r\n", 0, BAD, NULL, 0 },
  { "https-form", "GET https://a/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ftp-form", "GET ftp://a/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "file-form", "GET file:///etc/passwd HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "connect-url", "CONNECT http://a:1/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "connect-case", "connect a:1 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "method-bad", "GE(T http://a/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "user", "CONNECT user@a:1 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "user-password", "CONNECT u:p@a:1 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "http-user", "GET http://listed.example@evil.example/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "http-user-port", "GET http://listed.example:80@evil.example/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "http-backslash", "GET http://evil.example\\@listed.example/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "fragment", "GET http://a/#x HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "fragment-in-host", "GET http://a#@b/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "escape-in-host", "GET http://a%2eb/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "no-host", "GET http:///x HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "no-host-port", "CONNECT :443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "no-port", "CONNECT a HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "empty-port", "CONNECT a: HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "http-empty-port", "GET http://a:/ HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "port-0", "CONNECT a:0 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "port-65536", "CONNECT a:65536 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "port-wraps", "CONNECT a:4294967739 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "port-zeros", "CONNECT a:0443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "port-sign", "CONNECT a:+443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "port-hex", "CONNECT a:0x1b HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "two-ports", "CONNECT a:1:2 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv6-bare", "CONNECT ::1:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv6-open", "CONNECT [::1:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv6-tail", "CONNECT [::1]x:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv6-zone", "CONNECT [fe80::1%25eth0]:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "name-in-brackets", "CONNECT [a]:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv4-in-brackets", "CONNECT [127.0.0.1]:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv4-short", "CONNECT 127.1:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv4-number", "CONNECT 2130706433:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv4-hex", "CONNECT 0x7f.1:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv4-hex-last", "CONNECT 127.0.0.0x1:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv4-octal", "CONNECT 0177.0.0.1:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "ipv4-dot", "CONNECT 127.0.0.1.:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "two-dots", "CONNECT a..b:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "leading-dot", "CONNECT .a:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "two-trailing-dots", "CONNECT a..:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "only-dot", "CONNECT .:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "wildcard", "CONNECT *.a:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "dash", "CONNECT -a:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "utf8-name", "CONNECT b\xc3\xbc" "cher.example:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "kelvin-sign", "CONNECT \xe2\x84\xaa.example:443 HTTP/1.1" END, 0, BAD, NULL, 0 },
  { "length-and-chunked", "POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\n"
    "Transfer-Encoding: chunked" END, 0, BAD, NULL, 0 },
  { "chunked-and-length", "POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
    "Content-Length: 5" END, 0, BAD, NULL, 0 },
  { "two-lengths", "POST http://a/ HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5" END, 0, BAD,
    NULL, 0 },
  { "length-list", "POST http://a/ HTTP/1.1\r\nContent-Length: 5, 5" END, 0, BAD, NULL, 0 },
  { "length-sign", "POST http://a/ HTTP/1.1\r\nContent-Length: +5" END, 0, BAD, NULL, 0 },
  { "length-negative", "POST http://a/ HTTP/1.1\r\nContent-Length: -5" END, 0, BAD, NULL, 0 },
  { "length-hex", "POST http://a/ HTTP/1.1\r\nContent-Length: 0x5" END, 0, BAD, NULL, 0 },
  { "length-empty", "POST http://a/ HTTP/1.1\r\nContent-Length:" END, 0, BAD, NULL, 0 },
  { "length-wraps", "POST http://a/ HTTP/1.1\r\nContent-Length: 18446744073709551621" END, 0, BAD,
    NULL, 0 },
  { "two-encodings", "POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
    "Transfer-Encoding: chunked" END, 0, BAD, NULL, 0 },
  { "encoding-list", "POST http://a/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked" END, 0, BAD, NULL,
    0 },
  { "encoding-odd", "POST http://a/ HTTP/1.1\r\nTransfer-Encoding: xchunked" END, 0, BAD, NULL, 0 },
  { "encoding-tab", "POST http://a/ HTTP/1.1\r\nTransfer-Encoding\t: chunked" END, 0, BAD, NULL, 0 },
  { "connect-length", "CONNECT a:1 HTTP/1.1\r\nContent-Length: 5" END, 0, BAD, NULL, 0 },
  { "connect-chunked", "CONNECT a:1 HTTP/1.1\r\nTransfer-Encoding: chunked" END, 0, BAD, NULL, 0 },
};

static void
test_case (gconstpointer data)
{
  const Case *one = data;
  gsize length = one->length > 0 ? (gsize) one->length : strlen (one->head);
  g_autofree char *copy = g_memdup2 (one->head, MAX (length, 1));
  OwProxyRequest request;
  const char *fault = NULL;

  g_assert_cmpint (ow_proxy_request_parse (&request, copy, length, &fault), ==, one->status);
  g_assert_nonnull (fault);
  if (one->status != GOOD)
    {
      g_assert_cmpuint (strlen (fault), >, 10);
      return;
    }
  g_assert_cmpstr (request.host.text, ==, one->host);
  g_assert_cmpuint (request.port, ==, one->port);
  g_assert_cmpint (request.host.is_address, ==,
                   strchr (one->host, ':') != NULL || g_str_has_prefix (one->host, "203."));
  g_assert_true (g_str_has_prefix (strstr (one->head, END), END));
  g_assert_cmpuint (request.head_length, ==, (gsize) (strstr (one->head, END) + 4 - one->head));

  /* Each shorter part of a good head is incomplete, and nothing else. */
  for (gsize cut = 0; cut < request.head_length; cut++)
    {
      g_autofree char *part = g_memdup2 (one->head, MAX (cut, 1));

      g_assert_cmpint (ow_proxy_request_parse (&request, part, cut, &fault), ==,
                       OW_PROXY_REQUEST_INCOMPLETE);
    }
}

static void
test_too_long (void)
{
  g_autoptr (GString) head = g_string_new ("CONNECT a:1 HTTP/1.1\r\n");
  OwProxyRequest request;
  const char *fault;

  while (head->len < OW_PROXY_REQUEST_MAX_HEAD - 4 - 512)
    {
      g_autofree char *value = g_strnfill (500, 'v');

      g_string_append_printf (head, "X: %s\r\n", value);
    }
  g_string_append (head, "X:");
  while (head->len < OW_PROXY_REQUEST_MAX_HEAD - 4)
    g_string_append_c (head, ' ');
  g_string_append (head, END);
  g_assert_cmpuint (head->len, ==, OW_PROXY_REQUEST_MAX_HEAD);
  g_assert_cmpint (ow_proxy_request_parse (&request, head->str, head->len, &fault), ==, GOOD);
  g_string_insert_c (head, 30, 'x');
  g_assert_cmpint (ow_proxy_request_parse (&request, head->str, head->len, &fault), ==,
                   OW_PROXY_REQUEST_TOO_LONG);
  g_assert_cmpint (ow_proxy_request_parse (&request, head->str, OW_PROXY_REQUEST_MAX_HEAD, &fault),
                   ==, OW_PROXY_REQUEST_TOO_LONG);
}

static void
test_many_headers (void)
{
  g_autoptr (GString) head = g_string_new ("CONNECT a:1 HTTP/1.1\r\n");
  OwProxyRequest request;
  const char *fault;

  for (guint i = 0; i < 128; i++)
    g_string_append (head, "X: y\r\n");
  g_string_append (head, "\r\n");
  g_assert_cmpint (ow_proxy_request_parse (&request, head->str, head->len, &fault), ==, GOOD);
  g_string_insert (head, 22, "X: y\r\n");
  g_assert_cmpint (ow_proxy_request_parse (&request, head->str, head->len, &fault), ==, BAD);
}

static void
test_long_names (void)
{
  g_autofree char *label = g_strnfill (63, 'l');
  g_autofree char *name = g_strdup_printf ("%s.%s.%s.%.61s", label, label, label, label);
  g_autofree char *longer = g_strdup_printf ("%s.%s.%s.%.62s", label, label, label, label);
  g_autofree char *wide = g_strdup_printf ("%sl.example", label);
  OwHostName host;

  g_assert_true (ow_host_name_parse (&host, name, strlen (name)));
  g_assert_cmpuint (strlen (host.text), ==, 253);
  g_assert_false (ow_host_name_parse (&host, longer, strlen (longer)));
  g_assert_false (ow_host_name_parse (&host, wide, strlen (wide)));
}

static void
test_forward (void)
{
  static const struct {
    const char *head;
    const char *forwarded;
  } forwards[] = {
    { "GET http://EXAMPLE.com/a?b HTTP/1.1\r\nHost: evil.example\r\nUser-Agent:  x \r\n"
      "Proxy-Connection: keep-alive\r\nproxy-authorization: Basic c2VjcmV0\r\n"
      "Connection: keep-alive, X-Hop , Host\r\nX-Hop: 1\r\nX-Stay: 2\r\nTE: trailers\r\n"
      "Upgrade: websocket\r\nKeep-Alive: 5" END,
      "GET /a?b HTTP/1.1\r\nHost: example.com\r\nUser-Agent: x\r\nX-Stay: 2\r\n"
      "Connection: close" END },
    { "POST http://example.com:8080 HTTP/1.0\r\nContent-Length: 5\r\n"
      "Connection: Content-Length" END "12345",
      "POST / HTTP/1.1\r\nHost: example.com:8080\r\nContent-Length: 5\r\nConnection: close" END },
    { "GET http://[2001:db8::1]?q HTTP/1.1" END,
      "GET /?q HTTP/1.1\r\nHost: [2001:db8::1]\r\nConnection: close" END },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (forwards); i++)
    {
      OwProxyRequest request;
      const char *fault;
      gsize length = 0;
      char *forwarded;

      g_assert_cmpint (ow_proxy_request_parse (&request, forwards[i].head,
                                               strlen (forwards[i].head), &fault), ==, GOOD);
      forwarded = ow_proxy_request_forward (&request, &length);
      g_assert_cmpstr (forwarded, ==, forwards[i].forwarded);
      g_assert_cmpuint (length, ==, strlen (forwarded));
      free (forwarded);
    }
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/request/S14/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/request/too-long", test_too_long);
  g_test_add_func ("/request/many-headers", test_many_headers);
  g_test_add_func ("/request/long-names", test_long_names);
  g_test_add_func ("/request/forward", test_forward);
  return g_test_run ();
}
