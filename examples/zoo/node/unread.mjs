// A client that has its server's standard error in a pipe, makes one call, and prints the answer. Its argument is its server.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const client = new Client({ name: 'client', version: '1' })
await client.connect(new StdioClientTransport({ command: process.argv[2], args: process.argv.slice(3), stderr: 'pipe' }))
const answer = await client.callTool({ name: 'count', arguments: { text: 'hello, world' } })
console.log(answer.content[0].text)
await client.close()
