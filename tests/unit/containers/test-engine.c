/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "ow-container-engine-private.h"

/* A folder with commands of the test's own that are first on PATH, a home and sockets. */
typedef struct {
  char      *folder;  /* (owned) */
  char      *path;    /* (owned) the PATH before */
  GPtrArray *bound;   /* (owned) of GSocket */
} Machine;

#define DOCKER_INFO "{\"ID\":\"%s\",\"ServerVersion\":\"28.3.2\",\"DockerRootDir\":\"%s\"," \
                    "\"SecurityOptions\":[\"name=seccomp\"%s]}"
#define PODMAN_INFO "{\"host\":{\"security\":{\"rootless\":true}},"                           \
                    "\"store\":{\"graphRoot\":\"/home/ana/.local/share/containers/storage\"}," \
                    "\"version\":{\"Version\":\"5.4.2\"}}"
#define DOWN "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"

static void
machine_command (Machine    *machine,
                 const char *name,
                 const char *script)
{
  g_autofree char *file = g_build_filename (machine->folder, "bin", name, NULL);
  g_autofree char *text = g_strdup_printf ("#!/bin/sh\nFOLDER='%s'\necho \"$DOCKER_HOST|$*\" "
                                           ">>\"$FOLDER/calls\"\n%s\n", machine->folder, script);

  g_assert_true (g_file_set_contents (file, text, -1, NULL));
  g_assert_cmpint (g_chmod (file, 0755), ==, 0);
}

static Machine *
machine_new (void)
{
  static const char * const folders[] = { "bin", "run", "home/.docker/run", "config/openshell" };
  Machine *machine = g_new0 (Machine, 1);
  g_autofree char *bin = NULL;

  machine->folder = g_dir_make_tmp ("ow-containers-XXXXXX", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *folder = g_build_filename (machine->folder, folders[i], NULL);

      g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
    }
  machine->bound = g_ptr_array_new_with_free_func (g_object_unref);
  machine->path = g_strdup (g_getenv ("PATH"));
  bin = g_strdup_printf ("%s/bin:%s/tools", machine->folder, machine->folder);
  g_setenv ("PATH", bin, TRUE);
  {
    /* What the scripts use, and no engine that this machine may have. */
    static const char * const tools[] = { "cat", "sleep" };
    g_autofree char *folder = g_build_filename (machine->folder, "tools", NULL);

    g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS (tools); i++)
      {
        g_autofree char *target = g_build_filename ("/bin", tools[i], NULL);
        g_autofree char *link = g_build_filename (folder, tools[i], NULL);

        g_assert_cmpint (symlink (target, link), ==, 0);
      }
  }
  g_unsetenv ("DOCKER_HOST");
  return machine;
}

static void
machine_free (Machine *machine)
{
  g_setenv ("PATH", machine->path, TRUE);
  g_ptr_array_unref (machine->bound);
  g_assert_true (ow_file_remove_tree (machine->folder, NULL));
  g_free (machine->folder);
  g_free (machine->path);
  g_free (machine);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Machine, machine_free)

static char *
machine_place (Machine    *machine,
               const char *name)
{
  return g_build_filename (machine->folder, name, NULL);
}

/* A socket that is there; the fake command decides what answers at it. */
static void
machine_socket (Machine    *machine,
                const char *name)
{
  g_autofree char *path = machine_place (machine, name);
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);
  GSocket *bound = g_socket_new (G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, 0, NULL);

  g_assert_true (g_socket_bind (bound, address, TRUE, NULL));
  g_ptr_array_add (machine->bound, bound);
}

static void
machine_write (Machine    *machine,
               const char *name,
               const char *text)
{
  g_autofree char *path = machine_place (machine, name);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static char *
machine_read (Machine    *machine,
              const char *name)
{
  g_autofree char *path = machine_place (machine, name);
  char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? text : g_strdup ("");
}

static void
keep_result (GObject      *object,
             GAsyncResult *result,
             gpointer      user_data)
{
  *(GAsyncResult **) user_data = g_object_ref (result);
}

static OwContainerEngine *
find (Machine    *machine,
      const char *driver,
      GError    **error)
{
  OwContainerPlaces *places = g_new0 (OwContainerPlaces, 1);
  g_autoptr (GAsyncResult) result = NULL;

  places->gateway_env = machine_place (machine, "config/openshell/gateway.env");
  places->system = machine_place (machine, "docker.sock");
  places->home = machine_place (machine, "home");
  places->runtime = machine_place (machine, "run");
  ow_container_engine_find_at_async (places, driver, NULL, keep_result, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return ow_container_engine_find_finish (result, error);
}

/* One that answers `info` with $FOLDER/info at every place, and has no contexts. */
#define ANSWERS "case \"$1\" in info) cat \"$FOLDER/info\";; *) exit 1;; esac"

static void
write_info (Machine    *machine,
            const char *root_dir,
            const char *option)
{
  g_autofree char *info = g_strdup_printf (DOCKER_INFO, "AAAA", root_dir, option);

  machine_write (machine, "info", info);
}

static void
test_docker (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autoptr (OwContainerEngine) engine = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *socket = machine_place (machine, "docker.sock");
  g_autofree char *line = NULL;

  machine_command (machine, "docker", ANSWERS);
  machine_socket (machine, "docker.sock");
  write_info (machine, "/var/lib/docker", "");
  engine = find (machine, "docker", &error);
  g_assert_no_error (error);
  g_assert_cmpint (engine->kind, ==, OW_ENGINE_DOCKER);
  g_assert_false (engine->shim || engine->snap || engine->rootless);
  g_assert_cmpstr (engine->version, ==, "28.3.2");
  g_assert_cmpstr (engine->id, ==, "AAAA");
  g_assert_cmpstr (engine->root_dir, ==, "/var/lib/docker");
  g_assert_cmpstr (engine->socket, ==, socket);
  g_assert_null (engine->other);
  line = ow_container_engine_pull_line (engine, "ghcr.io/x/base@sha256:ab");
  g_assert_cmpstr (line, ==, "docker pull ghcr.io/x/base@sha256:ab");
}

static void
test_rootless (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autoptr (OwContainerEngine) engine = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *socket = machine_place (machine, "run/docker.sock");

  machine_command (machine, "docker", ANSWERS);
  machine_socket (machine, "run/docker.sock");
  write_info (machine, "/home/ana/.local/share/docker", ",\"name=rootless\"");
  engine = find (machine, "docker", &error);
  g_assert_no_error (error);
  g_assert_true (engine->rootless);
  g_assert_cmpstr (engine->socket, ==, socket);
}

static void
test_not_installed (void)
{
  static const char * const drivers[] = { "docker", "podman" };

  for (gsize i = 0; i < G_N_ELEMENTS (drivers); i++)
    {
      g_autoptr (Machine) machine = machine_new ();
      g_autoptr (GError) error = NULL;

      g_assert_null (find (machine, drivers[i], &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
      g_assert_nonnull (strstr (error->message, "is not installed"));
    }
}

static void
test_not_running (void)
{
  static const char * const answers[] = {
    "echo '" DOWN "' >&2; exit 1",
    "echo '{\"ServerErrors\":[\"" DOWN "\"],\"ID\":\"\",\"ServerVersion\":\"\"}'; exit 1",
    "echo '{\"ServerErrors\":[\"" DOWN "\"],\"DockerRootDir\":\"\"}'",
    "exit 1", "kill -9 $$", "echo nonsense", "echo '[[[['",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Machine) machine = machine_new ();
      g_autoptr (GError) error = NULL;

      machine_command (machine, "docker", answers[i]);
      machine_socket (machine, "docker.sock");
      g_assert_null (find (machine, "docker", &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
      g_assert_nonnull (strstr (error->message, "Docker is installed but does not answer"));
      g_assert_null (strstr (error->message, "may not use it"));
    }
}

#define DENIED "permission denied while trying to connect to the Docker daemon socket at " \
               "unix:///var/run/docker.sock: Get ...: dial unix: connect: permission denied"

static void
test_A07 (void)
{
  static const char * const answers[] = {
    "echo '" DENIED "' >&2; exit 1",
    "echo 'Got " DENIED "' >&2; echo '{\"ServerErrors\":[\"" DENIED "\"]}'; exit 1",
    "echo '{\"ServerErrors\":[\"" DENIED "\"]}'",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Machine) machine = machine_new ();
      g_autoptr (GError) error = NULL;

      machine_command (machine, "docker", answers[i]);
      machine_command (machine, "getent", "echo 'docker:x:998:bob'");
      if (i > 0)
        machine_socket (machine, "docker.sock");
      g_assert_null (find (machine, "docker", &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
      g_assert_nonnull (strstr (error->message, "Docker runs, but this account may not use it"));
      g_assert_null (strstr (error->message, "nstall"));
      g_assert_null (strstr (error->message, "systemctl"));
    }
}

/* The account is in the group's list and not in the groups of this process. */
static void
test_A08 (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autoptr (GError) pending = NULL;
  g_autoptr (GError) other = NULL;
  g_autofree char *script = g_strdup_printf ("echo 'docker:x:4242:bob,%s'", g_get_user_name ());
  g_autofree char *path = machine_place (machine, "docker.sock");

  machine_command (machine, "docker", "echo '" DENIED "' >&2; exit 1");
  machine_command (machine, "getent", script);
  machine_socket (machine, "docker.sock");
  if (geteuid () != 0 || chown (path, 0, 4242) != 0)
    {
      /* Its group is one of ours here, so the group cannot be what is missing. */
      g_assert_null (find (machine, "docker", &other));
      g_assert_null (strstr (other->message, "Log out"));
      return;
    }
  g_assert_null (find (machine, "docker", &pending));
  g_assert_error (pending, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (pending->message, "this login may not use it yet"));
  g_assert_nonnull (strstr (pending->message, "the group docker"));
  g_assert_nonnull (strstr (pending->message, "Log out and in again."));

  machine_command (machine, "getent", "echo 'docker:x:4242:bob'");
  g_assert_null (find (machine, "docker", &other));
  g_assert_nonnull (strstr (other->message, "usermod -aG docker"));
}

/* The engine of this account is at a place where the gateway does not look. */
static void
test_A09 (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autofree char *script = g_strdup_printf (
    "[ -z \"$DOCKER_HOST\" ] || { echo '" DOWN "' >&2; exit 1; }\n"
    "case \"$1\" in info) cat \"$FOLDER/info\";; context) echo unix://%s/elsewhere.sock;; esac",
    machine->folder);
  g_autoptr (GError) error = NULL;
  g_autofree char *elsewhere = machine_place (machine, "elsewhere.sock");
  g_autofree char *usual = machine_place (machine, "docker.sock");
  g_autofree char *setting = g_strdup_printf ("DOCKER_HOST=unix://%s", elsewhere);

  machine_command (machine, "docker", script);
  write_info (machine, "/var/lib/docker", "");
  g_assert_null (find (machine, "docker", &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "does not see the container engine of this account"));
  g_assert_nonnull (strstr (error->message, elsewhere));
  g_assert_nonnull (strstr (error->message, usual));
  g_assert_nonnull (strstr (error->message, setting));
}

/* Both answer: what the gateway uses counts, and the other is named. */
static void
test_A09_two (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autofree char *script = g_strdup_printf (
    "case \"$1:$DOCKER_HOST\" in info:) cat \"$FOLDER/other\";; info:*) cat \"$FOLDER/info\";; "
    "context:*) echo unix://%s/elsewhere.sock;; esac", machine->folder);
  g_autofree char *other = g_strdup_printf (DOCKER_INFO, "BBBB", "/elsewhere", "");
  g_autofree char *place = machine_place (machine, "elsewhere.sock");
  g_autofree char *expected = g_strdup_printf ("docker -H unix://%s/docker.sock pull x",
                                               machine->folder);
  g_autoptr (OwContainerEngine) engine = NULL;
  g_autoptr (OwContainerEngine) same = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *line = NULL;

  machine_command (machine, "docker", script);
  machine_socket (machine, "docker.sock");
  write_info (machine, "/var/lib/docker", "");
  machine_write (machine, "other", other);
  engine = find (machine, "docker", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (engine->id, ==, "AAAA");
  g_assert_cmpstr (engine->other, ==, place);
  line = ow_container_engine_pull_line (engine, "x");
  g_assert_cmpstr (line, ==, expected);

  /* Another path to the same daemon is no other engine. */
  write_info (machine, "/var/lib/docker", "");
  {
    g_autofree char *info = machine_read (machine, "info");

    machine_write (machine, "other", info);
  }
  same = find (machine, "docker", &error);
  g_assert_no_error (error);
  g_assert_null (same->other);
}

/* gateway.env says where the gateway looks first. */
static void
test_A09_gateway_env (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autofree char *own = machine_place (machine, "own.sock");
  g_autofree char *env = g_strdup_printf ("# a comment\nDOCKER_HOST=unix:///nowhere\n"
                                          " DOCKER_HOST = \"unix://%s\" \nX=1\n", own);
  g_autoptr (OwContainerEngine) engine = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) unreadable = NULL;

  machine_command (machine, "docker", ANSWERS);
  machine_socket (machine, "own.sock");
  machine_socket (machine, "docker.sock");
  machine_write (machine, "config/openshell/gateway.env", env);
  write_info (machine, "/var/lib/docker", "");
  engine = find (machine, "docker", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (engine->socket, ==, own);

  {
    g_autofree char *file = machine_place (machine, "config/openshell/gateway.env");

    g_assert_cmpint (g_remove (file), ==, 0);
    g_assert_cmpint (g_mkdir (file, 0700), ==, 0);
  }
  g_assert_null (find (machine, "docker", &unreadable));
  g_assert_error (unreadable, OW_ERROR, OW_ERROR_REFUSED);
  g_assert_nonnull (strstr (unreadable->message, "gateway.env cannot be read"));
}

/* The gateway takes the first place that answers, so a dead one before it does not count. */
static void
test_A09_next_place (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autofree char *second = machine_place (machine, "home/.docker/run/docker.sock");
  g_autoptr (OwContainerEngine) engine = NULL;
  g_autoptr (GError) error = NULL;

  machine_command (machine, "docker",
                   "case \"$DOCKER_HOST\" in */run/docker.sock) ;; *) echo '" DOWN "' >&2; exit 1;; "
                   "esac\ncase \"$1\" in info) cat \"$FOLDER/info\";; *) exit 1;; esac");
  machine_socket (machine, "docker.sock");
  machine_socket (machine, "home/.docker/run/docker.sock");
  write_info (machine, "/var/lib/docker", "");
  engine = find (machine, "docker", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (engine->socket, ==, second);
}

static void
test_A10 (void)
{
  static const char * const scripts[] = {
    "echo 'Emulate Docker CLI using podman. Create /etc/containers/nodocker to quiet msg.' >&2\n"
    "[ \"$1\" = info ] && cat \"$FOLDER/info\"",
    /* One that has no JSON for itself, and no template field of docker's. */
    "echo 'Emulate Docker CLI using podman. Create /etc/containers/nodocker to quiet msg.' >&2\n"
    "case \"$*\" in *Store.GraphRoot*) "
    "echo '5.4.2|/home/ana/.local/share/containers/storage';; "
    "*) echo 'Error: template: info:1:2: executing \"info\" at <.DockerRootDir>: can not evaluate "
    "field' >&2; exit 125;; esac",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (scripts); i++)
    for (guint with_socket = 0; with_socket < 2; with_socket++)
      {
        g_autoptr (Machine) machine = machine_new ();
        g_autoptr (OwContainerEngine) engine = NULL;
        g_autoptr (GError) error = NULL;
        g_autofree char *line = NULL;

        machine_command (machine, "docker", scripts[i]);
        if (with_socket)
          machine_socket (machine, "docker.sock");
        machine_write (machine, "info", PODMAN_INFO);
        engine = find (machine, "docker", &error);
        g_assert_no_error (error);
        g_assert_cmpint (engine->kind, ==, OW_ENGINE_PODMAN);
        g_assert_true (engine->shim);
        g_assert_cmpstr (engine->version, ==, "5.4.2");
        g_assert_cmpstr (engine->root_dir, ==, "/home/ana/.local/share/containers/storage");
        line = ow_container_engine_pull_line (engine, "x");
        g_assert_cmpstr (line, ==, "docker pull x");
      }
}

static void
test_podman (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autoptr (OwContainerEngine) engine = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) down = NULL;
  g_autofree char *line = NULL;

  machine_command (machine, "podman", "cat \"$FOLDER/info\"");
  machine_write (machine, "info", PODMAN_INFO);
  engine = find (machine, "podman", &error);
  g_assert_no_error (error);
  g_assert_cmpint (engine->kind, ==, OW_ENGINE_PODMAN);
  g_assert_false (engine->shim);
  g_assert_true (engine->rootless);
  g_assert_null (engine->id);
  line = ow_container_engine_pull_line (engine, "an image; x");
  g_assert_cmpstr (line, ==, "podman pull 'an image; x'");

  machine_command (machine, "podman", "echo 'Error: cannot set up namespace' >&2; exit 125");
  g_assert_null (find (machine, "podman", &down));
  g_assert_nonnull (strstr (down->message, "Podman is installed but does not answer"));
  g_assert_nonnull (strstr (down->message, "cannot set up namespace"));
}

/* The gateway uses podman, and only docker is there. */
static void
test_other_engine (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) unknown = NULL;

  machine_command (machine, "docker", ANSWERS);
  write_info (machine, "/var/lib/docker", "");
  g_assert_null (find (machine, "podman", &error));
  g_assert_nonnull (strstr (error->message, "uses Podman, and only Docker answers"));
  g_assert_null (find (machine, "vm", &unknown));
  g_assert_error (unknown, OW_ERROR, OW_ERROR_REFUSED);
}

static void
test_A11 (void)
{
  static const struct { const char *below; gboolean refused; } cases[] = {
    { "/.config/coworker/sandbox-runtime/x", TRUE }, { "/.x", TRUE }, { "/snap/docker", TRUE },
    { "/work", FALSE }, { "/work/.venv", FALSE }, { "/snapshots", FALSE },
  };
  g_autoptr (Machine) machine = machine_new ();
  g_autoptr (OwContainerEngine) snap = NULL;
  g_autoptr (OwContainerEngine) plain = NULL;
  g_autoptr (GError) error = NULL;

  machine_command (machine, "docker", ANSWERS);
  machine_socket (machine, "docker.sock");
  write_info (machine, "/var/snap/docker/common/var-lib-docker", "");
  snap = find (machine, "docker", &error);
  g_assert_no_error (error);
  g_assert_true (snap->snap);
  write_info (machine, "/var/lib/docker", "");
  plain = find (machine, "docker", &error);
  g_assert_no_error (error);

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat (g_get_home_dir (), cases[i].below, NULL);
      g_autofree char *refused = ow_container_engine_cannot_mount (snap, path);
      g_autofree char *taken = ow_container_engine_cannot_mount (plain, path);

      g_assert_true ((refused != NULL) == cases[i].refused);
      g_assert_null (taken);
    }
  {
    g_autofree char *hidden = g_strconcat (g_get_home_dir (), "/.x", NULL);
    g_autofree char *why = ow_container_engine_cannot_mount (snap, hidden);

    g_assert_true (g_str_has_prefix (why, "snap Docker cannot see hidden folders"));
  }
}

/* Outside the home it shows another, empty folder and says nothing. */
static void
test_A12 (void)
{
  OwContainerEngine snap = { .snap = TRUE };
  OwContainerEngine plain = { .snap = FALSE };
  g_autofree char *outside = ow_container_engine_cannot_mount (&snap, "/srv/project");
  g_autofree char *runner = ow_container_engine_cannot_mount (&snap, "/usr/libexec/runner");
  g_autofree char *medium = ow_container_engine_cannot_mount (&snap, "/media/ana/disk");
  g_autofree char *taken = ow_container_engine_cannot_mount (&plain, "/srv/project");

  g_assert_nonnull (outside);
  g_assert_nonnull (runner);
  g_assert_null (medium);
  g_assert_null (taken);
}

static gboolean
has_image (Machine    *machine,
           const char *image,
           gboolean   *present,
           GError    **error)
{
  g_autofree char *program = machine_place (machine, "bin/docker");
  g_autofree char *socket = machine_place (machine, "docker.sock");
  OwContainerEngine engine = { .program = program, .socket = socket };
  g_autoptr (GAsyncResult) result = NULL;

  ow_container_engine_has_image_async (&engine, image, NULL, keep_result, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return ow_container_engine_has_image_finish (result, present, error);
}

static void
test_image (void)
{
  static const struct { const char *script; int expected; } cases[] = {
    { "[ \"$*\" = 'image inspect base:1' ] && echo '[{}]'", 1 },
    { "echo '[]'; echo 'Error response from daemon: no such image: x: No such image: x' >&2; exit 1",
      0 },
    { "echo '[]'; echo 'Error: No such image: x' >&2; exit 1", 0 },
    { "echo 'Error: x: image not known' >&2; exit 125", 0 },
    { "echo '" DOWN "' >&2; exit 1", -1 }, { "exit 1", -1 }, { "kill -9 $$", -1 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Machine) machine = machine_new ();
      g_autoptr (GError) error = NULL;
      g_autofree char *calls = NULL;
      gboolean present = FALSE;

      machine_command (machine, "docker", cases[i].script);
      g_assert_true (has_image (machine, "base:1", &present, &error) == (cases[i].expected >= 0));
      if (cases[i].expected < 0)
        g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
      else
        g_assert_cmpint (present, ==, cases[i].expected);
      /* Asked at the place of the engine, whatever the person's own setting is. */
      calls = machine_read (machine, "calls");
      g_assert_nonnull (strstr (calls, "/docker.sock|image inspect base:1"));
    }
}

static void
test_image_option (void)
{
  static const char * const names[] = { "", "-f", "--help" };
  g_autoptr (Machine) machine = machine_new ();
  g_autofree char *calls = NULL;

  machine_command (machine, "docker", "");
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) error = NULL;
      gboolean present;

      g_assert_false (has_image (machine, names[i], &present, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_REFUSED);
    }
  calls = machine_read (machine, "calls");
  g_assert_cmpstr (calls, ==, "");
}

static gboolean
cancel (gpointer data)
{
  g_cancellable_cancel (data);
  return G_SOURCE_REMOVE;
}

static void
test_cancelled (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;

  machine_command (machine, "podman", "exec sleep 1000");
  g_timeout_add (200, cancel, cancellable);
  ow_container_engine_find_async ("podman", cancellable, keep_result, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_null (ow_container_engine_find_finish (result, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_INTERRUPTED);
}

static void
test_words_of_others (void)
{
  g_autoptr (Machine) machine = machine_new ();
  g_autoptr (GError) error = NULL;

  machine_command (machine, "docker", "printf '\\033[31m<b>down</b>\\007\\n\\033]0;x\\007' >&2; exit 1");
  machine_socket (machine, "docker.sock");
  g_assert_null (find (machine, "docker", &error));
  g_assert_nonnull (strstr (error->message, "<b>down</b>^G"));
  g_assert_null (strchr (error->message, 0x1b));
}

int
main (int   argc,
      char *argv[])
{
  /* Nothing of the account that runs the tests. */
  g_setenv ("HOME", "/nonexistent/home", TRUE);
  g_setenv ("XDG_CONFIG_HOME", "/nonexistent/home/.config", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/containers/docker", test_docker);
  g_test_add_func ("/containers/rootless", test_rootless);
  g_test_add_func ("/containers/not-installed", test_not_installed);
  g_test_add_func ("/containers/not-running", test_not_running);
  g_test_add_func ("/containers/A07", test_A07);
  g_test_add_func ("/containers/A08", test_A08);
  g_test_add_func ("/containers/A09", test_A09);
  g_test_add_func ("/containers/A09/two", test_A09_two);
  g_test_add_func ("/containers/A09/gateway-env", test_A09_gateway_env);
  g_test_add_func ("/containers/A09/next-place", test_A09_next_place);
  g_test_add_func ("/containers/A10", test_A10);
  g_test_add_func ("/containers/podman", test_podman);
  g_test_add_func ("/containers/other-engine", test_other_engine);
  g_test_add_func ("/containers/A11", test_A11);
  g_test_add_func ("/containers/A12", test_A12);
  g_test_add_func ("/containers/image/plain", test_image);
  g_test_add_func ("/containers/image/option", test_image_option);
  g_test_add_func ("/containers/cancelled", test_cancelled);
  g_test_add_func ("/containers/words-of-others", test_words_of_others);
  return g_test_run ();
}
