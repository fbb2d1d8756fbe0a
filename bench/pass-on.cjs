// Passes the bytes of clients at one socket on to a server at another, and does nothing else.
const { createServer, connect } = require("node:net");
const [, , listen, server] = process.argv;

createServer((client) => {
  const there = connect(server);
  for (const [from, to] of [
    [client, there],
    [there, client],
  ]) {
    from.on("data", (bytes) => to.write(bytes));
    from.on("close", () => to.destroy());
    from.on("error", () => to.destroy());
  }
}).listen(listen, () => process.stdout.write("listening\n"));
