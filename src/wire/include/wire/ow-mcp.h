/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

/* Names of the Model Context Protocol, revision 2025-06-18
 * (https://modelcontextprotocol.io/specification/2025-06-18), and of the one
 * extension that openworker-runner and the host share (docs/runner-protocol.md). */

#define OW_MCP_PROTOCOL_VERSION "2025-06-18"

#define OW_MCP_INITIALIZE   "initialize"
#define OW_MCP_INITIALIZED  "notifications/initialized"
#define OW_MCP_PING         "ping"
#define OW_MCP_TOOLS_LIST   "tools/list"
#define OW_MCP_TOOLS_CALL   "tools/call"
#define OW_MCP_CANCELLED    "notifications/cancelled"

/* Extension. */
#define OW_MCP_OUTPUT       "notifications/openworker/output"
#define OW_MCP_HELLO        "notifications/openworker/hello"
#define OW_MCP_RESUME       "openworker/resume"
#define OW_MCP_PROBE        "openworker/probe"

/* Members of _meta. */
#define OW_MCP_META_CALL_ID  "openworker/callId"
#define OW_MCP_META_INSTANCE "openworker/instance"
#define OW_MCP_META_VERSION  "openworker/version"
