// A server that reads, and says nothing.
process.stdin.resume()
