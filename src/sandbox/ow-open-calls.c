/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-open-calls-private.h"

#include <string.h>

/* Ids of ended calls whose last output may still come. */
#define MAX_ENDED 256
#define MAX_OPEN_CALLS 64
#define CALL_ID_MAX 64
#define CALL_ID_CHARS \
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

struct _OwOpenCalls
{
  GHashTable         *calls;       /* (owned) id → OwOpenCall */
  GHashTable         *ended;       /* (owned) set of ids */
  GQueue              ended_order; /* ids, borrowed from ended, oldest first */
  OwOpenCallHandlers  handlers;
  guint               violations;
};

static void
on_ended (OwOpenCall *call,
          gpointer    user_data)
{
  OwOpenCalls *self = user_data;
  char *id = g_strdup (ow_open_call_get_id (call));

  g_hash_table_remove (self->calls, id);
  if (g_hash_table_add (self->ended, id))
    g_queue_push_tail (&self->ended_order, id);
  if (g_queue_get_length (&self->ended_order) > MAX_ENDED)
    g_hash_table_remove (self->ended, g_queue_pop_head (&self->ended_order));
}

static void
on_violation (OwOpenCall *call,
              gpointer    user_data)
{
  OwOpenCalls *self = user_data;

  /* The channel looks at the count once the call has ended, after what it received. */
  self->violations++;
}

static gboolean
is_call_id (const char *id)
{
  gsize length = strlen (id);

  return length > 0 && length <= CALL_ID_MAX && strspn (id, CALL_ID_CHARS) == length;
}

const char *
ow_open_calls_refusal (OwOpenCalls  *self,
                       const char   *id,
                       const json_t *arguments)
{
  if (!is_call_id (id) || g_hash_table_contains (self->calls, id)
      || g_hash_table_contains (self->ended, id))
    return "its id is not one of a new call";
  if (!json_is_object (arguments))
    return "its arguments are no object";
  if (json_dumpb (arguments, NULL, 0, JSON_COMPACT) > OW_OPEN_CALL_ARGUMENT_BYTES)
    return "its arguments are larger than 4 MiB";
  if (g_hash_table_size (self->calls) >= MAX_OPEN_CALLS)
    return "64 calls are running already";
  return NULL;
}

OwOpenCall *
ow_open_calls_add (OwOpenCalls             *self,
                   const OwOpenCallRequest *request,
                   GTask                   *task)
{
  OwOpenCall *call = ow_open_call_new (request, task, &self->handlers, self);

  g_hash_table_insert (self->calls, g_strdup (request->id), call);
  return call;
}

OwOpenCall *
ow_open_calls_find (OwOpenCalls *self,
                    const char  *id)
{
  return g_hash_table_lookup (self->calls, id);
}

guint
ow_open_calls_get_n (OwOpenCalls *self)
{
  return g_hash_table_size (self->calls);
}

GList *
ow_open_calls_list (OwOpenCalls *self)
{
  return g_hash_table_get_values (self->calls);
}

guint
ow_open_calls_get_violations (OwOpenCalls *self)
{
  return self->violations;
}

void
ow_open_calls_output (OwOpenCalls  *self,
                      const json_t *params)
{
  const char *id = ow_json_get_string (params, "callId", "");
  OwOpenCall *call = g_hash_table_lookup (self->calls, id);

  if (call == NULL && g_hash_table_contains (self->ended, id))
    return; /* the end of a call that was stopped */
  if (call == NULL || !ow_open_call_is_sent (call) || !ow_open_call_output (call, params))
    self->violations++;
}

void
ow_open_calls_unlink (OwOpenCalls *self)
{
  GHashTableIter iter;
  gpointer call;

  g_hash_table_iter_init (&iter, self->calls);
  while (g_hash_table_iter_next (&iter, NULL, &call))
    ow_open_call_unlink (call);
}

void
ow_open_calls_lose (OwOpenCalls *self,
                    const char  *reason)
{
  g_autoptr (GPtrArray) ids = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer id;

  /* Ending a call runs its owner's code: the table may be another one after each. */
  g_hash_table_iter_init (&iter, self->calls);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    g_ptr_array_add (ids, g_strdup (id));
  for (guint i = 0; i < ids->len; i++)
    {
      OwOpenCall *call = g_hash_table_lookup (self->calls, g_ptr_array_index (ids, i));

      if (call != NULL)
        ow_open_call_lose (call, reason);
    }
}

OwOpenCalls *
ow_open_calls_new (guint cancel_ms,
                   guint call_ms)
{
  OwOpenCalls *self = g_new0 (OwOpenCalls, 1);

  self->calls = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                       (GDestroyNotify) ow_open_call_free);
  self->ended = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_queue_init (&self->ended_order);
  self->handlers = (OwOpenCallHandlers) { on_ended, on_violation, cancel_ms, call_ms };
  return self;
}

void
ow_open_calls_free (OwOpenCalls *self)
{
  g_hash_table_unref (self->calls);
  g_queue_clear (&self->ended_order);
  g_hash_table_unref (self->ended);
  g_free (self);
}
