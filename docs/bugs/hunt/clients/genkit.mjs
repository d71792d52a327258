// @genkit-ai/mcp@1.42.0: its client, as its documentation shows it.
import { createMcpClient } from '@genkit-ai/mcp';
import { genkit } from 'genkit';
import { run, server } from './workload.mjs';

const client = createMcpClient({ name: 'everything', mcpServer: server });

await run({
  open: async () => {
    await client.ready();
    const tools = await client.getActiveTools(genkit({}));
    const tool = (name) => tools.find((tool) => tool.__action.name.endsWith(`/${name}`));
    return tool('echo') && ((name, args) => tool(name)(args));
  },
  close: () => client.disable(),
});
