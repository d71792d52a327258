// The output of a command arrives damaged where it is not ASCII: each piece is made a string by
// itself, also where a letter is cut.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({ command: process.execPath, args: ['node_modules/bash-command-mcp/dist/index.js'], stderr: 'ignore' }));
const run = async command => {
  const { content } = await client.callTool({ name: 'run', arguments: { command } });
  return content[0].text;
};
// The program writes 300,000 letters é in one go; the pipe and its reader cut that as they like.
const program = `process.stdout.write('x' + 'é'.repeat(300000))`;
const long = await run(`${process.execPath} -e "${program}"`);
const broken = long.split('\ufffd').length - 1;
console.log(`of 300000 letters é ${long.split('é').length - 1} arrived, and ${broken} letters that were not written`);
process.exit(broken > 0 ? 1 : 0);
