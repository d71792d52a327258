// @agentic/mcp@7.6.9: its client, as its documentation shows it.
import { createMcpTools } from '@agentic/mcp';
import { run, server } from './workload.mjs';

let tools;

await run({
  open: async () => {
    tools = await createMcpTools({ name: 'everything', serverProcess: server });
    return tools.functions.get('everything_echo') && ((name, args) => tools.callTool(name, args));
  },
  close: () => tools?.client.close(),
});
