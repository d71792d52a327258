// @agentic/mcp@7.6.9: its client, as its documentation shows it.
import { createMcpTools } from '@agentic/mcp';

const [command, ...args] = process.argv.slice(2);
let mcpTools;

try {
  mcpTools = await createMcpTools({ name: 'everything', serverProcess: { command, args } });
  if (!mcpTools.functions.get('everything_echo')) throw new Error('no tool echo');
  const results = await Promise.all([
    mcpTools.callTool('echo', { message: 'one' }),
    mcpTools.callTool('get-sum', { a: 2, b: 3 }),
  ]);
  results.push(await mcpTools.callTool('trigger-long-running-operation', { duration: 0.2, steps: 2 }));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await mcpTools?.client.close();
}
