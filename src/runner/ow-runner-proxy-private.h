/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The CONNECT proxy that HTTPS_PROXY or HTTP_PROXY names, and TCP connections to IP
 * addresses. Names are the proxy's to resolve: nothing here does. */

#define OW_RUNNER_PROXY_BODY_MAX 4096u

typedef struct {
  int    fd;      /* connected through, when status is 2xx; else -1 */
  int    status;  /* HTTP status; 0: there was no answer */
  char   body[OW_RUNNER_PROXY_BODY_MAX]; /* of a refusal, or first bytes of the tunnel */
  size_t body_length;
  char   reason[256]; /* why there is no connection, as a sentence */
} OwRunnerProxyAnswer;

/* Connects to an IP address; returns a descriptor or -1 with errno (EINVAL: no IP
 * address, or no port). */
int  ow_runner_proxy_dial    (const char          *host,
                              uint16_t             port,
                              int                  timeout_ms);

/* Asks the proxy for HOST:PORT. Returns whether @answer->fd is the tunnel. */
bool ow_runner_proxy_connect (const char          *host,
                              uint16_t             port,
                              int                  timeout_ms,
                              OwRunnerProxyAnswer *answer);

/* Digits of 1 to 65535; 0 for all else. */
uint16_t ow_runner_proxy_port (const char         *text);

/* Takes "http://IP:PORT[/]" apart. */
bool ow_runner_proxy_parse   (const char          *url,
                              char                 host[64],
                              uint16_t            *port);
