/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-refuse-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"

gboolean
ow_openshell_refuse_is (const GError     *error,
                        OwOpenshellFault  fault)
{
  return g_error_matches (error, OW_OPENSHELL_ERROR, (int) fault);
}

/* What stands behind "What: " in an error of three parts. */
static const char *
skip_what (const char *message)
{
  const char *colon = strstr (message, ": ");

  return colon != NULL ? colon + 2 : message;
}

GError *
ow_openshell_refuse (GError *reason)
{
  g_autoptr (GError) cause = reason;
  const char *why = cause->message;
  GError *error = NULL;

  if (g_error_matches (cause, OW_ERROR, OW_ERROR_INTERRUPTED) ||
      g_error_matches (cause, G_IO_ERROR, G_IO_ERROR_CANCELLED) ||
      g_str_has_prefix (why, OW_OPENSHELL_REFUSED))
    return g_steal_pointer (&cause);
  if (cause->domain == OW_OPENSHELL_ERROR)
    why = skip_what (why);
  ow_error_setf (&error, OW_ERROR_REFUSED, NULL, OW_OPENSHELL_REFUSED ": %s", why);
  return error;
}

/* The words that a person looks for are the same wherever the image is missed. */
GError *
ow_openshell_refuse_image (const OwContainerEngine *engine,
                           const char              *image)
{
  g_autofree char *shown = ow_text_visible (image);
  g_autofree char *line = engine != NULL ? ow_container_engine_pull_line (engine, image) : NULL;
  g_autofree char *visible = line != NULL ? ow_text_visible (line) : NULL;
  g_autofree char *size = g_str_equal (image, OW_OPENSHELL_BASE_IMAGE)
                            ? g_strdup (" (about 5 GB, once)") : g_strdup ("");
  g_autofree char *next = NULL;
  GError *error = NULL;

  if (visible != NULL)
    next = g_strdup_printf ("Download it%s with \"openworker machine sandbox setup\" or: %s", size,
                            visible);
  else
    next = g_strdup_printf ("Download it%s with \"openworker machine sandbox setup\", or where the "
                            "gateway runs.", size);
  ow_error_setf (&error, OW_ERROR_REFUSED, next, OW_OPENSHELL_REFUSED ": The sandbox base image is "
                 "not downloaded yet: %s", shown);
  return error;
}

GError *
ow_openshell_refuse_version (const char *version)
{
  g_autofree char *shown = ow_text_visible (version);
  GError *error = NULL;

  ow_error_setf (&error, OW_ERROR_REFUSED,
                 "Install OpenShell " OW_OPENSHELL_VERSION ", or set "
                 "sandbox_openshell_any_version = true in config.toml to use this one all the "
                 "same.",
                 OW_OPENSHELL_REFUSED ": OpenShell %.60s is installed, and only "
                 OW_OPENSHELL_VERSION " was tested", shown);
  return error;
}
