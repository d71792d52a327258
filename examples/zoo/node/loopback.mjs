// Preloaded, it keeps a program that would listen on all interfaces to this machine, and prints the port.
import net from 'node:net'

const { listen } = net.Server.prototype
net.Server.prototype.listen = function (_, ...rest) {
  const listening = rest.filter((argument) => typeof argument === 'function')
  this.once('listening', () => console.log(`port ${this.address().port}`))
  return listen.call(this, { port: 0, host: '127.0.0.1' }, ...listening)
}
