// @google/adk@2.0.0: its client, as its types have it.
import { Context, InMemorySessionService, InvocationContext, MCPToolset, PluginManager } from '@google/adk';
import { byName, isHTTP, run, server } from './workload.mjs';

const toolset = new MCPToolset(
  isHTTP ? { type: 'StreamableHTTPConnectionParams', ...server } : { type: 'StdioConnectionParams', serverParams: server },
);

await run({
  open: async () => {
    const session = await new InMemorySessionService().createSession({ appName: 'example', userId: 'user' });
    const invocationContext = new InvocationContext({ invocationId: 'example', session, pluginManager: new PluginManager() });
    const toolContext = new Context({ invocationContext });
    const tools = byName(await toolset.getTools());
    return tools.echo && ((name, args) => tools[name].runAsync({ args, toolContext }));
  },
  close: () => toolset.close(),
});
