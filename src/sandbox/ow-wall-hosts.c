/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-wall-hosts-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "ow-host-line-private.h"
#include "wire/ow-json.h"

/* It reads a line and answers: what takes longer has stopped. */
#define ANSWER_MS 10000

typedef struct {
  GTask  *task; /* (owned) */
  OwHost *host; /* (owned) */
} Change;

/* A write that is under way holds a reference of its own. */
struct _OwWallHosts {
  OwReadyProcess *proxy;    /* NULL: over */
  GPtrArray      *hosts;    /* (owned) of OwHost: what was sent last */
  GQueue          changes;  /* (owned) of Change; the first is on its way */
  gint64          n_lists;  /* that were sent */
  gboolean        writing;
  gboolean        sent;     /* the list with the first change */
  GSource        *deadline; /* (owned) (nullable) */
};

typedef struct {
  OwWallHosts *self; /* (owned) a reference */
  GBytes      *line; /* (owned) */
} Write;

static void start_first (OwWallHosts *self);
static void send_first (OwWallHosts *self);

static void
change_free (Change *change)
{
  g_object_unref (change->task);
  ow_host_free (change->host);
  g_free (change);
}

static void
stop_deadline (OwWallHosts *self)
{
  if (self->deadline != NULL)
    g_source_destroy (self->deadline);
  g_clear_pointer (&self->deadline, g_source_unref);
}

/* Ends the first change, with @error where it is given (moved in). */
static void
answer_first (OwWallHosts *self,
              GError      *error)
{
  Change *change = g_queue_pop_head (&self->changes);

  stop_deadline (self);
  self->sent = FALSE;
  if (error != NULL)
    g_task_return_error (change->task, error);
  else
    g_task_return_boolean (change->task, TRUE);
  change_free (change);
}

static GError *
make_error (const char *why)
{
  GError *error = NULL;

  ow_error_set (&error, OW_ERROR_FAILED, "The host was not allowed", why,
                "Start the session again");
  return error;
}

OwWallHosts *
ow_wall_hosts_new (OwReadyProcess *proxy,
                   GPtrArray      *hosts)
{
  OwWallHosts *self = g_rc_box_new0 (OwWallHosts);

  self->proxy = proxy;
  self->hosts = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
  for (guint i = 0; hosts != NULL && i < hosts->len; i++)
    g_ptr_array_add (self->hosts, ow_host_copy (g_ptr_array_index (hosts, i)));
  g_queue_init (&self->changes);
  self->n_lists = 1;
  return self;
}

static void
clear (gpointer data)
{
  g_ptr_array_unref (((OwWallHosts *) data)->hosts);
}

void
ow_wall_hosts_free (OwWallHosts *self)
{
  if (self == NULL)
    return;
  self->proxy = NULL;
  while (!g_queue_is_empty (&self->changes))
    answer_first (self, make_error ("its sandbox has ended"));
  g_rc_box_release_full (self, clear);
}

/* The host stays in the list that is sent next: what the proxy has done is not known. */
static gboolean
on_late (gpointer user_data)
{
  OwWallHosts *self = user_data;

  answer_first (self, make_error ("the proxy of its network did not answer"));
  start_first (self);
  return G_SOURCE_REMOVE;
}

/* A list that could not be written gets no answer, and the deadline says so. */
static void
on_written (GObject      *object,
            GAsyncResult *result,
            gpointer      user_data)
{
  OwWallHosts *self = g_steal_pointer (&((Write *) user_data)->self);

  g_output_stream_write_all_finish (G_OUTPUT_STREAM (object), result, NULL, NULL);
  g_bytes_unref (((Write *) user_data)->line);
  g_free (user_data);
  self->writing = FALSE;
  if (self->proxy != NULL)
    send_first (self);
  g_rc_box_release_full (self, clear);
}

/* The first change, where it was not sent yet and no former one is still being written. */
static void
send_first (OwWallHosts *self)
{
  const Change *change = g_queue_peek_head (&self->changes);
  Write *write;

  if (change == NULL || self->sent || self->writing)
    return;
  ow_host_add_to (self->hosts, change->host);
  self->n_lists++;
  self->sent = self->writing = TRUE;
  write = g_new0 (Write, 1);
  write->self = g_rc_box_acquire (self);
  write->line = ow_host_line_new (self->hosts);
  g_output_stream_write_all_async (
    ow_process_get_stdin (ow_ready_process_get_process (self->proxy)),
    g_bytes_get_data (write->line, NULL), g_bytes_get_size (write->line), G_PRIORITY_DEFAULT,
    NULL, on_written, write);
}

static void
start_first (OwWallHosts *self)
{
  if (g_queue_is_empty (&self->changes))
    return;
  self->deadline = ow_source_timeout (ANSWER_MS, on_late, self, NULL);
  send_first (self);
}

void
ow_wall_hosts_allow (OwWallHosts  *self,
                     const OwHost *host,
                     GTask        *task)
{
  Change *change = g_new0 (Change, 1);

  change->task = task;
  change->host = ow_host_copy (host);
  g_queue_push_tail (&self->changes, change);
  if (self->changes.length == 1)
    start_first (self);
}

gboolean
ow_wall_hosts_take (OwWallHosts *self,
                    const char  *line)
{
  char error[OW_WIRE_ERROR_SIZE];
  json_t *said = ow_json_parse (line, strlen (line), error);
  const gboolean about_lists = json_object_get (said, "list") != NULL;
  const gint64 number = ow_json_get_int (said, "list", 0);

  json_decref (said);
  if (about_lists && number == self->n_lists && self->sent)
    {
      answer_first (self, NULL);
      start_first (self);
    }
  return about_lists;
}
