/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-private-names-private.h"

#include <string.h>

#include "base/ow-source.h"
#include "sandbox/ow-network-profile.h"
#include "wire/ow-address.h"

#define DEADLINE_MS 3000

typedef struct {
  GPtrArray    *found;    /* (owned) of OwHost */
  GCancellable *lookups;  /* (owned) */
  GSource      *deadline; /* (owned) (nullable) */
  GSource      *stop;     /* (owned) (nullable) the caller's cancellable */
  guint         open;
} Find;

typedef struct {
  GTask  *task; /* (owned) */
  OwHost *host; /* (owned) */
} Lookup;

static void
find_free (gpointer data)
{
  Find *find = data;

  ow_source_clear (&find->deadline);
  ow_source_clear (&find->stop);
  g_object_unref (find->lookups);
  g_ptr_array_unref (find->found);
  g_free (find);
}

static GPtrArray *
new_list (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);
}

static gboolean
is_private (GInetAddress *address)
{
  g_autofree char *text = g_inet_address_to_string (address);
  struct sockaddr_storage native;

  return ow_address_parse (text, &native) &&
         ow_address_classify ((const struct sockaddr *) &native) == OW_ADDRESS_PRIVATE;
}

static void
close_one (GTask *task)
{
  Find *find = g_task_get_task_data (task);

  if (--find->open == 0)
    {
      ow_source_clear (&find->deadline);
      ow_source_clear (&find->stop);
      g_task_return_boolean (task, TRUE);
    }
}

static void
on_resolved (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  Lookup *lookup = user_data;
  Find *find = g_task_get_task_data (lookup->task);
  GList *addresses = g_resolver_lookup_by_name_finish (G_RESOLVER (source), result, NULL);

  for (GList *link = addresses; link != NULL; link = link->next)
    if (is_private (link->data))
      {
        g_ptr_array_add (find->found, g_steal_pointer (&lookup->host));
        break;
      }
  g_resolver_free_addresses (addresses);
  close_one (lookup->task);
  g_object_unref (lookup->task);
  ow_host_free (lookup->host);
  g_free (lookup);
}

static gboolean
is_looked_up (const OwHost *host,
              GPtrArray    *known)
{
  return !host->private && !g_str_has_prefix (host->host, "*.") && !ow_host_is_address (host) &&
         ow_host_find_in (known, host) == NULL;
}

static gboolean
on_late (gpointer user_data)
{
  g_cancellable_cancel (((Find *) g_task_get_task_data (user_data))->lookups);
  return G_SOURCE_REMOVE;
}

void
ow_private_names_find_async (GPtrArray          *hosts,
                             GCancellable       *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer            user_data)
{
  g_autoptr (GPtrArray) known = ow_network_profile_hosts (OW_PROFILE_STANDARD, NULL);
  g_autoptr (GResolver) resolver = g_resolver_get_default ();
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Find *find = g_new0 (Find, 1);

  g_task_set_source_tag (task, ow_private_names_find_async);
  g_task_set_check_cancellable (task, FALSE);
  g_task_set_task_data (task, find, find_free);
  find->found = new_list ();
  find->lookups = g_cancellable_new ();
  find->deadline = ow_source_timeout (DEADLINE_MS, on_late, task, NULL);
  find->stop = ow_source_cancelled (cancellable, on_late, task, NULL);
  find->open = 1;
  for (guint i = 0; hosts != NULL && i < hosts->len; i++)
    {
      Lookup *lookup;

      if (!is_looked_up (g_ptr_array_index (hosts, i), known))
        continue;
      lookup = g_new0 (Lookup, 1);
      lookup->task = g_object_ref (task);
      lookup->host = ow_host_copy (g_ptr_array_index (hosts, i));
      find->open++;
      g_resolver_lookup_by_name_async (resolver, lookup->host->host, find->lookups, on_resolved,
                                       lookup);
    }
  close_one (task);
}

GPtrArray *
ow_private_names_find_finish (GAsyncResult *result)
{
  Find *find = g_task_get_task_data (G_TASK (result));

  return g_ptr_array_ref (find->found);
}

char *
ow_private_names_leave_out (GPtrArray *hosts,
                            GPtrArray *names)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < names->len; i++)
    {
      const OwHost *name = g_ptr_array_index (names, i);
      g_autofree char *shown = ow_host_to_text (name);

      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", shown);
      for (guint at = hosts->len; at > 0; at--)
        if (ow_host_equal (g_ptr_array_index (hosts, at - 1), name))
          g_ptr_array_remove_index (hosts, at - 1);
    }
  if (text->len == 0)
    return NULL;
  return g_strdup_printf ("Not reached in this session without your consent, because it is in a "
                          "private network: %s. \"openworker sandbox allow SESSION HOST "
                          "--private\" gives it, with --machine for later sessions too.",
                          text->str);
}
