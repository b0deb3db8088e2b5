/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openai-key-private.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ow-error.h"

#define SCHEME "Bearer "
#define MAX_KEY_BYTES 2048

/* What stands in for a key in somebody's words. */
#define TAKEN_OUT "[key]"

struct _OwOpenaiKey {
  char *memory;  /* (owned) pages of the kernel's, with the header in them */
  gsize size;
};

static gboolean
check (const char *key,
       GError    **error)
{
  const char *fault = NULL;
  gsize length = strlen (key);

  if (length == 0)
    fault = "it is empty";
  else if (length > MAX_KEY_BYTES)
    fault = "it is longer than 2,048 characters";
  for (gsize i = 0; fault == NULL && i < length; i++)
    {
      if (!g_ascii_isgraph (key[i]))
        fault = "it holds a space, a line break or another character that keys do not have";
    }
  if (fault != NULL)
    ow_error_set (error, OW_ERROR_USAGE, "The model's key cannot be used", fault,
                  "Give it as the provider shows it.");
  return fault == NULL;
}

OwOpenaiKey *
ow_openai_key_new (const char  *key,
                   GError     **error)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);
  gsize length = strlen (SCHEME) + strlen (key) + 1;
  gsize size = (length + page - 1) / page * page;
  OwOpenaiKey *self;
  char *memory;

  if (!check (key, error))
    return NULL;
  memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    {
      ow_error_set (error, OW_ERROR_FAILED, "The model's key cannot be kept",
                    "the kernel gives no memory", NULL);
      return NULL;
    }
  /* Both may be forbidden here; the key is then kept as well as it can be. */
  (void) madvise (memory, size, MADV_DONTDUMP);
  (void) mlock (memory, size);
  memcpy (memory, SCHEME, strlen (SCHEME));
  memcpy (memory + strlen (SCHEME), key, strlen (key) + 1);

  self = g_new0 (OwOpenaiKey, 1);
  self->memory = memory;
  self->size = size;
  return self;
}

void
ow_openai_key_free (OwOpenaiKey *self)
{
  if (self == NULL)
    return;
  explicit_bzero (self->memory, self->size);
  munmap (self->memory, self->size);
  g_free (self);
}

const char *
ow_openai_key_get_header (const OwOpenaiKey *self)
{
  return self->memory;
}

char *
ow_openai_key_take_out (const OwOpenaiKey *self,
                        const char        *text)
{
  g_autoptr (GString) made = NULL;

  if (self == NULL)
    return g_strdup (text);
  made = g_string_new (text);
  g_string_replace (made, self->memory + strlen (SCHEME), TAKEN_OUT, 0);
  return g_strdup (made->str);
}
