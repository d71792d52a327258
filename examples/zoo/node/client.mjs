// A client that makes one call, and prints the progress that it heard. Its argument is its server.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const client = new Client({ name: 'client', version: '1' })
await client.connect(new StdioClientTransport({ command: process.argv[2], args: process.argv.slice(3) }))
const steps = []
await client.callTool({ name: 'count', arguments: { text: 'hello, world' } }, { onprogress: ({ progress }) => steps.push(progress) })
console.log(`progress ${steps.join(' ')}`)
await client.close()
