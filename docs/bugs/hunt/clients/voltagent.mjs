// @voltagent/core@2.10.0: its client, as its documentation shows it.
import { byName, isHTTP, run, server } from './workload.mjs';

process.env.NODE_ENV = 'production'; // else it prints the time, and fetches a list of models
const { MCPConfiguration } = await import('@voltagent/core');
const client = new MCPConfiguration({ servers: { everything: { type: isHTTP ? 'streamable-http' : 'stdio', ...server } } });

await run({
  open: async () => {
    const tools = byName(await client.getTools());
    return tools.everything_echo && ((name, args) => tools[`everything_${name}`].execute(args));
  },
  close: () => client.disconnect(),
});
