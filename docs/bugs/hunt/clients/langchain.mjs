// @langchain/mcp-adapters@1.1.4: its client, as its documentation shows it.
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { byName, isHTTP, printProgress, run, server } from './workload.mjs';

const client = new MultiServerMCPClient({
  mcpServers: { everything: { transport: isHTTP ? 'http' : 'stdio', ...server } },
  onProgress: printProgress,
});

await run({
  open: async () => {
    const tools = byName(await client.getTools());
    return tools.echo && ((name, args) => tools[name].invoke(args));
  },
  close: () => client.close(),
});
