/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-check-private.h"

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-program.h"
#include "config/ow-config.h"
#include "ow-openshell-refuse-private.h"

#define GOOD_S  30
#define ENFORCE "/sys/fs/selinux/enforce"

/* The last good result of this process. */
static OwOpenshellFacts *known; /* (owned) (nullable) */
static gint64 known_until;

static void ask_engine (GTask *task, const char *driver);

/* Which question an answer is to; where several fail, the first of this order is told, because
 * the others follow from it. */
typedef enum { ASKED_VERSION, ASKED_STATUS, ASKED_GATEWAY, ASKED_ENGINE, N_ASKED } Asked;

typedef struct {
  OwOpenshellFacts *facts;            /* (owned) being filled */
  gboolean          any_version;
  char             *in_use;           /* (owned) (nullable) the gateway's name */
  guint             pending;
  GError           *errors[N_ASKED];  /* (owned) (nullable) */

  const char        *driver;          /* whose engine is asked: a literal, or the gateway's */
  OwContainerEngine *engine;          /* (owned) (nullable) its answer */
  GError            *engine_error;    /* (owned) (nullable) likewise */
  gboolean           engine_over;
  gboolean           gateway_over;
  gboolean           engine_settled;  /* what it said counts, or does not matter */
} Check;

OwOpenshellFacts *
ow_openshell_facts_ref (OwOpenshellFacts *facts)
{
  g_atomic_int_inc (&facts->refs);
  return facts;
}

void
ow_openshell_facts_unref (OwOpenshellFacts *facts)
{
  if (facts == NULL || !g_atomic_int_dec_and_test (&facts->refs))
    return;
  g_clear_object (&facts->openshell);
  g_clear_pointer (&facts->gateway, ow_openshell_gateway_free);
  g_clear_pointer (&facts->engine, ow_container_engine_free);
  g_free (facts->version);
  g_free (facts->image);
  g_free (facts);
}

static void
check_free (gpointer data)
{
  Check *check = data;

  ow_openshell_facts_unref (check->facts);
  g_free (check->in_use);
  g_clear_pointer (&check->engine, ow_container_engine_free);
  g_clear_error (&check->engine_error);
  for (guint i = 0; i < N_ASKED; i++)
    g_clear_error (&check->errors[i]);
  g_free (check);
}

void
ow_openshell_check_forget (void)
{
  g_clear_pointer (&known, ow_openshell_facts_unref);
}

gboolean
ow_openshell_check_is_enforcing (const char *enforce)
{
  g_autofree char *text = NULL;

  return g_file_get_contents (enforce, &text, NULL, NULL) && text[0] == '1';
}

static const char *
get_image (void)
{
  const char *image = g_getenv (OW_OPENSHELL_IMAGE_VARIABLE);

  return image != NULL && image[0] != '\0' ? image : OW_OPENSHELL_BASE_IMAGE;
}

static gboolean
is_tested (const Check *check)
{
  return check->any_version || strcmp (check->facts->version, OW_OPENSHELL_VERSION) == 0;
}

static void
finish (GTask *task)
{
  Check *check = g_task_get_task_data (task);

  for (guint i = 0; i < N_ASKED; i++)
    if (check->errors[i] != NULL)
      {
        g_task_return_error (task, ow_openshell_refuse (g_steal_pointer (&check->errors[i])));
        return;
      }
  /* A sandbox stays where it was made: another gateway would say that it does not exist. */
  ow_openshell_pin_gateway (check->facts->openshell, check->in_use != NULL ? check->in_use : "");
  ow_openshell_check_forget ();
  known = ow_openshell_facts_ref (check->facts);
  known_until = g_get_monotonic_time () + GOOD_S * G_USEC_PER_SEC;
  g_task_return_pointer (task, ow_openshell_facts_ref (check->facts),
                         (GDestroyNotify) ow_openshell_facts_unref);
}

/* @error (nullable) is moved in. */
static void
answer (GTask  *task,
        Asked   asked,
        GError *error)
{
  Check *check = g_task_get_task_data (task);

  if (check->errors[asked] == NULL)
    check->errors[asked] = error;
  else
    g_clear_error (&error);
  if (--check->pending == 0)
    finish (task);
}

/* --- the engine, which is asked before the gateway has said which one it uses: the questions take
 * as long as those to the gateway, and the guess is mostly right --- */

/* An engine on another machine cannot be asked; the gateway says what it lacks. */
static gboolean
has_engine_here (const OwOpenshellGateway *gateway)
{
  return gateway != NULL && !gateway->remote &&
         (g_strcmp0 (gateway->driver, "docker") == 0 || g_strcmp0 (gateway->driver, "podman") == 0);
}

static const char *
guess_driver (void)
{
  g_autofree char *docker = ow_program_find ("docker");

  return docker != NULL ? "docker" : "podman";
}

/* Once both the gateway and an engine have answered. */
static void
settle_engine (GTask *task)
{
  Check *check = g_task_get_task_data (task);
  const OwOpenshellGateway *gateway = check->facts->gateway;

  if (!check->gateway_over || check->engine_settled)
    return;
  if (!has_engine_here (gateway))
    {
      check->engine_settled = TRUE;
      answer (task, ASKED_ENGINE, NULL);
      return;
    }
  if (!check->engine_over)
    return;
  if (g_strcmp0 (check->driver, gateway->driver) != 0)
    {
      g_clear_error (&check->engine_error);
      ask_engine (task, gateway->driver);
      return;
    }
  check->engine_settled = TRUE;
  check->facts->engine = g_steal_pointer (&check->engine);
  answer (task, ASKED_ENGINE, g_steal_pointer (&check->engine_error));
}

/* @error (nullable) is moved in. */
static void
engine_over (GTask  *task,
             GError *error)
{
  Check *check = g_task_get_task_data (task);

  check->engine_over = TRUE;
  check->engine_error = error;
  settle_engine (task);
}

static void
on_image (GObject      *source,
          GAsyncResult *result,
          gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Check *check = g_task_get_task_data (task);
  gboolean present = FALSE;
  GError *error = NULL;

  if (ow_container_engine_has_image_finish (result, &present, &error) && !present)
    error = ow_openshell_refuse_image (check->engine, check->facts->image);
  engine_over (task, error);
}

static void
on_engine (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Check *check = g_task_get_task_data (task);
  GError *error = NULL;

  g_clear_pointer (&check->engine, ow_container_engine_free);
  check->engine = ow_container_engine_find_finish (result, &error);
  if (check->engine == NULL)
    engine_over (task, error);
  else
    ow_container_engine_has_image_async (check->engine, check->facts->image,
                                         g_task_get_cancellable (task), on_image,
                                         g_object_ref (task));
}

static void
ask_engine (GTask      *task,
            const char *driver)
{
  Check *check = g_task_get_task_data (task);

  check->driver = driver;
  check->engine_over = FALSE;
  ow_container_engine_find_async (driver, g_task_get_cancellable (task), on_engine,
                                  g_object_ref (task));
}

static void
on_gateway (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Check *check = g_task_get_task_data (task);
  GError *error = NULL;

  check->facts->gateway = ow_openshell_gateway_finish (OW_OPENSHELL (source), result, &error);
  check->gateway_over = TRUE;
  answer (task, ASKED_GATEWAY, error);
  settle_engine (task);
}

static void
on_status (GObject      *source,
           GAsyncResult *result,
           gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Check *check = g_task_get_task_data (task);
  GError *error = NULL;
  g_autoptr (OwOpenshellStatus) status = ow_openshell_status_finish (OW_OPENSHELL (source), result,
                                                                     &error);

  if (status != NULL)
    check->in_use = g_strdup (status->gateway);
  answer (task, ASKED_STATUS, error);
}

static void
on_version (GObject      *source,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Check *check = g_task_get_task_data (task);
  GError *error = NULL;

  check->facts->version = ow_openshell_version_finish (OW_OPENSHELL (source), result, &error);
  if (check->facts->version != NULL && !is_tested (check))
    error = ow_openshell_refuse_version (check->facts->version);
  answer (task, ASKED_VERSION, error);
}

static gboolean
is_known (const Check *check)
{
  return known != NULL && g_get_monotonic_time () < known_until &&
         strcmp (known->image, check->facts->image) == 0 &&
         strcmp (ow_openshell_get_program (known->openshell),
                 ow_openshell_get_program (check->facts->openshell)) == 0;
}

/* What needs no question: the settings, which hold at once, and where the command is. */
static gboolean
prepare (Check   *check,
         GError **error)
{
  g_autofree char *path = ow_paths_get_config_file ();
  g_autoptr (OwConfig) config = ow_config_load (path, error);

  if (config == NULL)
    return FALSE;
  check->any_version = ow_config_get_openshell_any_version (config);
  check->facts = g_new0 (OwOpenshellFacts, 1);
  check->facts->refs = 1;
  check->facts->image = g_strdup (get_image ());
  check->facts->selinux = ow_openshell_check_is_enforcing (ENFORCE);
  check->facts->openshell = ow_openshell_find (error);
  return check->facts->openshell != NULL;
}

void
ow_openshell_check_async (GCancellable        *cancellable,
                          GAsyncReadyCallback  callback,
                          gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Check *check = g_new0 (Check, 1);
  GError *error = NULL;

  g_task_set_source_tag (task, ow_openshell_check_async);
  g_task_set_check_cancellable (task, FALSE);
  g_task_set_task_data (task, check, check_free);
  if (!prepare (check, &error))
    {
      g_task_return_error (task, ow_openshell_refuse (error));
      return;
    }
  if (is_known (check))
    {
      check->facts->version = g_strdup (known->version);
      if (is_tested (check))
        g_task_return_pointer (task, ow_openshell_facts_ref (known),
                               (GDestroyNotify) ow_openshell_facts_unref);
      else
        g_task_return_error (task, ow_openshell_refuse_version (known->version));
      return;
    }
  check->pending = N_ASKED;
  ow_openshell_version_async (check->facts->openshell, cancellable, on_version,
                              g_object_ref (task));
  ow_openshell_status_async (check->facts->openshell, cancellable, on_status,
                             g_object_ref (task));
  ow_openshell_gateway_async (check->facts->openshell, cancellable, on_gateway,
                              g_object_ref (task));
  ask_engine (task, guess_driver ());
}

OwOpenshellFacts *
ow_openshell_check_finish (GAsyncResult  *result,
                           GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, NULL), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
