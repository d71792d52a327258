// @openai/agents-core@0.20.0: its client, as its documentation shows it.
import { MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents-core';
import { hasEcho, isHTTP, run, server } from './workload.mjs';

const client = new (isHTTP ? MCPServerStreamableHttp : MCPServerStdio)({ name: 'everything', ...server });

await run({
  open: async () => {
    await client.connect();
    return hasEcho(await client.listTools()) && ((name, args) => client.callTool(name, args));
  },
  close: () => client.close(),
});
