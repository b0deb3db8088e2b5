/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "wire/ow-address.h"

#define PUBLIC OW_ADDRESS_PUBLIC
#define PRIVATE OW_ADDRESS_PRIVATE
#define SPECIAL OW_ADDRESS_SPECIAL

static const struct {
  const char        *text;
  OwAddressKind kind;
} cases[] = {
  { "0.0.0.0", SPECIAL }, { "0.1.2.3", SPECIAL }, { "0.255.255.255", SPECIAL }, { "1.0.0.0", PUBLIC },
  { "9.255.255.255", PUBLIC }, { "10.0.0.0", PRIVATE }, { "10.255.255.255", PRIVATE },
  { "11.0.0.0", PUBLIC }, { "100.63.255.255", PUBLIC }, { "100.64.0.0", PRIVATE },
  { "100.100.100.200", SPECIAL }, { "100.127.255.255", PRIVATE }, { "100.128.0.0", PUBLIC },
  { "126.255.255.255", PUBLIC }, { "127.0.0.0", SPECIAL }, { "127.0.0.1", SPECIAL },
  { "127.255.255.255", SPECIAL }, { "128.0.0.0", PUBLIC }, { "168.63.129.16", SPECIAL },
  { "168.63.129.17", PUBLIC }, { "169.253.255.255", PUBLIC }, { "169.254.0.0", SPECIAL },
  { "169.254.169.254", SPECIAL }, { "169.255.0.0", PUBLIC }, { "172.15.255.255", PUBLIC },
  { "172.16.0.0", PRIVATE }, { "172.31.255.255", PRIVATE }, { "172.32.0.0", PUBLIC },
  { "192.0.0.0", SPECIAL }, { "192.0.0.192", SPECIAL }, { "192.0.1.0", PUBLIC },
  { "192.0.2.1", PUBLIC }, { "192.88.99.1", SPECIAL }, { "192.167.255.255", PUBLIC },
  { "192.168.0.0", PRIVATE }, { "192.168.255.255", PRIVATE }, { "192.169.0.0", PUBLIC },
  { "198.17.255.255", PUBLIC }, { "198.18.0.0", PRIVATE }, { "198.19.255.255", PRIVATE },
  { "198.20.0.0", PUBLIC }, { "198.51.100.1", PUBLIC }, { "203.0.113.10", PUBLIC },
  { "223.255.255.255", PUBLIC }, { "224.0.0.1", SPECIAL }, { "239.255.255.255", SPECIAL },
  { "240.0.0.1", SPECIAL }, { "255.255.255.255", SPECIAL },

  { "::", SPECIAL }, { "::1", SPECIAL }, { "::2", SPECIAL }, { "::127.0.0.1", SPECIAL },
  { "::8.8.8.8", SPECIAL }, { "::ffff:127.0.0.1", SPECIAL }, { "::ffff:8.8.8.8", SPECIAL },
  { "::ffff:10.0.0.1", SPECIAL }, { "::ffff:0:127.0.0.1", SPECIAL },
  { "64:ff9b::127.0.0.1", SPECIAL }, { "64:ff9b::169.254.169.254", SPECIAL },
  { "64:ff9b::10.0.0.1", PRIVATE }, { "64:ff9b::8.8.8.8", PUBLIC }, { "64:ff9b:1::8.8.8.8", SPECIAL },
  { "64:ff9b::1:8.8.8.8", SPECIAL }, { "100::1", SPECIAL }, { "1fff::1", SPECIAL },
  { "2000::1", PUBLIC }, { "2001::1", SPECIAL }, { "2001:0:7f00:1::", SPECIAL },
  { "2001:1ff:ffff::1", SPECIAL }, { "2001:200::1", PUBLIC }, { "2001:db8::1", PUBLIC },
  { "2001:4860:4860::8888", PUBLIC }, { "2002:7f00:1::1", SPECIAL }, { "2002:808:808::1", SPECIAL },
  { "2003::1", PUBLIC }, { "2606:4700::1111", PUBLIC }, { "3fff:ffff::1", PUBLIC },
  { "4000::1", SPECIAL }, { "5f00::1", SPECIAL }, { "fbff::1", SPECIAL }, { "fc00::1", PRIVATE },
  { "fd00:ec2::254", SPECIAL }, { "fd00:ec1::254", PRIVATE }, { "fdff:ffff::1", PRIVATE },
  { "fe00::1", SPECIAL }, { "fe80::1", SPECIAL }, { "febf::1", SPECIAL }, { "fec0::1", SPECIAL },
  { "ff02::1", SPECIAL }, { "ff0e::1", SPECIAL },
};

static void
test_classify (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      struct sockaddr_in v4 = { .sin_family = AF_INET };
      struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
      gboolean six = strchr (cases[i].text, ':') != NULL;
      const struct sockaddr *address = six ? (struct sockaddr *) &v6 : (struct sockaddr *) &v4;
      struct sockaddr_storage parsed;
      char text[OW_ADDRESS_TEXT_SIZE];

      g_assert_cmpint (inet_pton (address->sa_family, cases[i].text,
                                  six ? (void *) &v6.sin6_addr : (void *) &v4.sin_addr), ==, 1);
      g_test_message ("%s", cases[i].text);
      g_assert_cmpint (ow_address_classify (address), ==, cases[i].kind);
      ow_address_to_text (address, text);
      g_assert_cmpuint (strlen (text), >, 1);
      g_assert_true (ow_address_parse (cases[i].text, &parsed));
      g_assert_cmpint (ow_address_classify ((struct sockaddr *) &parsed), ==, cases[i].kind);
    }
}

static void
test_none (void)
{
  static const char * const texts[] = {
    "", "10.1", "010.0.0.1", "0x7f.1", "2130706433", "fe80::1%eth0", "[::1]", "::1 ", "a.example",
  };
  struct sockaddr_storage parsed;

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    g_assert_false (ow_address_parse (texts[i], &parsed));
}

static void
test_other_family (void)
{
  const struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = "/run/x" };
  char text[OW_ADDRESS_TEXT_SIZE] = "x";

  g_assert_cmpint (ow_address_classify ((const struct sockaddr *) &local), ==, SPECIAL);
  ow_address_to_text ((const struct sockaddr *) &local, text);
  g_assert_cmpstr (text, ==, "");
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/address/S14/classify", test_classify);
  g_test_add_func ("/address/S14/none", test_none);
  g_test_add_func ("/address/other-family", test_other_family);
  return g_test_run ();
}
