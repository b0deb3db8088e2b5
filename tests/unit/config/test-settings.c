/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config-settings.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "config-fixture.h"
#include "config/ow-config-credentials.h"
#include "config/ow-config-hosts.h"

/* Every setting of the wall can be set and taken out, whatever its form in the file is, and every
 * other byte stays (REQ-U14). */

#define BOM "\xef\xbb\xbf"
#define CPU "sandbox_limits.cpu"
#define MEMORY "sandbox_limits.memory"
#define HOSTS "sandbox_extra_hosts"
#define ANY "sandbox_openshell_any_version"
#define PROFILE "sandbox_network_profile"
#define PROGRAMS "sandbox_programs"
#define LOGIN "[[sandbox_credentials]]\n"

typedef struct {
  const char *key;
  const char *value;  /* NULL: it is taken out */
  const char *before;
  const char *after;
} Row;

static char *
get (const char *path)
{
  char *content = NULL;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  return content;
}

static gboolean
set (const char  *path,
     const char  *key,
     const char  *value,
     GError     **error)
{
  return value != NULL ? ow_config_set (path, key, value, error)
                       : ow_config_unset (path, key, error);
}

static void
assert_holds (const char *path,
              const char *wanted)
{
  g_autofree char *content = get (path);

  g_assert_cmpstr (content, ==, wanted);
}

static const Row rows[] = {
  /* It is not there. */
  { CPU, "2", "", "[sandbox_limits]\ncpu = 2\n" },
  { CPU, "2", BOM, BOM "[sandbox_limits]\ncpu = 2\n" },
  { CPU, "2", "a = 1", "a = 1\n\n[sandbox_limits]\ncpu = 2\n" },
  { CPU, "2", "a = 1\r\n", "a = 1\r\n\r\n[sandbox_limits]\r\ncpu = 2\r\n" },
  { MEMORY, "4Gi", "[t]\nb = 1 # x\n", "[t]\nb = 1 # x\n\n[sandbox_limits]\nmemory = \"4Gi\"\n" },
  { ANY, "true", "[t]\n", ANY " = true\n\n[t]\n" },
  { HOSTS, "a.example, b.example:80", "", HOSTS " = [\"a.example:443\", \"b.example:80\"]\n" },
  { PROGRAMS, "~/.cargo/bin", "x = 1\n", "x = 1\n" PROGRAMS " = [\"~/.cargo/bin\"]\n" },
  { PROFILE, "standard", "# c\n[t]\n", PROFILE " = \"standard\"\n\n# c\n[t]\n" },
  /* It is there. */
  { CPU, "0.5", "[sandbox_limits]\ncpu = 2 # two\n", "[sandbox_limits]\ncpu = 0.5 # two\n" },
  { CPU, "500m", "[sandbox_limits]\ncpu=2.25# two\n", "[sandbox_limits]\ncpu=\"500m\"# two\n" },
  { CPU, "4", "[ 'sandbox_limits' ] # l\r\n\t\"cpu\" = \"500m\"\r\n",
    "[ 'sandbox_limits' ] # l\r\n\t\"cpu\" = 4\r\n" },
  { CPU, "1", "sandbox_limits.cpu = 0x10 # hex\nb = 1\n", "sandbox_limits.cpu = 1 # hex\nb = 1\n" },
  { CPU, "1", "sandbox_limits = {cpu=1_6,memory=\"1Gi\"} # i\n",
    "sandbox_limits = {cpu=1,memory=\"1Gi\"} # i\n" },
  { ANY, "false", "  " ANY "\t=  true  # \xc3\xa9\r\n", "  " ANY "\t=  false  # \xc3\xa9\r\n" },
  { HOSTS, "b.example", HOSTS " = [ # all\n  'a.example', # a\n] # end\n",
    HOSTS " = [\"b.example:443\"] # end\n" },
  { HOSTS, "", HOSTS " = ['a.example']", HOSTS " = []" },
  { HOSTS, "[{ host = 'git.corp.example', private = true }, 'a.example']", HOSTS " = []\nz = 1\n",
    HOSTS " = [{ host = \"git.corp.example:443\", private = true }, \"a.example:443\"]\nz = 1\n" },
  { PROFILE, "standard", "'" PROFILE "' = '''\nstrict'''# c\n[t]",
    "'" PROFILE "' = \"standard\"# c\n[t]" },
  { PROGRAMS, "/a/bin, /b/bin", PROGRAMS " = []\n", PROGRAMS " = [\"/a/bin\", \"/b/bin\"]\n" },
  /* Its table is there. */
  { CPU, "2", "[sandbox_limits]\n", "[sandbox_limits]\ncpu = 2\n" },
  { CPU, "2", "[sandbox_limits] # l", "[sandbox_limits] # l\ncpu = 2\n" },
  { CPU, "2", "[sandbox_limits]\n\n# m\n  memory = '1Gi' # m\n\n# t\n[t]\n",
    "[sandbox_limits]\n\n# m\n  memory = '1Gi' # m\n  cpu = 2\n\n# t\n[t]\n" },
  { CPU, "2", "[sandbox_limits]\nmemory = '1Gi'", "[sandbox_limits]\nmemory = '1Gi'\ncpu = 2\n" },
  { CPU, "2", "[sandbox_limits.more]\nx = 1\n[sandbox_limits]\r\n# only\r\n[t]\n",
    "[sandbox_limits.more]\nx = 1\n[sandbox_limits]\r\ncpu = 2\n# only\r\n[t]\n" },
  { CPU, "2", "[sandbox_limits.more]\nx = 1\n",
    "[sandbox_limits.more]\nx = 1\n\n[sandbox_limits]\ncpu = 2\n" },
  { CPU, "2", "sandbox_limits = {}\n", "sandbox_limits = { cpu = 2 }\n" },
  { CPU, "2", "sandbox_limits = {  } # e\n", "sandbox_limits = { cpu = 2  } # e\n" },
  { CPU, "2", "sandbox_limits = { memory = '1Gi' }", "sandbox_limits = { memory = '1Gi', cpu = 2 }" },
  { CPU, "2", "sandbox_limits = {memory='1}Gi'}#", NULL },
  { CPU, "2", "sandbox_limits.memory = '1Gi' # m\nz = 1\n",
    "sandbox_limits.memory = '1Gi' # m\nsandbox_limits.cpu = 2\nz = 1\n" },
  { CPU, "2", "  \"sandbox_limits\" . more.x = [\n1 ]\n[t]\n",
    "  \"sandbox_limits\" . more.x = [\n1 ]\n  sandbox_limits.cpu = 2\n[t]\n" },
  { CPU, "2", "x = '''\n[sandbox_limits]'''\n[sandbox_limits]\n",
    "x = '''\n[sandbox_limits]'''\n[sandbox_limits]\ncpu = 2\n" },
  /* It is set like that already, in another form: that stays. */
  { HOSTS, "a.example:443, b.example", HOSTS " = [ # mine\n 'a.example:443', \"b.example:443\"]\n",
    HOSTS " = [ # mine\n 'a.example:443', \"b.example:443\"]\n" },
  { PROFILE, "strict", PROFILE " = 'strict'\n", PROFILE " = 'strict'\n" },
  { CPU, "16", "sandbox_limits.cpu = 0x10\n", "sandbox_limits.cpu = 0x10\n" },
  /* Taken out. */
  { PROFILE, NULL, "a = 1\n" PROFILE " = 'strict' # why\n\n# b\nb = 2\n", "a = 1\n\n# b\nb = 2\n" },
  { PROFILE, NULL, "a = 1\n", "a = 1\n" },
  { PROFILE, NULL, BOM PROFILE " = 'strict'", BOM },
  { HOSTS, NULL, HOSTS " = [\r\n 'a.example', # ]\r\n]\r\nz = 1\r\n", "z = 1\r\n" },
  { CPU, NULL, "[sandbox_limits]\ncpu = 2\nmemory = '1Gi'\n", "[sandbox_limits]\nmemory = '1Gi'\n" },
  { CPU, NULL, "sandbox_limits.cpu = 2\nx = 1\n", "x = 1\n" },
  { CPU, NULL, "sandbox_limits = { cpu = 2 }\n", "sandbox_limits = { }\n" },
  { CPU, NULL, "sandbox_limits = { cpu = 2, memory = '1Gi' }\n",
    "sandbox_limits = { memory = '1Gi' }\n" },
  { CPU, NULL, "sandbox_limits = { memory = '1Gi', cpu = 2 } # c\n",
    "sandbox_limits = { memory = '1Gi' } # c\n" },
  { CPU, NULL, "sandbox_limits = { x = ['},', \"\\\"}\"], cpu = 2, y.z = {} }",
    "sandbox_limits = { x = ['},', \"\\\"}\"], y.z = {} }" },
};

static void
test_forms (Fixture       *f,
            gconstpointer  data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      gboolean ok;

      config_put (f->path, rows[i].before, -1);
      g_unlink (f->backup);
      ok = set (f->path, rows[i].key, rows[i].value, &error);
      g_test_message ("%s in\n%s", rows[i].key, rows[i].before);
      if (rows[i].after == NULL)
        {
          g_assert_false (ok);
          g_assert_nonnull (error);
          assert_holds (f->path, rows[i].before);
          continue;
        }
      g_assert_no_error (error);
      g_assert_true (ok);
      assert_holds (f->path, rows[i].after);
      if (strcmp (rows[i].before, rows[i].after) != 0)
        assert_holds (f->backup, rows[i].before);
      else
        g_assert_false (g_file_test (f->backup, G_FILE_TEST_EXISTS));
    }
}

/* Files as people have them. */
static const char * const fixtures[] = {
  "", BOM, "\n", "\r\n", "# only words", "# only words\r\n", BOM "# first\n\n\n",
  "a = 1", "a = 1\n", BOM "a = 1\r\nb = 2\r\n", "\t a=1  # x\n\n\n", "a.b.c = 1\n[a.b.d]\n",
  "sandbox_provider = 'bubblewrap' # mine\n", "sandbox_provider=\"openshell\"\r\n# end",
  "\"sandbox_provider\" = \"direct\"\n[t]\nsandbox_provider = 3\n",
  "[t]\n" PROFILE " = \"not this one\"\n", "# t\n[t] # u\nx = [ # ]\n1,\n]\n\n[[l]]\n[[l]]\n",
  PROFILE " = \"strict\"\n" ANY " = false\n" HOSTS " = []\n" PROGRAMS " = []\n",
  HOSTS " = [\n  \"a.example\", # one\n  { host = \"b.example\", private = true }, # two\n]\n",
  HOSTS " = ['a.example',\r\n'b.example'] # c\r\n[sandbox_limits] # l\r\n\r\nmemory = 1073741824\r\n",
  "sandbox_limits = { memory = \"1Gi\" }\n", "sandbox_limits = { cpu = 2 } # two",
  "sandbox_limits.cpu = \"500m\"\nsandbox_limits.memory = 1_073_741_824\n", "sandbox_limits.x = 1\n[t]\n",
  "[sandbox_limits.more]\nx = 1\n", "[\"sandbox_limits\"]\n'cpu' = 1 # c\n# memory = 2\n[z]\n",
  "[sandbox_limits]\ncpu = 2.0\n\n" LOGIN "name = \"ssh\"\nenabled = true # yes\n",
  (LOGIN "name = \"gh\" # no value\n\n# own\n" LOGIN "path = '~/.npmrc'\nname = 'npm'\n"
   "hosts = [ # r\n 'r.example' ]\n[sandbox_credentials.more]\nx = 1\n"),
  "sandbox_credentials = [ { name = 'kube', enabled = false, private_hosts = ['10.0.0.1:6443'] } ]\n",
  "sandbox_credentials = [\n  { name = \"aws\" }, # a\n  { path = \"~/x\", name = \"own\" }\n]\n",
  "sandbox_credentials = []\n[t]\n", "t = '\xf0\x9f\x98\x80' # \xe4\xbd\xa0\n" PROFILE " = 'strict'\n",
  "x = \"\"\"\n[sandbox_limits]\n" PROFILE " = \"strict\"\n\"\"\" # no\ny = '''\n'''''\n",
  ("d = 1979-05-27T07:32:00Z\nf = -inf\nn = nan\n[[models]]\nname = \"m\"\n"
   "provider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1\"\n"),
};

static const char * const values[][2] = {
  { "sandbox_provider", "bubblewrap" }, { "sandbox_provider", "direct" },
  { PROFILE, "standard" }, { HOSTS, "n.example:8443, [fd00::5]:1" },
  { HOSTS, "[{ host = \"10.1.2.3:80\", private = true }, 'n.example']" }, { HOSTS, "" },
  { ANY, "true" }, { CPU, "3" }, { CPU, "1.5" }, { CPU, "250m" }, { MEMORY, "8Gi" },
  { MEMORY, "104857600" }, { PROGRAMS, "/opt/x/bin" },
};

/* How much of @before is still there around the one place that changed. */
static gsize
count_kept (const char *before,
            const char *after)
{
  gsize n = strlen (before);
  gsize m = strlen (after);
  gsize front = 0;
  gsize back = 0;

  while (front < n && front < m && before[front] == after[front])
    front++;
  while (back < n - front && back < m - front && before[n - 1 - back] == after[m - 1 - back])
    back++;
  return front + back;
}

static char *
read_setting (const char *path,
              const char *key)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OwConfig) config = ow_config_load (path, &error);

  g_assert_no_error (error);
  return ow_config_get_setting (config, key);
}

/* Each setting in each file: it holds afterwards, every other one is what it was, the bytes that
 * went are those of the old value at most, and a second time writes nothing. */
static void
test_fixtures (Fixture       *f,
               gconstpointer  data)
{
  const char * const *keys = ow_config_get_setting_keys ();

  g_assert_cmpuint (G_N_ELEMENTS (fixtures), >=, 30);
  for (gsize i = 0; i < G_N_ELEMENTS (fixtures); i++)
    for (gsize k = 0; k < G_N_ELEMENTS (values); k++)
      {
        const char *key = values[k][0];
        g_autofree char *after = NULL;
        g_autofree char *again = NULL;
        g_autoptr (GPtrArray) was = g_ptr_array_new_with_free_func (g_free);
        g_autofree char *old = NULL;
        g_autoptr (GError) error = NULL;

        g_test_message ("%s = %s in\n%s", key, values[k][1], fixtures[i]);
        config_put (f->path, fixtures[i], -1);
        for (guint n = 0; keys[n] != NULL; n++)
          g_ptr_array_add (was, read_setting (f->path, keys[n]));
        old = read_setting (f->path, key);
        ow_config_set (f->path, key, values[k][1], &error);
        if (g_str_equal (values[k][1], "n.example:8443, [fd00::5]:1"))
          {
            /* A private address that nobody agreed to. */
            g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
            assert_holds (f->path, fixtures[i]);
            continue;
          }
        g_assert_no_error (error);
        after = get (f->path);
        if (old == NULL && strstr (fixtures[i], strrchr (key, '.') != NULL
                                   ? strrchr (key, '.') + 1 : key) == NULL)
          g_assert_cmpuint (count_kept (fixtures[i], after), ==, strlen (fixtures[i]));
        for (guint n = 0; keys[n] != NULL; n++)
          {
            g_autofree char *now = read_setting (f->path, keys[n]);

            if (!g_str_equal (keys[n], key))
              g_assert_cmpstr (now, ==, g_ptr_array_index (was, n));
          }
        g_assert_true (ow_config_set (f->path, key, values[k][1], NULL));
        again = get (f->path);
        g_assert_cmpstr (again, ==, after);
        g_assert_true (ow_config_unset (f->path, key, &error));
        g_assert_no_error (error);
        g_clear_pointer (&again, g_free);
        again = read_setting (f->path, key);
        g_assert_null (again);
      }
}

static void
test_read_back (Fixture       *f,
                gconstpointer  data)
{
  static const char * const wanted[][3] = {
    { "sandbox_provider", "openshell", "openshell" }, { PROFILE, "standard", "standard" },
    { ANY, "true", "true" }, { CPU, "500m", "500m" }, { CPU, "1.5", "1.5" }, { MEMORY, "512Mi", "512Mi" },
    { HOSTS, " a.example ,,*.B.example:80", "[\"a.example:443\", \"*.b.example:80\"]" },
    { PROGRAMS, "/a/./bin", "[\"/a/bin\"]" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (wanted); i++)
    {
      g_autofree char *value = NULL;
      g_autoptr (GError) error = NULL;

      config_put (f->path, "", -1);
      ow_config_set (f->path, wanted[i][0], wanted[i][1], &error);
      g_assert_no_error (error);
      value = read_setting (f->path, wanted[i][0]);
      g_assert_cmpstr (value, ==, wanted[i][2]);
      /* What is read can be set. */
      g_assert_true (ow_config_set (f->path, wanted[i][0], value, NULL));
    }
}

/* What cannot be is refused with what could, and nothing is written. */
static void
test_refused (Fixture       *f,
              gconstpointer  data)
{
  static const char * const bad[][3] = {
    { "sandbox", "1", "There is no setting" }, { "models", "[]", "There is no setting" },
    { "sandbox_limits", "{}", "There is no setting" }, { "sandbox_provider.x", "1", "no setting" },
    { "sandbox_provider", "none", "it can be" }, { "sandbox_provider", "", "it can be" },
    { "sandbox_provider", "Direct", "it can be" }, { PROFILE, "open", "it can be" },
    { "sandbox_provider", "direct\"\nx = \"", "control character" },
    { ANY, "1", "true or false" }, { ANY, "yes", "true or false" }, { ANY, "TRUE", "true or false" },
    { CPU, "0", "number of processors" }, { CPU, "-1", "number of processors" },
    { CPU, "1e3", "number of processors" }, { CPU, "nan", "number of processors" },
    { CPU, "2 # x", "number of processors" }, { MEMORY, "4GiB", "whole number" },
    { MEMORY, "0", "whole number" }, { MEMORY, "1.5Gi", "whole number" },
    { HOSTS, "a.example b.example", "no host" }, { HOSTS, "localhost", "this machine" },
    { HOSTS, "10.0.0.1", "private" }, { HOSTS, "a.example:0", "port" },
    { HOSTS, "['a.example'", "" }, { HOSTS, "['a.example'] # x", NULL },
    { HOSTS, "['a.example'], x = 1", "" }, { HOSTS, "[1]", "is a list" },
    { HOSTS, "[[]]", "is a list" }, { HOSTS, "a\x01.example", "control character" },
    { HOSTS, "\xff.example", "UTF-8" }, { PROGRAMS, "bin", "whole path" },
    { PROGRAMS, "~other/bin", "whole path" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      gboolean ok;

      config_put (f->path, "# mine\n", -1);
      ok = ow_config_set (f->path, bad[i][0], bad[i][1], &error);
      if (bad[i][2] == NULL)
        {
          /* A comment behind a list goes no further than here. */
          g_assert_true (ok);
          assert_holds (f->path, "# mine\n" HOSTS " = [\"a.example:443\"]\n");
          continue;
        }
      g_assert_false (ok);
      g_test_message ("%s", error->message);
      g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
      g_assert_nonnull (strstr (error->message, bad[i][2]));
      assert_holds (f->path, "# mine\n");
    }
  g_assert_false (ow_config_unset (f->path, "models", NULL));
}

/* --- logins --- */

typedef enum { ENABLE, DISABLE, ADD, REMOVE, AGREE } Op;

typedef struct {
  Op          op;
  const char *name;
  const char *before;
  const char *after;  /* NULL: refused with @says */
  const char *says;
} LoginRow;

#define NPM LOGIN "name = \"npm\"\nenabled = true\npath = \"~/.npmrc\"\nhosts = [\"r.example:443\"]\n"

static const LoginRow login_rows[] = {
  { ENABLE, "ssh", "", LOGIN "name = \"ssh\"\nenabled = true\n", NULL },
  { ENABLE, "ssh", BOM "a = 1\r\n", BOM "a = 1\r\n\r\n[[sandbox_credentials]]\r\nname = \"ssh\"\r\n"
    "enabled = true\r\n", NULL },
  { ENABLE, "ssh", LOGIN "name = 'ssh' # mine\nenabled = false # no\n# end\n",
    LOGIN "name = 'ssh' # mine\nenabled = true # no\n# end\n", NULL },
  { ENABLE, "ssh", LOGIN "name = 'ssh' # mine\n\n[t]\n",
    LOGIN "name = 'ssh' # mine\nenabled = true\n\n[t]\n", NULL },
  { ENABLE, "ssh", LOGIN "name = 'ssh'\n[sandbox_credentials.x]\ny = 1\n",
    LOGIN "name = 'ssh'\nenabled = true\n[sandbox_credentials.x]\ny = 1\n", NULL },
  { ENABLE, "npm", LOGIN "name = 'a'\npath = '~/a'\n" LOGIN "name = 'npm'\npath = '~/n'\n",
    LOGIN "name = 'a'\npath = '~/a'\n" LOGIN "name = 'npm'\npath = '~/n'\nenabled = true\n", NULL },
  { ENABLE, "gh", "sandbox_credentials = [{ name = 'ssh' }, { name = 'gh' }]\n",
    "sandbox_credentials = [{ name = 'ssh' }, { name = 'gh', enabled = true }]\n", NULL },
  { ENABLE, "kube", "sandbox_credentials = [{ name = 'ssh' }]\n",
    "sandbox_credentials = [{ name = 'ssh' }, { name = \"kube\", enabled = true }]\n", NULL },
  { ENABLE, "ssh", NPM "# x\n", NPM "# x\n\n" LOGIN "name = \"ssh\"\nenabled = true\n", NULL },
  { ENABLE, "npm", NPM, NPM, NULL },
  { ENABLE, "npm", "", NULL, "There is no login \"npm\"" },
  { ENABLE, "ssh", "x = \n", NULL, "line 1" },
  { DISABLE, "ssh", "", "", NULL },
  { DISABLE, "npm", NPM "# x\n", LOGIN "name = \"npm\"\nenabled = false\npath = \"~/.npmrc\"\n"
    "hosts = [\"r.example:443\"]\n# x\n", NULL },
  { DISABLE, "npm", "a = 1\n", NULL, "There is no login \"npm\"" },
  { AGREE, "kube", "", LOGIN "name = \"kube\"\nenabled = true\nprivate_hosts = [\"10.0.0.5:6443\"]\n",
    NULL },
  { AGREE, "kube", LOGIN "name = 'kube'\nprivate_hosts = ['k.corp.example:443'] # k\nenabled=false\n",
    LOGIN "name = 'kube'\nprivate_hosts = [\"k.corp.example:443\", \"10.0.0.5:6443\"] # k\n"
    "enabled=true\n", NULL },
  { AGREE, "kube", "sandbox_credentials = [{ name = 'kube' }]",
    "sandbox_credentials = [{ name = 'kube', enabled = true, private_hosts = [\"10.0.0.5:6443\"] }]",
    NULL },
  { ADD, "npm", "", NPM, NULL },
  { ADD, "npm", "a = 1\n", "a = 1\n\n" NPM, NULL },
  { ADD, "npm", "sandbox_credentials = []\n", "sandbox_credentials = [{ name = \"npm\", "
    "enabled = true, path = \"~/.npmrc\", hosts = [\"r.example:443\"] }]\n", NULL },
  { ADD, "npm", NPM, NULL, "There is a login \"npm\"" },
  { ADD, "ssh", "", NULL, "built in" },
  { ADD, "a b", "", NULL, "needs a name" },
  { ADD, "npm", "x = \n", NULL, "line 1" },
  { REMOVE, "npm", NPM, "", NULL },
  { REMOVE, "npm", "# a\n\n" NPM "\n# b\n[t]\n", "# a\n\n# b\n[t]\n", NULL },
  { REMOVE, "ssh", LOGIN "name = \"ssh\"\nenabled = true\n" NPM, NPM, NULL },
  { REMOVE, "ssh", NPM, NPM, NULL },
  { REMOVE, "npm", "sandbox_credentials = [{ name = 'npm', path = '~/n' }] # e\n",
    "sandbox_credentials = [] # e\n", NULL },
  { REMOVE, "npm", "", NULL, "There is no login \"npm\"" },
};

static gboolean
apply (const char      *path,
       const LoginRow  *row,
       GError         **error)
{
  static const char * const hosts[] = { "r.example", NULL };
  g_autoptr (GPtrArray) agreed = g_ptr_array_new_with_free_func ((GDestroyNotify) ow_host_free);

  switch (row->op)
    {
    case AGREE:
      g_ptr_array_add (agreed, ow_host_parse_as ("10.0.0.5:6443", OW_HOST_PRIVATE, NULL));
      return ow_config_enable_credential (path, row->name, agreed, error);
    case ENABLE:
      return ow_config_enable_credential (path, row->name, NULL, error);
    case DISABLE:
      return ow_config_disable_credential (path, row->name, error);
    case ADD:
      return ow_config_add_credential (path, row->name, "~/.npmrc", hosts, NULL, TRUE, error);
    case REMOVE:
      break;
    }
  return ow_config_remove_credential (path, row->name, error);
}

static void
test_logins (Fixture       *f,
             gconstpointer  data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (login_rows); i++)
    {
      const LoginRow *row = &login_rows[i];
      g_autoptr (GError) error = NULL;
      gboolean ok;

      config_put (f->path, row->before, -1);
      ok = apply (f->path, row, &error);
      g_test_message ("%s %d in\n%s", row->name, (int) row->op, row->before);
      if (row->after == NULL)
        {
          g_assert_false (ok);
          g_test_message ("%s", error->message);
          g_assert_nonnull (strstr (error->message, row->says));
          assert_holds (f->path, row->before);
          continue;
        }
      g_assert_no_error (error);
      g_assert_true (ok);
      assert_holds (f->path, row->after);
    }
}

/* Each of the files, with a login put in and taken out. */
static void
test_login_fixtures (Fixture       *f,
                     gconstpointer  data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (fixtures); i++)
    {
      const char * const hosts[] = { "*.x.example:8443", NULL };
      g_autoptr (OwConfig) config = NULL;
      g_autoptr (GError) error = NULL;
      g_autofree char *after = NULL;

      g_test_message ("%s", fixtures[i]);
      config_put (f->path, fixtures[i], -1);
      ow_config_add_credential (f->path, "mine", "~/.mine", hosts, NULL, FALSE, &error);
      g_assert_no_error (error);
      after = get (f->path);
      g_assert_cmpuint (count_kept (fixtures[i], after), ==, strlen (fixtures[i]));
      g_assert_true (ow_config_enable_credential (f->path, "mine", NULL, NULL));
      g_assert_true (ow_config_enable_credential (f->path, "aws", NULL, NULL));
      config = ow_config_load (f->path, NULL);
      g_assert_true (ow_config_find_credential (config, "mine")->enabled);
      g_assert_true (ow_config_find_credential (config, "aws")->enabled);
      g_assert_true (ow_config_remove_credential (f->path, "mine", &error));
      g_assert_no_error (error);
    }
}

/* A list of hosts with tables in it takes one more, and consent is not lost or given by it. */
static void
test_mixed_hosts (Fixture       *f,
                  gconstpointer  data)
{
  g_autoptr (OwHost) host = ow_host_parse ("n.example", NULL);
  g_autoptr (OwHost) private = ow_host_parse_as ("n.example", OW_HOST_PRIVATE, NULL);

  config_put (f->path, HOSTS " = [{ host = 'a.example', private = true }]\n", -1);
  g_assert_true (ow_config_add_extra_host (f->path, host, NULL));
  assert_holds (f->path, HOSTS " = [\"n.example:443\", { host = 'a.example', private = true }]\n");
  g_assert_true (ow_config_add_extra_host (f->path, private, NULL));
  assert_holds (f->path, HOSTS " = [{ host = \"n.example:443\", private = true }, \"n.example:443\", "
                "{ host = 'a.example', private = true }]\n");
  g_assert_true (ow_config_add_extra_host (f->path, private, NULL));
  g_assert_true (ow_config_add_extra_host (f->path, host, NULL));
  assert_holds (f->path, HOSTS " = [{ host = \"n.example:443\", private = true }, \"n.example:443\", "
                "{ host = 'a.example', private = true }]\n");
}

#define TEST(path, function) \
  g_test_add (path, Fixture, NULL, config_set_up, function, config_tear_down)

int
main (int   argc,
      char *argv[])
{
  g_setenv ("HOME", "/home/settings-test", TRUE);
  g_test_init (&argc, &argv, NULL);
  TEST ("/settings/R04/forms", test_forms);
  TEST ("/settings/R04/fixtures", test_fixtures);
  TEST ("/settings/read-back", test_read_back);
  TEST ("/settings/S07/refused", test_refused);
  TEST ("/settings/R04/logins", test_logins);
  TEST ("/settings/R04/login-fixtures", test_login_fixtures);
  TEST ("/settings/R04/mixed-hosts", test_mixed_hosts);

  return g_test_run ();
}
