/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-bubblewrap-explain-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-bubblewrap-launch-private.h"

#define REFUSED "Sessions on this machine are refused"

/* A profile that gives bwrap the right, as other programs have theirs; the global switch would
 * give it to every program. data/apparmor has the same as a file. Source: apparmor.d(5). */
#define LOAD_PROFILE \
  "Run: sudo sh -c 'printf \"%s\\n\" \"abi <abi/4.0>,\" \"include <tunables/global>\" " \
  "\"profile openworker-bwrap /usr/bin/bwrap flags=(unconfined) {\" \"  userns,\" \"}\" " \
  "> /etc/apparmor.d/openworker-bwrap && apparmor_parser -r /etc/apparmor.d/openworker-bwrap'"

static int
read_number (const char *path)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return -1;
  return (int) CLAMP (strtol (text, NULL, 10), 0, G_MAXINT);
}

/* Outside of every container all ids are mapped to themselves. */
static gboolean
has_mapped_ids (void)
{
  g_autofree char *text = NULL;
  guint inside = 0;
  guint outside = 0;
  guint count = 0;

  return g_file_get_contents ("/proc/self/uid_map", &text, NULL, NULL) &&
         (sscanf (text, "%u %u %u", &inside, &outside, &count) != 3 || inside != outside ||
          count != G_MAXUINT32);
}

void
ow_bubblewrap_explain_read (OwBubblewrapFacts *facts,
                            uid_t              uid)
{
  facts->userns_clone = read_number ("/proc/sys/kernel/unprivileged_userns_clone");
  facts->apparmor_restrict =
    read_number ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  facts->max_userns = read_number ("/proc/sys/user/max_user_namespaces");
  facts->container = access ("/.dockerenv", F_OK) == 0 ||
                     access ("/run/.containerenv", F_OK) == 0 ||
                     access ("/run/systemd/container", F_OK) == 0 || has_mapped_ids ();
  facts->root = uid == 0;
}

static gboolean
says (const char *errors,
      const char *text)
{
  return errors != NULL && strstr (errors, text) != NULL;
}

static gboolean
lacks_namespaces (const char *errors)
{
  return says (errors, "setting up uid map") || says (errors, "No permissions to create") ||
         says (errors, "Creating new namespace failed") || says (errors, "RTM_NEWADDR") ||
         says (errors, "Operation not permitted") || says (errors, "Permission denied") ||
         says (errors, "No space left on device") || says (errors, OW_BUBBLEWRAP_LAUNCH_FAULT);
}

void
ow_bubblewrap_explain (const OwBubblewrapFacts *facts,
                       const char              *errors,
                       GError                 **error)
{
  g_autofree char *shown = ow_text_shorten (errors != NULL ? errors : "", 300, TRUE);

  if (says (errors, "Unknown option"))
    {
      ow_error_setf (error, OW_ERROR_REFUSED, "Run: sudo apt install --only-upgrade bubblewrap",
                     REFUSED ": the installed bubblewrap is too old (%s)", shown);
      return;
    }
  if (lacks_namespaces (errors))
    {
      if (facts->max_userns == 0)
        {
          ow_error_set (error, OW_ERROR_REFUSED, REFUSED,
                        "user namespaces are switched off (user.max_user_namespaces is 0)",
                        "Run: sudo sysctl -w user.max_user_namespaces=15000");
          return;
        }
      if (!facts->root && facts->userns_clone == 0)
        {
          ow_error_set (error, OW_ERROR_REFUSED, REFUSED,
                        "ordinary accounts may not make user namespaces "
                        "(kernel.unprivileged_userns_clone is 0)",
                        "Run: sudo sysctl -w kernel.unprivileged_userns_clone=1");
          return;
        }
      if (!facts->root && facts->apparmor_restrict > 0)
        {
          ow_error_set (error, OW_ERROR_REFUSED, REFUSED,
                        "AppArmor lets no program make user namespaces that has no profile for it, "
                        "and /usr/bin/bwrap has none", LOAD_PROFILE);
          return;
        }
      if (facts->container)
        {
          ow_error_setf (error, OW_ERROR_REFUSED,
                         "Run OpenWorker on the host, not in the container.",
                         REFUSED ": the container that this program runs in forbids "
                         "namespaces (%s)", shown);
          return;
        }
    }
  ow_error_setf (error, OW_ERROR_REFUSED,
                 "Run /usr/bin/bwrap --unshare-all --ro-bind / / true, which shows the same fault.",
                 REFUSED ": bubblewrap cannot raise the wall (%s)",
                 shown[0] != '\0' ? shown : "it gave no reason");
}
