# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A session with a server through the public MCP client, run in a virtual environment that
holds it: mcp_client.py FOLDER COMMAND…. Prints what it saw as one JSON object."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import McpError


def text(result):
    return "".join(part.text for part in result.content)


async def main(folder, command):
    server = StdioServerParameters(command=command[0], args=command[1:])
    seen = {}
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            hello = await session.initialize()
            seen["protocol"] = hello.protocolVersion
            seen["server"] = hello.serverInfo.name
            await session.send_ping()
            listed = (await session.list_tools()).tools
            seen["tools"] = sorted(tool.name for tool in listed)
            seen["schemas"] = all(tool.inputSchema.get("type") == "object" for tool in listed)
            written = await session.call_tool("write", {"path": f"{folder}/new", "content": "é\n"})
            seen["write_error"] = written.isError
            seen["read"] = text(await session.call_tool("read", {"path": f"{folder}/new"}))
            shell = await session.call_tool("shell", {"command": "x=7; echo out; (exit 3)"})
            seen["shell"], seen["shell_error"] = text(shell), shell.isError
            seen["status"] = (shell.structuredContent or {}).get("exit_status")
            seen["kept"] = text(await session.call_tool("shell", {"command": "echo x is $x"}))
            outside = await session.call_tool("read", {"path": "/etc/passwd"})
            seen["outside_error"] = outside.isError
            try:
                unknown = await session.call_tool("no-such-tool", {})
                seen["unknown_error"] = unknown.isError
            except McpError:
                seen["unknown_error"] = True
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
