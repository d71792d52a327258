// The first line that each of these servers writes to stdout is a line of text, where only messages may be.
import { spawn } from 'node:child_process';
import readline from 'node:readline';

const servers = {
  '@aashari/boilerplate-mcp-server': 'dist/index.js',
  '@agent-infra/mcp-server-commands': 'dist/index.cjs',
  '@agent-infra/mcp-server-filesystem': 'dist/index.cjs --allowed-directories .',
  '@wrtnlabs/calculator-mcp': 'bin/index.js',
  'mcp-server-code-runner': 'dist/cli.js',
  'time-mcp': 'dist/index.js',
};
const wanted = process.argv[2] ?? '';
let wrong = 0;
for (const [name, command] of Object.entries(servers).filter(([name]) => name.includes(wanted))) {
  const server = spawn(process.execPath, `node_modules/${name}/${command}`.split(' '), { stdio: ['pipe', 'pipe', 'ignore'] });
  server.stdin.write(JSON.stringify({
    jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  }) + '\n');
  for await (const line of readline.createInterface({ input: server.stdout })) {
    console.log(`${name}: ${line.slice(0, 60)}`);
    try {
      if (JSON.parse(line).id === 1) break;
    } catch {
      wrong++;
    }
  }
  server.kill();
}
console.log(`lines that are no message: ${wrong}`);
process.exit(wrong > 0 ? 1 : 0);
