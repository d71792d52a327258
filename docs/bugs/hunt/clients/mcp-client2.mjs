// @modelcontextprotocol/client@2.4.0: its client, as its documentation shows it.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { hasEcho, isHTTP, printProgress, run, server } from './workload.mjs';

const client = new Client({ name: 'example-client', version: '1.0.0' });

await run({
  open: async () => {
    await client.connect(isHTTP ? new StreamableHTTPClientTransport(new URL(server.url)) : new StdioClientTransport(server));
    const { tools } = await client.listTools();
    return hasEcho(tools) && ((name, args) => client.callTool({ name, arguments: args }, { onprogress: printProgress }));
  },
  close: () => client.close(),
});
