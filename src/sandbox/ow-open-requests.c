/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-open-requests-private.h"

#include "base/ow-error.h"
#include "base/ow-source.h"

struct _OwOpenRequests {
  guint      deadline_ms;
  GPtrArray *requests;  /* (owned) OpenRequest */
};

typedef struct {
  OwOpenRequests *owner;    /* (unowned) */
  OwChannelLink  *link;     /* (owned) */
  json_int_t      id;       /* 0: answered */
  GTask          *task;     /* (owned) */
  GSource        *deadline; /* (owned) (nullable) */
} OpenRequest;

static void
open_request_free (gpointer data)
{
  OpenRequest *request = data;

  ow_source_clear (&request->deadline);
  if (request->id != 0)
    ow_channel_link_forget (request->link, request->id);
  g_object_unref (request->link);
  g_clear_object (&request->task);
  g_free (request);
}

/* Takes the request off the list; its task is the caller's. */
static GTask *
open_request_take (OpenRequest *request)
{
  GTask *task = g_steal_pointer (&request->task);

  g_ptr_array_remove_fast (request->owner->requests, request);
  return task;
}

void
ow_open_requests_fail (OwOpenRequests *self,
                       OwChannelLink  *link,
                       const char     *reason)
{
  g_autoptr (GPtrArray) tasks = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = self->requests->len; i > 0; i--)
    {
      OpenRequest *request = g_ptr_array_index (self->requests, i - 1);

      if (link == NULL || request->link == link)
        g_ptr_array_add (tasks, open_request_take (request));
    }
  for (guint i = 0; i < tasks->len; i++)
    {
      GError *error = NULL;

      ow_error_set (&error, OW_ERROR_FAILED, "The runner could not be asked", reason, NULL);
      g_task_return_error (g_ptr_array_index (tasks, i), error);
    }
}

static void
open_request_replied (json_t *result,
                      json_t *error,
                      void   *user_data)
{
  OpenRequest *request = user_data;
  g_autoptr (GTask) task = NULL;
  GError *failure = NULL;

  request->id = 0;
  task = open_request_take (request);
  if (result != NULL)
    {
      g_task_return_pointer (task, json_incref (result), (GDestroyNotify) json_decref);
      return;
    }
  ow_error_setf (&failure, OW_ERROR_FAILED, NULL, "The runner refused a request: %.200s",
                 ow_json_get_string (error, "message", "no reason given"));
  g_task_return_error (task, failure);
}

static gboolean
open_request_too_late (gpointer user_data)
{
  OpenRequest *request = user_data;
  g_autoptr (GTask) task = NULL;
  GError *error = NULL;

  ow_source_clear (&request->deadline);
  task = open_request_take (request);
  ow_error_set (&error, OW_ERROR_TIMED_OUT, "The runner could not be asked",
                "it gave no answer in time", NULL);
  g_task_return_error (task, error);
  return G_SOURCE_REMOVE;
}

void
ow_open_requests_ask (OwOpenRequests *self,
                      OwChannelLink  *link,
                      const char     *method,
                      json_t         *params,
                      GTask          *task)
{
  GError *error = NULL;
  OpenRequest *request;

  if (link == NULL)
    {
      json_decref (params);
      ow_error_set (&error, OW_ERROR_FAILED, "The runner could not be asked",
                    "it is not connected", NULL);
      g_task_return_error (task, error);
      g_object_unref (task);
      return;
    }
  request = g_new0 (OpenRequest, 1);
  request->owner = self;
  request->link = g_object_ref (link);
  request->task = task;
  request->deadline = ow_source_timeout (self->deadline_ms, open_request_too_late, request, NULL);
  g_ptr_array_add (self->requests, request);
  request->id = ow_channel_link_request (link, method, params, open_request_replied, request);
}

OwOpenRequests *
ow_open_requests_new (guint deadline_ms)
{
  OwOpenRequests *self = g_new0 (OwOpenRequests, 1);

  self->deadline_ms = deadline_ms;
  self->requests = g_ptr_array_new_with_free_func (open_request_free);
  return self;
}

void
ow_open_requests_free (OwOpenRequests *self)
{
  g_ptr_array_unref (self->requests);
  g_free (self);
}
