/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-worker-private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ow-runner-keep-private.h"
#include "ow-runner-process-private.h"
#include "wire/ow-frame.h"

/* AddressSanitizer takes terabytes of addresses: gcc says that it is there, and clang is asked. */
#if defined (__SANITIZE_ADDRESS__)
#define HAS_SHADOW_MEMORY 1
#elif defined (__has_feature)
#if __has_feature (address_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif

#define MEMORY_MAX (2ull * 1024 * 1024 * 1024)
/* A call that took more than this ends the process with it, which gives all of it back. */
#define KEPT_KIB   (8 * 1024)
/* As the kernel counts the links of /proc/self/task: one thread. */
#define ONE_THREAD 3

typedef struct {
  const OwRunnerRoots *roots;
  mode_t               mask;
  uint32_t            *begun;
  long                 first_kib; /* resident at the beginning */
  unsigned int         calls;
} Worker;

static void
read_all (void  *data,
          size_t length)
{
  for (size_t at = 0; at < length;)
    {
      ssize_t n = read (STDIN_FILENO, (char *) data + at, length - at);

      /* No more orders. */
      if (n == 0 && at == 0)
        _exit (0);
      if (n == 0 || (n < 0 && errno != EINTR))
        _exit (1);
      if (n > 0)
        at += (size_t) n;
    }
}

static void
write_parts (struct iovec *parts,
             int           n)
{
  while (n > 0)
    {
      ssize_t written = writev (STDOUT_FILENO, parts, n);

      if (written < 0 && errno != EINTR)
        _exit (1);
      while (n > 0 && written >= 0 && (size_t) written >= parts->iov_len)
        {
          written -= (ssize_t) parts->iov_len;
          parts++;
          n--;
        }
      if (n > 0 && written > 0)
        {
          parts->iov_base = (char *) parts->iov_base + written;
          parts->iov_len -= (size_t) written;
        }
    }
}

/* A copy of a client's socket here would keep that client from seeing its end; what one call left
 * open would be there in the next. */
void
ow_runner_worker_close_others (const OwRunnerRoots *roots)
{
  for (unsigned int first = STDERR_FILENO + 1;;)
    {
      unsigned int kept = ~0u;

      if (roots->keep != NULL && (unsigned int) roots->keep->fd >= first)
        kept = (unsigned int) roots->keep->fd;
      for (size_t i = 0; i < roots->n; i++)
        {
          unsigned int fd = (unsigned int) roots->fds[i];

          if (fd >= first && fd < kept)
            kept = fd;
        }
      if (kept > first)
        close_range (first, kept == ~0u ? kept : kept - 1, 0);
      if (kept == ~0u)
        return;
      first = kept + 1;
    }
}

static long
most_kib (void)
{
  struct rusage usage;

  return getrusage (RUSAGE_SELF, &usage) < 0 ? 0 : usage.ru_maxrss;
}

/* Puts back what a call can have changed and tells whether that is all: a thread or a process
 * of its own, or memory that it took, ends with this one. */
static bool
make_clean (Worker *self)
{
  struct stat threads;

  ow_runner_worker_close_others (self->roots);
  umask (self->mask);
  return ++self->calls < OW_RUNNER_WORKER_CALLS && chdir ("/") == 0
         && waitpid (-1, NULL, WNOHANG) < 0 && errno == ECHILD
         && stat ("/proc/self/task", &threads) == 0 && threads.st_nlink == ONE_THREAD
         && most_kib () - self->first_kib < KEPT_KIB;
}

static json_t *
read_order (OwRunnerOrder *order)
{
  char error[OW_WIRE_ERROR_SIZE];
  json_t *arguments;
  char *text;

  read_all (order, sizeof *order);
  text = malloc (order->length);
  if (text == NULL)
    _exit (1);
  read_all (text, order->length);
  arguments = ow_json_parse (text, order->length, error);
  free (text);
  if (arguments == NULL)
    _exit (1);
  return arguments;
}

static void
carry_out (Worker              *self,
           const OwRunnerOrder *order,
           const json_t        *arguments,
           bool                 may_go_on)
{
  OwRunnerToolResult result = { 0 };
  OwRunnerAnswer answer = { 0 };
  size_t length = 2;
  char *structured = NULL;

  __atomic_store_n (self->begun, order->number, __ATOMIC_RELEASE);
  order->func (self->roots, arguments, &result);
  if (result.structured != NULL)
    {
      structured = ow_json_dump (result.structured, &length);
      json_decref (result.structured);
    }
  if ((result.structured != NULL && structured == NULL) || length > OW_FRAME_MAX_BYTES)
    _exit (1);
  answer.text_length = result.length > OW_RUNNER_TEXT_MAX ? 0 : (uint32_t) result.length;
  answer.structured_length = (uint32_t) length;
  answer.is_error = result.is_error;
  answer.goes_on = may_go_on && make_clean (self);

  struct iovec parts[] = {
    { .iov_base = &answer, .iov_len = sizeof answer },
    { .iov_base = result.text, .iov_len = answer.text_length },
    { .iov_base = structured == NULL ? (char *) "{}" : structured, .iov_len = length },
  };

  write_parts (parts, 3);
  if (!answer.goes_on)
    _exit (0);
  free (structured);
  free (result.text);
}

void
ow_runner_worker_main (const OwRunnerRoots *roots,
                       const OwRunnerOrder *order,
                       const json_t        *arguments,
                       int                  fd,
                       uint32_t            *begun,
                       pid_t                parent)
{
  Worker self = { .roots = roots, .begun = begun };

  ow_runner_process_reset ();
  signal (SIGPIPE, SIG_IGN);
  prctl (PR_SET_NAME, "openworker-tool");
  if (getppid () != parent)
    _exit (1);
  /* No tool needs these two, and where a client's stream is among them it is no child's. */
  if (dup2 (fd, STDIN_FILENO) < 0 || dup2 (fd, STDOUT_FILENO) < 0)
    _exit (1);
#ifndef HAS_SHADOW_MEMORY
  struct rlimit memory = { .rlim_cur = MEMORY_MAX, .rlim_max = MEMORY_MAX };

  setrlimit (RLIMIT_AS, &memory);
#endif
  self.mask = umask (0);
  self.first_kib = most_kib ();
  make_clean (&self);
  if (order != NULL)
    carry_out (&self, order, arguments, false);
  for (;;)
    {
      OwRunnerOrder next;
      json_t *given = read_order (&next);

      carry_out (&self, &next, given, true);
      json_decref (given);
    }
}
