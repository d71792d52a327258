// @modelcontextprotocol/sdk@1.32.2: its client, as its documentation shows it.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { hasEcho, isHTTP, printProgress, run, server } from './workload.mjs';

const client = new Client({ name: 'example-client', version: '1.0.0' });

await run({
  open: async () => {
    await client.connect(isHTTP ? new StreamableHTTPClientTransport(new URL(server.url)) : new StdioClientTransport(server));
    const { tools } = await client.listTools();
    return hasEcho(tools) && ((name, args) => client.callTool({ name, arguments: args }, undefined, { onprogress: printProgress }));
  },
  close: () => client.close(),
});
