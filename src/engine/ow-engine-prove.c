/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-local-engine-private.h"

#include "base/ow-error.h"
#include "ow-engine-params-private.h"
#include "ow-engine-records-private.h"
#include "sandbox/ow-network-profile.h"
#include "sandbox/ow-proof-record.h"
#include "sandbox/ow-prove.h"
#include "sandbox/ow-sandbox-provider.h"

/* sandbox.prove: tries a wall, or says what the last trial of it came to. */

typedef struct
{
  GTask          *task;   /* (owned) */
  OwProviderKind  kind;
  json_t         *claims; /* (owned) (nullable) of a trial */
} Proof;

static void
proof_free (Proof *proof)
{
  g_object_unref (proof->task);
  json_decref (proof->claims);
  g_free (proof);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Proof, proof_free)

static gboolean
all_held (const json_t *claims)
{
  gboolean held = json_array_size (claims) > 0;

  for (size_t i = 0; i < json_array_size (claims); i++)
    held = held && ow_json_get_bool (json_array_get (claims, i), "held", FALSE);
  return held;
}

/* What was found counts, whether or not it could be kept. */
static void
on_facts (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (Proof) proof = user_data;
  g_autoptr (GError) error = NULL;
  json_t *facts = ow_proof_record_facts_finish (result, &error);
  json_t *answer;

  if (proof->claims == NULL && facts == NULL)
    {
      g_task_return_error (proof->task, g_steal_pointer (&error));
      return;
    }
  if (proof->claims == NULL)
    {
      answer = ow_proof_record_judge (proof->kind, facts);
    }
  else
    {
      answer = json_pack ("{s:b, s:O}", "held", all_held (proof->claims), "claims", proof->claims);
      if (facts == NULL || !ow_proof_record_store (proof->kind, proof->claims, facts, &error))
        json_object_set_new (answer, "notice", json_string (error->message));
    }
  json_decref (facts);
  ow_engine_return_json (proof->task, answer);
}

static void
on_proven (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (Proof) proof = user_data;
  GError *error = NULL;

  proof->claims = ow_prove_run_finish (result, &error);
  if (proof->claims == NULL)
    {
      g_task_return_error (proof->task, error);
      return;
    }
  if (proof->kind == OW_PROVIDER_DIRECT)
    {
      ow_engine_return_json (proof->task, json_pack ("{s:b, s:O}", "held", all_held (proof->claims),
                                                     "claims", proof->claims));
      return;
    }
  ow_proof_record_facts_async (proof->kind, g_task_get_cancellable (proof->task), on_facts, proof);
  g_steal_pointer (&proof);
}

static OwProviderKind
choose (OwLocalEngine  *self,
        OwConfig       *config,
        const json_t   *params,
        GError        **error)
{
  OwProviderKind kind = OW_PROVIDER_UNSET;

  if (config == NULL || !ow_engine_params_read_provider (params, &kind, error))
    return OW_PROVIDER_UNSET;
  if (kind == OW_PROVIDER_UNSET)
    kind = ow_local_engine_find_provider (self, config);
  if (kind == OW_PROVIDER_UNSET)
    ow_error_set (error, OW_ERROR_REFUSED, "There is no wall to prove",
                  "nothing is set that says how commands should run on this machine",
                  "Give --provider bubblewrap, or set sandbox_provider in config.toml.");
  return kind;
}

void
ow_engine_prove_run (OwLocalEngine *self,
                     const json_t  *params,
                     GTask         *task)
{
  GError *error = NULL;
  g_autoptr (OwConfig) config = ow_local_engine_load_config (&error);
  OwProviderKind kind = choose (self, config, params, &error);
  g_autoptr (OwSandboxProvider) provider = NULL;
  g_autoptr (GPtrArray) hosts = NULL;
  Proof *proof;

  if (error == NULL)
    provider = ow_sandbox_provider_for_kind (kind, &error);
  if (error != NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  proof = g_new0 (Proof, 1);
  proof->task = g_object_ref (task);
  proof->kind = kind;
  if (ow_json_get_bool (params, "last", FALSE))
    {
      ow_proof_record_facts_async (kind, g_task_get_cancellable (task), on_facts, proof);
      return;
    }
  hosts = ow_network_profile_hosts (ow_config_get_profile (config),
                                    ow_config_get_extra_hosts (config));
  ow_prove_run_async (provider, hosts, g_task_get_cancellable (task), on_proven, proof);
}
