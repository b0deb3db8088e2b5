/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "ow-http-soup-private.h"

#define HEADER_MAX 256
/* Shorter ones are words such as "none", which stand in answers by themselves. */
#define SECRET_MIN 8

void
ow_http_answer_free (OwHttpAnswer *answer)
{
  if (answer == NULL)
    return;

  g_free (answer->content_type);
  g_free (answer->retry_after);
  g_clear_pointer (&answer->error_body, g_bytes_unref);
  g_free (answer);
}

void
ow_http_answer_mask (char       *text,
                     gsize       length,
                     const char *secret)
{
  const char *key = secret != NULL ? strrchr (secret, ' ') : NULL;
  char *found;
  gsize key_length;

  /* Of "Bearer KEY" it is the key that comes back. */
  key = key != NULL ? key + 1 : secret;
  key_length = key != NULL ? strlen (key) : 0;
  if (key_length < SECRET_MIN || length < key_length)
    return;

  while ((found = memmem (text, length, key, key_length)) != NULL)
    {
      memset (found, '*', key_length);
      length -= (gsize) (found + key_length - text);
      text = found + key_length;
    }
}

char *
ow_http_answer_dup_header (SoupMessage *message,
                           const char  *name,
                           const char  *secret)
{
  const char *value = soup_message_headers_get_one (soup_message_get_response_headers (message),
                                                    name);
  char *copy;

  if (value == NULL || strlen (value) > HEADER_MAX)
    return NULL;
  for (const char *c = value; *c != '\0'; c++)
    if (!g_ascii_isprint (*c))
      return NULL;

  copy = g_strdup (value);
  ow_http_answer_mask (copy, strlen (copy), secret);
  return copy;
}

OwHttpAnswer *
ow_http_answer_new (SoupMessage *message,
                    const char  *secret)
{
  OwHttpAnswer *answer = g_new0 (OwHttpAnswer, 1);
  g_autofree char *type = ow_http_answer_dup_header (message, "Content-Type", secret);

  answer->status = soup_message_get_status (message);
  answer->retry_after = ow_http_answer_dup_header (message, "Retry-After", secret);
  if (type != NULL)
    {
      type[strcspn (type, ";,")] = '\0';
      answer->content_type = g_ascii_strdown (g_strstrip (type), -1);
    }
  return answer;
}
