/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-join-private.h"

#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-source.h"
#include "ow-engine-place-private.h"

#define RETRY_MS 50
/* How long a face that may be no engine itself waits for another to be the next one. */
#define GRACE_US (2 * G_TIME_SPAN_SECOND)

typedef struct
{
  OwFaceKind     kind;
  OwEnginePlace *place;    /* (owned) */
  gint64         until_us;
  gint64         grace_us; /* until then no engine is no answer */
  GSource       *retry;    /* (owned) (nullable) */
} Search;

void
ow_engine_join_free (OwEngineJoin *self)
{
  /* Whoever was to be the engine here is not: its name goes before its lock, as at an end. */
  if (self->lock >= 0 && self->path != NULL)
    ow_engine_place_leave (self->path, self->lock);
  if (self->lock >= 0)
    close (self->lock);
  if (self->socket >= 0)
    close (self->socket);
  g_free (self->path);
  g_free (self);
}

static void
search_free (gpointer data)
{
  Search *search = data;

  ow_source_clear (&search->retry);
  g_clear_pointer (&search->place, ow_engine_place_free);
  g_free (search);
}

/* Everything is taken. */
static void
return_join (GTask        *task,
             OwEngineRole  role,
             int           lock,
             int           socket,
             const char   *path)
{
  OwEngineJoin *join = g_new0 (OwEngineJoin, 1);

  join->role = role;
  join->lock = lock;
  join->socket = socket;
  join->path = g_strdup (path);
  g_task_return_pointer (task, join, (GDestroyNotify) ow_engine_join_free);
}

static gboolean
may_be_engine (OwFaceKind kind)
{
  return kind == OW_FACE_WINDOW || kind == OW_FACE_COMMAND || kind == OW_FACE_UP;
}

/* The lock is ours, or there never was one (-1), so there is no engine: TRUE, the search is
 * over. */
static gboolean
use_lock (GTask *task,
          int    lock)
{
  Search *search = g_task_get_task_data (task);
  GError *error = NULL;
  int socket;

  if (may_be_engine (search->kind))
    {
      socket = ow_engine_place_listen (search->place, &error);
      if (socket >= 0)
        {
          return_join (task, OW_ENGINE_HOST, lock, socket, search->place->socket);
          return TRUE;
        }
    }
  if (lock >= 0)
    close (lock);
  if (error == NULL && g_get_monotonic_time () < search->grace_us)
    return FALSE;
  if (error == NULL && search->kind == OW_FACE_VISITOR)
    {
      return_join (task, OW_ENGINE_ALONE, -1, -1, NULL);
      return TRUE;
    }
  if (error == NULL)
    ow_error_set (&error, OW_ERROR_REFUSED, "There is no engine to join", "none runs",
                  "Start one: openworker up, or the window.");
  g_task_return_error (task, error);
  return TRUE;
}

static gboolean
try_client (GTask *task)
{
  Search *search = g_task_get_task_data (task);
  GError *error = NULL;
  int fd = ow_engine_place_connect (search->place, &error);

  if (fd < 0 && error == NULL)
    return FALSE;
  if (fd >= 0 && search->kind == OW_FACE_UP)
    {
      close (fd);
      ow_error_set (&error, OW_ERROR_REFUSED, "This cannot be the engine",
                    "another one runs already", "See `openworker status`.");
    }
  if (error != NULL)
    g_task_return_error (task, error);
  else
    return_join (task, OW_ENGINE_CLIENT, -1, fd, NULL);
  return TRUE;
}

static gboolean
try_once (GTask *task)
{
  Search *search = g_task_get_task_data (task);
  GError *error = NULL;
  int lock;

  /* Whoever may not be the engine asks first, so as to hold the lock only where nobody is. */
  if (!may_be_engine (search->kind) && try_client (task))
    return TRUE;
  /* A look around leaves nothing behind. */
  if (!may_be_engine (search->kind) && !g_file_test (search->place->lock, G_FILE_TEST_EXISTS))
    return use_lock (task, -1);
  lock = ow_engine_place_lock (search->place, &error);
  if (error != NULL)
    {
      g_task_return_error (task, error);
      return TRUE;
    }
  if (lock >= 0)
    return use_lock (task, lock);
  return may_be_engine (search->kind) && try_client (task);
}

static gboolean
on_retry (gpointer user_data)
{
  g_autoptr (GTask) task = g_object_ref (user_data);
  Search *search = g_task_get_task_data (task);

  if (g_task_return_error_if_cancelled (task) || try_once (task))
    return G_SOURCE_REMOVE;
  if (g_get_monotonic_time () < search->until_us)
    return G_SOURCE_CONTINUE;
  g_task_return_new_error (task, OW_ERROR, OW_ERROR_TIMED_OUT,
                           "The engine that runs does not let anybody join: it did not answer in "
                           "time. End it, and try again.");
  return G_SOURCE_REMOVE;
}

void
ow_engine_join_async (OwFaceKind           kind,
                      gint64               until_us,
                      gboolean             again,
                      GCancellable        *cancellable,
                      GAsyncReadyCallback  callback,
                      gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Search *search = g_new0 (Search, 1);
  GError *error = NULL;

  g_task_set_source_tag (task, ow_engine_join_async);
  search->kind = kind;
  search->until_us = until_us;
  search->grace_us = again ? g_get_monotonic_time () + GRACE_US : 0;
  g_task_set_task_data (task, search, search_free);
  search->place = ow_engine_place_new (may_be_engine (kind), &error);
  if (search->place == NULL && kind == OW_FACE_VISITOR)
    {
      g_clear_error (&error);
      return_join (task, OW_ENGINE_ALONE, -1, -1, NULL);
    }
  else if (search->place == NULL)
    g_task_return_error (task, error);
  else if (!try_once (task))
    search->retry = ow_source_timeout (RETRY_MS, on_retry, g_object_ref (task), g_object_unref);
}

OwEngineJoin *
ow_engine_join_finish (GAsyncResult  *result,
                       GError       **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
