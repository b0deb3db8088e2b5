/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-secret.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_KEY_BYTES 8192

/* Stands at the start of the first page; the text follows. */
typedef struct {
  gsize mapped;
} Head;

char *
ow_secret_alloc (gsize length)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);
  gsize mapped;
  Head *head;

  if (length > G_MAXSIZE / 2)
    return NULL;

  mapped = (sizeof (Head) + length + page) / page * page;
  head = mmap (NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (head == MAP_FAILED)
    return NULL;

  /* Each of these is as good as the machine lets it be. */
  madvise (head, mapped, MADV_DONTDUMP);
  madvise (head, mapped, MADV_WIPEONFORK);
  mlock (head, mapped);
  head->mapped = mapped;

  return (char *) (head + 1);
}

char *
ow_secret_new (const char *text,
               gsize       length)
{
  char *secret = ow_secret_alloc (length);

  if (secret != NULL)
    memcpy (secret, text, length);
  return secret;
}

void
ow_secret_free (char *secret)
{
  Head *head = (Head *) secret;
  gsize mapped;

  if (secret == NULL)
    return;

  mapped = (--head)->mapped;
  explicit_bzero (head, mapped);
  munmap (head, mapped);
}

const char *
ow_secret_find_fault (const char *key)
{
  if (*key == '\0')
    return "it is empty";
  if (strlen (key) > MAX_KEY_BYTES)
    return "it is longer than 8,192 characters";
  for (const char *p = key; *p != '\0'; p++)
    if (!g_ascii_isgraph (*p))
      return "it has a space, a line end or a character that is not ASCII, and keys have none";

  return NULL;
}
