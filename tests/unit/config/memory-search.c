/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "memory-search.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VEIL        0x15
#define CHUNK_BYTES (1024 * 1024)
/* What is larger is a sanitizer's own. */
#define MAX_MAPPING ((gsize) 1 << 30)

void
memory_search_veil (char *text)
{
  for (char *p = text; *p != '\0'; p++)
    *p = (char) (*p ^ VEIL);
}

static gboolean
is_at (const char *memory,
       const char *veiled,
       gsize       length)
{
  for (gsize i = 0; i < length; i++)
    if ((memory[i] ^ VEIL) != veiled[i])
      return FALSE;

  return TRUE;
}

static guint
count_in (int         fd,
          gsize       begin,
          gsize       end,
          char       *chunk,
          const char *veiled)
{
  gsize length = strlen (veiled);
  guint found = 0;

  /* Chunks overlap by what could stand across their end. */
  for (gsize at = begin; at < end; at += CHUNK_BYTES - length)
    {
      ssize_t n = pread (fd, chunk, MIN (CHUNK_BYTES, end - at), (off_t) at);

      for (gsize i = 0; n > 0 && i + length <= (gsize) n && i < CHUNK_BYTES - length; i++)
        found += is_at (chunk + i, veiled, length);
      explicit_bzero (chunk, CHUNK_BYTES);
    }

  return found;
}

guint
memory_search_count (const char *veiled)
{
  g_autofree char *maps = NULL;
  g_auto (GStrv) lines = NULL;
  char *chunk = mmap (NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                      0);
  int fd = open ("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  guint found = 0;

  g_assert_true (chunk != MAP_FAILED);
  g_assert_cmpint (fd, >=, 0);
  /* A mapping of its own, so that it can be left out. */
  g_assert_cmpint (madvise (chunk, CHUNK_BYTES, MADV_DONTFORK), ==, 0);
  g_assert_true (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  lines = g_strsplit (maps, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      gsize begin, end;
      char rights[5];

      if (sscanf (lines[i], "%zx-%zx %4s", &begin, &end, rights) != 3 || rights[1] != 'w' ||
          ((gsize) chunk >= begin && (gsize) chunk < end) || end - begin > MAX_MAPPING)
        continue;
      found += count_in (fd, begin, end, chunk, veiled);
    }
  close (fd);
  munmap (chunk, CHUNK_BYTES);

  return found;
}

gboolean
memory_search_is_not_dumped (gconstpointer address)
{
  g_autofree char *smaps = NULL;
  g_auto (GStrv) lines = NULL;
  gboolean inside = FALSE;

  g_assert_true (g_file_get_contents ("/proc/self/smaps", &smaps, NULL, NULL));
  lines = g_strsplit (smaps, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      gsize begin, end;
      char rights[5];

      if (sscanf (lines[i], "%zx-%zx %4s", &begin, &end, rights) == 3)
        inside = (gsize) address >= begin && (gsize) address < end;
      else if (inside && g_str_has_prefix (lines[i], "VmFlags:"))
        return strstr (lines[i], " dd") != NULL;
    }

  return FALSE;
}
