// The first line that the server writes to stdout is a line of text, where only messages may be.
import { spawn } from 'node:child_process';
import readline from 'node:readline';

const server = spawn(process.execPath, ['node_modules/mcp-server-code-runner/dist/cli.js'], { stdio: ['pipe', 'pipe', 'ignore'] });
server.stdin.write(JSON.stringify({
  jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
}) + '\n');
let wrong = 0;
for await (const line of readline.createInterface({ input: server.stdout })) {
  console.log(`stdout: ${line.slice(0, 100)}`);
  try {
    if (JSON.parse(line).id === 1) break;
  } catch {
    wrong++;
  }
}
server.kill();
console.log(`${wrong} line of it is no message`);
process.exit(wrong > 0 ? 1 : 0);
