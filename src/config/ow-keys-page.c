/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-keys-page-private.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Stands at the start of the first page; the text follows. */
typedef struct {
  gsize mapped;
} Head;

char *
ow_keys_page_new (const char *text,
                  gsize       length)
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
  memcpy (head + 1, text, length);

  return (char *) (head + 1);
}

void
ow_keys_page_free (char *text)
{
  Head *head = (Head *) text;
  gsize mapped;

  if (text == NULL)
    return;

  mapped = (--head)->mapped;
  explicit_bzero (head, mapped);
  munmap (head, mapped);
}
