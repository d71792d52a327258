// @mastra/mcp@2.0.0: its client, as its documentation shows it.
import { MCPClient } from '@mastra/mcp';
import { isHTTP, printProgress, run, server } from './workload.mjs';

const everything = isHTTP ? { url: new URL(server.url) } : server;
const client = new MCPClient({ servers: { everything: { ...everything, enableProgressTracking: true } } });

await run({
  open: async () => {
    await client.progress.onUpdate('everything', printProgress);
    const tools = await client.listTools();
    return tools.everything_echo && ((name, args) => tools[`everything_${name}`].execute(args, {}));
  },
  close: () => client.disconnect(),
});
