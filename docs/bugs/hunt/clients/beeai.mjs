// beeai-framework@0.1.30: its client, as its types have it.
import { MCPTool } from 'beeai-framework/tools/mcp';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { byName, run, server } from './workload.mjs';

const client = new Client({ name: 'example-client', version: '1.0.0' });

await run({
  open: async () => {
    await client.connect(new StdioClientTransport(server));
    const tools = byName(await MCPTool.fromClient(client));
    return tools.echo && (async (name, args) => (await tools[name].run(args)).result);
  },
  close: () => client.close(),
});
