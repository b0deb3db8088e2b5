/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openai-key-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-secret.h"

#define SCHEME "Bearer "

/* What stands in for a key in somebody's words. */
#define TAKEN_OUT "[key]"

struct _OwOpenaiKey {
  char *header;  /* (owned) of ow_secret_alloc() */
};

OwOpenaiKey *
ow_openai_key_new (const char  *key,
                   GError     **error)
{
  const char *fault = ow_secret_find_fault (key);
  OwOpenaiKey *self;
  char *header;

  if (fault != NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "The model's key cannot be used", fault,
                    "Give it as the provider shows it.");
      return NULL;
    }
  header = ow_secret_alloc (strlen (SCHEME) + strlen (key));
  if (header == NULL)
    {
      ow_error_set (error, OW_ERROR_FAILED, "The model's key cannot be kept",
                    "the kernel gives no memory", NULL);
      return NULL;
    }
  memcpy (header, SCHEME, strlen (SCHEME));
  memcpy (header + strlen (SCHEME), key, strlen (key));

  self = g_new0 (OwOpenaiKey, 1);
  self->header = header;
  return self;
}

void
ow_openai_key_free (OwOpenaiKey *self)
{
  if (self == NULL)
    return;
  ow_secret_free (self->header);
  g_free (self);
}

const char *
ow_openai_key_get_header (const OwOpenaiKey *self)
{
  return self->header;
}

char *
ow_openai_key_take_out (const OwOpenaiKey *self,
                        const char        *text)
{
  g_autoptr (GString) made = NULL;

  if (self == NULL)
    return g_strdup (text);
  made = g_string_new (text);
  g_string_replace (made, self->header + strlen (SCHEME), TAKEN_OUT, 0);
  return g_strdup (made->str);
}
