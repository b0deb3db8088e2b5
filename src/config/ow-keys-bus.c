/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-keys-bus.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *
ow_keys_bus_get_address (void)
{
  const char *address = g_getenv ("DBUS_SESSION_BUS_ADDRESS");
  const char *runtime = g_getenv ("XDG_RUNTIME_DIR");
  g_autofree char *path = NULL;
  g_autofree char *escaped = NULL;
  struct stat st;

  /* GDBus would start a bus for the one kind and a program for the other. */
  if (address != NULL)
    return *address != '\0' && strstr (address, "autolaunch:") == NULL &&
           strstr (address, "unixexec:") == NULL ? g_strdup (address) : NULL;

  if (runtime == NULL || !g_path_is_absolute (runtime))
    return NULL;
  path = g_build_filename (runtime, "bus", NULL);
  if (stat (path, &st) < 0 || !S_ISSOCK (st.st_mode) || st.st_uid != geteuid ())
    return NULL;
  escaped = g_dbus_address_escape_value (path);

  return g_strconcat ("unix:path=", escaped, NULL);
}
