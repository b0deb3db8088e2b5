/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "model/ow-model.h"

#include <string.h>

#include "base/ow-base-url.h"
#include "base/ow-error.h"
#include "base/ow-text.h"
#include "model/ow-replay-model.h"
#include "ow-openai-model-private.h"

#define REPLAY_PREFIX "replay:"
#define OPENAI_PREFIX "openai:"

#define OPENAI_BASE_URL "https://api.openai.com/v1"

G_DEFINE_INTERFACE (OwModel, ow_model, G_TYPE_OBJECT)

static void
ow_model_default_init (OwModelInterface *iface)
{
}

void
ow_model_turn_free (OwModelTurn *turn)
{
  if (turn == NULL)
    return;
  g_free (turn->text);
  json_decref (turn->tool_calls);
  g_free (turn->finish);
  g_free (turn->cut);
  json_decref (turn->usage);
  g_free (turn);
}

void
ow_model_complete_async (OwModel             *self,
                         const json_t        *history,
                         const json_t        *tools,
                         OwModelTextFunc      text,
                         gpointer             text_data,
                         GCancellable        *cancellable,
                         GAsyncReadyCallback  callback,
                         gpointer             user_data)
{
  g_return_if_fail (OW_IS_MODEL (self));

  OW_MODEL_GET_IFACE (self)->complete_async (self, history, tools, text, text_data, cancellable,
                                             callback, user_data);
}

OwModelTurn *
ow_model_complete_finish (OwModel       *self,
                          GAsyncResult  *result,
                          GError       **error)
{
  g_return_val_if_fail (OW_IS_MODEL (self), NULL);

  return OW_MODEL_GET_IFACE (self)->complete_finish (self, result, error);
}

gboolean
ow_model_check_done (OwModel  *self,
                     GError  **error)
{
  OwModelInterface *iface;

  g_return_val_if_fail (OW_IS_MODEL (self), FALSE);

  iface = OW_MODEL_GET_IFACE (self);
  return iface->check_done == NULL || iface->check_done (self, error);
}

gboolean
ow_model_is_recorded (OwModel *self)
{
  OwModelInterface *iface;

  g_return_val_if_fail (OW_IS_MODEL (self), FALSE);

  iface = OW_MODEL_GET_IFACE (self);
  return iface->is_recorded != NULL && iface->is_recorded (self);
}

static void
set_name_error (GError     **error,
                const char  *name)
{
  g_autofree char *valid = ow_text_from_bytes (name, -1);
  g_autofree char *shortened = ow_text_shorten (valid, 64, TRUE);
  g_autofree char *shown = ow_text_visible (shortened);

  ow_error_setf (error, OW_ERROR_USAGE,
                 "Use openai:NAME, a model of a server that speaks OpenAI's interface, or "
                 "replay:FILE, a recorded conversation.",
                 "There is no model \"%s\"", shown);
}

/* The name of "openai:NAME", or NULL when @name is of another kind or names nothing. */
static const char *
openai_name (const char *name)
{
  if (!g_str_has_prefix (name, OPENAI_PREFIX) || name[strlen (OPENAI_PREFIX)] == '\0')
    return NULL;
  return name + strlen (OPENAI_PREFIX);
}

static void
set_address_error (GError     **error,
                   const char  *base_url,
                   const char  *why)
{
  g_autofree char *valid = ow_text_from_bytes (base_url, -1);
  g_autofree char *shortened = ow_text_shorten (valid, 128, TRUE);
  g_autofree char *shown = ow_text_visible (shortened);
  g_autofree char *what = NULL;

  /* What may hold a password or a key is not said back. */
  if (strpbrk (base_url, "@?#") != NULL)
    what = g_strdup ("The address given is no address of a model");
  else
    what = g_strdup_printf ("\"%s\" is no address of a model", shown);
  ow_error_set (error, OW_ERROR_USAGE, what, why,
                "Give one such as http://127.0.0.1:8080/v1 or https://HOST/v1.");
}

char *
ow_model_find_base_url (const char  *name,
                        const char  *base_url,
                        GError     **error)
{
  g_autofree char *url = NULL;
  g_autofree char *fault = NULL;

  g_return_val_if_fail (name != NULL, NULL);

  if (g_str_has_prefix (name, REPLAY_PREFIX))
    {
      if (base_url != NULL)
        ow_error_set (error, OW_ERROR_USAGE, "A recording has no address", NULL, NULL);
      return NULL;
    }
  if (openai_name (name) == NULL)
    {
      set_name_error (error, name);
      return NULL;
    }
  if (base_url == NULL)
    return g_strdup (OPENAI_BASE_URL);
  fault = ow_base_url_find_fault (base_url);
  if (fault != NULL)
    {
      set_address_error (error, base_url, fault);
      return NULL;
    }
  url = ow_base_url_canonical (base_url);
  /* A bare host: every server of this kind has its interface below /v1. */
  if (strchr (strstr (url, "://") + strlen ("://"), '/') == NULL)
    return g_strconcat (url, "/v1", NULL);
  return g_steal_pointer (&url);
}

OwModel *
ow_model_new (const OwModelOptions  *options,
              GError               **error)
{
  const char *name;

  g_return_val_if_fail (options != NULL, NULL);
  g_return_val_if_fail (options->name != NULL, NULL);

  name = options->name;
  if (g_str_has_prefix (name, REPLAY_PREFIX) && name[strlen (REPLAY_PREFIX)] != '\0')
    return OW_MODEL (ow_replay_model_new (name + strlen (REPLAY_PREFIX), error));
  if (openai_name (name) != NULL)
    return OW_MODEL (ow_openai_model_new (openai_name (name), options, error));
  set_name_error (error, name);
  return NULL;
}
