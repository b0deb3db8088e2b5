/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "files-fixture.h"
#include "ow-runner-settings-private.h"

static const OwRunnerSettingsBounds wide = { 1000000, 1u << 30, 60000, 60000 };

/* (owned) what is found, as "kind:path below <top>" each, in the order of paths. */
static char *
list (Files                 *files,
      OwRunnerSettingsBounds bounds,
      bool                  *whole)
{
  GString *all = g_string_new (NULL);
  OwRunnerSettings settings;

  ow_runner_settings_take (&settings, &files->roots, bounds);
  for (size_t i = 0; i < settings.n; i++)
    g_string_append_printf (all, "%s:%s%s ", ow_runner_setting_name (settings.list[i].kind),
                            settings.list[i].path + strlen (files->top) + 1,
                            *settings.list[i].hash == '\0' ? "!" : "");
  if (whole != NULL)
    *whole = settings.whole;
  ow_runner_settings_clear (&settings);
  return g_string_free (all, FALSE);
}

static void
assert_list (Files      *files,
             const char *expected)
{
  bool whole = false;
  g_autofree char *found = list (files, wide, &whole);

  g_assert_cmpstr (found, ==, expected);
  g_assert_true (whole);
}

/* (owned) hash of the only one whose path ends with @name. */
static char *
hash_of (Files      *files,
         const char *name)
{
  OwRunnerSettings settings;
  char *hash = NULL;

  ow_runner_settings_take (&settings, &files->roots, wide);
  for (size_t i = 0; i < settings.n; i++)
    if (g_str_has_suffix (settings.list[i].path, name))
      hash = g_strdup (settings.list[i].hash);
  ow_runner_settings_clear (&settings);
  return hash;
}

static void
test_names (void)
{
  static const struct {
    const char         *folder;
    const char         *name;
    OwRunnerSettingKind kind;
  } cases[] = {
    { "x", ".envrc", OW_RUNNER_SETTING_ENVIRONMENT },
    { "x", ".ENVRC", OW_RUNNER_SETTING_ENVIRONMENT },
    { "x", "envrc", OW_RUNNER_SETTING_NONE },
    { "x", ".envrc.example", OW_RUNNER_SETTING_NONE },
    { "x", "a.code-workspace", OW_RUNNER_SETTING_EDITOR },
    { "x", "package.json", OW_RUNNER_SETTING_PACKAGE },
    { "x", "settings.json", OW_RUNNER_SETTING_NONE },
    { ".x", "settings.json", OW_RUNNER_SETTING_AGENT },
    { "x", "Makefile", OW_RUNNER_SETTING_NONE },
    { "x", "main.c", OW_RUNNER_SETTING_NONE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpint (ow_runner_setting_of_file (cases[i].folder, cases[i].name,
                                                OW_RUNNER_SETTING_NONE), ==, cases[i].kind);
  g_assert_cmpint (ow_runner_setting_of_file ("hooks", "any", OW_RUNNER_SETTING_GIT_HOOK), ==,
                   OW_RUNNER_SETTING_GIT_HOOK);
  g_assert_cmpint (ow_runner_setting_of_file ("hooks", "any.sample", OW_RUNNER_SETTING_GIT_HOOK), ==,
                   OW_RUNNER_SETTING_NONE);
  g_assert_cmpint (ow_runner_setting_of_folder ("/a/.github/workflows"), ==,
                   OW_RUNNER_SETTING_PIPELINE);
  g_assert_cmpint (ow_runner_setting_of_folder ("/a/x.github/workflows"), ==,
                   OW_RUNNER_SETTING_NONE);
  g_assert_cmpint (ow_runner_setting_of_folder ("/a/.new-one/hooks"), ==, OW_RUNNER_SETTING_AGENT);
  g_assert_cmpint (ow_runner_setting_of_folder ("/a/src/hooks"), ==, OW_RUNNER_SETTING_NONE);
}

static void
add_path (const char *path,
          bool        is_hooks,
          void       *user_data)
{
  g_string_append_printf (user_data, "%s%s;", is_hooks ? "hooks=" : "more=", path);
}

/* As git reads a configuration, and whatever else might stand in one. */
static void
test_git_paths (void)
{
  static const struct { const char *text; const char *paths; } cases[] = {
    { "[core]\n\thooksPath = .githooks\n", "hooks=.githooks;" },
    { "[CORE] HOOKSPATH=a b \n", "hooks=a b;" },
    { "[core]\nhooksPath = \"a;b\" ; comment\n", "hooks=a;b;" },
    { "[core]\nhooksPath = a\\\nb\n", "hooks=ab;" },
    { "[core]\n# hooksPath = a\n;hooksPath = b\n", "" },
    { "[include]\npath = x\n[includeIf \"gitdir:/w/\"]\npath = ../y\n", "more=x;more=../y;" },
    { "[other]\npath = x\nhooksPath = y\n", "" },
    { "[core \"x\"]\nhooksPath = y", "hooks=y;" },
    { "[core", "" }, { "", "" }, { "hooksPath = x", "" }, { "[core]\nhooksPath", "" },
    { "[core]\nhooksPath =", "hooks=;" },
    { "\xef\xbb\xbf[core]\nhooksPath = x\n", "hooks=x;" },
    { "[includeIf \"gitdir:a]b\"] path = x\n", "more=x;" },
    { "[includeIf \"gitdir:a\\\"]b\"] path = x\n", "more=x;" },
    { "[core]\nhooksPath = \"a\\tb\"\n", "hooks=a\tb;" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) all = g_string_new (NULL);
      g_autofree char *exact = g_memdup2 (cases[i].text, MAX (strlen (cases[i].text), 1));

      ow_runner_setting_git_paths (exact, strlen (cases[i].text), add_path, all);
      g_assert_cmpstr (all->str, ==, cases[i].paths);
    }
}

/* As long as a path can be. */
static void
test_long_git_path (void)
{
  g_autoptr (GString) text = g_string_new ("[core]\nhooksPath = ");
  g_autoptr (GString) all = g_string_new (NULL);

  for (guint i = 0; i < 2000; i++)
    g_string_append (text, "./");
  g_string_append (text, "mine\n");
  ow_runner_setting_git_paths (text->str, text->len, add_path, all);
  g_assert_true (g_str_has_suffix (all->str, "./mine;"));
}

static void
test_scripts (void)
{
  static const struct { const char *text; const char *part; } cases[] = {
    { "{\"name\":\"a\"}", NULL },
    { "{\"b\":1,\"scripts\":{\"z\":\"1\",\"a\":\"2\"}}", "{\"scripts\":{\"a\":\"2\",\"z\":\"1\"}}" },
    { "{\"husky\":{}}", "{\"husky\":{}}" },
    { "{\"scripts\":1,\"scripts\":2}", "{\"scripts\":1,\"scripts\":2}" },
    { "no JSON", "no JSON" }, { "[]", "[]" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      char *part = ow_runner_setting_scripts (cases[i].text, strlen (cases[i].text));

      g_assert_cmpstr (part, ==, cases[i].part);
      free (part);
    }
}

static void
test_places (void)
{
  Files *files = files_new ();

  files_put (files, "work/.git/config", "[core]\nhooksPath = mine\n[include]\npath = ../more\n");
  files_put (files, "work/.git/hooks/pre-commit", "1");
  files_put (files, "work/.git/hooks/pre-push.sample", "1");
  files_put (files, "work/.git/objects/config", "1");
  files_put (files, "work/.git/worktrees/w/gitdir", "1");
  files_put (files, "work/mine/post-merge", "1");
  files_put (files, "work/more", "[core]\nsshCommand = x\n");
  files_put (files, "work/bare/HEAD", "1");
  files_put (files, "work/bare/config", "1");
  files_put (files, "work/bare/objects/1", "1");
  files_put (files, "work/bare/refs/1", "1");
  files_put (files, "other/sub/.git", "gitdir: x\n");
  assert_list (files, "git-repository:other/sub/.git git-repository:work/.git! "
               "git-config:work/.git/config git-hook:work/.git/hooks/pre-commit "
               "git-config:work/.git/worktrees/w/gitdir git-repository:work/bare! "
               "git-config:work/bare/config git-hook:work/mine/post-merge git-config:work/more ");
  files_free (files);
}

/* Nothing outside is read, nothing is waited for, and a path is one whatever leads to it. */
static void
test_hostile (void)
{
  Files *files = files_new ();
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;

  g_assert_cmpint (mkfifo (files_path (files, "work/.envrc"), 0600), ==, 0);
  files_put (files, "work/.npmrc/x", "a folder\n");
  files_link (files, "work/.mcp.json", "../outside/secret");
  files_link (files, "work/.yarnrc", ".yarnrc");
  files_link (files, "work/.exrc", "/dev/zero");
  g_assert_cmpint (mkfifo (files_path (files, "work/.git"), 0600), ==, 0);
  files_put (files, "work/x/.git/config", "[include]\npath = config\npath = ../../../../../etc/passwd\n"
             "[core]\nhooksPath = /\n");
  files_put (files, "work/y/.git/config", "[include]\npath = ../../x/.git/config\n");
  assert_list (files, "environment:work/.envrc! editor:work/.exrc git-repository:work/.git! "
               "agent:work/.mcp.json package:work/.yarnrc git-repository:work/x/.git! "
               "git-config:work/x/.git/config git-repository:work/y/.git! "
               "git-config:work/y/.git/config ");
  /* Only where it leads counts, and not what is there. */
  first = hash_of (files, ".mcp.json");
  files_put (files, "outside/secret", "another");
  second = hash_of (files, ".mcp.json");
  g_assert_cmpstr (first, ==, second);
  g_clear_pointer (&second, g_free);
  g_assert_cmpint (g_unlink (files_path (files, "work/.mcp.json")), ==, 0);
  files_link (files, "work/.mcp.json", "../outside/other");
  second = hash_of (files, ".mcp.json");
  g_assert_cmpstr (first, !=, second);
  files_put (files, "outside/secret", FILES_SECRET);
  files_free (files);
}

static void
test_bounds (void)
{
  Files *files = files_new ();
  OwRunnerSettingsBounds few = wide;
  OwRunnerSettingsBounds little = wide;
  OwRunnerSettingsBounds short_one = wide;
  g_autofree char *found = NULL;
  g_autofree char *read = NULL;
  g_autofree char *late = NULL;
  bool whole = true;

  for (int i = 0; i < 3000; i++)
    files_put (files, files_path (files, "work/d%d/f%d", i % 10, i) + strlen (files->top) + 1, "x");
  files_put (files, "work/.envrc", "x");
  files_put (files, "work/d1/deep/er/.envrc", "x");
  few.names = 1000;
  found = list (files, few, &whole);
  g_assert_false (whole);
  g_assert_cmpstr (found, ==, "environment:work/.envrc ");
  little.bytes = 0;
  read = list (files, little, &whole);
  g_assert_false (whole);
  short_one.wall_ms = 0;
  late = list (files, short_one, &whole);
  g_assert_false (whole);
  g_assert_cmpstr (late, ==, "");
  files_free (files);
}

/* What a configuration leads to is bounded as what the folders hold is, and a file that two rules
 * take is one file: the two pictures of it are compared by its path. */
static void
test_leads (void)
{
  Files *files = files_new ();
  OwRunnerSettingsBounds few = wide;
  g_autoptr (GString) config = g_string_new ("[include]\n");
  g_autofree char *found = NULL;
  bool whole = true;

  files_put (files, "work/.git/config", "[include]\npath = ../package.json\n");
  files_put (files, "work/package.json", "{\"scripts\":{}}");
  assert_list (files, "git-repository:work/.git! git-config:work/.git/config "
               "git-config:work/package.json ");
  for (int i = 0; i < 600; i++)
    {
      g_string_append_printf (config, "path = ../a/b/many/%d\n", i);
      files_put (files, files_path (files, "work/a/b/many/%d", i) + strlen (files->top) + 1, "x");
    }
  files_put (files, "work/.git/config", config->str);
  few.names = 300;
  found = list (files, few, &whole);
  g_assert_false (whole);
  g_assert_cmpuint (strlen (found), <, 300 * strlen ("git-config:work/a/b/many/000 "));
  files_free (files);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/settings/S08/names", test_names);
  g_test_add_func ("/settings/S08/git-paths", test_git_paths);
  g_test_add_func ("/settings/S08/long-git-path", test_long_git_path);
  g_test_add_func ("/settings/S08/scripts", test_scripts);
  g_test_add_func ("/settings/S08/places", test_places);
  g_test_add_func ("/settings/S08/hostile", test_hostile);
  g_test_add_func ("/settings/S05/bounds", test_bounds);
  g_test_add_func ("/settings/S05/leads", test_leads);
  return g_test_run ();
}
