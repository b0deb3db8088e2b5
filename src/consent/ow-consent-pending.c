/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-consent-pending-private.h"

#include "base/ow-random.h"
#include "base/ow-source.h"
#include "ow-simple-command-private.h"

#define ID_BYTES 16

OwConsentPending *
ow_consent_pending_new (const OwConsentQuestion  *question,
                        GTask                    *task,
                        GError                  **error)
{
  /* Who may answer is who was told the id. */
  char *id = ow_random_hex (ID_BYTES, error);
  OwConsentPending *self;

  if (id == NULL)
    {
      g_prefix_error (error, "Cannot ask for consent: ");
      return NULL;
    }

  self = g_new0 (OwConsentPending, 1);
  self->id = id;
  self->kind = question->kind;
  self->level = question->level;
  self->call = g_strdup (question->call);
  self->title = g_strdup (question->title);
  self->subject = g_strdup (question->subject);
  self->always = g_strdup (question->always);
  self->keep = question->keep;
  self->keep_data = question->keep_data;
  self->task = g_object_ref (task);
  return self;
}

void
ow_consent_pending_free (OwConsentPending *self)
{
  ow_source_clear (&self->timeout);
  ow_source_clear (&self->cancelled);
  g_clear_object (&self->task);
  g_strfreev (self->words);
  g_free (self->always);
  g_free (self->id);
  g_free (self->call);
  g_free (self->title);
  g_free (self->subject);
  g_free (self);
}

json_t *
ow_consent_pending_describe (const OwConsentPending *self)
{
  json_t *members = json_pack ("{s:s, s:s, s:s, s:s, s:s}", "request", self->id,
                               "kind", ow_consent_pending_kind_name (self->kind),
                               "title", self->title, "subject", self->subject,
                               "level", ow_level_to_string (self->level));

  if (self->call != NULL)
    json_object_set_new (members, "call", json_string (self->call));
  if (self->words != NULL)
    {
      g_autofree char *always = ow_simple_command_join ((const char * const *) self->words);

      json_object_set_new (members, "always", json_string (always));
    }
  else if (self->always != NULL)
    {
      json_object_set_new (members, "always", json_string (self->always));
    }
  return members;
}

const char *
ow_consent_pending_kind_name (OwConsentKind kind)
{
  switch (kind)
    {
    case OW_CONSENT_TOOL:
      return "tool";
    case OW_CONSENT_HOST:
      return "host";
    case OW_CONSENT_FOLDER:
      return "folder";
    case OW_CONSENT_CONNECTOR:
      return "connector";
    case OW_CONSENT_LIMIT:
      return "limit";
    }

  return NULL;
}
