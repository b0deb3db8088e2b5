/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-runner-shell-script-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ow-runner-inner-private.h"

/* bash reads its script byte by byte: a longer command comes to it as a file. */
#define INLINE_MAX 16384u

static bool
put_text (const OwRunnerShellScript *self,
          const char                *text)
{
  size_t length = strlen (text);

  return ftruncate (self->text_fd, 0) == 0
         && pwrite (self->text_fd, text, length, 0) == (ssize_t) length;
}

/* What comes before the command in a bash that has just been started, or where functions
 * hide what we use. */
static void
write_preparation (const OwRunnerShellScript *self,
                   FILE                      *out)
{
  int pid = (int) ow_runner_inner_get_pid ();

  if (self->first)
    fprintf (out,
             "\\trap '{ \\builtin declare -p; \\builtin declare -f; \\builtin shopt -p; "
             "\\builtin set +o; } >|/proc/%d/fd/%d; \\builtin exit 130' INT\n",
             pid, self->state_fd);
  if (self->first && self->restore)
    fprintf (out, "\\source /proc/%d/fd/%d\n", pid, self->state_fd);
  if (self->names_hidden || (self->first && self->restore))
    fprintf (out, "POSIXLY_CORRECT=y\n\\unset -f eval builtin\n\\unset POSIXLY_CORRECT\n");
}

void
ow_runner_shell_script_eval (FILE       *out,
                             const char *command)
{
  fprintf (out, "\\eval '");
  for (const char *at = command; *at != '\0'; at++)
    {
      if (*at == '\'')
        fputs ("'\\''", out);
      else
        fputc (*at, out);
    }
  fprintf (out, "'");
}

static void
write_command (const OwRunnerShellScript *self,
               FILE                      *out,
               const char                *command)
{
  int pid = (int) ow_runner_inner_get_pid ();

  if (strlen (command) > INLINE_MAX && put_text (self, command))
    {
      fprintf (out, "\\eval \"$(</proc/%d/fd/%d)\"", pid, self->text_fd);
    }
  else
    {
      ow_runner_shell_script_eval (out, command);
    }
  fprintf (out, " </dev/null >/proc/%d/fd/%d 2>/proc/%d/fd/%d\n", pid,
           self->stdout_fd, pid, self->stderr_fd);
}

/* Names that nobody could have made read-only. The empty line is read when all before it has
 * been carried out. */
static void
write_end (const OwRunnerShellScript *self,
           FILE                      *out)
{
  const char *tag = self->tag;
  int pid = (int) ow_runner_inner_get_pid ();

  fprintf (out, "( __ow_s%s=$?; [[ -o posix ]] || POSIXLY_CORRECT=y; \\set +eux; "
           "\\unset -f declare; \\trap '' XFSZ; __ow_h%s=0; "
           "\\declare -F eval >/dev/null && __ow_h%s=1; "
           "\\declare -F builtin >/dev/null && __ow_h%s=1; \\unset -f builtin; "
           "\\builtin enable printf read umask; ",
           tag, tag, tag, tag);
  fprintf (out, "{ \\export -p; \\builtin umask -p; } >|/proc/%d/fd/%d; "
           "\\builtin printf 'd\\n' >|/proc/%d/fd/%d && "
           "\\builtin read -r -N 32 __ow_n%s </proc/%d/fd/%d && ",
           pid, self->exported_fd, pid, self->marker_fd, tag, pid, self->nonce_fd);
  fprintf (out, "\\builtin printf '%%s %%d %%d %%d\\n' \"$__ow_n%s\" \"$__ow_s%s\" \"$BASHPID\" "
           "\"$__ow_h%s\" >|/proc/%d/fd/%d; \\exit \"$__ow_s%s\" )\n\n",
           tag, tag, tag, pid, self->marker_fd, tag);
}

char *
ow_runner_shell_script_make (const OwRunnerShellScript *self,
                             const char                *command,
                             size_t                    *length)
{
  char *script = NULL;
  FILE *out = open_memstream (&script, length);

  if (out == NULL)
    return NULL;
  write_preparation (self, out);
  write_command (self, out, command);
  write_end (self, out);
  if (fclose (out) != 0)
    {
      free (script);
      return NULL;
    }
  return script;
}
