import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageError } from "../../core/errors/errors.ts";
import { parsePublishedPort, publishedAddress } from "./published-port.ts";

describe("A port to publish", () => {
  it("is one of the loopback, unless an address is given", () => {
    const read = (text: string) => {
      const port = parsePublishedPort(text);
      return `${publishedAddress(port)} ${port.inside}`;
    };
    assert.deepEqual(["3000", "8080:3000", "0:3000", "localhost:80"].map(read), [
      ...["127.0.0.1:3000 3000", "127.0.0.1:8080 3000", "127.0.0.1:0 3000", "127.0.0.1:80 80"],
    ]);
    assert.deepEqual(["0.0.0.0:8080:3000", "10.0.0.5:80", "[::1]:8080:3000"].map(read), [
      ...["0.0.0.0:8080 3000", "10.0.0.5:80 80", "[::1]:8080 3000"],
    ]);
  });

  it("is refused if it is none", () => {
    const wrong = ["", "0", "80:0", "65536", "80:65536", "a:80", "256.0.0.1:80", "[::g]:80", "[1]:80"];
    for (const text of [...wrong, "-1", "80:", ":80", "1:2:3", "::1:80", "80\n", " 80", "80:80:80:80"])
      assert.throws(() => parsePublishedPort(text), UsageError, text);
  });
});
