// @strands-agents/sdk@1.19.0: its client, as its documentation shows it.
import { McpClient } from '@strands-agents/sdk';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { byName, isHTTP, run, server } from './workload.mjs';

const transport = isHTTP ? new StreamableHTTPClientTransport(new URL(server.url)) : new StdioClientTransport(server);
const client = new McpClient({ transport });

await run({
  open: async () => {
    const tools = byName(await client.listTools());
    return tools.echo && ((name, args) => client.callTool(tools[name], args));
  },
  close: () => client.disconnect(),
});
