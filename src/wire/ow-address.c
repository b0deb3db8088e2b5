/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "wire/ow-address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  uint32_t      network;
  unsigned int  bits;
  OwAddressKind kind;
} Range4;

typedef struct {
  uint8_t       network[16];
  unsigned int  bits;
  OwAddressKind kind;
} Range6;

#define QUAD(a, b, c, d) ((uint32_t) (a) << 24 | (uint32_t) (b) << 16 | (uint32_t) (c) << 8 | (d))
#define PRIVATE OW_ADDRESS_PRIVATE
#define SPECIAL OW_ADDRESS_SPECIAL

/* The IANA special-purpose registries, and the metadata services of clouds that sit on
 * an address of another kind. The first range that fits counts. */
static const Range4 ranges4[] = {
  { QUAD (0, 0, 0, 0), 8, SPECIAL },
  { QUAD (127, 0, 0, 0), 8, SPECIAL },
  { QUAD (169, 254, 0, 0), 16, SPECIAL },
  { QUAD (100, 100, 100, 200), 32, SPECIAL },   /* metadata of Alibaba Cloud */
  { QUAD (168, 63, 129, 16), 32, SPECIAL },     /* host services of Azure */
  { QUAD (192, 0, 0, 0), 24, SPECIAL },
  { QUAD (192, 88, 99, 0), 24, SPECIAL },       /* relays of 6to4 */
  { QUAD (224, 0, 0, 0), 3, SPECIAL },          /* multicast, reserved, broadcast */
  { QUAD (10, 0, 0, 0), 8, PRIVATE },
  { QUAD (100, 64, 0, 0), 10, PRIVATE },        /* carriers' NAT; overlay networks use it */
  { QUAD (172, 16, 0, 0), 12, PRIVATE },
  { QUAD (192, 168, 0, 0), 16, PRIVATE },
  { QUAD (198, 18, 0, 0), 15, PRIVATE },        /* benchmarks; some VPNs answer with it */
};

/* All that is not global unicast (2000::/3) is special, so that a new kind is refused
 * before it is known here; what else is not is in the table. */
static const Range6 ranges6[] = {
  { { 0xfd, 0x00, 0x0e, 0xc2 }, 32, SPECIAL },  /* metadata of AWS */
  { { 0xfc }, 7, PRIVATE },
  { { 0x20, 0x01, 0x0d, 0xb8 }, 32, OW_ADDRESS_PUBLIC },
  { { 0x20, 0x01 }, 23, SPECIAL },              /* protocol assignments, Teredo */
  { { 0x20, 0x02 }, 16, SPECIAL },              /* 6to4: any IPv4 address in disguise */
  { { 0x3f, 0xff }, 20, OW_ADDRESS_PUBLIC },
  { { 0x20 }, 3, OW_ADDRESS_PUBLIC },
};

/* 64:ff9b::/96: behind it stands the IPv4 address of its last 32 bits. Networks with
 * IPv6 only reach every IPv4 host in this way, so it cannot be refused as a whole. */
static const uint8_t nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

static OwAddressKind
classify4 (uint32_t address)
{
  for (size_t i = 0; i < sizeof ranges4 / sizeof ranges4[0]; i++)
    {
      uint32_t mask = UINT32_MAX << (32 - ranges4[i].bits);

      if ((address & mask) == ranges4[i].network)
        return ranges4[i].kind;
    }
  return OW_ADDRESS_PUBLIC;
}

static bool
has_prefix (const uint8_t *address,
            const uint8_t *network,
            unsigned int   bits)
{
  unsigned int bytes = bits / 8;
  unsigned int rest = bits % 8;

  if (memcmp (address, network, bytes) != 0)
    return false;
  return rest == 0 || ((address[bytes] ^ network[bytes]) >> (8 - rest)) == 0;
}

static OwAddressKind
classify6 (const uint8_t *address)
{
  if (memcmp (address, nat64, sizeof nat64) == 0)
    return classify4 (QUAD (address[12], address[13], address[14], address[15]));
  for (size_t i = 0; i < sizeof ranges6 / sizeof ranges6[0]; i++)
    {
      if (has_prefix (address, ranges6[i].network, ranges6[i].bits))
        return ranges6[i].kind;
    }
  return OW_ADDRESS_SPECIAL;
}

OwAddressKind
ow_address_classify (const struct sockaddr *address)
{
  if (address->sa_family == AF_INET)
    return classify4 (ntohl (((const struct sockaddr_in *) address)->sin_addr.s_addr));
  if (address->sa_family == AF_INET6)
    return classify6 (((const struct sockaddr_in6 *) address)->sin6_addr.s6_addr);
  return OW_ADDRESS_SPECIAL;
}

bool
ow_address_parse (const char              *text,
                  struct sockaddr_storage *address)
{
  struct sockaddr_in v4 = { .sin_family = AF_INET };
  struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

  memset (address, 0, sizeof *address);
  if (inet_pton (AF_INET, text, &v4.sin_addr) == 1)
    memcpy (address, &v4, sizeof v4);
  else if (inet_pton (AF_INET6, text, &v6.sin6_addr) == 1)
    memcpy (address, &v6, sizeof v6);
  else
    return false;
  return true;
}

void
ow_address_to_text (const struct sockaddr *address,
                    char                   text[OW_ADDRESS_TEXT_SIZE])
{
  const void *bytes = NULL;

  text[0] = '\0';
  if (address->sa_family == AF_INET)
    bytes = &((const struct sockaddr_in *) address)->sin_addr;
  else if (address->sa_family == AF_INET6)
    bytes = &((const struct sockaddr_in6 *) address)->sin6_addr;
  if (bytes != NULL)
    inet_ntop (address->sa_family, bytes, text, OW_ADDRESS_TEXT_SIZE);
}
