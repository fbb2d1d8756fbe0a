/**
 * What a command inside tries to reach. Its arguments are the port of a server outside that is allowed, and
 * of one that is not. Writes what came of each attempt, as JSON.
 */
const net = require("node:net");
const [allowed, other] = process.argv.slice(2).map(Number);

/** Connects past the proxy. */
function direct(host, port) {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    socket.once("connect", () => resolve("reached"));
    socket.once("error", ({ code }) => resolve(code));
    socket.once("close", () => resolve("closed"));
  });
}

/** Sends bytes to the proxy, and returns all that it answers. */
function ask(text) {
  return new Promise((resolve) => {
    let said = "";
    const socket = net.connect({ host: "127.0.0.1", port: 3128 });
    socket.setEncoding("utf8").on("data", (part) => {
      said += part;
    });
    socket.once("error", ({ code }) => resolve(code));
    socket.once("close", () => resolve(said));
    socket.write(text);
  });
}

const get = (url, ...more) => `GET ${url} HTTP/1.1\r\n${more.map((line) => `${line}\r\n`).join("")}\r\n`;
const plain = (url, ...more) => ask(get(url, "Host: evil.example", "Connection: close", ...more));
const tunnel = (to) =>
  ask(`CONNECT ${to} HTTP/1.1\r\nHost: localhost:${allowed}\r\n\r\n${get("/tunnel", "Host: inner")}`);

async function main() {
  const found = {
    "direct loopback": await direct("127.0.0.1", allowed),
    "direct loopback, IPv6": await direct("::1", allowed),
    "direct address": await direct("192.0.2.1", 80),
    "direct address, IPv6": await direct("2001:db8::1", 80),
    "allowed, plain": await plain(`http://localhost:${allowed}/plain`),
    "allowed, tunnel": await tunnel(`localhost:${allowed}`),
    "allowed, upload": await ask(
      `POST http://localhost:${allowed}/upload HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
    ),
    "other port": await tunnel(`localhost:${other}`),
    "other port by address": await tunnel(`127.0.0.1:${other}`),
    "other port, IPv6": await tunnel(`[::1]:${other}`),
    "other port, mapped": await tunnel(`[::ffff:127.0.0.1]:${other}`),
    "other port, as a number": await plain(`http://2130706433:${other}/`),
    "other port, behind a user": await plain(`http://localhost:${allowed}@127.0.0.1:${other}/`),
    metadata: await tunnel("169.254.169.254:80"),
    "metadata, plain": await plain("http://169.254.169.254/latest/meta-data"),
    "metadata, IPv6": await tunnel("[fd00:ec2::254]:80"),
    "every address": await tunnel(`0.0.0.0:${other}`),
    "unknown name": await tunnel("example.com:443"),
    "no target": await plain("/latest"),
    file: await plain("file:///etc/passwd"),
    "second request": await ask(
      `${get(`http://localhost:${allowed}/first`, "Host: a")}${get(`http://localhost:${other}/second`, "Host: a", "Connection: close")}`,
    ),
    "two lengths": await plain(
      `http://localhost:${allowed}/smuggled`,
      "Content-Length: 4",
      "Transfer-Encoding: chunked",
    ),
  };
  process.stdout.write(JSON.stringify(found));
}

void main().then(() => process.exit(0));
