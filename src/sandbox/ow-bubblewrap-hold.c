/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-bubblewrap-hold-private.h"

#include <gio/gunixinputstream.h>
#include <glib-unix.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "wire/ow-json.h"

#define LONGEST 4096

struct _OwBubblewrapHold {
  int           info;     /* bwrap's, -1: closed */
  int           block;    /* bwrap's, -1: closed */
  int           go;       /* ours of @block, -1: released */
  GInputStream *news;     /* (owned) ours of @info */
  GString      *text;     /* (owned) */
  char          piece[512];
};

OwBubblewrapHold *
ow_bubblewrap_hold_new (GError **error)
{
  OwBubblewrapHold *self;
  int news[2];
  int go[2];

  if (!g_unix_open_pipe (news, FD_CLOEXEC, error))
    return NULL;
  /* Not a pipe: what is written to one that nobody reads any more is answered by a signal. */
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) != 0)
    {
      ow_error_set (error, OW_ERROR_FAILED, "The sandbox cannot be prepared", g_strerror (errno),
                    NULL);
      close (news[0]);
      close (news[1]);
      return NULL;
    }
  self = g_new0 (OwBubblewrapHold, 1);
  self->news = g_unix_input_stream_new (news[0], TRUE);
  self->info = news[1];
  self->block = go[0];
  self->go = go[1];
  self->text = g_string_new (NULL);
  return self;
}

static void
close_one (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

void
ow_bubblewrap_hold_free (OwBubblewrapHold *self)
{
  if (self == NULL)
    return;
  ow_bubblewrap_hold_started (self);
  close_one (&self->go);
  g_object_unref (self->news);
  g_string_free (self->text, TRUE);
  g_free (self);
}

int
ow_bubblewrap_hold_get_info (OwBubblewrapHold *self)
{
  return self->info;
}

int
ow_bubblewrap_hold_get_block (OwBubblewrapHold *self)
{
  return self->block;
}

void
ow_bubblewrap_hold_started (OwBubblewrapHold *self)
{
  close_one (&self->info);
  close_one (&self->block);
}

static void on_piece (GObject *object, GAsyncResult *result, gpointer user_data);

static void
read_piece (GTask *task)
{
  OwBubblewrapHold *self = g_task_get_task_data (task);

  g_input_stream_read_async (self->news, self->piece, sizeof self->piece, G_PRIORITY_DEFAULT,
                             g_task_get_cancellable (task), on_piece, task);
}

/* -1 where the text is not what bwrap writes. */
static gssize
find_pid (const GString *text)
{
  json_t *root = ow_json_parse (text->str, text->len, NULL);
  json_int_t pid = root != NULL ? ow_json_get_int (root, "child-pid", -1) : -1;

  json_decref (root);
  return pid > 1 && pid <= G_MAXINT ? (gssize) pid : -1;
}

static void
on_piece (GObject      *object,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  OwBubblewrapHold *self = g_task_get_task_data (task);
  GError *error = NULL;
  gssize length = g_input_stream_read_finish (G_INPUT_STREAM (object), result, &error);

  if (length < 0)
    {
      g_task_return_error (task, error);
      return;
    }
  g_string_append_len (self->text, self->piece, length);
  if (length > 0 && self->text->len < LONGEST && strchr (self->text->str, '}') == NULL)
    read_piece (g_steal_pointer (&task));
  else
    g_task_return_int (task, find_pid (self->text));
}

void
ow_bubblewrap_hold_wait_async (OwBubblewrapHold   *self,
                               GCancellable       *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer            user_data)
{
  GTask *task = g_task_new (NULL, cancellable, callback, user_data);

  g_task_set_source_tag (task, ow_bubblewrap_hold_wait_async);
  g_task_set_task_data (task, self, NULL);
  read_piece (task);
}

pid_t
ow_bubblewrap_hold_wait_finish (GAsyncResult *result,
                                GError      **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), -1);

  return (pid_t) g_task_propagate_int (G_TASK (result), error);
}

void
ow_bubblewrap_hold_release (OwBubblewrapHold *self)
{
  /* Sent, not only closed: another child may have a copy of this end for a moment. */
  if (self->go >= 0 && send (self->go, "", 1, MSG_NOSIGNAL) < 0)
    g_debug ("bwrap waits no more: %s", g_strerror (errno));
  close_one (&self->go);
}
