/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* Sockets of programs outside, and the network. A server there says the token to whoever comes. */

#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MS 1500
#define CONNECT   1
#define DNS_PORT  53

/* Connects, with a deadline; -1 and errno. */
static int
connect_to (const struct sockaddr *address,
            socklen_t              length,
            int                    type)
{
  int fd = socket (address->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int error = 0;
  socklen_t size = sizeof error;

  if (fd < 0)
    return -1;
  if (connect (fd, address, length) < 0)
    {
      if (errno != EINPROGRESS)
        return -1;
      if (poll (&(struct pollfd) { .fd = fd, .events = POLLOUT }, 1, ANSWER_MS) <= 0)
        {
          errno = ETIMEDOUT;
          return -1;
        }
      getsockopt (fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0)
        {
          errno = error;
          return -1;
        }
    }
  return fd;
}

/* Says @text and gives how much came back by the deadline. */
static size_t
ask (int         fd,
     const void *text,
     size_t      length,
     char       *reply,
     size_t      size)
{
  size_t at = 0;

  if (length > 0 && send (fd, text, length, MSG_NOSIGNAL) < 0)
    return 0;
  while (at < size && poll (&(struct pollfd) { .fd = fd, .events = POLLIN }, 1, ANSWER_MS) > 0)
    {
      ssize_t n = recv (fd, reply + at, size - at, 0);

      if (n <= 0)
        break;
      at += (size_t) n;
      /* One that keeps the line open has said what it had to say. */
      if (has_token (reply, at))
        break;
    }
  return at;
}

static int
unix_socket (const char *path,
             bool        abstract)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  size_t length = strlen (path);

  if (length + 1 >= sizeof address.sun_path)
    {
      errno = ENAMETOOLONG;
      return -1;
    }
  memcpy (address.sun_path + abstract, path, length);
  return connect_to ((struct sockaddr *) &address,
                     (socklen_t) (offsetof (struct sockaddr_un, sun_path) + length + 1 - !abstract +
                                  !abstract), SOCK_STREAM);
}

static Verdict
token_of_socket (const char *key,
                 bool        abstract,
                 const char *text)
{
  const char *path = plan_get (key);
  char reply[4096];
  size_t n;
  int fd;

  if (path == NULL)
    return VOID;
  fd = unix_socket (path, abstract);
  if (fd < 0)
    return refused (path);
  n = ask (fd, text, strlen (text), reply, sizeof reply);
  say ("%zu bytes came back", n);
  return has_token (reply, n) ? OPEN : HELD;
}

static Verdict
abstract_socket (void)
{
  return token_of_socket ("socket.abstract", true, "hello\n");
}

static Verdict
path_socket (void)
{
  return token_of_socket ("socket.path", false, "hello\n");
}

static Verdict
docker_socket (void)
{
  return token_of_socket ("socket.docker", false, "GET /version HTTP/1.0\r\n\r\n");
}

/* wl_display.get_registry: object 1, opcode 1, new id 2. */
static Verdict
wayland (void)
{
  static const unsigned int request[] = { 1, 12u << 16 | 1, 2 };
  const char *path = plan_get ("socket.wayland");
  char reply[4096];
  int fd;

  if (path == NULL)
    return VOID;
  if ((fd = unix_socket (path, false)) < 0)
    return refused (path);
  return has_token (reply, ask (fd, request, sizeof request, reply, sizeof reply)) ? OPEN : HELD;
}

/* SSH_AGENTC_REQUEST_IDENTITIES, answered by 12. */
static Verdict
agent (void)
{
  static const char request[] = { 0, 0, 0, 1, 11 };
  const char *path = plan_get ("socket.agent");
  char reply[4096] = "";
  int fd;

  if (path == NULL)
    return VOID;
  if ((fd = unix_socket (path, false)) < 0)
    return refused (path);
  if (ask (fd, request, sizeof request, reply, 9) < 5)
    return refused ("the agent");
  say ("the agent answered");
  return reply[4] == 12 ? OPEN : HELD;
}

static Verdict
bus_at (const char *key,
        bool        abstract)
{
  const char *path = plan_get (key);
  char reply[512] = "", request[128], hex[32] = "";
  char uid[16];
  int fd;

  if (path == NULL)
    return VOID;
  if ((fd = unix_socket (path, abstract)) < 0)
    return refused (path);
  snprintf (uid, sizeof uid, "%u", getuid ());
  for (size_t i = 0; uid[i] != '\0'; i++)
    snprintf (hex + 2 * i, 3, "%02x", (unsigned int) (unsigned char) uid[i]);
  snprintf (request, sizeof request, "%cAUTH EXTERNAL %s\r\n", 0, hex);
  if (ask (fd, request, 1 + strlen (request + 1), reply, 4) < 2)
    return refused ("the bus");
  say ("the bus said %.20s", reply);
  return strncmp (reply, "OK", 2) == 0 ? OPEN : HELD;
}

static Verdict
bus_path (void)
{
  return bus_at ("bus.path", false);
}

static Verdict
bus_abstract (void)
{
  return bus_at ("bus.abstract", true);
}

/* Any answer to the first message of a connection comes from the screen. */
static Verdict
screen_at (const char *key,
           bool        abstract)
{
  static const char request[12] = { 'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
  const char *path = plan_get (key);
  char reply[8] = "";
  int fd;

  if (path == NULL)
    return VOID;
  if ((fd = unix_socket (path, abstract)) < 0)
    return refused (path);
  if (ask (fd, request, sizeof request, reply, sizeof reply) < sizeof reply)
    return refused ("the screen");
  say ("the screen answered");
  return OPEN;
}

static Verdict
screen_path (void)
{
  return screen_at ("screen.path", false);
}

static Verdict
screen_abstract (void)
{
  return screen_at ("screen.path", true);
}

/* --- the network --- */

static int
inet_socket (const char *host,
             int         port,
             int         type)
{
  struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons ((uint16_t) port) };
  struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons ((uint16_t) port) };

  if (strcmp (host, "localhost") == 0)
    host = "127.0.0.1";
  if (inet_pton (AF_INET, host, &four.sin_addr) == 1)
    return connect_to ((struct sockaddr *) &four, sizeof four, type);
  if (inet_pton (AF_INET6, host, &six.sin6_addr) == 1)
    return connect_to ((struct sockaddr *) &six, sizeof six, type);
  errno = EADDRNOTAVAIL;
  return -1;
}

static Verdict
token_of_host (const char *host,
               const char *port_key,
               int         type)
{
  static const char text[] = "GET / HTTP/1.0\r\n\r\n";
  char reply[4096];
  size_t n;
  int fd;

  if (host == NULL || plan_get (port_key) == NULL)
    return VOID;
  fd = inet_socket (host, (int) plan_number (port_key), type);
  if (fd < 0)
    return refused (host);
  n = ask (fd, text, sizeof text - 1, reply, sizeof reply);
  say ("%s: %zu bytes came back", host, n);
  return has_token (reply, n) ? OPEN : HELD;
}

static Verdict
loopback (void)
{
  return token_of_host ("127.0.0.1", "loopback.port", SOCK_STREAM);
}

static Verdict
loopback_six (void)
{
  return token_of_host ("::1", "loopback.port6", SOCK_STREAM);
}

static Verdict
loopback_udp (void)
{
  return token_of_host ("127.0.0.1", "loopback.udp", SOCK_DGRAM);
}

static Verdict
metadata (void)
{
  return token_of_host (plan_get ("metadata.host"), "metadata.port", SOCK_STREAM);
}

static Verdict
outside (void)
{
  return token_of_host (plan_get ("outside.host"), "outside.port", SOCK_STREAM);
}

/* --- through the proxy that a wall offers --- */

static void
base64 (const char *text,
        char       *out)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t length = strlen (text);

  for (size_t i = 0; i < length; i += 3)
    {
      unsigned int b = (unsigned int) (unsigned char) text[i] << 16;

      b |= i + 1 < length ? (unsigned int) (unsigned char) text[i + 1] << 8 : 0;
      b |= i + 2 < length ? (unsigned int) (unsigned char) text[i + 2] : 0;
      *out++ = letters[b >> 18];
      *out++ = letters[b >> 12 & 63];
      *out++ = i + 1 < length ? letters[b >> 6 & 63] : '=';
      *out++ = i + 2 < length ? letters[b & 63] : '=';
    }
  *out = '\0';
}

/* A connection to the proxy of the environment, and the header that it wants; -1: none. */
static int
proxy_socket (char *header,
              size_t size)
{
  static const char * const names[] = {
    "https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY",
  };
  char value[1024] = "", encoded[1400], *host = value, *port, *at;

  header[0] = '\0';
  for (size_t i = 0; value[0] == '\0' && i < sizeof names / sizeof names[0]; i++)
    if (getenv (names[i]) != NULL && strncmp (getenv (names[i]), "http://", 7) == 0)
      snprintf (value, sizeof value, "%s", getenv (names[i]) + 7);
  errno = ENOENT;
  if (value[0] == '\0')
    return -1;
  if ((at = strrchr (value, '@')) != NULL)
    {
      *at = '\0';
      base64 (value, encoded);
      snprintf (header, size, "Proxy-Authorization: Basic %s\r\n", encoded);
      host = at + 1;
    }
  host[strcspn (host, "/")] = '\0';
  if ((port = strrchr (host, ':')) == NULL)
    return -1;
  *port = '\0';
  return inet_socket (host, atoi (port + 1), SOCK_STREAM);
}

static Verdict
through_proxy (const char *host,
               long        port,
               bool        tunnel)
{
  char header[1500], request[4096], reply[4096] = "";
  size_t n;
  int fd = proxy_socket (header, sizeof header);

  if (fd < 0 && errno == ENOENT)
    {
      say ("no proxy is offered");
      return HELD;
    }
  if (fd < 0)
    return refused ("the proxy");
  if (tunnel)
    snprintf (request, sizeof request, "CONNECT %s:%ld HTTP/1.1\r\nHost: %s:%ld\r\n%s\r\n", host, port,
              host, port, header);
  else
    snprintf (request, sizeof request, "GET http://%s:%ld/ HTTP/1.1\r\nHost: %s:%ld\r\n%s"
              "Connection: close\r\n\r\n", host, port, host, port, header);
  n = ask (fd, request, strlen (request), reply, tunnel ? 12 : sizeof reply);
  say ("%s: the proxy said %.12s", host, reply);
  if (tunnel && strncmp (reply + 8, " 200", 4) == 0)
    n = ask (fd, "GET / HTTP/1.0\r\n\r\n", 18, reply, sizeof reply);
  return has_token (reply, n) ? OPEN : HELD;
}

static Verdict
both_ways (const char *host,
           long        port)
{
  return through_proxy (host, port, true) == OPEN ? OPEN : through_proxy (host, port, false);
}

/* Outside there is no proxy to go through: there the thing itself is reached, so that the control
 * shows that it is there. */
static Verdict
or_direct (const char *host,
           const char *port_key)
{
  if (host == NULL || plan_get (port_key) == NULL)
    return VOID;
  if (plan_get ("outside.wall") != NULL)
    return token_of_host (host, port_key, SOCK_STREAM);
  return both_ways (host, plan_number (port_key));
}

static Verdict
loopback_by_proxy (void)
{
  static const char * const names[] = {
    "127.0.0.1", "localhost", "LOCALHOST.", "127.1", "0.0.0.0", "2130706433", "[::1]",
    "[::ffff:127.0.0.1]", "0x7f000001",
  };

  if (plan_get ("outside.wall") != NULL)
    return loopback ();
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (both_ways (names[i], plan_number ("loopback.port")) == OPEN)
      return OPEN;
  return HELD;
}

static Verdict
metadata_by_proxy (void)
{
  return or_direct (plan_get ("metadata.host"), "metadata.port");
}

static Verdict
outside_by_proxy (void)
{
  return or_direct (plan_get ("outside.host"), "outside.port");
}

static Verdict
dns_tcp (void)
{
  return token_of_host (plan_get ("dns.server"), "dns.port", SOCK_STREAM);
}

/* The addresses by which containers and virtual machines know the machine that they are on: that of
 * the default route, and those that engines take. */
static Verdict
machine_address (void)
{
  static const char * const usual[] = {
    "172.17.0.1", "172.18.0.1", "172.19.0.1", "10.0.2.2", "10.200.0.1", "10.88.0.1", "192.168.127.1",
  };
  char host[64] = "", line[256];
  FILE *routes = fopen ("/proc/net/route", "re");
  unsigned int to, through;

  if (plan_get ("machine.port") == NULL)
    return VOID;
  while (routes != NULL && fgets (line, sizeof line, routes) != NULL)
    if (sscanf (line, "%*s %x %x", &to, &through) == 2 && to == 0)
      inet_ntop (AF_INET, &through, host, sizeof host);
  if (routes != NULL)
    fclose (routes);
  if (token_of_host (plan_get ("outside.host"), "machine.port", SOCK_STREAM) == OPEN)
    return OPEN;
  if (host[0] != '\0' && token_of_host (host, "machine.port", SOCK_STREAM) == OPEN)
    return OPEN;
  for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
    if (token_of_host (usual[i], "machine.port", SOCK_STREAM) == OPEN ||
        through_proxy (usual[i], plan_number ("machine.port"), true) == OPEN)
      return OPEN;
  return HELD;
}

/* --- names --- */

static size_t
dns_question (const char *name,
              char       *out)
{
  static const char head[12] = { 0x1e, 0x5c, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0 };
  size_t at = sizeof head;

  memcpy (out, head, sizeof head);
  while (*name != '\0')
    {
      size_t length = strcspn (name, ".");

      out[at++] = (char) length;
      memcpy (out + at, name, length);
      at += length;
      name += length + (name[length] == '.');
    }
  memcpy (out + at, "\0\0\1\0\1", 5);
  return at + 5;
}

static Verdict
dns_ask (const char *server,
         int         port,
         const char *prefix)
{
  char name[256], question[512], reply[512];
  size_t length, n;
  int fd;

  if (server == NULL || plan_get ("dns.zone") == NULL)
    return VOID;
  snprintf (name, sizeof name, "%s-%s", prefix, plan_get ("dns.zone"));
  length = dns_question (name, question);
  fd = inet_socket (server, port, SOCK_DGRAM);
  if (fd < 0)
    return refused (server);
  n = ask (fd, question, length, reply, 12);
  if (n < 12 || memcmp (reply, question, 2) != 0)
    {
      say ("%s: no answer", server);
      return HELD;
    }
  say ("%s answered", server);
  return OPEN;
}

static Verdict
dns_direct (void)
{
  return dns_ask (plan_get ("dns.server"), DNS_PORT, "direct");
}

/* The bench looks whether the question came to the server outside, by whatever way. */
static Verdict
dns_resolver (void)
{
  char text[4096] = "", *line, *rest = text;
  int fd = open ("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
  Verdict verdict = HELD;

  if (fd < 0 || read (fd, text, sizeof text - 1) <= 0)
    return refused ("/etc/resolv.conf");
  say ("/etc/resolv.conf names none");
  while (verdict != OPEN && (line = strsep (&rest, "\n")) != NULL)
    if (strncmp (line, "nameserver ", 11) == 0)
      verdict = dns_ask (line + 11, DNS_PORT, "resolver");
  return verdict;
}

/* A name that is on nobody's list: a proxy that looks it up before it refuses tells it outside. */
static Verdict
dns_by_proxy (void)
{
  char name[256];

  if (plan_get ("dns.zone") == NULL)
    return VOID;
  if (plan_get ("outside.wall") != NULL)
    return dns_ask (plan_get ("dns.server"), DNS_PORT, "proxy");
  snprintf (name, sizeof name, "proxy-%s", plan_get ("dns.zone"));
  both_ways (name, 443);
  return OPEN;
}

const Probe socket_probes[] = {
  { "socket-abstract", abstract_socket },
  { "socket-path", path_socket },
  { "bus-path", bus_path },
  { "bus-abstract", bus_abstract },
  { "screen-path", screen_path },
  { "screen-abstract", screen_abstract },
  { "wayland", wayland },
  { "ssh-agent", agent },
  { "docker-socket", docker_socket },
  { "loopback", loopback },
  { "loopback-six", loopback_six },
  { "loopback-udp", loopback_udp },
  { "loopback-proxy", loopback_by_proxy },
  { "metadata", metadata },
  { "metadata-proxy", metadata_by_proxy },
  { "outside", outside },
  { "outside-proxy", outside_by_proxy },
  { "machine-address", machine_address },
  { "dns-tcp", dns_tcp },
  { "dns-direct", dns_direct },
  { "dns-resolver", dns_resolver },
  { "dns-proxy", dns_by_proxy },
  { NULL, NULL },
};
