/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openai-status-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "ow-openai-retry-private.h"
#include "ow-openai-stream-private.h"

#define NEXT_KEY \
  "Give the key of this server with \"openworker model add\", or in OPENWORKER_API_KEY."
#define NEXT_NEW \
  "Begin a new session if this one has become too long; else look at the server's words."

static json_t *
parse_body (const OwHttpAnswer *answer)
{
  char message[OW_WIRE_ERROR_SIZE];
  gconstpointer data;
  gsize length = 0;

  if (answer->error_body == NULL)
    return NULL;
  data = g_bytes_get_data (answer->error_body, &length);
  return ow_json_parse (data != NULL ? data : "", length, message);
}

static gboolean
body_holds (const OwHttpAnswer *answer,
            const char         *word)
{
  gsize length = 0;
  gconstpointer data = answer->error_body != NULL ? g_bytes_get_data (answer->error_body, &length)
                                                  : NULL;

  return data != NULL && memmem (data, length, word, strlen (word)) != NULL;
}

char *
ow_openai_status_find_message (const OwHttpAnswer *answer,
                               const OwOpenaiKey  *key)
{
  json_t *json = parse_body (answer);
  gboolean is_json = json != NULL;
  char *message = ow_openai_stream_find_message (json, key);

  json_decref (json);
  /* Of other things only plain text reads as a sentence: a web page does not. */
  if (!is_json && answer->error_body != NULL &&
      g_strcmp0 (answer->content_type, "text/plain") == 0)
    {
      gsize length = 0;
      const char *data = g_bytes_get_data (answer->error_body, &length);
      g_autofree char *text = ow_text_from_bytes (data, (gssize) length);

      message = ow_openai_stream_show (text, key);
    }
  return message;
}

gboolean
ow_openai_status_is_final (const OwHttpAnswer *answer)
{
  return answer->status == 429 && body_holds (answer, "insufficient_quota");
}

gboolean
ow_openai_status_is_usage (const OwHttpAnswer *answer)
{
  return (answer->status == 400 || answer->status == 422) &&
         (body_holds (answer, "stream_options") || body_holds (answer, "include_usage"));
}

static void
set_error (GError     **error,
           OwErrorKind  kind,
           const char  *what,
           const char  *message,
           const char  *next)
{
  g_autofree char *why = message != NULL ? g_strdup_printf ("it says \"%s\"", message) : NULL;

  ow_error_set (error, kind, what, why, next);
}

void
ow_openai_status_set_error (GError            **error,
                            const OwHttpAnswer *answer,
                            const char         *message,
                            const char         *model,
                            const char         *base_url,
                            gboolean            has_key,
                            guint               tries)
{
  g_autofree char *what = NULL;
  guint status = answer->status;

  if (status == 401 || status == 403)
    {
      what = g_strdup_printf (has_key ? "The model's server refuses the key (status %u)"
                                      : "The model's server asks for a key (status %u)", status);
      set_error (error, OW_ERROR_REFUSED, what, message, NEXT_KEY);
    }
  else if (status == 404)
    {
      what = g_strdup_printf ("There is no model \"%s\" at %s (status 404)", model, base_url);
      set_error (error, OW_ERROR_FAILED, what, message,
                 "Check the model's name and the address, which often ends in /v1.");
    }
  else if (ow_openai_status_is_final (answer))
    {
      set_error (error, OW_ERROR_FAILED,
                 "The model's server has no credit left for this key (status 429)", message,
                 "Look at the account's billing.");
    }
  else if (ow_openai_retry_is_worth (status))
    {
      what = g_strdup_printf ("The model's server %s (status %u, asked %u time%s)",
                              status == 429 ? "has too much to do" : "has failed", status, tries,
                              tries == 1 ? "" : "s");
      set_error (error, OW_ERROR_FAILED, what, message, "Try again later.");
    }
  else
    {
      what = g_strdup_printf ("The model's server does not take the request (status %u)", status);
      set_error (error, OW_ERROR_FAILED, what, message, NEXT_NEW);
    }
}
