// mcp-client@1.13.1: its client, as its documentation shows it.
import { MCPClient } from 'mcp-client';
import { hasEcho, isHTTP, printProgress, run, server } from './workload.mjs';

const client = new MCPClient({ name: 'Test', version: '1.0.0' });

await run({
  open: async () => {
    await client.connect({ type: isHTTP ? 'httpStream' : 'stdio', ...server });
    const tools = await client.getAllTools();
    const requestOptions = { onProgress: printProgress };
    return hasEcho(tools) && ((name, args) => client.callTool({ name, arguments: args }, { requestOptions }));
  },
  close: () => client.close(),
});
