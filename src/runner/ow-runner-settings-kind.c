/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-settings-private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Which names count, from the documentation of the programs that read them. Letters of either
 * case are the same here: some file systems take them so, and so do the programs then. */

typedef struct {
  const char         *name;
  OwRunnerSettingKind kind;
} Name;

/* Folders of which every file counts, by the end of their path. */
static const Name folders[] = {
  { ".git/hooks", OW_RUNNER_SETTING_GIT_HOOK },
  { ".vscode", OW_RUNNER_SETTING_EDITOR },
  { ".idea", OW_RUNNER_SETTING_EDITOR },
  { ".zed", OW_RUNNER_SETTING_EDITOR },
  { ".fleet", OW_RUNNER_SETTING_EDITOR },
  { ".devcontainer", OW_RUNNER_SETTING_EDITOR },
  { ".codex", OW_RUNNER_SETTING_AGENT },
  { ".cursor", OW_RUNNER_SETTING_AGENT },
  { ".gemini", OW_RUNNER_SETTING_AGENT },
  { ".windsurf", OW_RUNNER_SETTING_AGENT },
  { ".continue", OW_RUNNER_SETTING_AGENT },
  { ".opencode", OW_RUNNER_SETTING_AGENT },
  { ".coworker", OW_RUNNER_SETTING_AGENT },
  { ".github/workflows", OW_RUNNER_SETTING_PIPELINE },
  { ".github/actions", OW_RUNNER_SETTING_PIPELINE },
  { ".gitea/workflows", OW_RUNNER_SETTING_PIPELINE },
  { ".forgejo/workflows", OW_RUNNER_SETTING_PIPELINE },
  { ".circleci", OW_RUNNER_SETTING_PIPELINE },
  { ".buildkite", OW_RUNNER_SETTING_PIPELINE },
  { ".woodpecker", OW_RUNNER_SETTING_PIPELINE },
  { ".husky", OW_RUNNER_SETTING_HOOKS },
  { ".lefthook", OW_RUNNER_SETTING_HOOKS },
  { ".mvn", OW_RUNNER_SETTING_PACKAGE },
  { ".cargo", OW_RUNNER_SETTING_PACKAGE },
  { ".bundle", OW_RUNNER_SETTING_PACKAGE },
  { ".yarn/plugins", OW_RUNNER_SETTING_PACKAGE },
  { ".yarn/releases", OW_RUNNER_SETTING_PACKAGE },
  { "gradle/wrapper", OW_RUNNER_SETTING_PACKAGE },
  { ".mise", OW_RUNNER_SETTING_ENVIRONMENT },
  { ".config/mise", OW_RUNNER_SETTING_ENVIRONMENT },
  { ".config/git", OW_RUNNER_SETTING_GIT_CONFIG },
  { ".config/systemd", OW_RUNNER_SETTING_STARTUP },
  { ".config/autostart", OW_RUNNER_SETTING_STARTUP },
  { ".config/environment.d", OW_RUNNER_SETTING_STARTUP },
  { ".config/fish", OW_RUNNER_SETTING_STARTUP },
  { ".local/share/systemd", OW_RUNNER_SETTING_STARTUP },
  { ".local/share/applications", OW_RUNNER_SETTING_STARTUP },
  { ".local/bin", OW_RUNNER_SETTING_STARTUP },
  { ".ssh", OW_RUNNER_SETTING_STARTUP },
};

static const Name files[] = {
  { ".envrc", OW_RUNNER_SETTING_ENVIRONMENT },
  { "mise.toml", OW_RUNNER_SETTING_ENVIRONMENT },
  { ".mise.toml", OW_RUNNER_SETTING_ENVIRONMENT },
  { "mise.local.toml", OW_RUNNER_SETTING_ENVIRONMENT },
  { ".mise.local.toml", OW_RUNNER_SETTING_ENVIRONMENT },
  { ".tool-versions", OW_RUNNER_SETTING_ENVIRONMENT },
  { ".autoenv", OW_RUNNER_SETTING_ENVIRONMENT },
  { ".autoenv.zsh", OW_RUNNER_SETTING_ENVIRONMENT },
  { ".exrc", OW_RUNNER_SETTING_EDITOR },
  { ".vimrc", OW_RUNNER_SETTING_EDITOR },
  { ".nvimrc", OW_RUNNER_SETTING_EDITOR },
  { ".nvim.lua", OW_RUNNER_SETTING_EDITOR },
  { ".lvimrc", OW_RUNNER_SETTING_EDITOR },
  { ".dir-locals.el", OW_RUNNER_SETTING_EDITOR },
  { ".dir-locals-2.el", OW_RUNNER_SETTING_EDITOR },
  { ".devcontainer.json", OW_RUNNER_SETTING_EDITOR },
  { ".mcp.json", OW_RUNNER_SETTING_AGENT },
  { ".aider.conf.yml", OW_RUNNER_SETTING_AGENT },
  { "opencode.json", OW_RUNNER_SETTING_AGENT },
  { "opencode.jsonc", OW_RUNNER_SETTING_AGENT },
  { ".pre-commit-config.yaml", OW_RUNNER_SETTING_HOOKS },
  { ".pre-commit-config.yml", OW_RUNNER_SETTING_HOOKS },
  { "lefthook.yml", OW_RUNNER_SETTING_HOOKS },
  { "lefthook.yaml", OW_RUNNER_SETTING_HOOKS },
  { "lefthook.toml", OW_RUNNER_SETTING_HOOKS },
  { ".lefthook.yml", OW_RUNNER_SETTING_HOOKS },
  { ".overcommit.yml", OW_RUNNER_SETTING_HOOKS },
  { "package.json", OW_RUNNER_SETTING_PACKAGE },
  { "composer.json", OW_RUNNER_SETTING_PACKAGE },
  { ".npmrc", OW_RUNNER_SETTING_PACKAGE },
  { ".yarnrc", OW_RUNNER_SETTING_PACKAGE },
  { ".yarnrc.yml", OW_RUNNER_SETTING_PACKAGE },
  { ".pnpmfile.cjs", OW_RUNNER_SETTING_PACKAGE },
  { ".pnpmfile.mjs", OW_RUNNER_SETTING_PACKAGE },
  { "pnpmfile.js", OW_RUNNER_SETTING_PACKAGE },
  { "bunfig.toml", OW_RUNNER_SETTING_PACKAGE },
  { "pip.conf", OW_RUNNER_SETTING_PACKAGE },
  { ".pypirc", OW_RUNNER_SETTING_PACKAGE },
  { ".bazelrc", OW_RUNNER_SETTING_PACKAGE },
  { "gradlew", OW_RUNNER_SETTING_PACKAGE },
  { "mvnw", OW_RUNNER_SETTING_PACKAGE },
  { ".gitlab-ci.yml", OW_RUNNER_SETTING_PIPELINE },
  { ".travis.yml", OW_RUNNER_SETTING_PIPELINE },
  { ".drone.yml", OW_RUNNER_SETTING_PIPELINE },
  { ".woodpecker.yml", OW_RUNNER_SETTING_PIPELINE },
  { ".woodpecker.yaml", OW_RUNNER_SETTING_PIPELINE },
  { "azure-pipelines.yml", OW_RUNNER_SETTING_PIPELINE },
  { "bitbucket-pipelines.yml", OW_RUNNER_SETTING_PIPELINE },
  { ".cirrus.yml", OW_RUNNER_SETTING_PIPELINE },
  { "jenkinsfile", OW_RUNNER_SETTING_PIPELINE },
  { ".gitconfig", OW_RUNNER_SETTING_GIT_CONFIG },
  { ".bashrc", OW_RUNNER_SETTING_STARTUP },
  { ".bash_profile", OW_RUNNER_SETTING_STARTUP },
  { ".bash_login", OW_RUNNER_SETTING_STARTUP },
  { ".bash_logout", OW_RUNNER_SETTING_STARTUP },
  { ".bash_aliases", OW_RUNNER_SETTING_STARTUP },
  { ".profile", OW_RUNNER_SETTING_STARTUP },
  { ".zshrc", OW_RUNNER_SETTING_STARTUP },
  { ".zshenv", OW_RUNNER_SETTING_STARTUP },
  { ".zprofile", OW_RUNNER_SETTING_STARTUP },
  { ".zlogin", OW_RUNNER_SETTING_STARTUP },
  { ".kshrc", OW_RUNNER_SETTING_STARTUP },
  { ".xprofile", OW_RUNNER_SETTING_STARTUP },
  { ".xsession", OW_RUNNER_SETTING_STARTUP },
  { ".xinitrc", OW_RUNNER_SETTING_STARTUP },
  { ".pam_environment", OW_RUNNER_SETTING_STARTUP },
  { ".gdbinit", OW_RUNNER_SETTING_STARTUP },
  { ".lldbinit", OW_RUNNER_SETTING_STARTUP },
  { ".tmux.conf", OW_RUNNER_SETTING_STARTUP },
  { "pyvenv.cfg", OW_RUNNER_SETTING_INTERPRETER },
};

/* By the end of the name, whatever comes before it. */
static const Name endings[] = {
  { ".code-workspace", OW_RUNNER_SETTING_EDITOR },
  { ".sublime-project", OW_RUNNER_SETTING_EDITOR },
  { ".desktop", OW_RUNNER_SETTING_STARTUP },
};

/* Members of a manifest that name programs which run without being named by a person. */
static const char *const members[] = {
  "scripts", "lint-staged", "husky", "simple-git-hooks", "pre-commit", "gitHooks",
  "packageManager", "gypfile",
};

#define N(array) (sizeof (array) / sizeof (array)[0])

const char *
ow_runner_setting_name (OwRunnerSettingKind kind)
{
  static const char *const names[OW_RUNNER_SETTING_N] = {
    [OW_RUNNER_SETTING_NONE] = "none",
    [OW_RUNNER_SETTING_GIT_HOOK] = "git-hook",
    [OW_RUNNER_SETTING_GIT_CONFIG] = "git-config",
    [OW_RUNNER_SETTING_GIT_REPOSITORY] = "git-repository",
    [OW_RUNNER_SETTING_HOOKS] = "hooks",
    [OW_RUNNER_SETTING_EDITOR] = "editor",
    [OW_RUNNER_SETTING_AGENT] = "agent",
    [OW_RUNNER_SETTING_ENVIRONMENT] = "environment",
    [OW_RUNNER_SETTING_PACKAGE] = "package",
    [OW_RUNNER_SETTING_PIPELINE] = "pipeline",
    [OW_RUNNER_SETTING_STARTUP] = "startup",
    [OW_RUNNER_SETTING_INTERPRETER] = "interpreter",
  };

  return names[kind];
}

/* Tools keep what they run in folders of their own, which begin with a dot and have any name: in
 * them these files, and all files of these folders. */
static const char *const own_files[] = {
  "settings.json", "settings.local.json", "hooks.json", "hooks.toml", "hooks.yaml", "hooks.yml",
  "mcp.json", "config.json", "config.toml", "config.yaml", "config.yml", "tasks.json",
  "launch.json", "setup.sh",
};
static const char *const own_folders[] = { "hooks", "commands", "agents", "plugins" };

static bool
ends_with (const char *text,
           const char *end)
{
  size_t length = strlen (text);
  size_t tail = strlen (end);

  return length >= tail && strcasecmp (text + length - tail, end) == 0;
}

/* Whether the last components of @path are those of @name. */
static bool
is_last (const char *path,
         const char *name)
{
  size_t length = strlen (path);
  size_t tail = strlen (name);

  return ends_with (path, name) && length > tail && path[length - tail - 1] == '/';
}

/* Whether the folder that @path lies in begins with a dot. */
static bool
is_in_own (const char *path)
{
  const char *end = strrchr (path, '/');

  while (end != NULL && end > path && end[-1] != '/')
    end--;
  return end != NULL && *end == '.';
}

OwRunnerSettingKind
ow_runner_setting_of_folder (const char *path)
{
  for (size_t i = 0; i < N (folders); i++)
    {
      if (is_last (path, folders[i].name))
        return folders[i].kind;
    }
  for (size_t i = 0; i < N (own_folders); i++)
    {
      if (is_last (path, own_folders[i]) && is_in_own (path))
        return OW_RUNNER_SETTING_AGENT;
    }
  return OW_RUNNER_SETTING_NONE;
}

OwRunnerSettingKind
ow_runner_setting_of_file (const char         *folder,
                           const char         *name,
                           OwRunnerSettingKind inherited)
{
  /* git's own examples are run by nobody. */
  if (inherited == OW_RUNNER_SETTING_GIT_HOOK)
    return ends_with (name, ".sample") ? OW_RUNNER_SETTING_NONE : inherited;
  if (inherited != OW_RUNNER_SETTING_NONE)
    return inherited;
  for (size_t i = 0; i < N (files); i++)
    {
      if (strcasecmp (name, files[i].name) == 0)
        return files[i].kind;
    }
  for (size_t i = 0; *folder == '.' && i < N (own_files); i++)
    {
      if (strcasecmp (name, own_files[i]) == 0)
        return OW_RUNNER_SETTING_AGENT;
    }
  for (size_t i = 0; i < N (endings); i++)
    {
      if (ends_with (name, endings[i].name))
        return endings[i].kind;
    }
  return OW_RUNNER_SETTING_NONE;
}

char *
ow_runner_setting_scripts (const char *content,
                           size_t      length)
{
  char error[OW_WIRE_ERROR_SIZE];
  json_t *manifest = ow_json_parse (content, length, error);
  json_t *some;
  size_t size = 0;
  char *text = NULL;

  if (!json_is_object (manifest))
    {
      json_decref (manifest);
      text = malloc (length + 1);
      if (text != NULL)
        {
          memcpy (text, content, length);
          text[length] = '\0';
        }
      return text;
    }
  some = json_object ();
  for (size_t i = 0; i < N (members); i++)
    {
      json_t *member = json_object_get (manifest, members[i]);

      if (member != NULL)
        json_object_set (some, members[i], member);
    }
  if (json_object_size (some) > 0)
    text = ow_json_dump_canonical (some, &size);
  json_decref (some);
  json_decref (manifest);
  return text;
}
