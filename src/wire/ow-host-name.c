/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "wire/ow-host-name.h"

#include <arpa/inet.h>
#include <string.h>

/* The C library's own are of the locale. */
static bool
is_digit (char c)
{
  return c >= '0' && c <= '9';
}

static bool
is_name_byte (char c)
{
  return (c >= 'a' && c <= 'z') || is_digit (c) || c == '-' || c == '_';
}

static bool
is_label (const char *label,
          size_t      length)
{
  if (length == 0 || length > 63 || label[0] == '-' || label[length - 1] == '-')
    return false;
  for (size_t i = 0; i < length; i++)
    {
      if (!is_name_byte (label[i]))
        return false;
    }
  return true;
}

/* Whether a resolver might take the name for an address ("127.1", "0x7f000001"). */
static bool
ends_in_number (const char *name)
{
  const char *dot = strrchr (name, '.');
  const char *last = dot != NULL ? dot + 1 : name;

  if (last[0] == '0' && last[1] == 'x')
    return strspn (last + 2, "0123456789abcdef") == strlen (last + 2);
  return strspn (last, "0123456789") == strlen (last);
}

static bool
is_name (const char *name)
{
  const char *label = name;

  while (true)
    {
      const char *end = strchrnul (label, '.');

      if (!is_label (label, (size_t) (end - label)))
        return false;
      if (*end == '\0')
        break;
      label = end + 1;
    }
  return !ends_in_number (name);
}

static bool
parse_address (OwHostName *self,
               int          family,
               const char  *text)
{
  struct in6_addr address;

  /* Written again by the library: one address, one spelling. */
  return inet_pton (family, text, &address) == 1 &&
         inet_ntop (family, &address, self->text, sizeof self->text) != NULL;
}

bool
ow_host_name_parse (OwHostName *self,
                    const char  *text,
                    size_t       length)
{
  char lower[OW_HOST_NAME_SIZE];

  memset (self, 0, sizeof *self);
  if (length >= 2 && text[0] == '[' && text[length - 1] == ']')
    {
      text++;
      length -= 2;
      if (memchr (text, ':', length) == NULL)
        return false;
    }
  if (length == 0 || length > 254)
    return false;
  for (size_t i = 0; i < length; i++)
    lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char) (text[i] - 'A' + 'a') : text[i];
  lower[length] = '\0';
  if (strlen (lower) != length)
    return false;

  if (strchr (lower, ':') != NULL)
    return self->is_address = parse_address (self, AF_INET6, lower);
  if (parse_address (self, AF_INET, lower))
    return self->is_address = true;
  /* "name." is the same name, told to be whole. */
  if (lower[length - 1] == '.')
    lower[--length] = '\0';
  if (length > 253 || !is_name (lower))
    return false;
  memcpy (self->text, lower, length + 1);
  return true;
}

unsigned int
ow_host_name_parse_port (const char *text,
                         size_t      length)
{
  unsigned int port = 0;

  if (length == 0 || length > 5 || text[0] == '0')
    return 0;
  for (size_t i = 0; i < length; i++)
    {
      if (!is_digit (text[i]))
        return 0;
      port = port * 10 + (unsigned int) (text[i] - '0');
    }
  return port <= 65535 ? port : 0;
}
