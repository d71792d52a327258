// @voltagent/core@2.10.0: its client, as its documentation shows it.
process.env.NODE_ENV = 'production'; // else it prints the time, and fetches a list of models
const { MCPConfiguration } = await import('@voltagent/core');

const [command, ...args] = process.argv.slice(2);
const mcpConfig = new MCPConfiguration({ servers: { everything: { type: 'stdio', command, args } } });

try {
  const tools = await mcpConfig.getTools();
  const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  const results = await Promise.all([
    byName['everything_echo'].execute({ message: 'one' }),
    byName['everything_get-sum'].execute({ a: 2, b: 3 }),
  ]);
  results.push(await byName['everything_trigger-long-running-operation'].execute({ duration: 0.2, steps: 2 }));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await mcpConfig.disconnect();
}
