/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config/ow-config-hosts.h"
#include "config/ow-config-programs.h"
#include "config/ow-model-settings.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/ow-error.h"
#include "config-fixture.h"
#include "ow-config-change-private.h"

/* Edits of the settings keep every byte that they do not own (REQ-U14). */

#define BOM "\xef\xbb\xbf"

/* A model as a table and as an item, and the one that is added. */
#define BODY(n, eol) "name = \"" n "\"" eol "provider = \"openai\"" eol "model = \"m\"" eol \
  "base_url = \"http://127.0.0.1:1/v1\"" eol
#define TABLE(n) "[[models]]\n" BODY (n, "\n")
#define TABLE_CRLF(n) "[[models]]\r\n" BODY (n, "\r\n")
#define ITEM(n) "{ name = \"" n "\", provider = \"openai\", model = \"m\", " \
  "base_url = \"http://127.0.0.1:1/v1\" }"

typedef enum { ADD, REMOVE, SET, HOST, UNSHARE } Op;

/* The whole file before and after: what is outside the edit is in both. */
typedef struct {
  Op          op;
  const char *before;
  const char *after;  /* NULL: refused with @says, and the file is as it was */
  const char *says;
} Row;

static char *
get (const char *path)
{
  char *content = NULL;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  return content;
}

static void
assert_holds (const char *path,
              const char *wanted)
{
  g_autofree char *content = get (path);

  g_assert_cmpstr (content, ==, wanted);
}

static gboolean
add (const char  *path,
     const char  *name,
     GError     **error)
{
  const OwModelSettings settings = {
    .name = (char *) name, .provider = (char *) "openai", .model = (char *) "m",
    .base_url = (char *) "http://127.0.0.1:1/v1",
  };

  return ow_config_add_model (path, &settings, error);
}

static gboolean
apply (const char  *path,
       Op           op,
       GError     **error)
{
  if (op == ADD)
    return add (path, "new", error);
  if (op == REMOVE)
    return ow_config_remove_model (path, "old", error);
  if (op == UNSHARE)
    return ow_config_remove_program (path, "/b/bin", error);
  if (op == HOST)
    {
      g_autoptr (OwHost) host = ow_host_new ("new.org", 443);

      return ow_config_add_extra_host (path, host, error);
    }
  return ow_config_change_text (path, "sandbox_provider", "direct", error);
}

static void
check_row (Fixture   *f,
           const Row *row)
{
  g_autofree char *backup = g_strconcat (f->path, ".bak", NULL);
  g_autoptr (GError) error = NULL;
  gboolean ok;

  config_put (f->path, row->before, -1);
  g_unlink (backup);
  ok = apply (f->path, row->op, &error);
  g_test_message ("before:\n%s", row->before);
  if (row->after == NULL)
    {
      g_assert_false (ok);
      g_assert_nonnull (error);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, row->says));
      assert_holds (f->path, row->before);
      g_assert_false (g_file_test (backup, G_FILE_TEST_EXISTS));
      return;
    }

  g_assert_no_error (error);
  g_assert_true (ok);
  assert_holds (f->path, row->after);
  if (strcmp (row->before, row->after) != 0)
    assert_holds (backup, row->before);
}

static const Row adding[] = {
  { ADD, "", TABLE ("new"), NULL },
  { ADD, BOM, BOM TABLE ("new"), NULL },
  { ADD, "\n", "\n\n" TABLE ("new"), NULL },
  { ADD, "# only words", "# only words\n\n" TABLE ("new"), NULL },
  { ADD, "a = 1\n", "a = 1\n\n" TABLE ("new"), NULL },
  { ADD, "a = 1", "a = 1\n\n" TABLE ("new"), NULL },
  { ADD, "a = 1\r\nb = 2", "a = 1\r\nb = 2\r\n\r\n" TABLE_CRLF ("new"), NULL },
  { ADD, BOM "a = 1\r\n# \xc3\xa9\r\n", BOM "a = 1\r\n# \xc3\xa9\r\n\r\n" TABLE_CRLF ("new"), NULL },
  { ADD, "\t a=1  # x\n\n\n", "\t a=1  # x\n\n\n\n" TABLE ("new"), NULL },
  { ADD, "[other]\nx = \"\"\"\n[[models]]\n\"\"\"\n",
    "[other]\nx = \"\"\"\n[[models]]\n\"\"\"\n\n" TABLE ("new"), NULL },
  { ADD, "[other]\nmodels = 3\n", "[other]\nmodels = 3\n\n" TABLE ("new"), NULL },
  { ADD, "x = nan\ny = -nan\nz = inf\n", "x = nan\ny = -nan\nz = inf\n\n" TABLE ("new"), NULL },
  { ADD, "d = 1979-05-27T07:32:00Z\nf = 0.1\nh = 0xFF\n",
    "d = 1979-05-27T07:32:00Z\nf = 0.1\nh = 0xFF\n\n" TABLE ("new"), NULL },
  { ADD, TABLE ("a") "\n[z]\n# end\n", TABLE ("a") "\n[z]\n# end\n\n" TABLE ("new"), NULL },
  { ADD, TABLE ("a") "[models.extra]\nq = 1\n", TABLE ("a") "[models.extra]\nq = 1\n\n" TABLE ("new"), NULL },
  { ADD, "\"models\" = []\n", "\"models\" = [" ITEM ("new") "]\n", NULL },
  { ADD, "models = [ # none\n]\n", "models = [" ITEM ("new") " # none\n]\n", NULL },
  { ADD, "models = [" ITEM ("a") "]", "models = [" ITEM ("a") ", " ITEM ("new") "]", NULL },
  { ADD, "models = [" ITEM ("a") ",] # x\n", "models = [" ITEM ("a") ", " ITEM ("new") ",] # x\n", NULL },
  { ADD, "t = '\xe4\xbd\xa0' \nmodels = [ " ITEM ("a") " ]\n[b]\n",
    "t = '\xe4\xbd\xa0' \nmodels = [ " ITEM ("a") ", " ITEM ("new") " ]\n[b]\n", NULL },
  { ADD, "models = [\n  " ITEM ("a") ", # one\n]\n",
    "models = [\n  " ITEM ("a") ", # one\n  " ITEM ("new") ",\n]\n", NULL },
  { ADD, "models = [\r\n\t" ITEM ("a") " # one, ]\r\n]\r\n",
    "models = [\r\n\t" ITEM ("a") ", # one, ]\r\n\t" ITEM ("new") "\r\n]\r\n", NULL },
  { ADD, "models = [\n  " ITEM ("a") "\n  , # far\n]\n",
    "models = [\n  " ITEM ("a") ", " ITEM ("new") "\n  , # far\n]\n", NULL },
  { ADD, "models = [\n  " ITEM ("a") " ]\n", "models = [\n  " ITEM ("a") ", " ITEM ("new") " ]\n", NULL },
  { ADD, "models = [" ITEM ("\xc3\xa9") "]", NULL, "line 1" },
  { ADD, TABLE ("new"), NULL, "There is a model \"new\"" },
  { ADD, "models = [" ITEM ("new") "]", NULL, "There is a model \"new\"" },
  { ADD, "a = 1\nb = \n", NULL, "line 2" },
  { ADD, "models = 3\n", NULL, "[[models]]" },
  { ADD, "models.a = 3\n", NULL, "[[models]]" },
  { ADD, "[models]\na = 3\n", NULL, "[[models]]" },
  { ADD, "models = [ 1 ]\n", NULL, "[[models]]" },
  { ADD, "\nsandbox_provider = \"none\"\n", NULL, "line 2" },
};

static const Row removing[] = {
  { REMOVE, TABLE ("old"), "", NULL },
  { REMOVE, BOM TABLE_CRLF ("old"), BOM, NULL },
  { REMOVE, "a = 1\n\n" TABLE ("old"), "a = 1\n", NULL },
  { REMOVE, "a = 1\r\n\r\n" TABLE_CRLF ("old") "\r\n[b]\r\n", "a = 1\r\n\r\n[b]\r\n", NULL },
  { REMOVE, "a = 1\n\n" TABLE ("old") "[b]\n", "a = 1\n\n[b]\n", NULL },
  { REMOVE, "# mine\n" TABLE ("old") "# after\n[b]\n", "# mine\n# after\n[b]\n", NULL },
  { REMOVE, "\n\n# mine\n\n" TABLE ("old") "\n# after\n\n[b] # c\n", "\n\n# mine\n\n# after\n\n[b] # c\n", NULL },
  { REMOVE, "[[models]] # w\n# in\n" BODY ("old", " # k\n") "# out", "# out", NULL },
  { REMOVE, "[[models]]\n" BODY ("old", "\n") "more = [\n1, # ]\n\"[b]\",\n]\n[b]", "[b]", NULL },
  { REMOVE, "[[models]]\n" BODY ("old", "\n") "t = '''\n# no comment'''\n# one\n[b]", "# one\n[b]", NULL },
  { REMOVE, "[[models]]\n" BODY ("old", "\n") "t = \"\"\"\n[x]\n\\\"\"\"\"\"\"\n[b]", "[b]", NULL },
  { REMOVE, TABLE ("a") "\n" TABLE ("old") "\n" TABLE ("b"), TABLE ("a") "\n" TABLE ("b"), NULL },
  { REMOVE, TABLE ("a") "x.y = 1\n" TABLE ("old") "x.y = 1\n" TABLE ("b"),
    TABLE ("a") "x.y = 1\n" TABLE ("b"), NULL },
  { REMOVE, TABLE ("old") "[models.e]\nq = 1\n[[models.l]]\n[b]\n[models.e.f]\n"
    "# k\nz = 1\n# keep\n" TABLE ("a") "[models.e]\n",
    "[b]\n# keep\n" TABLE ("a") "[models.e]\n", NULL },
  { REMOVE, TABLE ("a") "[b]\nx = 1\n" TABLE ("old"), TABLE ("a") "[b]\nx = 1\n", NULL },
  { REMOVE, "[ \"models\".'e' ]\n", NULL, "[[models]]" },
  { REMOVE, "[[ 'models' ]]\n" BODY ("old", "\n") "[[\"other\"]]\n[x]", "[[\"other\"]]\n[x]", NULL },
  { REMOVE, "  [[models]]\n\t" BODY ("old", "\n") "  [b]\n", "  [b]\n", NULL },
  { REMOVE, "models = [" ITEM ("old") "]\n", "models = []\n", NULL },
  { REMOVE, "models = [ " ITEM ("old") ", " ITEM ("a") " ]\n", "models = [ " ITEM ("a") " ]\n", NULL },
  { REMOVE, "models = [ " ITEM ("a") ", " ITEM ("old") " ]\n", "models = [ " ITEM ("a") " ]\n", NULL },
  { REMOVE, "models = [ " ITEM ("a") ", " ITEM ("old") ", ]\n", "models = [ " ITEM ("a") ", ]\n", NULL },
  { REMOVE, "models = [\n  " ITEM ("a") ", # a\n  " ITEM ("old") ", # old\n  # c\n]\n",
    "models = [\n  " ITEM ("a") ", # a\n  # c\n]\n", NULL },
  { REMOVE, "models = [\r\n" ITEM ("a") ",\r\n" ITEM ("old") "\r\n]\r\n",
    "models = [\r\n" ITEM ("a") ",\r\n]\r\n", NULL },
  { REMOVE, "models = [\n  " ITEM ("old") "\n  # c\n  , " ITEM ("a") "\n]\n",
    "models = [\n  # c\n   " ITEM ("a") "\n]\n", NULL },
  { REMOVE, "models = [ # '\n" ITEM ("old") " # \"\n, " ITEM ("a") "]\n",
    "models = [ # '\n " ITEM ("a") "]\n", NULL },
  { REMOVE, "models = [ " ITEM ("a") ", # c\n" ITEM ("old") " ]\n", "models = [ " ITEM ("a") ", # c\n ]\n", NULL },
  { REMOVE, "", NULL, "There is no model \"old\"" },
  { REMOVE, TABLE ("older"), NULL, "There is no model \"old\"" },
  { REMOVE, TABLE ("old") "x = \n", NULL, "line 6" },
  { REMOVE, TABLE ("old") TABLE ("old"), NULL, "line 7" },
};

#define SAYS "sandbox_provider = \"direct\""

static const Row setting[] = {
  { SET, "", SAYS "\n", NULL },
  { SET, BOM, BOM SAYS "\n", NULL },
  { SET, "# words", "# words\n" SAYS "\n", NULL },
  { SET, "# words\r\n", "# words\r\n" SAYS "\r\n", NULL },
  { SET, "a = 1", "a = 1\n" SAYS "\n", NULL },
  { SET, "a = [\n1,\n]\n# c\n\n[t]\n", "a = [\n1,\n]\n" SAYS "\n# c\n\n[t]\n", NULL },
  { SET, "[t]\na = 1\n", SAYS "\n\n[t]\na = 1\n", NULL },
  { SET, BOM "# file\r\n\r\n# t\r\n[t]\r\n", BOM "# file\r\n\r\n" SAYS "\r\n\r\n# t\r\n[t]\r\n", NULL },
  { SET, "[t]\nsandbox_provider = \"x\"\n", SAYS "\n\n[t]\nsandbox_provider = \"x\"\n", NULL },
  { SET, "sandbox_provider='openshell'# c\n", "sandbox_provider=\"direct\"# c\n", NULL },
  { SET, BOM "sandbox_provider  =\t\"bubblewrap\"  # \xc3\xa9\r\n",
    BOM "sandbox_provider  =\t\"direct\"  # \xc3\xa9\r\n", NULL },
  { SET, "\xef\xbb\xbf\"sandbox_provider\" = \"\"\"\nopenshell\"\"\"\n[t]",
    BOM "\"sandbox_provider\" = \"direct\"\n[t]", NULL },
  { SET, "a = '\xf0\x9f\x98\x80' # \xe4\xbd\xa0\nsandbox_provider = \"open\\u0073hell\" # \xe4\xbd\xa0",
    "a = '\xf0\x9f\x98\x80' # \xe4\xbd\xa0\nsandbox_provider = \"direct\" # \xe4\xbd\xa0", NULL },
  { SET, "'sandbox_provider' = '''bubblewrap'''", "'sandbox_provider' = \"direct\"", NULL },
  { SET, "  " SAYS, "  " SAYS, NULL },
  { SET, "sandbox_provider = 'direct'\n", "sandbox_provider = \"direct\"\n", NULL },
  { SET, "sandbox_provider = 1\n", NULL, "line 1" },
  { SET, "\nsandbox_provider.a = 1\n", NULL, "line 2" },
  { SET, "[sandbox_provider]\n", NULL, "line 1" },
  { SET, "x = [\n", NULL, "line" },
};

static void
test_adding (Fixture       *f,
             gconstpointer  data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (adding); i++)
    check_row (f, &adding[i]);
}

static void
test_removing (Fixture       *f,
               gconstpointer  data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (removing); i++)
    check_row (f, &removing[i]);
}

static void
test_setting (Fixture       *f,
              gconstpointer  data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (setting); i++)
    check_row (f, &setting[i]);
}

/* The files that begin with a byte order mark, on their own. */
static void
test_bom (Fixture       *f,
          gconstpointer  data)
{
  static const struct {
    const Row *rows;
    gsize      n;
  } tables[] = {
    { adding, G_N_ELEMENTS (adding) }, { removing, G_N_ELEMENTS (removing) },
    { setting, G_N_ELEMENTS (setting) },
  };
  guint n = 0;

  for (gsize t = 0; t < G_N_ELEMENTS (tables); t++)
    for (gsize i = 0; i < tables[t].n; i++)
      if (g_str_has_prefix (tables[t].rows[i].before, BOM))
        {
          check_row (f, &tables[t].rows[i]);
          n++;
        }
  g_assert_cmpuint (n, >=, 6);
}

/* What was added as a table can be taken out again, and then nothing is left of it. */
static void
test_there_and_back (Fixture       *f,
                     gconstpointer  data)
{
  guint n = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (adding); i++)
    {
      const char *before = adding[i].before;
      const char *eol = strstr (before, "\r\n") != NULL ? "\r\n" : "\n";
      gboolean cut = *before != '\0' && strcmp (before, BOM) != 0 &&
                     !g_str_has_suffix (before, "\n");
      g_autofree char *whole = g_strconcat (before, cut ? eol : "", NULL);

      if (adding[i].after == NULL || strstr (before, "= [") != NULL)
        continue;
      config_put (f->path, before, -1);
      g_assert_true (add (f->path, "new", NULL));
      g_assert_true (add (f->path, "second", NULL));
      g_assert_true (ow_config_remove_model (f->path, "new", NULL));
      g_assert_true (ow_config_remove_model (f->path, "second", NULL));
      assert_holds (f->path, whole);
      n++;
    }
  g_assert_cmpuint (n, >=, 10);
}

/* A file that ends anywhere is either not TOML, and stays as it is, or keeps every byte. */
static void
test_every_cut (Fixture       *f,
                gconstpointer  data)
{
  const char *text = BOM "# \xe4\xbd\xa0\r\na = \"\"\"x\r\n[[models]]\"\"\" # '\r\n"
                     "b = { c = ['#', \"]\"], d.e = 1 }\r\n[t.'u.v']\r\nx = '''\r\n'''''\r\n"
                     "[[models]] # w\r\n" BODY ("a", "\r\n") "more.x = [ # ]\r\n]\r\n[models.y]\r\n";
  guint done = 0;

  for (gsize n = strlen (BOM); n <= strlen (text); n++)
    {
      g_autofree char *before = g_strndup (text, n);
      g_autofree char *added = NULL;
      g_autofree char *removed = NULL;
      g_autoptr (GError) error = NULL;

      config_put (f->path, before, -1);
      if (!add (f->path, "new", &error))
        {
          g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
          assert_holds (f->path, before);
          continue;
        }
      added = get (f->path);
      g_assert_true (g_str_has_prefix (added, before));
      g_assert_true (ow_config_remove_model (f->path, "new", NULL));
      removed = get (f->path);
      g_assert_true (g_str_has_prefix (removed, before));
      g_assert_cmpuint (strlen (removed) - strlen (before), <=, 2);
      done++;
    }
  g_assert_cmpuint (done, >, 20);
}

#define HOSTS "sandbox_extra_hosts"

static const Row hosts[] = {
  { HOST, "a = 1\r\nsandbox_extra_hosts = [ # x\n'a.org',\n]\n",
    "a = 1\r\nsandbox_extra_hosts = [ # x\n\"new.org:443\",\r\n'a.org',\n]\n", NULL },
  { HOST, "", HOSTS " = [\"new.org:443\"]\n", NULL },
  { HOST, "a = 1 # x\n[t]\nb = 2\n", "a = 1 # x\n" HOSTS " = [\"new.org:443\"]\n[t]\nb = 2\n",
    NULL },
  { HOST, BOM "a = 1\r\n", BOM "a = 1\r\n" HOSTS " = [\"new.org:443\"]\r\n", NULL },
  { HOST, HOSTS " = []\n", HOSTS " = [\"new.org:443\"]\n", NULL },
  { HOST, HOSTS "=[ ] # none\n", HOSTS "=[\"new.org:443\" ] # none\n", NULL },
  { HOST, HOSTS " = ['a.org']", HOSTS " = [\"new.org:443\", 'a.org']", NULL },
  { HOST, HOSTS " = [ # mine\n  \"a.org\", # one\n]\n",
    HOSTS " = [ # mine\n  \"new.org:443\",\n  \"a.org\", # one\n]\n", NULL },
  { HOST, HOSTS " = [\r\n\t\"a.org\"\r\n]\r\n",
    HOSTS " = [\r\n\t\"new.org:443\",\r\n\t\"a.org\"\r\n]\r\n", NULL },
  { HOST, HOSTS " = [\n]\n", HOSTS " = [\n\"new.org:443\",\n]\n", NULL },
  { HOST, HOSTS " = [\n  # ]\n  \"a.org\", ]\n",
    HOSTS " = [\n  \"new.org:443\",\n  # ]\n  \"a.org\", ]\n", NULL },
  /* There already, in whatever form: nothing is written. */
  { HOST, HOSTS " = [\"new.org\"]", HOSTS " = [\"new.org\"]", NULL },
  { HOST, HOSTS " = [\"new.org:443\"]", HOSTS " = [\"new.org:443\"]", NULL },
  { HOST, HOSTS " = [\"new.org:8443\"]", HOSTS " = [\"new.org:443\", \"new.org:8443\"]", NULL },
  { HOST, HOSTS " = \"a.org\"\n", NULL, HOSTS },
  { HOST, HOSTS " = [1]\n", NULL, HOSTS },
  { HOST, "broken = [\n", NULL, "line" },
};

static void
test_hosts (Fixture       *f,
            gconstpointer  data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (hosts); i++)
    check_row (f, &hosts[i]);
}

#define PROGRAMS "sandbox_programs"

/* "/b/bin" is taken out. */
static const Row programs[] = {
  /* The lines end in either way: no byte of the next one is taken for the rest of an end. */
  { UNSHARE, "a = 1\r\nsandbox_programs = [\n  '/a/bin',\n  '/b/bin',\n# c\n]\n",
    "a = 1\r\nsandbox_programs = [\n  '/a/bin',\n# c\n]\n", NULL },
  { UNSHARE, PROGRAMS " = [\"/b/bin\"]\n", PROGRAMS " = []\n", NULL },
  { UNSHARE, PROGRAMS " = ['/b/bin'] # x", PROGRAMS " = [] # x", NULL },
  { UNSHARE, PROGRAMS " = [\"/a\", \"/b/bin\", \"/c\"]\n", PROGRAMS " = [\"/a\", \"/c\"]\n",
    NULL },
  { UNSHARE, PROGRAMS " = [\"/b/bin\",\"/c\"]\n", PROGRAMS " = [\"/c\"]\n", NULL },
  { UNSHARE, PROGRAMS " = [\"/a\", \"\"\"/b/bin\"\"\"]\n", PROGRAMS " = [\"/a\", ]\n", NULL },
  { UNSHARE, PROGRAMS " = [ # \"/b/bin\"\n  \"/a\\\"/x\", # one\n  \"/b/bin\",\n  \"/c\",\n]\n",
    PROGRAMS " = [ # \"/b/bin\"\n  \"/a\\\"/x\", # one\n  \"/c\",\n]\n", NULL },
  { UNSHARE, BOM PROGRAMS " = [\r\n\t\"/b/bin\", # gone?\r\n\t\"/c\"\r\n]\r\n",
    BOM PROGRAMS " = [\r\n\t# gone?\r\n\t\"/c\"\r\n]\r\n", NULL },
  { UNSHARE, PROGRAMS " = [\"/b\"]\n", NULL, "is not shared" },
  { UNSHARE, "", NULL, "is not shared" },
};

static void
test_programs (Fixture       *f,
               gconstpointer  data)
{
  for (gsize i = 0; i < G_N_ELEMENTS (programs); i++)
    check_row (f, &programs[i]);
}

#define ROOM_TEST(path, func) \
  g_test_add (path, Fixture, NULL, config_set_up, func, config_tear_down)

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  ROOM_TEST ("/config/R04/adding", test_adding);
  ROOM_TEST ("/config/R04/removing", test_removing);
  ROOM_TEST ("/config/R04/setting", test_setting);
  ROOM_TEST ("/config/R04/hosts", test_hosts);
  ROOM_TEST ("/config/R04/programs", test_programs);
  ROOM_TEST ("/config/R04/there-and-back", test_there_and_back);
  ROOM_TEST ("/config/A31/edited", test_bom);
  ROOM_TEST ("/config/R04/every-cut", test_every_cut);

  return g_test_run ();
}
