/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-refuse-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-landlock-check-private.h"

gboolean
ow_openshell_refuse_is (const GError     *error,
                        OwOpenshellFault  fault)
{
  return g_error_matches (error, OW_OPENSHELL_ERROR, (int) fault);
}

const char *
ow_openshell_refuse_why (const GError *error)
{
  const char *colon = error->domain == OW_OPENSHELL_ERROR ? strstr (error->message, ": ") : NULL;

  return colon != NULL ? colon + 2 : error->message;
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
  why = ow_openshell_refuse_why (cause);
  ow_error_setf (&error, OW_ERROR_REFUSED, NULL, OW_OPENSHELL_REFUSED ": %s", why);
  return error;
}

GError *
ow_openshell_refuse_phantom (GError *reason)
{
  g_autoptr (GError) cause = reason;
  GError *error = NULL;

  ow_error_setf (&error, OW_ERROR_REFUSED, NULL,
                 OW_OPENSHELL_REFUSED ": the sandbox was made, and no command runs in it: %s",
                 ow_openshell_refuse_why (cause));
  return error;
}

/* A container that ended at once does not tell why. What it needs and may not have is what is
 * said: Landlock, which is demanded, and each path of the policy. */
static GError *
refuse_ended (const OwOpenshellFacts *facts,
              GError                 *reason)
{
  g_autoptr (GError) cause = reason;
  g_autofree char *image = ow_text_visible (facts->image);
  GError *error = NULL;

  if (facts->engine != NULL && ow_landlock_check (&error) <= 0)
    return error;
  ow_error_setf (&error, OW_ERROR_REFUSED,
                 "Look at \"docker logs\" or \"podman logs\" of such a container, or use the "
                 "image that was tested.",
                 OW_OPENSHELL_REFUSED ": the sandbox was made and ended at once. Its kernel may "
                 "have no Landlock, or the image %s may lack one of /usr, /lib, /etc, /var/log and "
                 "/sandbox (%s)", image, ow_openshell_refuse_why (cause));
  return error;
}

GError *
ow_openshell_refuse_create (const OwOpenshellFacts *facts,
                            GError                 *reason)
{
  if (ow_openshell_refuse_is (reason, OW_OPENSHELL_FAULT_MAIN_EXITED))
    return refuse_ended (facts, reason);
  if (ow_openshell_refuse_is (reason, OW_OPENSHELL_FAULT_IMAGE_ABSENT))
    {
      g_autoptr (GError) cause = reason;
      g_autoptr (GError) image = ow_openshell_refuse_image (facts->engine, facts->image);

      return g_error_new (OW_ERROR, OW_ERROR_REFUSED, "%s OpenShell tried it: %s", image->message,
                          ow_openshell_refuse_why (cause));
    }
  return ow_openshell_refuse (reason);
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
    next = g_strdup_printf ("Download it%s with: %s", size, visible);
  else
    next = g_strdup_printf ("Download it%s where the gateway runs.", size);
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
