/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-host.h"

/* The list of hosts as openworker-proxy reads it (docs/proxy.md): one line with its newline. Any
 * thread. @hosts: (nullable) of OwHost. (transfer full) */
GBytes *ow_host_line_new (GPtrArray *hosts);
