/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-mount-proof-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-fd.h"
#include "base/ow-random.h"
#include "base/ow-state.h"
#include "wire/ow-mcp.h"

#define TOKEN_BYTES 32
#define TOKEN_LENGTH (2 * TOKEN_BYTES)
#define NAME_PREFIX ".openworker-proof-"
#define NAME_HEX 32

/* A token file that a killed run left is older than any proof takes; a folder with more
 * entries than this is not searched for one. */
#define STALE_S 120
#define SWEEP_ENTRIES 20000

typedef enum {
  STEP_HOST_TOKEN,   /* the host writes, the runner reads */
  STEP_RUNNER_TOKEN, /* the runner writes, the host reads */
  STEP_IDENTITY,     /* the runner says which directory it sees */
  STEP_NO_WRITE,     /* the runner tries to write and must fail */
} Step;

typedef struct {
  OwChannel           *channel; /* (owned) */
  const OwSandboxPlan *plan;    /* (unowned) */
  gboolean             walled;
  GPtrArray           *own;     /* (owned) OwFolder: private home and undo, which are mounts too */
  guint                index;   /* of the folder */
  Step                 step;
  char                *name;    /* (owned) (nullable) the file that may be there now */
  const char          *miss;    /* (nullable) what the last answer shows to be wrong */
  char                *token;   /* (owned) (nullable) what the file holds */
} Proof;

static void ow_mount_proof_next (GTask *task);

/* What is the program's own comes behind the folders. */
static const OwFolder *
proof_folder (const Proof *proof)
{
  const GPtrArray *folders = proof->plan->folders;

  return proof->index < folders->len ? folders->pdata[proof->index]
                                     : proof->own->pdata[proof->index - folders->len];
}

/* Where it is gone no file can be made in it, and its proof fails. */
static void
add_own (Proof      *proof,
         const char *path)
{
  OwFolder *own = g_new0 (OwFolder, 1);

  own->path = g_strdup (path);
  own->fd = open (path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  g_ptr_array_add (proof->own, own);
}

static void
add_programs (Proof          *proof,
              const OwFolder *folder)
{
  OwFolder *own = g_new0 (OwFolder, 1);

  *own = *folder;
  own->path = g_strdup (folder->path);
  own->fd = fcntl (folder->fd, F_DUPFD_CLOEXEC, 3);
  g_ptr_array_add (proof->own, own);
}

/* The name is random, so what stands under it is the proof's own. */
static void
proof_remove_file (Proof *proof)
{
  if (proof->name == NULL)
    return;
  unlinkat (proof_folder (proof)->fd, proof->name, 0);
  g_clear_pointer (&proof->name, g_free);
}

static void
proof_free (gpointer data)
{
  Proof *proof = data;

  proof_remove_file (proof);
  g_object_unref (proof->channel);
  g_ptr_array_unref (proof->own);
  g_free (proof->token);
  g_free (proof);
}

/* Ends the proof: @why is the cause in the folder it stands at. */
static void
ow_mount_proof_refuse (GTask      *task,
                       const char *why)
{
  Proof *proof = g_task_get_task_data (task);
  g_autofree char *what = g_strdup_printf ("The sandbox does not hold the folder %s as it "
                                           "should", proof_folder (proof)->path);
  GError *error = NULL;

  proof_remove_file (proof);
  ow_error_set (&error, OW_ERROR_REFUSED, what, why,
                "Choose another folder, or check that its file system can be shared with "
                "a sandbox");
  g_task_return_error (task, error);
}

/* Nothing was seen, so the folder is not to blame. */
static void
ow_mount_proof_break_off (GTask      *task,
                          const char *why)
{
  Proof *proof = g_task_get_task_data (task);
  g_autofree char *what = g_strdup_printf ("Whether the sandbox holds the folder %s as it should "
                                           "could not be seen", proof_folder (proof)->path);
  GError *error = NULL;

  proof_remove_file (proof);
  ow_error_set (&error, OW_ERROR_REFUSED, what, why, "Start the session again");
  g_task_return_error (task, error);
}

/* --- the host's side, by descriptor only --- */

/* Writes the token into a new file; 0, or errno. */
static int
host_write (Proof *proof)
{
  int fd = openat (proof_folder (proof)->fd, proof->name,
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  int failure = 0;

  if (fd < 0)
    return errno;
  /* The inside runs as the folder's owner, who has to be able to read it. */
  if (geteuid () == 0 && fchown (fd, proof->plan->uid, proof->plan->gid) < 0)
    failure = errno;
  else if (!ow_fd_write_all (fd, proof->token, TOKEN_LENGTH))
    failure = errno != 0 ? errno : EIO;
  close (fd);
  return failure;
}

/* Whether the file that the runner made is here and holds the token. */
static gboolean
host_reads_token (const Proof *proof)
{
  char buffer[TOKEN_LENGTH + 2];
  struct stat status;
  ssize_t length = -1;
  int fd = openat (proof_folder (proof)->fd, proof->name,
                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

  if (fd < 0)
    return FALSE;
  if (fstat (fd, &status) == 0 && S_ISREG (status.st_mode))
    length = read (fd, buffer, sizeof buffer);
  close (fd);
  return length == TOKEN_LENGTH && memcmp (buffer, proof->token, TOKEN_LENGTH) == 0;
}

static gboolean
host_sees_file (const Proof *proof)
{
  struct stat status;

  return fstatat (proof_folder (proof)->fd, proof->name, &status, AT_SYMLINK_NOFOLLOW) == 0
         || errno != ENOENT;
}

/* Whether @name in the folder can only be a token file that nobody waits for any more. */
static gboolean
is_stale_token (int         folder,
                const char *name,
                time_t      now)
{
  const char *hex = name + strlen (NAME_PREFIX);
  struct stat status;

  return g_str_has_prefix (name, NAME_PREFIX)
         && strlen (hex) == NAME_HEX && strspn (hex, "0123456789abcdef") == NAME_HEX
         && fstatat (folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0
         && S_ISREG (status.st_mode) && status.st_size <= TOKEN_LENGTH
         && status.st_mtime < now - STALE_S;
}

/* A run that is killed between writing a token and removing it leaves the file in the
 * person's folder; the next one that proves the folder takes it away. */
static void
host_sweep (const OwFolder *folder)
{
  int fd = openat (folder->fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  time_t now = time (NULL);
  struct dirent *entry;

  if (dir == NULL)
    {
      if (fd >= 0)
        close (fd);
      return;
    }
  for (guint i = 0; i < SWEEP_ENTRIES && (entry = readdir (dir)) != NULL; i++)
    {
      if (is_stale_token (fd, entry->d_name, now))
        unlinkat (fd, entry->d_name, 0);
    }
  closedir (dir);
}

/* --- what the runner answered --- */

static gboolean
is_same_directory (const OwFolder *folder,
                   const json_t   *answer)
{
  g_autofree char *dev = g_strdup_printf ("%" G_GUINT64_FORMAT, (guint64) folder->dev);
  g_autofree char *ino = g_strdup_printf ("%" G_GUINT64_FORMAT, (guint64) folder->ino);

  return g_str_equal (ow_json_get_string (answer, "dev", ""), dev)
         && g_str_equal (ow_json_get_string (answer, "ino", ""), ino);
}

/* A write that failed because it is forbidden, not because nothing is there. */
static gboolean
is_forbidden (const json_t *answer)
{
  const char *name = ow_json_get_string (answer, "errno", "");

  return g_str_equal (name, "EROFS") || g_str_equal (name, "EACCES")
         || g_str_equal (name, "EPERM");
}

/* NULL when the step is passed, else the cause of the miss. */
static const char *
ow_mount_proof_judge (Proof        *proof,
                      const json_t *answer)
{
  gboolean ok = ow_json_get_bool (answer, "ok", FALSE) != 0;

  switch (proof->step)
    {
    case STEP_HOST_TOKEN:
      if (!ok)
        return "a file that was written into it outside cannot be read inside";
      if (!g_str_equal (ow_json_get_string (answer, "content", ""), proof->token))
        return "another folder stands in its place inside";
      return NULL;

    case STEP_RUNNER_TOKEN:
      if (!ok)
        return "it is to be writable and no file can be made in it inside";
      return host_reads_token (proof)
           ? NULL : "a file that was made in it inside does not appear outside";

    case STEP_IDENTITY:
      return ok && is_same_directory (proof_folder (proof), answer)
           ? NULL : "another folder, or none, stands in its place inside";

    case STEP_NO_WRITE:
    default:
      if (ok || host_sees_file (proof))
        return "it is to be read-only and a file could be made in it inside";
      return is_forbidden (answer) ? NULL : "whether it is read-only inside could not be tried";
    }
}

static void
ow_mount_proof_advance (Proof *proof)
{
  if (proof->step == STEP_HOST_TOKEN)
    {
      proof->step = STEP_RUNNER_TOKEN;
    }
  else if (proof->step == STEP_IDENTITY && proof->walled)
    {
      proof->step = STEP_NO_WRITE;
    }
  else
    {
      proof->index++;
      proof->step = STEP_HOST_TOKEN;
    }
}

static void
ow_mount_proof_cleaned (GObject      *source,
                        GAsyncResult *result,
                        gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  const Proof *proof = g_task_get_task_data (task);
  json_t *answer = ow_channel_request_finish (OW_CHANNEL (source), result, NULL);

  if (answer != NULL)
    json_decref (answer);
  ow_mount_proof_refuse (task, proof->miss);
}

/* What the runner made where the host does not see it only the runner can remove. */
static void
ow_mount_proof_clean (GTask *task)
{
  Proof *proof = g_task_get_task_data (task);
  g_autofree char *path = g_build_filename (proof_folder (proof)->path, proof->name, NULL);

  ow_channel_request_async (proof->channel, OW_MCP_PROBE,
                            json_pack ("{s:s, s:s}", "op", "remove", "path", path), NULL,
                            ow_mount_proof_cleaned, g_object_ref (task));
}

static void
ow_mount_proof_answered (GObject      *source,
                         GAsyncResult *result,
                         gpointer      user_data)
{
  g_autoptr (GTask) task = user_data;
  Proof *proof = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  json_t *answer = ow_channel_request_finish (OW_CHANNEL (source), result, &error);
  gboolean made;

  if (answer == NULL)
    {
      ow_mount_proof_break_off (task, error->message);
      return;
    }
  made = (proof->step == STEP_RUNNER_TOKEN || proof->step == STEP_NO_WRITE)
         && ow_json_get_bool (answer, "ok", FALSE) != 0;
  proof->miss = ow_mount_proof_judge (proof, answer);
  json_decref (answer);
  if (proof->miss != NULL && made)
    {
      ow_mount_proof_clean (task);
      return;
    }
  if (proof->miss != NULL)
    {
      ow_mount_proof_refuse (task, proof->miss);
      return;
    }
  proof_remove_file (proof);
  ow_mount_proof_advance (proof);
  ow_mount_proof_next (task);
}

/* --- asking --- */

static json_t *
ow_mount_proof_question (const Proof *proof)
{
  const char *folder = proof_folder (proof)->path;
  g_autofree char *path = NULL;

  if (proof->step == STEP_IDENTITY)
    return json_pack ("{s:s, s:s}", "op", "identity", "path", folder);
  path = g_build_filename (folder, proof->name, NULL);
  if (proof->step == STEP_HOST_TOKEN)
    return json_pack ("{s:s, s:s}", "op", "read", "path", path);
  return json_pack ("{s:s, s:s, s:s}", "op", "create", "path", path,
                    "content", proof->token);
}

/* Makes name and token, and the host's file where it is the host's turn. */
static gboolean
ow_mount_proof_prepare (GTask *task)
{
  Proof *proof = g_task_get_task_data (task);
  g_autofree char *random = ow_random_hex (NAME_HEX / 2, NULL);
  g_autofree char *why = NULL;
  int failure;

  g_free (proof->token);
  proof->token = ow_random_hex (TOKEN_BYTES, NULL);
  if (proof->token == NULL || random == NULL)
    {
      ow_mount_proof_refuse (task, "the system gives no random numbers");
      return FALSE;
    }
  proof->name = g_strconcat (NAME_PREFIX, random, NULL);
  if (proof->step != STEP_HOST_TOKEN)
    return TRUE;
  host_sweep (proof_folder (proof));
  failure = host_write (proof);
  if (failure == 0)
    return TRUE;
  why = g_strdup_printf ("no file can be made in it (%s)", g_strerror (failure));
  ow_mount_proof_refuse (task, why);
  return FALSE;
}

static void
ow_mount_proof_next (GTask *task)
{
  Proof *proof = g_task_get_task_data (task);
  json_t *question;

  if (g_task_return_error_if_cancelled (task))
    return;
  if (proof->index == proof->plan->folders->len + proof->own->len)
    {
      g_task_return_boolean (task, TRUE);
      return;
    }
  if (proof->step == STEP_HOST_TOKEN && proof_folder (proof)->read_only)
    proof->step = STEP_IDENTITY;
  if (proof->step != STEP_IDENTITY && !ow_mount_proof_prepare (task))
    return;
  question = ow_mount_proof_question (proof);
  if (question == NULL)
    {
      ow_mount_proof_refuse (task, "its name is not valid UTF-8");
      return;
    }
  ow_state_reach ("mount-proving");
  ow_channel_request_async (proof->channel, OW_MCP_PROBE, question,
                            g_task_get_cancellable (task), ow_mount_proof_answered,
                            g_object_ref (task));
}

void
ow_mount_proof_run_async (OwChannel           *channel,
                          const OwSandboxPlan *plan,
                          gboolean             walled,
                          GCancellable        *cancellable,
                          GAsyncReadyCallback  callback,
                          gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Proof *proof = g_new0 (Proof, 1);

  g_task_set_source_tag (task, ow_mount_proof_run_async);
  /* The token file is removed before the task completes, cancelled or not. */
  g_task_set_check_cancellable (task, FALSE);
  proof->channel = g_object_ref (channel);
  proof->plan = plan;
  proof->walled = walled;
  proof->own = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_folder_free);
  if (walled)
    add_own (proof, plan->home);
  if (walled && plan->undo != NULL)
    add_own (proof, plan->undo);
  for (guint i = 0; walled && plan->programs != NULL && i < plan->programs->len; i++)
    add_programs (proof, g_ptr_array_index (plan->programs, i));
  g_task_set_task_data (task, proof, proof_free);
  ow_mount_proof_next (task);
}

gboolean
ow_mount_proof_run_finish (GAsyncResult *result,
                           GError      **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}
