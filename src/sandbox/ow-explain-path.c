/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-explain.h"

#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-paths.h"
#include "base/ow-text.h"
#include "config/ow-config-credentials.h"
#include "config/ow-config-programs.h"
#include "ow-mount-table-private.h"
#include "ow-wall-path-private.h"
#include "sandbox/ow-programs.h"

#define MAX_PATH_BYTES 4096

typedef struct {
  const char *rule;
  char       *says;  /* (owned) */
  const char *whose; /* "session", "machine", "own", "image", "none" */
  gboolean    there;
  gboolean    read;
  gboolean    write;
  gboolean    list;
} Answer;

static void
answer_clear (Answer *answer)
{
  g_clear_pointer (&answer->says, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

/* --- not there --- */

/* The entry whose files are below @path, or that @path lies in. */
static const OwConfigCredential *
find_credential (const OwExplain * self,
                 const char      *path)
{
  GPtrArray *all = ow_config_get_credentials (self->config);

  for (guint i = 0; all != NULL && i < all->len; i++)
    {
      const OwConfigCredential *credential = g_ptr_array_index (all, i);
      g_autofree char *place = g_build_filename (g_get_home_dir (), credential->path, NULL);

      if (ow_path_contains (place, path))
        return credential;
    }
  return NULL;
}

static void
say_not_there (const OwExplain *self,
               const char      *path,
               Answer          *answer)
{
  const OwConfigCredential *credential = find_credential (self, path);
  const char *home = g_get_home_dir ();

  answer->whose = "none";
  answer->rule = "outside";
  if (credential != NULL && credential->enabled)
    {
      answer->rule = "credential";
      answer->says = g_strdup_printf ("Not there by this name: the login \"%s\" is shared as a "
                                      "copy, at ~/%s of the session's private home.",
                                      credential->name, path + strlen (home) + 1);
    }
  else if (credential != NULL)
    {
      answer->rule = "credential-off";
      answer->says = g_strdup_printf ("Not there: it belongs to the login \"%s\", which is not "
                                      "shared with sandboxes.", credential->name);
    }
  else if (ow_path_contains (home, path))
    {
      answer->rule = "home";
      answer->says = g_strdup ("Not there: your home is not shared; a session has a private home "
                               "in its place.");
    }
  else
    {
      answer->says = g_strdup ("Not there: only this machine's /usr, parts of /etc and the "
                               "session's folders exist inside.");
    }
}

static void
say_absent (const OwWallSpot *spot,
            Answer           *answer)
{
  answer->whose = "none";
  answer->rule = "absent";
  if (spot->place->kind == OW_WALL_FILE)
    answer->says = g_strdup ("Not there: what leads to it is a file.");
  else
    answer->says = g_strdup_printf ("Not there: inside, %s is this machine's own, and this "
                                    "machine has no such file.", spot->place->path);
}

/* --- there --- */

static void
say_folder (const OwWallPlace *place,
            Answer            *answer)
{
  answer->whose = "session";
  answer->rule = place->read_only ? "folder-read-only" : "folder";
  if (place->read_only)
    answer->says = g_strdup_printf ("Read-only: it lies in the folder %s, which the session has "
                                    "read-only.", place->path);
  else
    answer->says = g_strdup_printf ("Read and write: it lies in the session's folder %s.",
                                    place->path);
}

static void
say_system (const OwExplain  *self,
            const OwWallSpot *spot,
            Answer           *answer)
{
  const OwWallPlace *place = spot->place;

  answer->whose = place->kind == OW_WALL_IMAGE ? "image" : "machine";
  answer->rule = place->rule == OW_WALL_RULE_SYSTEM ? "system"
                 : place->rule == OW_WALL_RULE_ETC ? "etc" : "programs";
  if (place->kind == OW_WALL_IMAGE)
    answer->says = g_strdup_printf ("Read-only: it lies in %s of the sandbox's image, which is not "
                                    "this machine's.", place->path);
  else if (place->rule == OW_WALL_RULE_SYSTEM)
    answer->says = g_strdup_printf ("Read-only: it lies in this machine's %s, which every sandbox "
                                    "has.", place->path);
  else if (place->rule == OW_WALL_RULE_ETC)
    answer->says = g_strdup_printf ("Read-only: %s is one of the parts of /etc that every sandbox "
                                    "has.", place->path);
  else
    answer->says = g_strdup_printf ("Read-only: it lies in %s, which belongs to the programs that "
                                    "you share with sandboxes.", place->path);
  if (answer->read && place->kind != OW_WALL_IMAGE &&
      !ow_wall_path_may (spot->path, self->uid, self->gid, R_OK))
    {
      g_free (answer->says);
      answer->rule = "permissions";
      answer->says = g_strdup_printf ("It lies in %s, which every sandbox has, but its own "
                                      "permissions keep the session's account from reading it.",
                                      place->path);
      answer->read = answer->list = FALSE;
    }
}

static void
say_own (const OwWallPlace *place,
         Answer            *answer)
{
  static const struct {
    OwWallRule  rule;
    const char *name;
    const char *says;
  } rows[] = {
    { OW_WALL_RULE_ETC_OWN, "etc-own",
      "Read-only: the sandbox has a file of its own in place of this machine's." },
    { OW_WALL_RULE_PROC, "proc",
      "Its own: /proc has the sandbox's own processes and no others, and nothing in it can be "
      "written." },
    { OW_WALL_RULE_DEV, "dev",
      "Its own: /dev has a few devices that do no harm, and none of this machine's disks, "
      "terminals or keyboards." },
    { OW_WALL_RULE_TMP, "tmp",
      "Its own: the sandbox has an empty folder there that goes with it, and nothing of this "
      "machine's." },
    { OW_WALL_RULE_RUN, "run",
      "Its own: the sandbox has an empty folder there, and none of this machine's sockets." },
    { OW_WALL_RULE_SOCKETS, "sockets",
      "Not for commands: the runner has its own sockets there." },
    { OW_WALL_RULE_RUNNER, "runner", "Read-only: it is the program that runs the commands." },
    { OW_WALL_RULE_HOME, "private-home",
      "Read and write: it lies in a session's private home, which goes with its sandbox." },
    { OW_WALL_RULE_UNDO, "undo",
      "Not for commands: the session keeps there what \"undo\" needs." },
    { OW_WALL_RULE_IMAGE, "image",
      "Closed: whatever the sandbox's image has there, nothing may read, list or change it." },
  };

  answer->whose = place->rule == OW_WALL_RULE_IMAGE ? "image" : "own";
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    if (rows[i].rule == place->rule)
      {
        answer->rule = rows[i].name;
        answer->says = g_strdup (rows[i].says);
        return;
      }
  answer->rule = "way";
  answer->says = g_strdup ("Only what leads to other places: it can be listed, and holds nothing "
                           "else.");
}

static void
fill_answer (const OwExplain  *self,
             const char       *asked,
             const OwWallSpot *spot,
             Answer           *answer)
{
  const OwWallPlace *place = spot->place;
  gboolean of_home = ow_path_contains (g_get_home_dir (), spot->path);

  /* A home that lies where the sandbox has an empty folder is a home all the same. */
  if (place == NULL || (place->kind == OW_WALL_EMPTY && of_home && !spot->way))
    {
      say_not_there (self, asked, answer);
      return;
    }
  if (spot->absent)
    {
      say_absent (spot, answer);
      return;
    }
  answer->there = TRUE;
  answer->read = (spot->rights & (OW_WALL_READ | OW_WALL_WRITE)) != 0;
  answer->write = (spot->rights & OW_WALL_WRITE) != 0 && !place->read_only;
  answer->list = spot->rights != OW_WALL_NOTHING;
  if (spot->way)
    {
      answer->rule = "way";
      answer->whose = "own";
      answer->says = g_strdup ("Only what leads to other places: it can be listed, and holds "
                               "nothing else.");
    }
  else if (place->rule == OW_WALL_RULE_FOLDER)
    say_folder (place, answer);
  else if (place->rule == OW_WALL_RULE_SYSTEM || place->rule == OW_WALL_RULE_PROGRAM ||
           (place->rule == OW_WALL_RULE_ETC && place->kind == OW_WALL_BIND_TRY))
    say_system (self, spot, answer);
  else
    say_own (place, answer);
}

/* --- the face --- */

static void
fill_direct (Answer *answer)
{
  answer->rule = "direct";
  answer->whose = "machine";
  answer->there = answer->read = answer->write = answer->list = TRUE;
  answer->says = g_strdup ("Without a sandbox commands reach whatever your account reaches.");
}

static char *
take_path (const char *path,
           GError    **error)
{
  if (strlen (path) > MAX_PATH_BYTES)
    {
      ow_error_set (error, OW_ERROR_USAGE, "That is no path",
                    "it is longer than 4,096 bytes", NULL);
      return NULL;
    }
  if (strcmp (path, "~") == 0 || g_str_has_prefix (path, "~/"))
    return g_build_filename (g_get_home_dir (), path + 1, NULL);
  if (path[0] == '/')
    return g_strdup (path);
  ow_error_set (error, OW_ERROR_USAGE, "That is no path", "it is not a whole one",
                "Give the whole path, beginning with \"/\", or a host.");
  return NULL;
}

/* As a start of a session takes them; they all lie under the home. */
static void
take_programs (const OwExplain *self,
               const char      *path,
               OwSandboxPlan   *plan)
{
  g_autoptr (GPtrArray) programs = g_ptr_array_new_with_free_func ((GDestroyNotify)
                                                                   ow_programs_free);
  GPtrArray *paths = ow_config_get_programs (self->config);
  g_autofree char *notice = NULL;

  if (!ow_path_contains (g_get_home_dir (), path))
    return;
  for (guint i = 0; paths != NULL && i < paths->len; i++)
    g_ptr_array_add (programs, ow_programs_look (g_ptr_array_index (paths, i)));
  notice = ow_sandbox_plan_take_programs (plan, programs);
}

/* Without a session each private home is that of the session that has it. (transfer full) */
static char *
find_home (const OwExplain *self,
           const char      *path)
{
  g_autofree char *homes = ow_paths_get_private_homes ();
  g_autofree char *canonical = g_canonicalize_filename (path, "/");
  g_auto (GStrv) names = NULL;

  if (self->home != NULL)
    return g_strdup (self->home);
  if (strcmp (canonical, homes) == 0 || !ow_path_contains (homes, canonical))
    return g_build_filename (homes, "session", NULL);
  names = g_strsplit (canonical + strlen (homes) + 1, "/", 2);
  return g_build_filename (homes, names[0], NULL);
}

static void
find_spot (const OwExplain *self,
           const char      *path,
           OwWallSpot      *spot,
           Answer          *answer)
{
  g_autofree char *home = find_home (self, path);
  OwWallLink links[OW_WALL_LINKS] = { 0 };
  char *targets[OW_WALL_LINKS] = { NULL };
  OwSandboxPlan plan = {
    .folders = self->folders,
    .home = home, .undo = (char *) self->undo,
    .run_dir = (char *) "", .runner = (char *) "", .uid = self->uid, .gid = self->gid,
  };
  g_autoptr (GArray) view = NULL;

  take_programs (self, path, &plan);
  if (self->provider == OW_PROVIDER_OPENSHELL)
    view = ow_wall_view_openshell (&plan);
  else
    view = ow_wall_view_bubblewrap (&plan, links, ow_wall_view_read_links (links, targets));
  ow_wall_path_find (view, path, spot);
  fill_answer (self, path, spot, answer);
  g_clear_pointer (&plan.programs, g_ptr_array_unref);
  g_clear_pointer (&plan.bins, g_ptr_array_unref);
  for (guint i = 0; i < OW_WALL_LINKS; i++)
    g_free (targets[i]);
}

json_t *
ow_explain_path (const OwExplain *self,
                 const char      *path,
                 GError         **error)
{
  g_autofree char *whole = take_path (path, error);
  g_auto (OwWallSpot) spot = { 0 };
  g_auto (Answer) answer = { 0 };
  json_t *json;

  if (whole == NULL)
    return NULL;
  if (self->provider == OW_PROVIDER_DIRECT)
    fill_direct (&answer);
  else
    find_spot (self, whole, &spot, &answer);
  json = json_pack ("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:s}", "path", whole,
                    "provider", ow_provider_kind_to_string (self->provider), "rule", answer.rule,
                    "says", answer.says, "there", answer.there, "read", answer.read,
                    "write", answer.write, "list", answer.list, "whose", answer.whose);
  if (spot.path != NULL && strcmp (spot.path, whole) != 0)
    json_object_set_new (json, "leads_to", json_string (spot.path));
  if (spot.unknown)
    json_object_set_new (json, "links", json_string ("unknown"));
  return json;
}
