// @google/adk@2.0.0: its client, as its types have it.
import { Context, InMemorySessionService, InvocationContext, MCPToolset, PluginManager } from '@google/adk';

const [command, ...args] = process.argv.slice(2);
const toolset = new MCPToolset({ type: 'StdioConnectionParams', serverParams: { command, args } });

try {
  const session = await new InMemorySessionService().createSession({ appName: 'example', userId: 'user' });
  const invocationContext = new InvocationContext({ invocationId: 'example', session, pluginManager: new PluginManager() });
  const toolContext = new Context({ invocationContext });
  const tools = await toolset.getTools();
  const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  const results = await Promise.all([
    byName['echo'].runAsync({ args: { message: 'one' }, toolContext }),
    byName['get-sum'].runAsync({ args: { a: 2, b: 3 }, toolContext }),
  ]);
  results.push(await byName['trigger-long-running-operation'].runAsync({ args: { duration: 0.2, steps: 2 }, toolContext }));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await toolset.close();
}
