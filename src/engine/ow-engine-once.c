/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-engine-once-private.h"

#include <stdlib.h>
#include <string.h>

#define MAX_KEPT 1024

typedef struct
{
  OwEngineOnceFunc func;
  gpointer         user_data;
  GDestroyNotify   notify;
} Waiter;

typedef struct
{
  char   *id;       /* (owned) the key of the table */
  char   *hash;     /* (owned) of the command and its parameters */
  json_t *answer;   /* (owned) (nullable) until it is done */
  gint64  done_us;
  GArray *waiters;  /* (owned) of Waiter */
} Entry;

struct _OwEngineOnce
{
  GHashTable *entries; /* (owned) id → Entry */
  GQueue      done;    /* of Entry, borrowed, oldest first */
  gint64      keep_us;
};

static void
clear_waiter (gpointer data)
{
  Waiter *waiter = data;

  if (waiter->notify != NULL)
    waiter->notify (waiter->user_data);
}

static void
entry_free (gpointer data)
{
  Entry *entry = data;

  g_free (entry->id);
  g_free (entry->hash);
  json_decref (entry->answer);
  g_array_unref (entry->waiters);
  g_free (entry);
}

OwEngineOnce *
ow_engine_once_new (gint64 keep_us)
{
  OwEngineOnce *self = g_new0 (OwEngineOnce, 1);

  self->entries = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, entry_free);
  self->keep_us = keep_us;
  return self;
}

void
ow_engine_once_free (OwEngineOnce *self)
{
  g_queue_clear (&self->done);
  g_hash_table_unref (self->entries);
  g_free (self);
}

static char *
make_hash (const char   *command,
           const json_t *params)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
  size_t length = 0;
  char *text = ow_json_dump_canonical (params, &length);

  g_checksum_update (checksum, (const guchar *) command, (gssize) strlen (command) + 1);
  if (text != NULL)
    {
      g_checksum_update (checksum, (const guchar *) text, (gssize) length);
      explicit_bzero (text, length);
    }
  free (text);
  return g_strdup (g_checksum_get_string (checksum));
}

/* Only what is done goes. */
static void
forget_old (OwEngineOnce *self)
{
  gint64 now = g_get_monotonic_time ();

  for (;;)
    {
      Entry *oldest = g_queue_peek_head (&self->done);

      if (oldest == NULL || (g_queue_get_length (&self->done) <= MAX_KEPT &&
                             now - oldest->done_us < self->keep_us))
        return;
      g_queue_pop_head (&self->done);
      g_hash_table_remove (self->entries, oldest->id);
    }
}

OwEngineOnceState
ow_engine_once_ask (OwEngineOnce     *self,
                    const char       *id,
                    const char       *command,
                    const json_t     *params,
                    OwEngineOnceFunc  func,
                    gpointer          user_data,
                    GDestroyNotify    notify)
{
  g_autofree char *name = g_ascii_strdown (id, -1);
  g_autofree char *hash = make_hash (command, params);
  Waiter waiter = { func, user_data, notify };
  OwEngineOnceState state = OW_ENGINE_ONCE_KNOWN;
  Entry *entry;

  forget_old (self);
  entry = g_hash_table_lookup (self->entries, name);
  if (entry != NULL && !g_str_equal (entry->hash, hash))
    {
      clear_waiter (&waiter);
      return OW_ENGINE_ONCE_OTHER;
    }
  if (entry != NULL && entry->answer != NULL)
    {
      func (id, entry->answer, user_data);
      clear_waiter (&waiter);
      return OW_ENGINE_ONCE_KNOWN;
    }
  if (entry == NULL)
    {
      state = OW_ENGINE_ONCE_NEW;
      entry = g_new0 (Entry, 1);
      entry->id = g_steal_pointer (&name);
      entry->hash = g_steal_pointer (&hash);
      entry->waiters = g_array_new (FALSE, FALSE, sizeof (Waiter));
      g_array_set_clear_func (entry->waiters, clear_waiter);
      g_hash_table_insert (self->entries, entry->id, entry);
    }
  g_array_append_val (entry->waiters, waiter);
  return state;
}

void
ow_engine_once_done (OwEngineOnce *self,
                     const char   *id,
                     json_t       *answer)
{
  g_autofree char *name = g_ascii_strdown (id, -1);
  Entry *entry = g_hash_table_lookup (self->entries, name);
  g_autoptr (GArray) waiters = NULL;

  if (entry == NULL || entry->answer != NULL)
    {
      json_decref (answer);
      return;
    }
  entry->answer = json_incref (answer);
  entry->done_us = g_get_monotonic_time ();
  g_queue_push_tail (&self->done, entry);
  waiters = g_steal_pointer (&entry->waiters);
  entry->waiters = g_array_new (FALSE, FALSE, sizeof (Waiter));
  for (guint i = 0; i < waiters->len; i++)
    {
      Waiter *waiter = &g_array_index (waiters, Waiter, i);

      waiter->func (name, answer, waiter->user_data);
    }
  json_decref (answer);
}
