// @ai-sdk/mcp@2.0.99: its client, as its documentation shows it.
import { createMCPClient } from '@ai-sdk/mcp';
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { hasEcho, isHTTP, run, server } from './workload.mjs';

let client;

await run({
  open: async () => {
    client = await createMCPClient({ transport: isHTTP ? { type: 'http', ...server } : new StdioMCPTransport(server) });
    const { tools } = await client.listTools();
    return hasEcho(tools) && ((name, args) => client.callTool({ name, arguments: args }));
  },
  close: () => client?.close(),
});
