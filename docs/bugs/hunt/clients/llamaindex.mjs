// @llamaindex/tools@0.2.1: its client, as its documentation shows it.
import { mcp } from '@llamaindex/tools';
import { run, server } from './workload.mjs';

const client = mcp(server);

await run({
  open: async () => {
    const tools = Object.fromEntries((await client.tools()).map((tool) => [tool.metadata.name, tool]));
    return tools.echo && ((name, args) => tools[name].call(args));
  },
  close: () => client.cleanup(),
});
