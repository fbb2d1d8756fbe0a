import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageError } from "../../core/errors/errors.ts";
import { addressClass } from "./address-class.ts";
import { NETWORK_GROUPS } from "./network-groups.ts";
import {
  allowsAddress,
  allowsName,
  commonRule,
  type NetworkRule,
  networkRuleText,
  parseNetworkRules,
} from "./network-rule.ts";

function rule(line: string): NetworkRule {
  const [only] = parseNetworkRules(line);
  assert.ok(only !== undefined);
  return only;
}

describe("A rule about the network", () => {
  it("[I4] names a host, those below one, or any, with the usual ports or its own", () => {
    const allows = (line: string, name: string, port: number) => allowsName(rule(line), name, port);
    assert.ok(allows("Example.com", "example.com", 443));
    assert.ok(!allows("example.com", "example.com", 8080));
    assert.ok(!allows("example.com", "www.example.com", 443));
    assert.ok(allows("*.example.com", "a.b.example.com", 80));
    for (const other of ["example.com", "notexample.com", "example.com.evil.net"])
      assert.ok(!allows("*.example.com", other, 80), other);
    assert.ok(allows("localhost:8080", "localhost", 8080));
    assert.ok(allows("*:*", "anything.net", 1));
  });

  it("[I4] names addresses, however they are written", () => {
    assert.ok(allowsAddress(rule("10.0.0.0/8:5432"), "10.9.9.9", 5432));
    assert.ok(allowsAddress(rule("10.0.0.5"), "::ffff:10.0.0.5", 443));
    assert.ok(allowsAddress(rule("[fd00::1]:80"), "fd00:0:0::1", 80));
    assert.ok(!allowsAddress(rule("10.0.0.5"), "10.0.0.6", 443));
    assert.ok(!allowsAddress(rule("*:*"), "10.0.0.6", 443));
  });

  it("says what is wrong with a line", () => {
    for (const [line, message] of [
      ["npmm", /is no group \(npm, pypi/],
      ["http://example.com/", /neither a name nor an address/],
      ["example.com:99999", /no port from 1/],
      ["2130706433:80", /neither a name nor an address/],
      ["0.0.0.0/0", /no network of 8 to 32 bits/],
      ["169.254.169.254", /can't be allowed/],
      ["[fd00:ec2::254]:80", /can't be allowed/],
      ["fd00::1", /neither a name nor an address/],
    ] as const)
      assert.throws(
        () => parseNetworkRules(line),
        (error) => error instanceof UsageError && message.test(error.message),
        line,
      );
  });

  it("[I6] has in common with another what both allow", () => {
    const common = (one: string, other: string) => {
      const found = [commonRule(rule(one), rule(other)), commonRule(rule(other), rule(one))];
      const texts = found.map((each) => each && networkRuleText(each));
      assert.equal(texts[0], texts[1]);
      return texts[0];
    };
    assert.equal(common("*.example.com", "a.example.com:443"), "a.example.com:443");
    assert.equal(common("*.example.com:443", "a.example.com"), "a.example.com:443");
    assert.equal(common("*", "*.example.com"), "*.example.com");
    assert.equal(common("10.0.0.0/8", "10.1.0.0/16:*"), "10.1.0.0/16");
    for (const [one, other] of [
      ["example.com", "example.net"],
      ["example.com:80", "example.com:443"],
      ["*:*", "10.0.0.5"],
      ["*.example.com", "example.com"],
    ] as const)
      assert.equal(common(one, other), undefined, one);
  });

  it("has groups that are well written", () => {
    for (const [name, lines] of Object.entries(NETWORK_GROUPS))
      assert.equal(parseNetworkRules(name).length, lines.length);
  });
});

describe("An address", () => {
  it("[I4] is near or forbidden in every spelling", () => {
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.1.1", "192.168.0.1", "fd00::9"])
      assert.equal(addressClass(address), "near", address);
    for (const address of ["169.254.169.254", "::ffff:a9fe:a9fe", "fd00:ec2::254", "0.0.0.0", "::"])
      assert.equal(addressClass(address), "forbidden", address);
    for (const address of ["fe80::1%eth0", "ff02::1", "255.255.255.255", "100.100.100.200"])
      assert.equal(addressClass(address), "forbidden", address);
    for (const address of ["64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1"])
      assert.equal(addressClass(address), "near", address);
    for (const address of ["1.1.1.1", "2606:4700::1111"])
      assert.equal(addressClass(address), "public", address);
  });
});
