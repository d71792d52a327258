// A server with a timer of a minute, which it clears when it is closed.
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const server = new Server({ name: 'eof', version: '1' }, { capabilities: {} })
const timer = setInterval(() => {}, 60_000)
server.onclose = () => clearInterval(timer)
await server.connect(new StdioServerTransport())
