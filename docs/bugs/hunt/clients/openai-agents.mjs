// @openai/agents-core@0.20.0: its client, as its documentation shows it.
import { MCPServerStdio } from '@openai/agents-core';

const [command, ...args] = process.argv.slice(2);
const server = new MCPServerStdio({ name: 'everything', command, args });

try {
  await server.connect();
  const tools = await server.listTools();
  if (!tools.some((tool) => tool.name === 'echo')) throw new Error('no tool echo');
  const results = await Promise.all([
    server.callTool('echo', { message: 'one' }),
    server.callTool('get-sum', { a: 2, b: 3 }),
  ]);
  results.push(await server.callTool('trigger-long-running-operation', { duration: 0.2, steps: 2 }));
  for (const content of results) console.log(content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await server.close();
}
