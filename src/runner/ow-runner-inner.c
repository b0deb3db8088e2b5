/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-inner-private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-runner-loop-private.h"
#include "ow-runner-process-private.h"
#include "ow-runner-settings-private.h"

/* So long the server waits for it where it is slow, and meanwhile looks that often whether a
 * command has stopped it, for then it is not waited for. */
#define ANSWER_S 5
#define LOOK_MS  50
/* More than any exec takes: 4,096 arguments in one message. */
#define TEXT_MAX (32u * 1024u * 1024u)
#define MOST     1024
#define ROOM     64

typedef enum { OP_SPAWN, OP_SHOW, OP_HIDE } Op;

enum {
  HAS_CWD = 1 << 0, HAS_MARK = 1 << 1, HAS_TERMINAL = 1 << 2,
  HAS_STDIN = 1 << 3, /* and the next two bits: the other two */
};

/* Between two copies of one program; behind it come @length bytes of texts, each with its NUL. */
typedef struct {
  uint32_t op;
  uint32_t flags;
  uint32_t argc;
  uint32_t length;
  int32_t  parent;
  uint32_t n;
  int32_t  numbers[OW_RUNNER_INNER_FDS];
} Request;

typedef struct {
  int32_t pid;
  int32_t error;
} Reply;

static struct {
  bool              on;
  OwRunnerPaths     list;
  OwRunnerPaths     ro;
  OwRunnerPaths     rw;
  OwRunnerChildren *children;
  OwRunnerInnerLost lost;
  void             *user_data;
  pid_t             pid;      /* 0: none */
  int               fd;       /* to it */
  int               reserved; /* the number that the other end has there */
  bool              greeted;
} inner = { .fd = -1, .reserved = -1 };

void
ow_runner_inner_configure (OwRunnerPaths list,
                           OwRunnerPaths ro,
                           OwRunnerPaths rw)
{
  inner.on = true;
  inner.list = list;
  inner.ro = ro;
  inner.rw = rw;
}

void
ow_runner_inner_watch (OwRunnerChildren *children,
                       OwRunnerInnerLost lost,
                       void             *user_data)
{
  inner.children = children;
  inner.lost = lost;
  inner.user_data = user_data;
}

bool
ow_runner_inner_is_on (void)
{
  return inner.on;
}

pid_t
ow_runner_inner_get_pid (void)
{
  return inner.on ? inner.pid : getpid ();
}

/* --- descriptors with a message --- */

typedef union {
  struct cmsghdr header;
  char           room[CMSG_SPACE (OW_RUNNER_INNER_FDS * sizeof (int))];
} Control;

static void
put_fds (struct msghdr *message,
         Control       *control,
         const int     *fds,
         size_t         n)
{
  struct cmsghdr *header = &control->header;

  if (n == 0)
    return;
  memset (control, 0, sizeof *control);
  message->msg_control = control;
  message->msg_controllen = CMSG_SPACE (n * sizeof (int));
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN (n * sizeof (int));
  memcpy (CMSG_DATA (header), fds, n * sizeof (int));
}

static size_t
take_fds (struct msghdr *message,
          int            fds[OW_RUNNER_INNER_FDS])
{
  struct cmsghdr *header = CMSG_FIRSTHDR (message);
  size_t n;

  if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
    return 0;
  n = (header->cmsg_len - CMSG_LEN (0)) / sizeof (int);
  if (n > OW_RUNNER_INNER_FDS)
    n = OW_RUNNER_INNER_FDS;
  memcpy (fds, CMSG_DATA (header), n * sizeof (int));
  return n;
}

/* --- the process itself --- */

static void
read_whole (int    fd,
            void  *data,
            size_t length)
{
  for (size_t at = 0; at < length;)
    {
      ssize_t n = read (fd, (char *) data + at, length - at);

      if (n == 0 || (n < 0 && errno != EINTR))
        _exit (0);
      if (n > 0)
        at += (size_t) n;
    }
}

static void
answer (int   fd,
        pid_t pid,
        int   error)
{
  const Reply reply = { .pid = pid, .error = error };

  if (write (fd, &reply, sizeof reply) != (ssize_t) sizeof reply)
    _exit (0);
}

/* Where new numbers are above all that the server has. */
static int
high_number (void)
{
  struct rlimit limit;

  if (getrlimit (RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > MOST)
    return MOST - ROOM;
  return (int) limit.rlim_cur - ROOM;
}

/* What came may have the number that another of them is to get, so all go up first. */
static int
show (const Request *request,
      int           *fds,
      size_t         n,
      int            high)
{
  int error = n == request->n ? 0 : EMFILE;

  for (size_t i = 0; i < n; i++)
    {
      int up = fcntl (fds[i], F_DUPFD_CLOEXEC, high);

      if (up < 0 && error == 0)
        error = errno;
      close (fds[i]);
      fds[i] = up;
    }
  for (size_t i = 0; i < n; i++)
    {
      if (error == 0 && request->numbers[i] >= high)
        error = EMFILE;
      if (error == 0 && dup3 (fds[i], request->numbers[i], O_CLOEXEC) < 0)
        error = errno;
      if (fds[i] >= 0)
        close (fds[i]);
    }
  return error;
}

static void
hide (const Request *request)
{
  for (size_t i = 0; i < request->n && i < OW_RUNNER_INNER_FDS; i++)
    {
      if (request->numbers[i] > STDERR_FILENO)
        close (request->numbers[i]);
    }
}

static const char *
next_text (char **at)
{
  const char *text = *at;

  *at += strlen (text) + 1;
  return text;
}

/* The texts are the server's: as many as it said, each with its end. */
static void
spawn (int            fd,
       const Request *request,
       char          *texts,
       const int     *fds,
       size_t         n)
{
  const char **argv = calloc ((size_t) request->argc + 1, sizeof *argv);
  OwRunnerSpawn order = { .argv = argv, .terminal = (request->flags & HAS_TERMINAL) != 0 };
  int *const places[] = { &order.stdin_fd, &order.stdout_fd, &order.stderr_fd };
  size_t used = 0;
  pid_t pid = -1;

  errno = ENOMEM;
  for (size_t i = 0; argv != NULL && i < request->argc; i++)
    argv[i] = next_text (&texts);
  if ((request->flags & HAS_CWD) != 0)
    order.cwd = next_text (&texts);
  if ((request->flags & HAS_MARK) != 0)
    order.mark = next_text (&texts);
  for (size_t i = 0; i < 3; i++)
    *places[i] = (request->flags & (uint32_t) (HAS_STDIN << i)) != 0 && used < n ? fds[used++]
                                                                                   : -1;
  if (argv != NULL)
    pid = ow_runner_process_start (&order, request->parent, true);
  answer (fd, pid, pid < 0 ? errno : 0);
  for (size_t i = 0; i < n; i++)
    close (fds[i]);
  free (argv);
}

static void
serve_one (int fd,
           int high)
{
  Control control;
  Request request;
  struct iovec part = { .iov_base = &request, .iov_len = sizeof request };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                            .msg_controllen = sizeof control };
  int fds[OW_RUNNER_INNER_FDS];
  ssize_t got = recvmsg (fd, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  size_t n;
  char *texts;

  if (got < 0 && errno == EINTR)
    return;
  if (got != (ssize_t) sizeof request || request.length > TEXT_MAX
      || request.n > OW_RUNNER_INNER_FDS)
    _exit (0);
  n = take_fds (&message, fds);
  if (request.op == OP_SHOW)
    {
      answer (fd, 0, show (&request, fds, n, high));
      return;
    }
  if (request.op == OP_HIDE)
    {
      hide (&request);
      return;
    }
  texts = malloc ((size_t) request.length + 1);
  if (texts == NULL)
    _exit (0);
  read_whole (fd, texts, request.length);
  texts[request.length] = '\0';
  spawn (fd, &request, texts, fds, n);
  free (texts);
}

/* Signals stay blocked, as the server has them: what ends it is its end of the socket. */
static void
inner_main (int   fd,
            pid_t parent)
{
  char error[OW_RUNNER_ERROR_SIZE];
  int high = high_number ();
  int null = open ("/dev/null", O_RDWR | O_CLOEXEC);

  ow_runner_process_die_with (parent);
  if (null < 0 || dup2 (null, STDIN_FILENO) < 0 || dup2 (null, STDOUT_FILENO) < 0)
    _exit (1);
  close_range (STDERR_FILENO + 1, (unsigned int) fd - 1, 0);
  close_range ((unsigned int) fd + 1, ~0u, 0);
  ow_runner_settings_start_drop ();
  if (!ow_runner_landlock_restrict (inner.list, inner.ro, inner.rw, error))
    {
      fprintf (stderr, "openworker-runner: %s\n", error);
      answer (fd, 0, EPERM);
      _exit (1);
    }
  ow_runner_filter_commands ();
  answer (fd, 0, 0);
  for (;;)
    serve_one (fd, high);
}

/* --- the server's side --- */

static void
forget (void)
{
  if (inner.fd >= 0)
    close (inner.fd);
  if (inner.reserved >= 0)
    close (inner.reserved);
  inner.fd = inner.reserved = -1;
  inner.pid = 0;
}

static void
on_ended (int   status,
          void *user_data)
{
  pid_t pid = (pid_t) (intptr_t) user_data;

  if (inner.pid == pid)
    forget ();
  if (inner.lost != NULL)
    inner.lost (pid, inner.user_data);
}

/* One that does not answer is of no use to anybody. */
static void
give_up (void)
{
  if (inner.pid > 0)
    kill (inner.pid, SIGKILL);
  forget ();
}

/* The number of the other end stays taken here, so that nothing that is shown can have it. */
static bool
reserve (int number)
{
  int null = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  bool done = null >= 0 && dup3 (null, number, O_CLOEXEC) == number;

  if (null >= 0)
    close (null);
  inner.reserved = number;
  return done;
}

bool
ow_runner_inner_prepare (void)
{
  const struct timeval wait = { .tv_usec = LOOK_MS * 1000 };
  pid_t parent = getpid ();
  int fds[2];

  if (!inner.on || inner.pid > 0)
    return true;
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
    return false;
  inner.pid = fork ();
  if (inner.pid == 0)
    inner_main (fds[1], parent);
  inner.fd = fds[0];
  inner.greeted = false;
  if (inner.pid < 0 || !reserve (fds[1]))
    {
      int error = errno;

      give_up ();
      errno = error;
      return false;
    }
  setsockopt (inner.fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  setsockopt (inner.fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  if (inner.children != NULL)
    ow_runner_children_watch (inner.children, inner.pid, on_ended,
                              (void *) (intptr_t) inner.pid);
  return true;
}

static int64_t
answer_by (void)
{
  return ow_runner_loop_now () + ANSWER_S * 1000;
}

/* Whether a call that has come to nothing in LOOK_MS is to be made again. */
static bool
waits_on (int64_t deadline)
{
  return (errno == EAGAIN || errno == EINTR) && ow_runner_loop_now () < deadline
         && !ow_runner_process_is_stopped (inner.pid);
}

static bool
hear (Reply *reply)
{
  int64_t deadline = answer_by ();
  size_t at = 0;

  while (at < sizeof *reply)
    {
      ssize_t got = recv (inner.fd, (char *) reply + at, sizeof *reply - at, 0);

      if (got > 0)
        at += (size_t) got;
      else if (got == 0 || !waits_on (deadline))
        break;
    }
  if (at == sizeof *reply)
    {
      errno = reply->error;
      return reply->error == 0;
    }
  give_up ();
  errno = EPIPE;
  return false;
}

static bool
send_all (struct msghdr *message)
{
  int64_t deadline = answer_by ();

  while (message->msg_iovlen > 0)
    {
      ssize_t n = sendmsg (inner.fd, message, MSG_NOSIGNAL);

      if (n < 0 && waits_on (deadline))
        continue;
      if (n <= 0)
        return false;
      message->msg_control = NULL;
      message->msg_controllen = 0;
      while (message->msg_iovlen > 0 && (size_t) n >= message->msg_iov->iov_len)
        {
          n -= (ssize_t) message->msg_iov->iov_len;
          message->msg_iov++;
          message->msg_iovlen--;
        }
      if (message->msg_iovlen > 0)
        {
          message->msg_iov->iov_base = (char *) message->msg_iov->iov_base + n;
          message->msg_iov->iov_len -= (size_t) n;
        }
    }
  return true;
}

/* Commands are in its domain, and so can have its end of the socket. What is there before it was
 * asked is none of its answers. */
static bool
was_spoken_for (void)
{
  char byte;

  return recv (inner.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static bool
ask (Request    *request,
     char       *texts,
     const int  *fds,
     size_t      n,
     Reply      *reply)
{
  Control control;
  Reply greeting;
  struct iovec parts[] = {
    { .iov_base = request, .iov_len = sizeof *request },
    { .iov_base = texts, .iov_len = request->length },
  };
  struct msghdr message = { .msg_iov = parts, .msg_iovlen = request->length > 0 ? 2 : 1 };

  if (!ow_runner_inner_prepare ())
    return false;
  if (!inner.greeted && !hear (&greeting))
    {
      int error = errno;

      give_up ();
      errno = error;
      return false;
    }
  inner.greeted = true;
  put_fds (&message, &control, fds, n);
  if (!was_spoken_for () && send_all (&message))
    return reply == NULL || hear (reply);
  give_up ();
  errno = EPIPE;
  return false;
}

bool
ow_runner_inner_show (const int *fds,
                      size_t     n)
{
  Request request = { .op = OP_SHOW, .n = (uint32_t) n };
  Reply reply;

  if (!inner.on)
    return true;
  if (n > OW_RUNNER_INNER_FDS)
    {
      errno = EMFILE;
      return false;
    }
  memcpy (request.numbers, fds, n * sizeof *fds);
  return ask (&request, NULL, fds, n, &reply);
}

void
ow_runner_inner_hide (const int *fds,
                      size_t     n)
{
  Request request = { .op = OP_HIDE, .n = (uint32_t) n };

  if (!inner.on || inner.pid <= 0 || !inner.greeted || n > OW_RUNNER_INNER_FDS)
    return;
  memcpy (request.numbers, fds, n * sizeof *fds);
  ask (&request, NULL, NULL, 0, NULL);
}

static void
add_text (char      **at,
          const char *text)
{
  size_t size = strlen (text) + 1;

  memcpy (*at, text, size);
  *at += size;
}

/* (owned, malloc) all that the order has in words. */
static char *
write_texts (const OwRunnerSpawn *order,
             Request             *request)
{
  size_t size = (order->cwd == NULL ? 0 : strlen (order->cwd) + 1)
                + (order->mark == NULL ? 0 : strlen (order->mark) + 1);
  char *texts;
  char *at;

  for (request->argc = 0; order->argv[request->argc] != NULL; request->argc++)
    size += strlen (order->argv[request->argc]) + 1;
  if (size > TEXT_MAX)
    {
      errno = E2BIG;
      return NULL;
    }
  texts = at = malloc (size);
  if (texts == NULL)
    return NULL;
  for (uint32_t i = 0; i < request->argc; i++)
    add_text (&at, order->argv[i]);
  if (order->cwd != NULL)
    add_text (&at, order->cwd);
  if (order->mark != NULL)
    add_text (&at, order->mark);
  request->length = (uint32_t) size;
  return texts;
}

/* What is said to have been started will be signalled, and waited for: it has to be a child of
 * this process that nobody has yet. */
static bool
is_new_child (pid_t pid)
{
  siginfo_t info;

  return pid > 1 && pid != inner.pid
         && (inner.children == NULL || !ow_runner_children_is_ours (inner.children, pid))
         && waitid (P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

pid_t
ow_runner_inner_spawn (const OwRunnerSpawn *order)
{
  const int given[] = { order->stdin_fd, order->stdout_fd, order->stderr_fd };
  Request request = { .op = OP_SPAWN, .parent = getpid () };
  char *texts = write_texts (order, &request);
  int fds[3];
  size_t n = 0;
  Reply reply;
  bool done;

  if (texts == NULL)
    return -1;
  request.flags = (order->cwd != NULL ? HAS_CWD : 0) | (order->mark != NULL ? HAS_MARK : 0)
                  | (order->terminal ? HAS_TERMINAL : 0);
  for (size_t i = 0; i < 3; i++)
    {
      if (given[i] < 0)
        continue;
      request.flags |= (uint32_t) (HAS_STDIN << i);
      fds[n++] = given[i];
    }
  done = ask (&request, texts, fds, n, &reply);
  free (texts);
  if (!done || is_new_child (reply.pid))
    return done ? reply.pid : -1;
  give_up ();
  errno = EPROTO;
  return -1;
}
